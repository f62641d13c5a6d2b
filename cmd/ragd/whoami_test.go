package main

import "testing"

func TestWhoAmICommand(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.want(t, step{args: args("whoami"), stdout: "...tenant   acme\nscopes   read, write, admin\n"})
}
