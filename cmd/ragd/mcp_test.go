package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/cmd/ragd/internal/build"
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

// Clients learn the version that `ragd version` prints, over HTTP and standard input.
func TestMCPReportsTheVersionOfTheBinary(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"
	s.stdin = initialize
	_, onStdio, _ := s.run("mcp")
	req, err := http.NewRequest(http.MethodPost, s.url+"/mcp", strings.NewReader(initialize))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{
		"Authorization": {"Bearer " + operatorSecret}, "Ragd-Tenant": {"acme"},
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	overHTTP, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for transport, answer := range map[string]string{"stdio": onStdio, "HTTP": string(overHTTP)} {
		var initialized struct {
			Result struct {
				ServerInfo struct{ Name, Version string }
			}
		}
		if err := json.Unmarshal([]byte(answer), &initialized); err != nil {
			t.Fatalf("%s: %v in %s", transport, err, answer)
		}
		if got := initialized.Result.ServerInfo; got.Name != "ragd" || got.Version != build.Read().Version {
			t.Errorf("%s: %+v, want version %s", transport, got, build.Read().Version)
		}
	}
}

// The program serves the tenant's server that it is given.
func TestMCPServesANamedServer(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.stdin = listTools
	s.want(t, step{args: args("mcp --mcp-server nowhere"), code: 1, stderr: `...server not found: "nowhere" does not exist, or this credential may not use it; --mcp-server names another`})
	s.want(t, step{args: args("server create front --tool vector_query --rename vector_query=ask"), stdout: "..."})
	code, stdout, stderr := s.run(args("mcp --mcp-server front")...)
	if code != 0 || !strings.Contains(stdout, `"ask"`) || strings.Contains(stdout, `"vector_query"`) {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

// A client that got the service by `ragd mcp install` starts it with what stands in its settings.
func TestMCPIsInstalledInClients(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.env["HOME"] = t.TempDir()
	s.want(t, step{args: args("mcp install"), code: 2, stderr: "...no MCP client was found on this machine: name one of claude-code, "})
	s.want(t, step{args: args("mcp install curser"), code: 2, stderr: "...did you mean cursor?"})
	s.env["RAGD_OPERATOR_KEY"] = operatorSecret
	s.want(t, step{args: args("mcp install cursor --tenant acme"), code: 2, stderr: "...a client must not have the key of the operator"})
	delete(s.env, "RAGD_OPERATOR_KEY")
	_, stdout, _ := s.run(args("key create --scopes read")...)
	_, secret, _ := strings.Cut(stdout, "secret  ")
	s.env["RAGD_API_KEY"] = strings.TrimSpace(secret)
	if _, stdout, stderr := s.run(args("mcp install cursor --dry-run")...); !strings.Contains(stdout, `"RAGD_API_KEY": "ragd_..."`) {
		t.Errorf("%s%s", stdout, stderr)
	}
	if code, stdout, stderr := s.run(args("mcp install cursor opencode")...); code != 0 || !strings.Contains(stdout, "Cursor: added to ") || !strings.Contains(stdout, "opencode: added to ") {
		t.Fatalf("%s%s", stdout, stderr)
	}
	raw, err := os.ReadFile(filepath.Join(s.env["HOME"], ".cursor", "mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	var settings struct {
		MCPServers map[string]struct {
			Args []string
			Env  map[string]string
		}
	}
	if err := json.Unmarshal(raw, &settings); err != nil {
		t.Fatal(err)
	}
	server := settings.MCPServers["ragd"]
	client := newSession(t)
	client.env, client.stdin = server.Env, listTools
	if _, stdout, stderr := client.run(server.Args...); !strings.Contains(stdout, `"vector_query"`) {
		t.Errorf("%v: %s%s", server, stdout, stderr)
	}
	if code, stdout, stderr := s.run(args("mcp uninstall")...); code != 0 || !strings.Contains(stdout, "Cursor: removed from ") || !strings.Contains(stdout, "opencode: removed from ") {
		t.Errorf("%s%s", stdout, stderr)
	}
}
