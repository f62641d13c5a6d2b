package rpc_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// preflight asks as a browser does before a page of an origin sends these headers.
func preflight(t *testing.T, address, origin, headers string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, address, nil)
	noError(t, err)
	req.Header.Set("Origin", origin)
	req.Header.Set("Access-Control-Request-Method", http.MethodPost)
	req.Header.Set("Access-Control-Request-Headers", headers)
	res, err := http.DefaultClient.Do(req)
	noError(t, err)
	noError(t, res.Body.Close())
	return res
}

// Pages of allowed origins call RPC and MCP under the same rules.
func TestPagesOfAllowedOriginsMayCall(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true, AllowedOrigins: []string{"https://app.example.com"}})
	headers := map[string]string{
		"/ragd.v1.IndexService/ListIndexes": "authorization, connect-protocol-version, connect-timeout-ms, content-type, grpc-timeout, x-grpc-web, x-user-agent, x-department, ragd-context, ragd-tenant, traceparent",
		"/mcp":                              "authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id",
		"/mcp/front":                        "authorization, content-type",
		"/t/acme/mcp":                       "authorization, content-type",
		"/.well-known/oauth-protected-resource/mcp": "mcp-protocol-version",
	}
	for path, asked := range headers {
		res := preflight(t, s.URL+path, "https://app.example.com", asked) //nolint:bodyclose // preflight closes it
		allowed := strings.ToLower(res.Header.Get("Access-Control-Allow-Headers"))
		for header := range strings.SplitSeq(asked, ", ") {
			if !strings.Contains(allowed, header) {
				t.Errorf("%s: the header %s is not allowed: %s", path, header, allowed)
			}
		}
		if res := preflight(t, s.URL+path, "https://app.example.com", "x-forwarded-for, forwarded"); strings.Contains(strings.ToLower(res.Header.Get("Access-Control-Allow-Headers")), "forwarded") { //nolint:bodyclose // preflight closes it
			t.Errorf("%s: a page may say where it is", path)
		}
		if res.StatusCode != http.StatusNoContent || res.Header.Get("Access-Control-Allow-Origin") != "https://app.example.com" || !strings.Contains(res.Header.Get("Access-Control-Allow-Methods"), "POST") {
			t.Errorf("%s: %d %v", path, res.StatusCode, res.Header)
		}
		if vary := strings.Join(res.Header.Values("Vary"), ", "); !strings.Contains(vary, "Origin") || res.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %v", path, res.Header)
		}
		if res := preflight(t, s.URL+path, "https://evil.example", asked); res.StatusCode != http.StatusForbidden || res.Header.Get("Access-Control-Allow-Origin") != "" { //nolint:bodyclose // preflight closes it
			t.Errorf("%s: a foreign page: %d %v", path, res.StatusCode, res.Header)
		}
	}
	for path := range headers { // the answer itself, here a 401 or 404
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader("{}"))
		noError(t, err)
		req.Header.Set("Origin", "https://app.example.com")
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		noError(t, err)
		noError(t, res.Body.Close())
		exposed := res.Header.Get("Access-Control-Expose-Headers")
		for _, header := range []string{"Grpc-Status", "Grpc-Message", "Grpc-Status-Details-Bin", "Mcp-Session-Id", "WWW-Authenticate", "Retry-After", "X-Request-Id"} {
			if !strings.Contains(exposed, header) {
				t.Errorf("%s: pages cannot read %s", path, header)
			}
		}
		if res.Header.Get("Access-Control-Allow-Origin") != "https://app.example.com" {
			t.Errorf("%s: %d %v", path, res.StatusCode, res.Header)
		}
	}
}

// browserPage calls the service in three protocols and writes what it could read into its title.
const browserPage = `<!doctype html><title>waiting</title><script>
const server = %q, key = "Bearer " + %q
const call = async (path, headers, body) => {
  try {
    const res = await fetch(server + path, {method: "POST", headers: {...headers, authorization: key}, body})
    return res.status + " " + (await res.text()).includes("faq") + " " + !!res.headers.get("x-request-id") + " " + res.headers.get("mcp-session-id")?.length
  } catch (e) { return "blocked" }
}
(async () => {
  const initialize = JSON.stringify({jsonrpc: "2.0", id: 1, method: "initialize", params: {protocolVersion: "2025-06-18", capabilities: {}, clientInfo: {name: "page", version: "1"}}})
  document.title = "done: " + [
    await call("/ragd.v1.IndexService/ListIndexes", {"content-type": "application/json", "connect-protocol-version": "1"}, "{}"),
    await call("/ragd.v1.IndexService/ListIndexes", {"content-type": "application/grpc-web+json", "x-grpc-web": "1", "x-user-agent": "page"}, new Uint8Array([0, 0, 0, 0, 2, 123, 125])),
    await call("/mcp", {"content-type": "application/json", accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}, initialize),
  ].join("; ")
})()
</script>`

// A real browser lets a page of an allowed origin call over Connect, gRPC-Web and MCP, and no other.
func TestABrowserMayCall(t *testing.T) {
	t.Parallel()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed")
	}
	pages := httptest.NewUnstartedServer(nil) // its port is among the service's settings
	t.Cleanup(pages.Close)
	_, port, err := net.SplitHostPort(pages.Listener.Addr().String())
	noError(t, err)
	s := servicetest.New(t, service.Config{NoWorkers: true, AllowedOrigins: []string{"http://app.example.com:" + port}})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "faq")
	pages.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, browserPage, s.URL, acme.Secret)
	})
	pages.Start()
	for host, want := range map[string]string{
		"app.example.com": "done: 200 true true undefined; 200 true true undefined; 200 false true 75",
		"evil.example":    "done: blocked; blocked; blocked",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		out, err := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(),
			"--host-resolver-rules=MAP *.example* 127.0.0.1", "--virtual-time-budget=20000", "--dump-dom", "http://"+host+":"+port).Output()
		cancel()
		if err != nil {
			t.Skipf("chromium does not run here: %v", err)
		}
		_, title, _ := strings.Cut(string(out), "<title>")
		if title, _, _ = strings.Cut(title, "</title>"); title != want {
			t.Errorf("%s: %s, want %s", host, title, want)
		}
	}
}
