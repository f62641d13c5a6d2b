package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A command that does not reach a service of its version says why and what to do.
func TestFailedCallsSayWhatToDo(t *testing.T) {
	t.Parallel()
	answers := func(status int, contentType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	start := func(handler http.HandlerFunc, with func(http.Handler) *httptest.Server) string {
		server := with(handler)
		t.Cleanup(server.Close)
		return server.URL
	}
	withTLS := start(answers(200, "text/plain", "ok"), httptest.NewTLSServer)
	for name, tc := range map[string]struct{ server, want string }{
		"HTTP to a port of TLS":     {strings.Replace(withTLS, "https:", "http:", 1), "is not ragd"},
		"an unknown authority":      {withTLS, "SSL_CERT_FILE"},
		"a page of a web server":    {start(answers(200, "text/html", "<html>"), httptest.NewServer), "is not ragd"},
		"a proxy without a service": {start(answers(502, "text/html", "<html>"), httptest.NewServer), "no answer from"},
		"an older service":          {start(answers(404, "application/json", `{"code":"unimplemented","message":"there is nothing at /x"}`), httptest.NewServer), "may be older than this ragd"},
		"a service that says little": {start(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // or the server does not notice that the client has gone
			<-r.Context().Done()
		}, httptest.NewServer), "it did not answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newOfflineSession(t)
			s.env["RAGD_API_KEY"] = "k"
			patience := time.Minute
			if tc.want == "it did not answer in time" {
				patience = 3 * time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			code, _, stderr := s.runIn(ctx, "query", "boats", "--server", tc.server)
			if code != 1 || !strings.Contains(stderr, tc.want) || !strings.Contains(stderr, tc.server) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit code %d, %q, want %q", code, stderr, tc.want)
			}
		})
	}
}
