package main

import "testing"

func TestChunk(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	path := file(t, "a.md", "# one\ntwo\n")
	s.want(t, step{args: append(args("chunk --max-size 6"), path), stdout: `
#0  bytes 0-5
   # one

#1  bytes 6-9
   two

`})
	s.stdin = "from stdin"
	s.want(t, step{args: args("chunk - --json"), stdout: `..."text":"from stdin"`})
	s.want(t, step{args: args("chunk absent.md"), code: 1, stderr: "ragd: open absent.md: no such file or directory\n"})
}
