package main

import (
	"strings"
	"testing"
)

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n"

func TestMCPFailsAtTheStartWithoutAServiceOrAKey(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.stdin = listTools
	s.env["RAGD_API_KEY"] = "ragd_wrong"
	s.want(t, step{args: args("mcp"), code: 1, stderr: "...ragd: URL refused the key from RAGD_API_KEY: it is wrong, was revoked"})
	s.want(t, step{args: args("mcp --server http://127.0.0.1:1"), code: 1, stderr: "...ragd: no answer from http://127.0.0.1:1: "})
	delete(s.env, "RAGD_API_KEY")
	s.want(t, step{args: args("mcp --server http://127.0.0.1:1"), code: 1, stderr: "...is `ragd serve` running there? --server or RAGD_SERVER names another address\n"})
}

// As over HTTP, a key that may only read is shown no tools that write.
func TestMCPListsTheToolsThatTheKeyMayUse(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	code, stdout, stderr := s.run(args("key create --scopes read")...)
	_, secret, ok := strings.Cut(stdout, "secret  ")
	if code != 0 || !ok {
		t.Fatalf("no key was made: %s%s", stdout, stderr)
	}
	s.stdin = listTools
	if _, stdout, _ = s.run("mcp"); !strings.Contains(stdout, `"upload_document"`) {
		t.Errorf("a key with all rights is shown %s", stdout)
	}
	s.env["RAGD_API_KEY"] = strings.TrimSpace(secret)
	_, stdout, stderr = s.run("mcp")
	if !strings.Contains(stdout, `"vector_query"`) || strings.Contains(stdout, `"upload_document"`) || strings.Contains(stdout, `"delete_document"`) {
		t.Errorf("a key that may read is shown %s%s", stdout, stderr)
	}
}
