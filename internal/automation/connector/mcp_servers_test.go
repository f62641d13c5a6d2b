//go:build thirdparty

package connector_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// listening is what the servers say once they have their port.
var listening = regexp.MustCompile(`listening on port|running on port|Uvicorn running on`)

// startServer starts a program of the folder RAGD_TEST_MCP_SERVERS, which hack/mcp-servers.sh fills, as a
// server, and returns its port. The programs must be told one: one that another process took meanwhile
// makes them end, and is replaced.
func startServer(t *testing.T, program string, args func(port string) (args, env []string)) (port string) {
	t.Helper()
	folder := os.Getenv("RAGD_TEST_MCP_SERVERS")
	if folder == "" {
		t.Fatal("RAGD_TEST_MCP_SERVERS is not set: run make test-mcp-servers")
	}
	for range 5 {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, port, err = net.SplitHostPort(l.Addr().String())
		if err = errors.Join(err, l.Close()); err != nil {
			t.Fatal(err)
		}
		rest, env := args(port)
		ctx, cancel := context.WithCancel(context.Background())
		cmd := exec.CommandContext(ctx, filepath.Join(folder, program), rest...)
		cmd.Env = append(os.Environ(), env...)
		output, to, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout, cmd.Stderr = to, to
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_ = to.Close()
		var said strings.Builder // until ended
		ready, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			lines, found := bufio.NewScanner(output), false
			for lines.Scan() {
				said.WriteString(lines.Text() + "\n")
				if !found && listening.Match(lines.Bytes()) {
					found = true
					close(ready)
				}
			}
		}()
		t.Cleanup(func() {
			cancel()
			<-ended
			_ = cmd.Wait()
			_ = output.Close()
			if t.Failed() {
				t.Log(said.String())
			}
		})
		select {
		case <-ready:
			return port
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatalf("%s does not listen after a minute", program)
		}
	}
	t.Fatalf("%s ends at once", program)
	return ""
}

func everything(folder string) string {
	return filepath.Join(folder, "node_modules/@modelcontextprotocol/server-everything/dist/index.js")
}

func TestTheServerEverything(t *testing.T) {
	for transport, path := range map[string]string{"streamableHttp": "/mcp", "sse": "/sse"} {
		t.Run(transport, func(t *testing.T) {
			port := startServer(t, "node_modules/.bin/node", func(port string) (args, env []string) {
				return []string{everything(os.Getenv("RAGD_TEST_MCP_SERVERS")), transport}, []string{"PORT=" + port}
			})
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
	script, err := filepath.Abs("testdata/oauth_server.py")
	if err != nil {
		t.Fatal(err)
	}
	port := startServer(t, "venv/bin/python", func(port string) (args, env []string) { return []string{script, port}, nil })
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
