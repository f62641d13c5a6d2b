package console_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/openapi"
	"github.com/ragdhq/ragd/internal/operate/notices"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/logtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// browser is a web browser at a service: it keeps a cookie and says where a request comes from.
type browser struct {
	s      *servicetest.Service
	cookie *http.Cookie
}

// answer is what came back, without the body.
type answer struct {
	status int
	header http.Header
}

// send sends a request of the service's own page with further headers, which replace the
// browser's.
func (b *browser) send(t testing.TB, method, path, body string, headers ...string) (answer, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, b.s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	req.Header.Set("Content-Type", "application/json")
	if b.cookie != nil {
		req.AddCookie(b.cookie)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Del(headers[i])
		if headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		t.Fatal(err)
	}
	for _, c := range res.Cookies() {
		b.cookie = c
		if c.MaxAge < 0 {
			b.cookie = nil
		}
	}
	return answer{res.StatusCode, res.Header}, string(text)
}

// want fails unless a request is answered with a status, and returns the answer.
func (b *browser) want(t testing.TB, status int, method, path, body string, headers ...string) string {
	t.Helper()
	res, answer := b.send(t, method, path, body, headers...)
	if res.status != status {
		t.Fatalf("%s %s: status %d, want %d: %s", method, path, res.status, status, answer)
	}
	return answer
}

const whoAmI = "/ragd.v1.TenantService/WhoAmI"

func signIn(t testing.TB, s *servicetest.Service, key string) *browser {
	t.Helper()
	b := &browser{s: s}
	b.want(t, http.StatusNoContent, "POST", "/console/session", `{"key":"`+key+`"}`)
	return b
}

func TestSignInAndOut(t *testing.T) {
	t.Parallel()
	log := &logtest.Buffer{}
	s := servicetest.New(t, service.Config{NoWorkers: true, Logger: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	s.Tenant(t, "harbour")
	key := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "harbour", Scopes: []string{"read"}})

	visitor := &browser{s: s}
	if answer := visitor.want(t, http.StatusOK, "GET", "/console/session", ""); !strings.Contains(answer, `"signedIn":false`) {
		t.Errorf("a visitor without a session: %s", answer)
	}
	visitor.want(t, http.StatusUnauthorized, "POST", "/console/session", `{"key":"ragd_wrong"}`)
	visitor.want(t, http.StatusUnauthorized, "POST", "/console/session", `{"key":""}`)
	visitor.want(t, http.StatusUnauthorized, "POST", whoAmI, "{}")

	b := signIn(t, s, key)
	if c := b.cookie; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Secure || c.Domain != "" || c.MaxAge != 12*60*60 {
		t.Errorf("cookie %+v", c)
	}
	if answer := b.want(t, http.StatusOK, "GET", "/console/session", ""); !strings.Contains(answer, `"signedIn":true`) {
		t.Errorf("a browser with a session: %s", answer)
	}
	if answer := b.want(t, http.StatusOK, "POST", whoAmI, "{}"); !strings.Contains(answer, `"harbour"`) {
		t.Errorf("WhoAmI: %s", answer)
	}
	cookie := b.cookie
	b.want(t, http.StatusNoContent, "DELETE", "/console/session", "")
	if b.cookie != nil {
		t.Error("signing out left the cookie")
	}
	b.cookie = cookie
	b.want(t, http.StatusUnauthorized, "POST", whoAmI, "{}")
	for _, secret := range []string{key, cookie.Value} {
		if strings.Contains(log.String(), secret) {
			t.Error("the log holds a secret")
		}
	}
}

func TestTheCookieCountsForTheOwnPageAlone(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "harbour")
	b := signIn(t, s, s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "harbour"}))
	own := s.URL
	for name, headers := range map[string][]string{
		"another site":                 {"Sec-Fetch-Site", "cross-site"},
		"another port of this machine": {"Sec-Fetch-Site", "same-site"},
		"another host of the domain":   {"Sec-Fetch-Site", "same-site", "Origin", "http://127.0.0.1:1"},
		"typed by the user":            {"Sec-Fetch-Site", "none"},
		"no sign of the page":          {"Sec-Fetch-Site", ""},
		"another origin":               {"Sec-Fetch-Site", "", "Origin", "http://127.0.0.1:1"},
		"the origin with https":        {"Sec-Fetch-Site", "", "Origin", strings.Replace(own, "http://", "https://", 1)},
		"both, one foreign":            {"Origin", "http://localhost:1"},
	} {
		if res, answer := b.send(t, "POST", whoAmI, "{}", headers...); res.status != http.StatusUnauthorized && res.status != http.StatusForbidden {
			t.Errorf("%s: status %d: %s", name, res.status, answer)
		}
		if res, _ := b.send(t, "DELETE", "/console/session", "", headers...); res.status != http.StatusForbidden {
			t.Errorf("%s signs out: status %d", name, res.status)
		}
		if res, _ := (&browser{s: s}).send(t, "POST", "/console/session", `{"key":"ragd_a"}`, headers...); res.status != http.StatusForbidden {
			t.Errorf("%s signs in: status %d", name, res.status)
		}
	}
	b.want(t, http.StatusOK, "POST", whoAmI, "{}", "Sec-Fetch-Site", "", "Origin", own)
	b.want(t, http.StatusUnauthorized, "POST", whoAmI, "{}", "Authorization", "Bearer ragd_wrong")
	if res, _ := b.send(t, "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Accept", "application/json, text/event-stream"); res.status != http.StatusUnauthorized {
		t.Errorf("MCP takes the cookie: status %d", res.status)
	}
}

func TestARevokedKeyEndsItsSessions(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "harbour")
	created, err := s.Operator().CreateApiKey(t.Context(), &ragdv1.CreateApiKeyRequest{TenantId: "harbour"})
	if err != nil {
		t.Fatal(err)
	}
	b := signIn(t, s, created.GetSecret())
	if _, err := s.Operator().RevokeApiKey(t.Context(), &ragdv1.RevokeApiKeyRequest{ApiKeyId: created.GetApiKey().GetApiKeyId()}); err != nil {
		t.Fatal(err)
	}
	b.want(t, http.StatusUnauthorized, "POST", whoAmI, "{}")
	if answer := b.want(t, http.StatusOK, "GET", "/console/session", ""); !strings.Contains(answer, `"signedIn":false`) {
		t.Errorf("session of a revoked key: %s", answer)
	}
}

func TestALinkSignsInOnce(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "harbour")
	key := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "harbour"})
	program := &browser{s: s}
	program.want(t, http.StatusUnauthorized, "POST", "/console/links", "", "Sec-Fetch-Site", "")
	program.want(t, http.StatusForbidden, "POST", "/console/links", "", "Authorization", "Bearer "+key)
	var made struct{ Link string }
	if err := json.Unmarshal([]byte(program.want(t, http.StatusOK, "POST", "/console/links", "", "Sec-Fetch-Site", "", "Authorization", "Bearer "+key)), &made); err != nil || made.Link == "" {
		t.Fatalf("link %q, %v", made.Link, err)
	}
	b := &browser{s: s}
	b.want(t, http.StatusMethodNotAllowed, "GET", "/console/links/redeem", "")
	asCookie := &browser{s: s, cookie: &http.Cookie{Name: "ragd_session", Value: made.Link}}
	asCookie.want(t, http.StatusUnauthorized, "POST", whoAmI, "{}")

	outcomes := make(chan int, 8)
	for range cap(outcomes) {
		go func() {
			visitor := &browser{s: s}
			res, _ := visitor.send(t, "POST", "/console/links/redeem", `{"link":"`+made.Link+`"}`)
			outcomes <- res.status
		}()
	}
	signedIn := 0
	for range cap(outcomes) {
		if status := <-outcomes; status == http.StatusNoContent {
			signedIn++
		} else if status != http.StatusUnauthorized {
			t.Errorf("status %d", status)
		}
	}
	if signedIn != 1 {
		t.Errorf("the link signed in %d times", signedIn)
	}
}

func TestThePageIsServedWithItsPolicy(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	b := &browser{s: s}
	for _, path := range []string{"/", "/indexes/docs", "/sign-in"} {
		res, page := b.send(t, "GET", path, "", "Accept", "text/html,*/*;q=0.8", "Sec-Fetch-Site", "none")
		policy := res.header.Get("Content-Security-Policy")
		if res.status != http.StatusOK || !strings.Contains(page, `id="root"`) || !strings.Contains(policy, "script-src 'self';") || strings.Contains(policy, "unsafe") || res.header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: status %d, %v", path, res.status, res.header)
		}
		if strings.Contains(page, "<style") || strings.Contains(page, "http://") || strings.Contains(page, "https://") {
			t.Errorf("the page has styles of its own or refers to other hosts: %s", page)
		}
	}
	_, page := b.send(t, "GET", "/", "")
	_, rest, _ := strings.Cut(page, `src="`)
	script, _, _ := strings.Cut(rest, `"`)
	res, zipped := b.send(t, "GET", script, "", "Accept-Encoding", "gzip")
	unzip, err := gzip.NewReader(strings.NewReader(zipped))
	if err != nil || res.header.Get("Cache-Control") != "public, max-age=31536000, immutable" || !strings.HasPrefix(res.header.Get("Content-Type"), "text/javascript") {
		t.Fatalf("%s: %v, %v", script, res.header, err)
	}
	plain, err := io.ReadAll(unzip)
	if err != nil {
		t.Fatal(err)
	}
	if _, whole := b.send(t, "GET", script, "", "Accept-Encoding", "identity"); whole != string(plain) {
		t.Error("the compressed script is another")
	}
	for _, path := range []string{"/assets/none.js", "/assets/", "/assets/..%2findex.html", "/assets/../../console.go", "/ragd.v1.None/None", "/indexes.txt"} {
		if res, answer := b.send(t, "GET", path, "", "Accept", "text/html"); res.status == http.StatusOK {
			t.Errorf("%s: %s", path, answer)
		}
	}
	b.want(t, http.StatusNotFound, "POST", "/indexes/docs", "{}")
}

func TestTheLicencesOfOthersAreShown(t *testing.T) {
	t.Parallel()
	b := &browser{s: servicetest.New(t, service.Config{NoWorkers: true})}
	res, text := b.send(t, "GET", "/console/licenses", "", "Sec-Fetch-Site", "none", "Accept-Encoding", "identity")
	if res.status != http.StatusOK || text != string(notices.Text) || res.header.Get("Content-Type") != "text/plain; charset=utf-8" || res.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("status %d, %d bytes, %v", res.status, len(text), res.header)
	}
}

func TestTheConsoleCanBeOff(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true, NoConsole: true})
	b := &browser{s: s}
	b.want(t, http.StatusNotFound, "GET", "/", "", "Accept", "text/html")
	b.want(t, http.StatusNotFound, "GET", "/console/session", "")
	b.want(t, http.StatusNotFound, "GET", openapi.PagePath, "", "Accept", "text/html")
	b.want(t, http.StatusOK, "GET", openapi.Path, "")
}
