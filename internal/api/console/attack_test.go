package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/api/console"
	"github.com/ragdhq/ragd/internal/api/rpc"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// statuses sends a request many times at once and counts the answers by status.
func statuses(t *testing.T, n int, send func() answer) map[int][]answer {
	t.Helper()
	var mu sync.Mutex
	found := map[int][]answer{}
	var sent sync.WaitGroup
	for range n {
		sent.Go(func() {
			res := send()
			mu.Lock()
			defer mu.Unlock()
			found[res.status] = append(found[res.status], res)
		})
	}
	sent.Wait()
	return found
}

func TestFailingSignInsAreLimited(t *testing.T) {
	t.Parallel()
	for name, try := range map[string]func(*testing.T, *browser) answer{
		"keys": func(t *testing.T, b *browser) answer {
			res, _ := b.send(t, "POST", "/console/session", `{"key":"ragd_wrong"}`)
			return res
		},
		"links": func(t *testing.T, b *browser) answer {
			res, _ := b.send(t, "POST", "/console/links/redeem", `{"link":"wrong"}`)
			return res
		},
		"keys of programs": func(t *testing.T, b *browser) answer {
			res, _ := b.send(t, "POST", "/console/links", "", "Sec-Fetch-Site", "", "Authorization", "Bearer ragd_wrong")
			return res
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servicetest.New(t, service.Config{NoWorkers: true})
			s.Tenant(t, "harbour")
			key := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "harbour"})
			for range 3 * console.MaxFailures {
				signIn(t, s, key) // does not count
			}
			found := statuses(t, 4*console.MaxFailures, func() answer { return try(t, &browser{s: s}) })
			if len(found[http.StatusUnauthorized]) < console.MaxFailures || len(found[http.StatusTooManyRequests]) == 0 || len(found) > 2 {
				t.Fatalf("%d refused, %d told to wait, of %d", len(found[http.StatusUnauthorized]), len(found[http.StatusTooManyRequests]), 4*console.MaxFailures)
			}
			if after := found[http.StatusTooManyRequests][0].header.Get("Retry-After"); after == "" || after == "0" {
				t.Errorf("Retry-After is %q", after)
			}
			(&browser{s: s}).want(t, http.StatusUnauthorized, "POST", whoAmI, "{}") // calls of the API are not concerned
		})
	}
}

func TestLogInsThatAreBegunAreLimited(t *testing.T) {
	t.Parallel()
	s := loginService(t, newAuthorizationServer(t))
	found := statuses(t, 2*console.MaxLogins, func() answer { return follow(t, s, s.URL+"/console/oauth/start", map[string]*http.Cookie{}) })
	if len(found[http.StatusFound]) < console.MaxLogins || len(found[http.StatusTooManyRequests]) == 0 {
		t.Errorf("%d begun, %d told to wait", len(found[http.StatusFound]), len(found[http.StatusTooManyRequests]))
	}
}

func TestALogInStoresNoLongPath(t *testing.T) {
	t.Parallel()
	s := loginService(t, newAuthorizationServer(t))
	if _, res := logIn(t, s, "/"+strings.Repeat("a", 30_000)); res.header.Get("Location") != "/" {
		t.Errorf("a path of 30,000 bytes leads to one of %d", len(res.header.Get("Location")))
	}
}

// A host below the same domain can set cookies for the whole domain, but none with the prefix.
func TestALogInTakesNoCookieOfAnotherHost(t *testing.T) {
	t.Parallel()
	s := loginService(t, newAuthorizationServer(t))
	attacker := map[string]*http.Cookie{}
	begun := follow(t, s, s.URL+"/console/oauth/start", attacker)
	back := follow(t, s, begun.header.Get("Location"), attacker).header.Get("Location")
	for name, c := range attacker {
		if !strings.HasPrefix(name, "__Host-") || !c.Secure || !c.HttpOnly || c.Path != "/" || c.Domain != "" {
			t.Errorf("cookie %v", c)
		}
		victim := map[string]*http.Cookie{"x": {Name: strings.TrimPrefix(name, "__Host-"), Value: c.Value}}
		if res := follow(t, s, back, victim); !refused(res) {
			t.Errorf("the victim is signed in as the attacker: status %d", res.status)
		}
		twice := map[string]*http.Cookie{"x": {Name: name, Value: c.Value}, "y": {Name: name, Value: "other"}}
		if res := follow(t, s, back, twice); !refused(res) {
			t.Errorf("one of two cookies is taken: status %d", res.status)
		}
	}
}

func TestAnAnswerOfAnotherIssuerIsRefused(t *testing.T) {
	t.Parallel()
	at := newAuthorizationServer(t)
	s := loginService(t, at)
	for issuer, want := range map[string]bool{at.URL: true, "https://evil.example": false} {
		jar := map[string]*http.Cookie{}
		begun := follow(t, s, s.URL+"/console/oauth/start", jar)
		back := follow(t, s, begun.header.Get("Location"), jar).header.Get("Location")
		if res := follow(t, s, back+"&iss="+url.QueryEscape(issuer), jar); refused(res) == want {
			t.Errorf("the answer of %s: status %d to %q", issuer, res.status, res.header.Get("Location"))
		}
	}
}

func TestAnIssuerWithHostileMetadataIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]map[string]string{
		"a script":        {"authorization_endpoint": "javascript:alert(1)"},
		"a relative path": {"authorization_endpoint": "/authorize"},
		"a file":          {"token_endpoint": "file:///etc/passwd"},
		"no host":         {"token_endpoint": "https:token"},
		"another issuer":  {"issuer": "https://evil.example"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			issuer := httptest.NewUnstartedServer(nil)
			t.Cleanup(issuer.Close)
			address := "http://" + issuer.Listener.Addr().String()
			said := map[string]string{"issuer": address, "authorization_endpoint": address + "/a", "token_endpoint": address + "/t"}
			maps.Copy(said, change)
			issuer.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(said) })
			issuer.Start()
			b := &browser{s: servicetest.New(t, service.Config{NoWorkers: true, ConsoleLogin: &console.Login{Issuer: issuer.URL, ClientID: "console"}})}
			b.want(t, http.StatusServiceUnavailable, "GET", "/console/oauth/start", "")
		})
	}
}

// hooked calls functions around the statements of sessions.
type hooked struct {
	*pgxpool.Pool
	beforeDelete, afterRead func()
}

func (h *hooked) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if h.beforeDelete != nil && strings.HasPrefix(sql, "DELETE") {
		h.beforeDelete()
	}
	return h.Pool.Exec(ctx, sql, args...)
}

func (h *hooked) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return hookedRow{h.Pool.QueryRow(ctx, sql, args...), h}
}

type hookedRow struct {
	pgx.Row
	h *hooked
}

func (r hookedRow) Scan(to ...any) error {
	err := r.Row.Scan(to...)
	if after := r.h.afterRead; after != nil {
		r.h.afterRead = nil
		after()
	}
	return err
}

// Calls that arrive while a browser signs out must not keep its session in memory.
func TestSigningOutEndsTheSessionAtOnce(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	for name, during := range map[string]func(h *hooked, call, signOut func()){
		"a call before the row is deleted": func(h *hooked, call, signOut func()) { h.beforeDelete = call; signOut() },
		"a call that has read the row":     func(h *hooked, call, signOut func()) { h.afterRead = signOut; call() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := &hooked{Pool: s.ServicePool}
			web := console.New(console.Config{Database: database, Refuse: rpc.Refuse(), Authenticate: func(context.Context, string) error { return nil }})
			var passed atomic.Int64
			api := web.Authorize(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "" {
					passed.Add(1)
				}
			}))
			var secret *http.Cookie
			send := func(to http.Handler, method, path, body string) []*http.Cookie {
				req := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
				req.Header.Set("Sec-Fetch-Site", "same-origin")
				req.Header.Set("Content-Type", "application/json")
				if secret != nil {
					req.AddCookie(secret)
				}
				w := httptest.NewRecorder()
				to.ServeHTTP(w, req)
				res := w.Result()
				_ = res.Body.Close() // of a recorder
				return res.Cookies()
			}
			secret = send(web, "POST", "/console/session", `{"key":"k"}`)[0]
			during(database, func() { send(api, "POST", whoAmI, "{}") }, func() { send(web, "DELETE", "/console/session", "") })
			passed.Store(0)
			send(api, "POST", whoAmI, "{}")
			if passed.Load() != 0 {
				t.Error("the session is used after signing out")
			}
		})
	}
}

func TestAnswersToASessionAreNotCached(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "harbour")
	b := signIn(t, s, s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "harbour"}))
	res, _ := b.send(t, "POST", whoAmI, "{}")
	if res.status != http.StatusOK || res.header.Get("Cache-Control") != "no-store" {
		t.Errorf("status %d, %v", res.status, res.header)
	}
}

// A session's cookie adds the credential and nothing else: tenant and scopes stay those of the key.
func TestASessionHasNoMoreRightsThanItsKey(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "harbour")
	s.Tenant(t, "bolt")
	b := signIn(t, s, s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "harbour", Scopes: []string{"read"}}))
	b.want(t, http.StatusForbidden, "POST", whoAmI, "{}", "Ragd-Tenant", "bolt")
	b.want(t, http.StatusForbidden, "POST", "/ragd.v1.TenantService/CreateApiKey", "{}")
	b.want(t, http.StatusForbidden, "POST", "/ragd.v1.TenantService/ListTenants", "{}")
	for _, path := range []string{"/ragd.v1.TenantService/../console/session", "/ragd.v1.x/../mcp", "/ragd.v1.x/%2e%2e/mcp", "//ragd.v1.TenantService/WhoAmI"} {
		if res, answer := b.send(t, "POST", path, "{}"); res.status == http.StatusOK || strings.Contains(answer, "harbour") {
			t.Errorf("%s: status %d: %s", path, res.status, answer)
		}
	}
	b.want(t, http.StatusUnauthorized, "GET", whoAmI+"?encoding=json&message=%7B%7D&connect=v1", "", "Sec-Fetch-Site", "cross-site", "Content-Type", "")
	for _, contentType := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""} {
		if res, _ := (&browser{s: s}).send(t, "POST", "/console/session", `{"key":"ragd_a"}`, "Content-Type", contentType); res.status != http.StatusBadRequest {
			t.Errorf("a sign-in of type %q: status %d", contentType, res.status)
		}
	}
	if res, _ := b.send(t, "POST", "/console/session", `{"key":"`+strings.Repeat("a", 1<<20)+`"}`); res.status != http.StatusBadRequest {
		t.Errorf("a body of 1 MiB: status %d", res.status)
	}
}

// While the authorization server hangs, sessions that need a new token must not take the
// connections to the database from everybody else.
func TestAHangingIssuerTakesNoConnections(t *testing.T) {
	t.Parallel()
	at := newAuthorizationServer(t)
	at.life = 30 * time.Second // renewed at once
	s := loginService(t, at)
	jar, _ := logIn(t, s, "/")
	other := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "harbour"})
	asked, hang := make(chan struct{}, 100), make(chan struct{})
	var gaveUp atomic.Bool
	at.mu.Lock()
	at.beforeToken = func(r *http.Request) {
		asked <- struct{}{}
		select {
		case <-hang:
		case <-r.Context().Done():
			gaveUp.Store(true)
		}
	}
	at.mu.Unlock()
	most := int(s.ServicePool.Config().MaxConns)
	ctx, stop := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	var sent atomic.Int64
	trace := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { sent.Add(1) }})
	for range 2 * most {
		calls.Go(func() {
			req, err := http.NewRequestWithContext(trace, http.MethodPost, s.URL+whoAmI, strings.NewReader("{}"))
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Sec-Fetch-Site", "same-origin")
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("X-Forwarded-Proto", "https")
			req.AddCookie(jar["__Host-ragd_session"])
			if res, err := http.DefaultTransport.RoundTrip(req); err == nil {
				_ = res.Body.Close()
			}
		})
	}
	<-asked
	wait.For(t, "all calls to be sent", func() bool { return sent.Load() == int64(2*most) })
	if _, err := s.Client(other).WhoAmI(t.Context(), &ragdv1.WhoAmIRequest{}); err != nil || gaveUp.Load() {
		t.Errorf("a call with a key waited for the authorization server: %v", err)
	}
	stop()
	close(hang)
	calls.Wait()
}

func TestAnIssuerThatIsBusyEndsNoSession(t *testing.T) {
	t.Parallel()
	at := newAuthorizationServer(t)
	at.life = 30 * time.Second
	s := loginService(t, at)
	jar, _ := logIn(t, s, "/")
	refuse := func(status int) {
		at.mu.Lock()
		defer at.mu.Unlock()
		at.refuseWith = status
	}
	b := &browser{s: s, cookie: jar["__Host-ragd_session"]}
	for _, status := range []int{http.StatusTooManyRequests, http.StatusFound, http.StatusBadGateway} {
		refuse(status)
		b.want(t, http.StatusServiceUnavailable, "POST", whoAmI, "{}", "X-Forwarded-Proto", "https")
	}
	refuse(0)
	b.want(t, http.StatusOK, "POST", whoAmI, "{}", "X-Forwarded-Proto", "https")
}

// withCookie sends requests as the page does.
type withCookie struct{ cookie *http.Cookie }

func (c withCookie) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.AddCookie(c.cookie)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return http.DefaultTransport.RoundTrip(r)
}

func TestSigningOutEndsOpenStreams(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes as long as the interval between checks")
	}
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "harbour")
	b := signIn(t, s, s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "harbour"}))
	events, err := ragdv1connect.NewEventServiceClient(&http.Client{Transport: withCookie{b.cookie}}, s.URL).WatchEvents(t.Context(), &ragdv1.WatchEventsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if !events.Receive() {
		t.Fatal(events.Err())
	}
	b.want(t, http.StatusNoContent, "DELETE", "/console/session", "")
	for events.Receive() { // until the server ends it
	}
	servicetest.WantCode(t, "a stream of a session that has ended", events.Err(), connect.CodeUnauthenticated)
}

func TestASlowSignInIsCut(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes as long as a sign-in may take to arrive")
	}
	s := servicetest.New(t, service.Config{NoWorkers: true})
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const length = 100
	if _, err := fmt.Fprintf(conn, "POST /console/session HTTP/1.1\r\nHost: x\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{", length); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil {
			err = res.Body.Close()
		}
		answered <- err
	}()
	for range length - 2 {
		select {
		case err := <-answered:
			if err != nil {
				t.Error(err)
			}
			return
		case <-time.After(time.Second):
			_, _ = conn.Write([]byte(" ")) // fails when the server has closed
		}
	}
	t.Error("the service has waited for the whole body")
}

// A stranger who begins log-ins while the authorization server hangs must not make others wait in
// turn for each of the attempts.
func TestVisitorsDoNotWaitInTurnForAHangingIssuer(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	var asked atomic.Int64
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		select {
		case <-hang:
		case <-r.Context().Done():
		}
		http.Error(w, "overloaded", http.StatusInternalServerError)
	}))
	t.Cleanup(issuer.Close)
	s := servicetest.New(t, service.Config{NoWorkers: true, ConsoleLogin: &console.Login{Issuer: issuer.URL, ClientID: "console"}})
	var waiting sync.WaitGroup
	for range 10 {
		waiting.Go(func() {
			(&browser{s: s}).want(t, http.StatusServiceUnavailable, "GET", "/console/oauth/start", "")
		})
	}
	wait.For(t, "a visitor to ask", func() bool { return asked.Load() > 0 })
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/console/oauth/start", nil)
		if err == nil {
			_, err = http.DefaultTransport.RoundTrip(req) //nolint:bodyclose // it fails
		}
		left <- err
	}()
	leave()
	if err := <-left; err == nil {
		t.Error("a visitor who has left was answered")
	}
	close(hang)
	waiting.Wait()
	if n := asked.Load(); n > 10 {
		t.Errorf("%d visitors asked the authorization server %d times", 11, n)
	}
}
