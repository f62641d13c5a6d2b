package httpserver

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// guarded sends a request through a guard and returns its answer. local is the address of
// the server's end of the connection.
func guarded(t *testing.T, config GuardConfig, local string, change func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	guard, err := NewGuard(config)
	if err != nil {
		t.Fatal(err)
	}
	handler := guard.Handler(http.NotFoundHandler(), func(w http.ResponseWriter, _ *http.Request, err error) {
		if fault.KindOf(err) != fault.Denied {
			t.Errorf("rejected with %v", err)
		}
		w.WriteHeader(http.StatusForbidden)
	})
	r := httptest.NewRequestWithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.ParseIP(local), Port: 8484})), http.MethodPost, "/", nil)
	r.Host = "127.0.0.1:8484"
	change(r)
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, r)
	return answer
}

func TestHostNames(t *testing.T) {
	t.Parallel()
	const loopback, network = "127.0.0.1", "192.0.2.7"
	for _, tc := range []struct {
		name   string
		config GuardConfig
		local  string
		host   string
		denied bool
	}{
		{name: "this machine", local: loopback, host: "localhost:8484"},
		{name: "this machine by address", local: loopback, host: "127.0.0.1:8484"},
		{name: "this machine by its IPv6 address", local: loopback, host: "[::1]:8484"},
		{name: "a foreign name on a local connection", local: loopback, host: "evil.example:8484", denied: true},
		{name: "a name that begins like this machine's", local: loopback, host: "localhost.evil.example", denied: true},
		{name: "any name on a connection from the network", local: network, host: "rag.internal"},
		{name: "the public name", config: GuardConfig{PublicURL: "https://Rag.example.com/x"}, local: loopback, host: "rag.example.com"},
		{name: "an allowed name", config: GuardConfig{AllowedHosts: []string{"rag.internal"}}, local: network, host: "RAG.internal:80"},
		{name: "another name", config: GuardConfig{AllowedHosts: []string{"rag.internal"}}, local: network, host: "internal", denied: true},
		{name: "every name", config: GuardConfig{AllowedHosts: []string{"*"}}, local: loopback, host: "evil.example"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			answer := guarded(t, tc.config, tc.local, func(r *http.Request) { r.Host = tc.host })
			if denied := answer.Code == http.StatusForbidden; denied != tc.denied {
				t.Errorf("status %d", answer.Code)
			}
		})
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	config := GuardConfig{PublicURL: "https://rag.example.com/", AllowedOrigins: []string{"https://app.example.com"}}
	for origin, allowed := range map[string]bool{
		"": true, "https://app.example.com": true, "https://rag.example.com": true, "http://localhost:6274": true, "http://[::1]:3000": true,
		"https://app.example.com.evil.example": false, "http://app.example.com": false, "null": false, "file://localhost": false,
		"evil://127.0.0.1": false, "https://localhost.evil.example": false,
	} {
		answer := guarded(t, config, "127.0.0.1", func(r *http.Request) {
			if origin != "" {
				r.Header.Set("Origin", origin)
			}
		})
		if passed := answer.Code == http.StatusNotFound; passed != allowed || answer.Header().Get("Access-Control-Allow-Origin") != "" != (allowed && origin != "") {
			t.Errorf("%q: status %d, %v", origin, answer.Code, answer.Header())
		}
	}
	preflight := guarded(t, config, "127.0.0.1", func(r *http.Request) {
		r.Method = http.MethodOptions
		r.Header.Set("Origin", "https://app.example.com")
		r.Header.Set("Access-Control-Request-Method", http.MethodPost)
	})
	if preflight.Code != http.StatusNoContent || !strings.Contains(preflight.Header().Get("Access-Control-Allow-Headers"), "Connect-Protocol-Version") {
		t.Errorf("preflight: %d %v", preflight.Code, preflight.Header())
	}
	if _, err := NewGuard(GuardConfig{AllowedOrigins: []string{"app.example.com"}}); err == nil {
		t.Error("an origin without a scheme is accepted")
	}
}
