//go:build thirdparty

package mcp_test

import (
	"bufio"
	"context"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/forward"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/tenant/access/oauth"
)

// Third-party clients without a key log in at an authorization server, with the scopes that it
// has and for the address that they use.
func TestThirdPartyLogins(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("RAGD_TEST_MCP_CLIENTS")
	if folder == "" {
		t.Fatal("RAGD_TEST_MCP_CLIENTS is not set: run make test-mcp-clients")
	}
	node := filepath.Join(folder, "node_modules", "node", "bin", "node")
	for name, prefix := range map[string]string{"plain scopes": "", "scopes with a prefix": "api://ragd/"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			environment := append(os.Environ(), "RAGD_SCOPE_PREFIX="+prefix)
			issuer := issuerOf(t, folder, node, environment)
			public := httptest.NewUnstartedServer(nil) // the service must know its address before it starts
			t.Cleanup(public.Close)
			address := "http://" + public.Listener.Addr().String()
			tokens, err := oauth.NewIssuers(oauth.IssuersConfig{
				Operator: []oauth.Config{{Issuer: issuer, PublicURL: address, ScopePrefix: prefix}}, PublicURL: address,
			})
			if err != nil {
				t.Fatal(err)
			}
			s := servicetest.New(t, service.Config{NoWorkers: true, Tokens: tokens, MCP: mcphttp.Config{PublicURL: address}})
			at, err := url.Parse(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			proxy := httputil.NewSingleHostReverseProxy(at)
			proxy.FlushInterval = -1
			public.Config.Handler = forward.Handler(proxy)
			public.Start()
			makeServer(t, s.Tenant(t, "acme"), &ragdv1.CreateServerRequest{ServerName: "handbook", Tools: allowed("search")})
			for program, with := range map[string]string{"login.mjs": node, "login.py": filepath.Join(folder, "venv", "bin", "python")} {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, with, program)
				cmd.Dir, cmd.Env = folder, append(environment, "RAGD_MCP_URL="+address+mcphttp.Path)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s: %v\n%s", program, err, out)
				}
			}
		})
	}
}

// issuerOf starts an authorization server and returns its address.
func issuerOf(t *testing.T, folder, node string, environment []string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), node, "issuer.mjs")
	cmd.Dir, cmd.Env, cmd.Stderr = folder, environment, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "http://127.0.0.1:") {
			return lines.Text()
		}
	}
	t.Fatal("the authorization server has not started")
	return ""
}
