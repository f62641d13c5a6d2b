package endpoint_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// quick is a client that does not dwell between attempts.
func quick(url string) *endpoint.Client {
	return endpoint.New("the test provider", endpoint.Config{
		BaseURL: url, APIKey: modelserver.Key, MinWait: time.Millisecond, MaxWait: 1500 * time.Millisecond, Timeout: time.Second,
	})
}

func ask(ctx context.Context, c *endpoint.Client) error {
	return c.Do(ctx, "acme", func(ctx context.Context) error {
		var out struct{ Data []any }
		return c.PostJSON(ctx, "/v1/embeddings", map[string]any{"model": "m", "input": []string{"a"}}, &out)
	})
}

func TestDoClassifiesAndRetries(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		fault    modelserver.Fault
		attempts int
		kind     fault.Kind
		public   string // "" for success
		after    time.Duration
	}{
		{"all is well", modelserver.Fault{}, 1, 0, "", 0},
		{"two failures, then well", modelserver.Fault{Status: 503, Times: 2}, 3, 0, "", 0},
		{"limited once, with seconds", modelserver.Fault{Status: 429, RetryAfter: "1", Times: 1}, 2, 0, "", 0},
		{"limited once, with a date", modelserver.Fault{Status: 429, RetryAfter: time.Now().Add(time.Second).UTC().Format(http.TimeFormat), Times: 1}, 2, 0, "", 0},
		{"limited for longer than is worth waiting", modelserver.Fault{Status: 429, RetryAfter: "60"}, 1, fault.Exhausted, "the test provider limits how often it may be called", time.Minute},
		{"limited for ever", modelserver.Fault{Status: 429}, 4, fault.Exhausted, "the test provider limits how often it may be called", 0},
		{"no quota", modelserver.Fault{Status: 429, Code: "insufficient_quota"}, 1, fault.Exhausted, "the test provider has no quota left", 0},
		{"failing for ever", modelserver.Fault{Status: 500}, 4, fault.Unavailable, "the test provider is failing", 0},
		{"key refused", modelserver.Fault{Status: 401}, 1, fault.Precondition, "the test provider refused its API key", 0},
		{"key not allowed", modelserver.Fault{Status: 403}, 1, fault.Precondition, "the test provider refused its API key", 0},
		{"no such model", modelserver.Fault{Status: 404}, 1, fault.Precondition, "the test provider does not have this model, or not at this address", 0},
		{"request refused", modelserver.Fault{Status: 400}, 1, fault.Invalid, "the test provider refused the request", 0},
		{"silent", modelserver.Fault{Hang: true}, 4, fault.Unavailable, "the test provider did not answer within 1s", 0},
		{"silent once", modelserver.Fault{Hang: true, Times: 1}, 2, 0, "", 0},
		{"half an answer", modelserver.Fault{Half: true}, 4, fault.Unavailable, "the test provider broke off in the middle of its answer", 0},
		{"not JSON", modelserver.Fault{Body: "<html>"}, 2, fault.Unavailable, "the test provider gave an answer that makes no sense", 0},
		{"moved", modelserver.Fault{Status: 308}, 1, fault.Precondition, "the test provider does not have this model, or not at this address", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ai := modelserver.New(t)
			ai.Set(tc.fault)
			err := ask(t.Context(), quick(ai.URL))
			if n := len(ai.Requests()); n != tc.attempts {
				t.Errorf("%d attempts, want %d", n, tc.attempts)
			}
			if tc.public == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if fault.KindOf(err) != tc.kind || fault.Public(err) != tc.public {
				t.Errorf("%v: %q", fault.KindOf(err), fault.Public(err))
			}
			var e *fault.Error
			if errors.As(err, &e); e.RetryAfter != tc.after {
				t.Errorf("retry after %v, want %v", e.RetryAfter, tc.after)
			}
		})
	}
}

func TestDoWaitsAsLongAsItIsTold(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	ai.Set(modelserver.Fault{Status: 429, RetryAfter: "0.2", Times: 1})
	start := time.Now()
	if err := ask(t.Context(), quick(ai.URL)); err != nil {
		t.Fatal(err)
	}
	if waited := time.Since(start); waited < 200*time.Millisecond {
		t.Errorf("came back after %v, was told 200ms", waited)
	}
}

func TestDoReturnsAtOnceWhenTheWaitIsLongerThanTheCallerHas(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	ai.Set(modelserver.Fault{Status: 429, RetryAfter: "120"})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := ask(ctx, endpoint.New("the test provider", endpoint.Config{BaseURL: ai.URL, MinWait: time.Millisecond, MaxWait: time.Hour}))
	if ctx.Err() != nil || fault.KindOf(err) != fault.Exhausted {
		t.Errorf("%v, context %v", err, ctx.Err())
	}
}

func TestDoEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	ai.Set(modelserver.Fault{Hang: true})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(30*time.Millisecond, cancel)
	if err := ask(ctx, quick(ai.URL)); fault.KindOf(err) != fault.Canceled {
		t.Error(err)
	}
}

func TestDoBoundsCallsOfAllAndOfEachTenant(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	ai.Set(modelserver.Fault{Delay: 10 * time.Millisecond})
	c := endpoint.New("p", endpoint.Config{BaseURL: ai.URL, MaxConcurrent: 6, MaxConcurrentPerTenant: 2})
	var (
		mu   sync.Mutex
		now  = map[string]int{}
		most int
	)
	var group sync.WaitGroup
	for i := range 40 {
		tenant := []string{"a", "a", "a", "b"}[i%4]
		group.Go(func() {
			err := c.Do(t.Context(), tenant, func(ctx context.Context) error {
				mu.Lock()
				now[tenant]++
				most = max(most, now[tenant])
				mu.Unlock()
				defer func() { mu.Lock(); now[tenant]--; mu.Unlock() }()
				return c.PostJSON(ctx, "/rerank", map[string]any{"query": "q", "texts": []string{"t"}}, new(any))
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if most != 2 || ai.Peak() != 4 {
		t.Errorf("%d calls of one tenant at once and %d of all, want 2 and 4", most, ai.Peak())
	}
}

func TestAWaitingCallLeavesWithItsContext(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	c := endpoint.New("p", endpoint.Config{BaseURL: ai.URL, MaxConcurrent: 1})
	entered, release := make(chan struct{}), make(chan struct{})
	go func() {
		_ = c.Do(context.Background(), "a", func(context.Context) error { close(entered); <-release; return nil })
	}()
	<-entered
	for _, tenant := range []string{"a", "b"} { // behind the tenant's own bound, and behind that of all
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := ask2(ctx, c, tenant); fault.KindOf(err) != fault.Deadline {
			t.Errorf("%s: %v", tenant, err)
		}
		cancel()
	}
	close(release)
	if err := ask2(t.Context(), c, "b"); err != nil {
		t.Error(err)
	}
}

func ask2(ctx context.Context, c *endpoint.Client, tenant string) error {
	return c.Do(ctx, tenant, func(context.Context) error { return nil })
}

func TestErrorsHoldNoSecrets(t *testing.T) {
	t.Parallel()
	const key = "sk-wrong-but-secret"
	ai := modelserver.New(t)
	for _, tc := range []struct {
		name, base string
		fault      modelserver.Fault
	}{
		{"a refused key", ai.URL, modelserver.Fault{}},
		{"an address that does not answer", "http://user:" + key + "@127.0.0.1:1", modelserver.Fault{}},
		{"an address that does not parse", "http://user:" + key + "@:bad/", modelserver.Fault{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := endpoint.New("p", endpoint.Config{BaseURL: tc.base, APIKey: key, MaxAttempts: 1})
			err := ask(t.Context(), c)
			if err == nil {
				t.Fatal("no error")
			}
			if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, key) {
				t.Errorf("the error shows the key: %s", text)
			}
		})
	}
}

// An endpoint with settings says which of them to look at.
func TestErrorsNameTheAddressTheCauseAndTheSetting(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	client := func(base string) *endpoint.Client {
		return endpoint.New("the provider", endpoint.Config{BaseURL: base, APIKey: modelserver.Key, Setting: "openai", MaxAttempts: 1})
	}
	const look = "; the operator of this server should check the setting openai-"
	for _, tc := range []struct {
		name, base string
		status     int
		want       string
	}{
		{"nothing listens", "http://user:secret@127.0.0.1:1/v1?key=secret", 0, "the provider cannot be reached at http://127.0.0.1:1: the connection was refused, so that nothing listens there" + look + "base-url"},
		{"an unknown host", "http://models.invalid/v1", 0, "the provider cannot be reached at http://models.invalid: the host name is not known" + look + "base-url"},
		{"TLS to a server without", strings.Replace(ai.URL, "http:", "https:", 1), 0, "the server there does not speak TLS: the address must begin with http:// instead of https://" + look + "base-url"},
		{"a refused key", ai.URL, 401, "the provider refused its API key" + look + "api-key"},
		{"an unknown model", ai.URL, 404, "the provider does not have this model, or not at this address" + look + "base-url"},
		{"a limited rate", ai.URL, 429, "the provider limits how often it may be called; try again later, or the operator of this server lowers the setting provider-calls"},
	} {
		ai.Set(modelserver.Fault{Status: tc.status})
		if got := fault.Public(ask(t.Context(), client(tc.base))); !strings.HasSuffix(got, tc.want) || strings.Contains(got, "secret") {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestErrorsTellTheOperatorWhatTheProviderSaid(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"error":{"code":"context_length","message":"too long"}}`: "status 400 context_length: too long",
		`{"error":{"type":"bad","code":7,"message":"no"}}`:         "status 400 bad: no",
		`{"error":"batch too big"}`:                                "status 400: batch too big",
		`{"message":"nope"}`:                                       "status 400: nope",
		`{"detail":"nope"}`:                                        "status 400: nope",
		`{"error":"my key is ` + modelserver.Key + `"}`:            "status 400: my key is [key]",
		`<html>`: "status 400",
		``:       "status 400",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			server := modelserver.Static(t, http.StatusBadRequest, body)
			var status *endpoint.StatusError
			if err := ask(t.Context(), quick(server)); !errors.As(err, &status) || status.Error() != want {
				t.Errorf("%v, want %q", status, want)
			}
		})
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := modelserver.New(t)
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/v1/embeddings", http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	err := ask(t.Context(), quick(server.URL))
	if fault.KindOf(err) != fault.Precondition || len(elsewhere.Requests()) != 0 {
		t.Errorf("%v, and %d requests elsewhere", err, len(elsewhere.Requests()))
	}
}

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	for base, ok := range map[string]bool{
		"": true, "http://localhost:11434/v1": true, "https://api.openai.com/v1": true,
		"localhost:11434": false, "ftp://x": false, "http://": false, "http://a b": false,
	} {
		if err := (endpoint.Config{BaseURL: base}).Validate(); (err == nil) != ok {
			t.Errorf("%q: %v", base, err)
		}
	}
}

func TestNoGoroutineStaysBehind(t *testing.T) {
	ai := modelserver.New(t)
	ai.Set(modelserver.Fault{Hang: true})
	c := quick(ai.URL)
	ai.NoLeaks(t, func() {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		var group sync.WaitGroup
		for range 30 {
			group.Go(func() { _ = ask(ctx, c) })
		}
		group.Wait()
	})
}

// One tenant fills its quota with calls that are not answered until another tenant's have
// been: with the defaults these do not wait.
func TestSlowCallsOfOneTenantDoNotDelayAnother(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	release := make(chan struct{})
	ai.Score = func(query, _ string) float64 {
		if query == "slow" {
			<-release
		}
		return 1
	}
	c := endpoint.New("p", endpoint.Config{BaseURL: ai.URL})
	call := func(tenant, query string) error {
		return c.Do(t.Context(), tenant, func(ctx context.Context) error {
			return c.PostJSON(ctx, "/rerank", map[string]any{"query": query, "texts": []string{"t"}}, new(any))
		})
	}
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {
			if err := call("acme", "slow"); err != nil {
				t.Error(err)
			}
		})
	}
	wait.For(t, "16 requests at once", func() bool { return ai.Peak() >= 16 })
	for range 50 {
		if err := call("bolt", "quick"); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(ai.Requests()); n != 16+50 {
		t.Errorf("%d requests arrived, want the 16 slow ones that one tenant may have, and 50", n)
	}
	close(release)
	group.Wait()
}

// guarded returns the configuration of a tenant's endpoint at this address of this machine.
func guarded(t *testing.T, url string, allowed ...string) endpoint.Config {
	t.Helper()
	guard, err := outbound.New(allowed)
	if err != nil {
		t.Fatal(err)
	}
	return endpoint.Config{BaseURL: url, APIKey: modelserver.Key, MinWait: time.Millisecond, MaxAttempts: 1, Timeout: 5 * time.Second, Guard: guard}
}

// Only an endpoint of the tenant's own tells callers why it refuses a request, without its key.
func TestAnEndpointOfATenantSaysWhyItRefuses(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error": {"message": "m has no tools\n(key %s)"}}`, modelserver.Key)
	}))
	t.Cleanup(server.Close)
	own := guarded(t, server.URL, "127.0.0.1")
	operators := own
	operators.Guard = nil
	for want, config := range map[string]endpoint.Config{
		"the test provider refused the request: m has no tools (key [key])": own,
		"the test provider refused the request":                             operators,
	} {
		err := ask(t.Context(), endpoint.New("the test provider", config))
		if fault.KindOf(err) != fault.Invalid || fault.Public(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestAnEndpointOfATenantCannotBeInsideTheNetwork(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	for _, address := range []string{ai.URL, strings.Replace(ai.URL, "127.0.0.1", "localhost", 1), strings.Replace(ai.URL, "127.0.0.1", "2130706433", 1), strings.Replace(ai.URL, "127.0.0.1", "[::ffff:7f00:1]", 1)} {
		err := ask(t.Context(), endpoint.New("mine", guarded(t, address)))
		if err == nil || len(ai.Requests()) != 0 {
			t.Fatalf("%s was called: %v", address, err)
		}
		if strings.Contains(fault.Public(err), "127.0.0.1") {
			t.Errorf("the error shows what the name resolves to: %v", err)
		}
	}
	err := ask(t.Context(), endpoint.New("mine", guarded(t, ai.URL)))
	if fault.KindOf(err) != fault.Precondition || !strings.Contains(fault.Public(err), "mine cannot be called") || !strings.Contains(fault.Public(err), outbound.Setting) {
		t.Errorf("the error is %v", err)
	}
	if err := ask(t.Context(), endpoint.New("mine", guarded(t, ai.URL, "127.0.0.0/8"))); err != nil {
		t.Errorf("an allowed network: %v", err)
	}
}

func TestCallsToATenantsFailingEndpointFailAtOnce(t *testing.T) {
	t.Parallel()
	broken, well := modelserver.New(t), modelserver.New(t)
	broken.Set(modelserver.Fault{Status: 500})
	c, other := endpoint.New("mine", guarded(t, broken.URL, "127.0.0.1")), endpoint.New("other", guarded(t, well.URL, "127.0.0.1"))
	begun := time.Now()
	for range 20 {
		err := ask(t.Context(), c)
		var e *fault.Error
		if fault.KindOf(err) != fault.Unavailable || !errors.As(err, &e) {
			t.Fatalf("the error is %v", err)
		}
		if err := ask(t.Context(), other); err != nil {
			t.Fatalf("another endpoint: %v", err)
		}
	}
	if n, seconds := len(broken.Requests()), int(time.Since(begun).Seconds()); n < 5 || n > 6+seconds {
		t.Errorf("the broken endpoint was called %d times in %d s, want 5, and one for each second since", n, seconds)
	}
	broken.Set(modelserver.Fault{})
	wait.For(t, "a call to the endpoint, which is well again", func() bool { return ask(t.Context(), c) == nil })
	if err := ask(t.Context(), c); err != nil {
		t.Errorf("after a success: %v", err)
	}
}

// A request that the endpoint refuses is the caller's mistake.
func TestRefusedRequestsDoNotCountAsFailures(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	ai.Set(modelserver.Fault{Status: 400})
	c := endpoint.New("mine", guarded(t, ai.URL, "127.0.0.1"))
	for range 20 {
		_ = ask(t.Context(), c)
	}
	if n := len(ai.Requests()); n != 20 {
		t.Errorf("%d of 20 requests arrived", n)
	}
}

func TestTheRateOfRequestsIsBoundedOverAllUses(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	config := guarded(t, ai.URL, "127.0.0.1")
	config.RequestsPerSecond = 0.001
	e := endpoint.NewEndpoint("mine", endpoint.TEI, config)
	if err := ask(t.Context(), e.Client(endpoint.Embed)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := ask(ctx, e.Quick(endpoint.Rerank)); err == nil || len(ai.Requests()) != 1 {
		t.Errorf("%v after %d requests", err, len(ai.Requests()))
	}
}

// A key that an error body repeats is removed before the body is cut to the length of a log.
func TestKeysAndHeadersAreRemovedFromLongMessages(t *testing.T) {
	t.Parallel()
	for shift := range 40 {
		server := modelserver.Static(t, http.StatusBadRequest, `{"error":"`+strings.Repeat("x", 270+shift)+modelserver.Key+` and hdr-secret"}`)
		config := endpoint.Config{BaseURL: server, APIKey: modelserver.Key, Headers: map[string]string{"X-Key": "hdr-secret"}, MaxAttempts: 1}
		if err := ask(t.Context(), endpoint.New("p", config)); strings.Contains(err.Error(), modelserver.Key[:8]) || strings.Contains(err.Error(), "hdr-") {
			t.Fatalf("the error shows a secret: %v", err)
		}
	}
}

func TestEachKindListsItsModels(t *testing.T) {
	t.Parallel()
	for kind, want := range map[endpoint.Kind]string{
		endpoint.OpenAI: "m-embed m-chat", endpoint.Cohere: "m-embed m-chat", endpoint.Ollama: "m-embed m-chat", endpoint.Gemini: "m-embed m-chat", endpoint.TEI: "m-embed",
		endpoint.Voyage: "", endpoint.Jina: "",
	} {
		ai := modelserver.New(t)
		base := ai.URL
		if kind == endpoint.OpenAI {
			base += "/v1"
		}
		names, err := endpoint.NewEndpoint("e", kind, endpoint.Config{BaseURL: base, APIKey: modelserver.Key}).ListModels(t.Context(), "acme")
		if want == "" && fault.KindOf(err) == fault.Invalid {
			continue
		}
		if err != nil || strings.Join(names, " ") != want {
			t.Errorf("%s: %q, %v", kind, names, err)
		}
	}
}

// A tenant's own endpoint has precedence over the operator's: its documents go where it said.
func TestATenantsOwnEndpointIsFoundFirst(t *testing.T) {
	t.Parallel()
	mine := endpoint.NewEndpoint("openai", endpoint.TEI, endpoint.Config{BaseURL: "https://mine.example.com"})
	own := func(_ context.Context, tenant, name string) (*endpoint.Endpoint, error) {
		if tenant == "acme" && name == "openai" {
			return mine, nil
		}
		return nil, nil
	}
	operators := endpoint.NewEndpoint("openai", endpoint.OpenAI, endpoint.Config{APIKey: "k"})
	d := endpoint.NewDirectory(own, operators)
	for tenant, want := range map[string]*endpoint.Endpoint{"acme": mine, "bolt": operators, "": operators} {
		target, err := d.Resolve(t.Context(), endpoint.Query{Tenant: tenant, Field: "model", Name: "openai/m", Use: endpoint.Embed})
		if err != nil || target.Endpoint != want || target.Model != "m" {
			t.Errorf("%q: %v, %v", tenant, target, err)
		}
	}
}

// A base URL may end with a version, which then replaces that of the path.
func TestVersionsInTheBaseURL(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"", "/", "/v1", "/v1/"} {
		ai := modelserver.New(t)
		client := endpoint.NewEndpoint("e", endpoint.Jina, endpoint.Config{BaseURL: ai.URL + suffix}).Client(endpoint.Rerank)
		err := client.Do(t.Context(), "acme", func(ctx context.Context) error {
			return client.PostJSON(ctx, "/v1/rerank", map[string]any{"query": "q", "documents": []string{"d"}}, new(any))
		})
		if err != nil {
			t.Errorf("%q: %v", suffix, err)
		}
	}
}
