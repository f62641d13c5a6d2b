//go:build thirdparty

package connector_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// startServer starts a program of the folder RAGD_TEST_MCP_SERVERS, which hack/mcp-servers.sh fills, as a
// server on a port.
func startServer(t *testing.T, port string, env []string, program string, args ...string) {
	t.Helper()
	folder := os.Getenv("RAGD_TEST_MCP_SERVERS")
	if folder == "" {
		t.Fatal("RAGD_TEST_MCP_SERVERS is not set: run make test-mcp-servers")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, filepath.Join(folder, program), args...)
	cmd.Env = append(os.Environ(), env...)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	wait.For(t, "a server on port "+port, func() bool {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func everything(folder string) string {
	return filepath.Join(folder, "node_modules/@modelcontextprotocol/server-everything/dist/index.js")
}

func TestTheServerEverything(t *testing.T) {
	for transport, path := range map[string]string{"streamableHttp": "/mcp", "sse": "/sse"} {
		t.Run(transport, func(t *testing.T) {
			port := freePort(t)
			startServer(t, port, []string{"PORT=" + port}, "node_modules/.bin/node", everything(os.Getenv("RAGD_TEST_MCP_SERVERS")), transport)
			s := newSealingService(t)
			acme := newTenant(t, s, "acme")
			source := &ragdv1.McpSource{
				Url: "http://127.0.0.1:" + port + path, WithoutSubscription: true, Tools: &ragdv1.McpOffer{Names: []string{"echo", "get-sum"}}, Prompts: &ragdv1.McpOffer{},
				Templates: []*ragdv1.McpTemplate{{UriTemplate: "demo://resource/dynamic/text/{resourceId}", Arguments: map[string]string{"resourceId": "1"}}},
			}
			got := create(t, acme, mcpRequest(source))
			t.Logf("first run: %v", got.Counts)
			if got.Status != "succeeded" || got.Counts.Added < 5 || got.Counts.Failed > 0 {
				t.Fatalf("first run: %v", got)
			}
			if again := resync(t, acme); again.Status != "succeeded" || again.Counts.Updated > 1 || again.Counts.Added != 0 { // the text of the template has the time
				t.Errorf("second run: %v", again)
			}
			res, err := acme.CallTool(t.Context(), &ragdv1.CallToolRequest{ToolName: "site_echo", Arguments: servicetest.Object(t, map[string]any{"message": "hello"})})
			if err != nil || !strings.Contains(res.Text, "hello") {
				t.Errorf("call: %v, %v", res, err)
			}
			prompts, err := acme.ListPrompts(t.Context(), &ragdv1.ListPromptsRequest{})
			if err != nil || len(prompts.Prompts) < 2 {
				t.Errorf("prompts: %v, %v", prompts, err)
			}
		})
	}
}

func TestTheServerOfFastMCPWithOAuth(t *testing.T) {
	port := freePort(t)
	script, err := filepath.Abs("testdata/oauth_server.py")
	if err != nil {
		t.Fatal(err)
	}
	startServer(t, port, nil, "venv/bin/python", script, port)
	s := newSealingService(t)
	acme := newTenant(t, s, "acme")
	source := &ragdv1.McpSource{
		Url: fmt.Sprintf("http://127.0.0.1:%s/mcp", port), WithoutSubscription: true, Tools: &ragdv1.McpOffer{},
		Templates: []*ragdv1.McpTemplate{{UriTemplate: "note://{name}/text", Arguments: map[string]string{"name": "one"}}},
	}
	first := create(t, acme, mcpRequest(source))
	if first.Authorization != "needed" {
		t.Fatalf("first run: %v", first)
	}
	_, page, at := browse(t, authorize(t, acme))
	if status, page := agree(t, page, at); status != 200 {
		t.Fatalf("sign-in: %d %s", status, page)
	}
	if got := ended(t, acme, first); got.Status != "succeeded" || got.Authorization != "granted" || got.Counts.Added != 2 {
		t.Fatalf("second run: %v", got)
	}
	if got := versions(t, acme); !slices.Equal(got, []string{"note://one/text v1", "note://plan v1"}) {
		t.Errorf("documents: %v", got)
	}
	if again := resync(t, acme); again.Counts.Unchanged != 2 {
		t.Errorf("third run: %v", again)
	}
	res, err := acme.CallTool(t.Context(), &ragdv1.CallToolRequest{ToolName: "site_add", Arguments: servicetest.Object(t, map[string]any{"a": 2, "b": 3})})
	if err != nil || !strings.Contains(res.Text, "5") {
		t.Errorf("call: %v, %v", res, err)
	}
}
