package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestServerCommandsRefuseContradictions(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	large := filepath.Join(t.TempDir(), "large.png")
	if err := os.WriteFile(large, make([]byte, 49<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []step{
		{args: args("server create a --tool search --no-tools"), code: 2, stderr: "...--no-tools and --tool exclude each other"},
		{args: args("server update a --index docs --all-indexes"), code: 2, stderr: "...--all-indexes and --index exclude each other"},
		{args: []string{"server", "create", "a", "--icon", large}, code: 2, stderr: "...has 50176 bytes: icons have at most 49152"},
		{args: args("context declare a --header X-A --claim a"), code: 2, stderr: "...--header and --claim exclude each other"},
		{args: args("context declare a --constant x"), code: 2, stderr: "...--constant is not JSON: x"},
		{args: args("context declare a --constant 1"), stdout: "...constant"},
		{args: args("context get a"), stdout: "...constant"},
		{args: args("server create a"), stdout: "..."},
		{args: args("server document a"), stdout: "...\n  \"description\": \"a\","},
	} {
		s.want(t, want)
	}
}
