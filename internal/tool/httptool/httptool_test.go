package httptool_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/automation/webhook"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/secure/identity"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
	"github.com/ragdhq/ragd/internal/tool/httptool"
	"github.com/ragdhq/ragd/internal/tool/remote"
)

// secrets are those of two tenants, with equal names.
type secrets map[tenant.ID]map[string]string

func (s secrets) CheckUse(context.Context, []string, *url.URL) error { return nil }

func (s secrets) Values(_ context.Context, id tenant.ID, names []string, _ *url.URL) (map[string]string, error) {
	found := map[string]string{}
	for _, name := range names {
		value, ok := s[id][name]
		if !ok {
			return nil, fault.New(fault.NotFound, "secret %q not found", name)
		}
		found[name] = value
	}
	return found, nil
}

var signing = webhook.NewSecret()

var stored = secrets{"acme": {"crm": "sk-acme+1/2", "pin": "73519042", "signing": signing.Text()}, "bolt": {"crm": "sk-bolt+1/2"}}

type issuer struct{}

func (issuer) Check() error { return nil }

func (issuer) Token(_ context.Context, c identity.Claims) (string, error) {
	return fmt.Sprintf("%s|%s|%s|%s|%s %s|%v", c.Audience, c.Tenant, c.Subject, c.Tool, c.Method, c.URL, c.Context), nil
}

func runner(t *testing.T, allowed ...string) *httptool.Runner {
	t.Helper()
	guard, err := outbound.New(allowed)
	if err != nil {
		t.Fatal(err)
	}
	return httptool.New(remote.New(remote.Config{Guard: guard, Secrets: stored, Issuer: issuer{}, Version: "test"}))
}

const here = "127.0.0.0/8"

// caller returns a context of a caller of a tenant.
func caller(ctx context.Context, id tenant.ID) context.Context {
	return access.NewContext(ctx, &access.Request{Tenant: id, Principal: access.Principal{Subject: "key1", Tenant: id, Scopes: []access.Scope{access.Read}}})
}

// requestContext is that of all calls.
func requestContext(path string) (any, bool) {
	value, ok := map[string]any{"context.country": "DE", "context.evil": "a\r\nX-Evil: 1", "claims.sub": "u7", "tenant": "acme"}[path]
	return value, ok
}

// call creates a tool of acme with settings in JSON and calls it.
func call(t *testing.T, r *httptool.Runner, settings, arguments string) (httptool.Result, error) {
	t.Helper()
	return callAs(t.Context(), t, r, "acme", settings, arguments)
}

func callAs(ctx context.Context, t *testing.T, r *httptool.Runner, id tenant.ID, settings, arguments string) (httptool.Result, error) {
	t.Helper()
	var decoded map[string]any
	if err := json.Unmarshal([]byte(settings), &decoded); err != nil {
		t.Fatal(err)
	}
	ctx = caller(ctx, id)
	d, err := r.Check(ctx, decoded)
	if err != nil {
		return httptool.Result{}, err
	}
	return r.Call(ctx, d, httptool.Call{Tool: "order", Arguments: json.RawMessage(arguments), Request: requestContext})
}

// seen is a request that an endpoint got.
type seen struct {
	method, uri string
	header      http.Header
	body        string
}

// endpoint records requests and answers by answer, which may be nil.
type endpoint struct {
	*httptest.Server
	mu   sync.Mutex
	seen []seen
}

func newEndpoint(t *testing.T, answer http.HandlerFunc) *endpoint {
	t.Helper()
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e.mu.Lock()
		e.seen = append(e.seen, seen{r.Method, r.RequestURI, r.Header, string(body)})
		e.mu.Unlock()
		if answer != nil {
			answer(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ok":true}`)
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) last(t *testing.T) seen {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.seen) == 0 {
		t.Fatal("no request has arrived")
	}
	return e.seen[len(e.seen)-1]
}

func (e *endpoint) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.seen)
}

func answering(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
}

func TestARequestIsMadeOfArgumentsContextAndSecrets(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, nil)
	got, err := call(t, runner(t, here), `{
		"method": "post", "url": "`+e.URL+`/orders/{{arguments.id}}/items",
		"query": {"country": "{{context.country}}", "tag": "{{arguments.tags}}", "limit": 5, "none": "{{arguments.note}}", "page": "{{context.page ?? 1}}"},
		"headers": {"authorization": "Bearer {{secrets.crm}}", "X-User": "{{claims.sub}}", "X-Note": "note: {{arguments.note}}", "X-Tier": "tier {{context.tier ?? claims.tier ?? \"free\"}}"},
		"body": {"count": "{{arguments.count}}", "text": "{{arguments.count}} of {{arguments.id}}", "note": "{{arguments.note}}", "sort": "{{claims.sort ?? {\"by\": \"id\"}}}", "fixed": [1, null, "{{arguments.note}}"], "all": "{{arguments}}"},
		"inputSchema": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}, "count": {"type": "integer"}, "tags": {"type": "array"}, "note": {"type": "string"}}}
	}`, `{"id": "a b/c?d#e", "count": 12345678901234567890, "tags": ["x&y", "z"]}`)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Structured) != `{"ok":true}` || got.Text != `{"ok":true}` {
		t.Errorf("%s, %q", got.Structured, got.Text)
	}
	s := e.last(t)
	if s.method != "POST" || s.uri != "/orders/a%20b%2Fc%3Fd%23e/items?country=DE&limit=5&page=1&tag=x%26y&tag=z" {
		t.Errorf("%s %s", s.method, s.uri)
	}
	if want := `{"all":{"count":12345678901234567890,"id":"a b/c?d#e","tags":["x\u0026y","z"]},"count":12345678901234567890,"fixed":[1,null],"sort":{"by":"id"},"text":"12345678901234567890 of a b/c?d#e"}`; s.body != want {
		t.Errorf("body %s, want %s", s.body, want)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer sk-acme+1/2", "X-User": "u7", "X-Note": "", "X-Tier": "tier free", "Content-Type": "application/json", "User-Agent": "ragd/test", "Ragd-Depth": "1",
	} {
		if s.header.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, s.header.Get(name), want)
		}
	}
}

func TestArgumentsAndAnswersAreCheckedAgainstTheirSchemas(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, answering("application/json; charset=utf-8", `{"data": {"items": [{"price": "free"}]}}`))
	settings := `{"method": "GET", "url": "` + e.URL + `", "query": {"city": "{{arguments.city}}"},
		"inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}, "response": {"path": "/data/items/0"%s}%s}`
	_, err := call(t, runner(t, here), fmt.Sprintf(settings, "", ""), `{"city": 7}`)
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), "arguments.city: got number, want string") || e.count() != 0 {
		t.Errorf("%v after %d requests", err, e.count())
	}
	got, err := call(t, runner(t, here), fmt.Sprintf(settings, `, "text": "It costs {{result.price}}."`, ""), `{"city": "Ulm"}`)
	if err != nil || string(got.Structured) != `{"price":"free"}` || got.Text != "It costs free." {
		t.Errorf("%s, %q, %v", got.Structured, got.Text, err)
	}
	_, err = call(t, runner(t, here), fmt.Sprintf(settings, "", `, "outputSchema": {"type": "object", "properties": {"price": {"type": "number"}}}`), `{"city": "Ulm"}`)
	if fault.KindOf(err) != fault.Precondition || !strings.Contains(fault.Public(err), "outputSchema: result.price: got string, want number") {
		t.Errorf("%v", err)
	}
}

func TestAnswersOfOtherTypesAreText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ contentType, body, text, structured string }{
		{"text/plain; charset=utf-8", "a\x00b\x1b[31mc\xff\n", "ab[31mc\uFFFD\n", ""},
		{"text/html", "<b>x</b>", "<b>x</b>", ""},
		{"application/problem+json", `[1, 2]`, `{"result":[1,2]}`, `{"result":[1,2]}`},
		{"application/json", `"yes"`, `yes`, `{"result":"yes"}`},
		{"application/json", ``, `done: 200 OK`, ``},
		{"image/png", "PNG", "(an image)", ""},
	} {
		e := newEndpoint(t, answering(c.contentType, c.body))
		got, err := call(t, runner(t, here), `{"method": "GET", "url": "`+e.URL+`"}`, ``)
		if err != nil || got.Text != c.text || string(got.Structured) != c.structured || (got.Content != nil) != strings.HasPrefix(c.contentType, "image") {
			t.Errorf("%s: %q, %s, %v", c.contentType, got.Text, got.Structured, err)
		}
	}
	e := newEndpoint(t, answering("application/octet-stream", "x"))
	if _, err := call(t, runner(t, here), `{"method": "GET", "url": "`+e.URL+`"}`, ``); fault.KindOf(err) != fault.Precondition || !strings.Contains(fault.Public(err), "application/octet-stream") {
		t.Errorf("bytes: %v", err)
	}
}

// A definition must not let a value choose where a request goes, nor show a secret.
func TestDefinitionsThatAreNotSafeAreRefused(t *testing.T) {
	t.Parallel()
	const ok = `"method": "GET", "url": "https://api.example.com/x"`
	for settings, want := range map[string]string{
		`{"method": "GET", "url": "https://{{arguments.host}}/x"}`:                                                    "settings.url: may have placeholders after the host only",
		`{"method": "GET", "url": "https://api.{{arguments.host}}.com/x"}`:                                            "after the host only",
		`{"method": "GET", "url": "https://api.example.com{{arguments.x}}"}`:                                          "after the host only",
		`{"method": "GET", "url": "https://api.example.com:{{arguments.p}}/"}`:                                        "settings.url",
		`{"method": "GET", "url": "{{arguments.scheme}}://api.example.com/x"}`:                                        "settings.url",
		`{"method": "GET", "url": "{{arguments.url}}"}`:                                                               "settings.url",
		`{"method": "GET", "url": "https://{{arguments.u}}@api.example.com/"}`:                                        "settings.url",
		`{"method": "GET", "url": "https://api.example.com/?q={{arguments.q}}"}`:                                      "settings.url: must end with the path",
		`{"method": "GET", "url": "https://api.example.com/{{secrets.crm}}"}`:                                         "settings.url: has {{secrets.crm}}: secrets are sent in headers and bodies only",
		`{"method": "GET", "url": "https://api.example.com/{{arguments.x"}`:                                           "settings.url: has {{ without }}",
		`{"method": "GET", "url": "https://api.example.com/{{env.HOME}}"}`:                                            "begins with one of",
		`{"method": "GET", "url": "http://127.0.0.1/"}`:                                                               "settings", // Precondition
		`{"method": "GET", "url": "http://169.254.169.254/latest/meta-data"}`:                                         "",
		`{"method": "GET", "url": "file:///etc/passwd"}`:                                                              "settings.url",
		`{"method": "TRACE", "url": "https://api.example.com/"}`:                                                      "settings.method",
		`{` + ok + `, "query": {"key": "{{secrets.crm}}"}}`:                                                           "settings.query.key: has {{secrets.crm}}",
		`{` + ok + `, "query": {"{{arguments.x}}": "1"}}`:                                                             "settings.query",
		`{` + ok + `, "headers": {"Host": "evil.com"}}`:                                                               "Host is set by the service",
		`{` + ok + `, "headers": {"transfer-encoding": "chunked"}}`:                                                   "Transfer-Encoding is set by the service",
		`{` + ok + `, "headers": {"ragd-depth": "0"}}`:                                                                "Ragd-Depth is set by the service",
		`{` + ok + `, "headers": {"webhook-signature": "v1,x"}}`:                                                      "Webhook-Signature is set by the service",
		`{` + ok + `, "headers": {"X: a\r\nY": "1"}}`:                                                                 "is not one of HTTP",
		`{` + ok + `, "headers": {"X-A": "a\r\nY: 1"}}`:                                                               "settings.headers.X-A: must be on one line",
		`{` + ok + `, "body": "x"}`:                                                                                   "settings.body: is not sent with GET",
		`{"method": "POST", "url": "https://a.com/", "body": {"{{arguments.x}}": 1}}`:                                 "names of fields",
		`{"method": "POST", "url": "https://a.com/", "contentType": "application/octet-stream", "body": "x"}`:         "settings.contentType",
		`{"method": "POST", "url": "https://a.com/", "contentType": "text/plain", "body": {"a": 1}}`:                  "settings.body: of the content type",
		`{` + ok + `, "inputSchema": {"type": "string"}}`:                                                             "settings.inputSchema",
		`{` + ok + `, "inputSchema": {"type": "object", "$ref": "https://a.com/"}}`:                                   "another document",
		`{` + ok + `, "inputSchema": {"type": "object", "properties": {"a": {}}}, "query": {"b": "{{arguments.b}}"}}`: `inputSchema has no property "b"`,
		`{` + ok + `, "timeoutMs": 600000}`:                                                                           "settings.timeoutMs",
		`{` + ok + `, "retries": 50}`:                                                                                 "settings.retries",
		`{` + ok + `, "response": {"maxBytes": 1000000000}}`:                                                          "settings.response.maxBytes",
		`{` + ok + `, "token": {"header": "Host"}}`:                                                                   "settings.token.header",
		`{` + ok + `, "tymeout": 1}`:                                                                                  `unknown field "tymeout"`,
		`{` + ok + `, "timeoutMs": "1"}`:                                                                              "settings.timeoutMs: cannot be a string",
	} {
		_, err := call(t, runner(t), settings, `{}`)
		kind := fault.KindOf(err)
		if err == nil || kind != fault.Invalid && kind != fault.Precondition || !strings.Contains(fault.Public(err), want) && kind == fault.Invalid {
			t.Errorf("%s: %v, want %q", settings, err, want)
		}
	}
}

// Values stay in their position, whatever they contain: there is one request, to the same
// host, below the same path, with the same headers and the same fields.
func TestValuesDoNotLeaveTheirPosition(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, nil)
	hostile := []string{
		"../admin", "..", ".", "a/../../b", `..\admin`, "%2e%2e/x", "//evil.com/", "@evil.com", "?admin=1", "#x", ";x=y", "a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\x00b", "",
		`","admin":true,"x":"`, `"}`, `{{secrets.crm}}`, "{{claims.sub}}", "&admin=1", "=", "</a><admin/>", "]]>", "<!ENTITY x SYSTEM 'file:///etc/passwd'>", "\u2028", "\U0001F600", strings.Repeat("x", 3000),
	}
	for _, value := range hostile {
		arguments, err := json.Marshal(map[string]any{"x": value})
		if err != nil {
			t.Fatal(err)
		}
		for position, settings := range map[string]string{
			"path":   `{"method": "GET", "url": "` + e.URL + `/users/{{arguments.x}}/orders"}`,
			"query":  `{"method": "GET", "url": "` + e.URL + `/users", "query": {"q": "{{arguments.x}}", "r": "<{{arguments.x}}>"}}`,
			"header": `{"method": "GET", "url": "` + e.URL + `/users", "headers": {"X-A": "{{arguments.x}}"}}`,
			"json":   `{"method": "POST", "url": "` + e.URL + `/users", "body": {"a": "{{arguments.x}}", "b": "<{{arguments.x}}>"}}`,
			"form":   `{"method": "POST", "url": "` + e.URL + `/users", "contentType": "application/x-www-form-urlencoded", "body": {"a": "{{arguments.x}}"}}`,
			"xml":    `{"method": "POST", "url": "` + e.URL + `/users", "contentType": "application/xml", "body": "<a b=\"{{arguments.x}}\">{{arguments.x}}</a>"}`,
		} {
			before := e.count()
			if _, err := call(t, runner(t, here), settings, string(arguments)); err != nil {
				if fault.KindOf(err) != fault.Invalid || e.count() != before {
					t.Errorf("%s %q: %v", position, value, err)
				}
				continue
			}
			s := e.last(t)
			if e.count() != before+1 || s.header.Get("X-Evil") != "" {
				t.Errorf("%s %q: %d requests, %v", position, value, e.count()-before, s.header)
			}
			checkPosition(t, position, value, s)
		}
	}
}

func checkPosition(t *testing.T, position, value string, s seen) {
	t.Helper()
	u, err := url.ParseRequestURI(s.uri)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	switch position {
	case "path":
		segments := strings.Split(u.EscapedPath(), "/")
		if len(segments) != 4 || segments[1] != "users" || segments[3] != "orders" || u.RawQuery != "" {
			t.Errorf("path %q: %s", value, s.uri)
		} else if got, _ := url.PathUnescape(segments[2]); got != value || strings.Contains(value, "..") && strings.ContainsAny(value, `/\`) && !strings.Contains(value, "%") {
			t.Errorf("path %q: %s", value, s.uri)
		}
	case "query":
		if u.Path != "/users" || len(query) != 2 || query.Get("q") != value || query.Get("r") != "<"+value+">" {
			t.Errorf("query %q: %s", value, s.uri)
		}
	case "header":
		if got := s.header.Get("X-A"); got != value {
			t.Errorf("header %q: %q", value, got)
		}
	case "json":
		var body map[string]string
		if err := json.Unmarshal([]byte(s.body), &body); err != nil || len(body) != 2 || body["a"] != value || body["b"] != "<"+value+">" {
			t.Errorf("JSON %q: %s", value, s.body)
		}
	case "form":
		form, err := url.ParseQuery(s.body)
		if err != nil || len(form) != 1 || form.Get("a") != value {
			t.Errorf("form %q: %s", value, s.body)
		}
	case "xml":
		if strings.Count(s.body, "<") != 2 || strings.Count(s.body, `"`) != 2 {
			t.Errorf("XML %q: %s", value, s.body)
		}
	}
}

// A line break can come from the request context too.
// A short template can name a long argument many times. Nothing is built that is too long to be
// sent.
func TestTemplatesThatGrowAreRefused(t *testing.T) { //nolint:paralleltest // counts allocations
	e := newEndpoint(t, answering("application/json", `{"a": "`+strings.Repeat("x", 200_000)+`"}`))
	long := strings.Repeat("x", 200_000)
	many := strings.Repeat("{{arguments.a}}", 500)
	list := "[" + strings.Repeat(`"{{arguments}}",`, 3000) + "1]"
	for what, settings := range map[string]string{
		"a text":     `"method": "POST", "contentType": "text/plain", "body": "` + many + `"`,
		"XML":        `"method": "POST", "contentType": "text/xml", "body": "` + many + `"`,
		"JSON":       `"method": "POST", "body": {"list": ` + list + `}`,
		"JSON text":  `"method": "POST", "body": ["` + many + `"]`,
		"a form":     `"method": "POST", "contentType": "application/x-www-form-urlencoded", "body": {"a": ` + list + `}`,
		"a header":   `"method": "GET", "headers": {"X-A": "` + many + `"}`,
		"a query":    `"method": "GET", "query": {"a": ` + list + `}`,
		"the result": `"method": "GET", "response": {"text": "` + strings.Repeat("{{result.a}}", 500) + `"}`,
	} {
		d, err := httptool.Parse(decoded(t, `{`+settings+`, "url": "`+e.URL+`"}`), anywhere(t))
		if err != nil {
			t.Fatal(err)
		}
		r := runner(t, here)
		ctx := caller(t.Context(), "acme")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = r.Call(ctx, d, httptool.Call{Tool: "order", Arguments: json.RawMessage(`{"a": "` + long + `"}`), Request: requestContext})
		runtime.ReadMemStats(&after)
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), "once its values are filled in") {
			t.Errorf("%s: %.200v", what, err)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 40<<20 {
			t.Errorf("%s: %d MiB were allocated", what, grown>>20)
		}
	}
	if n := e.count(); n > 1 { // that whose result grows
		t.Errorf("%d requests were sent", n)
	}
}

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func anywhere(t *testing.T) *outbound.Guard {
	t.Helper()
	guard, err := outbound.New([]string{here})
	if err != nil {
		t.Fatal(err)
	}
	return guard
}

func TestALineBreakInAHeaderIsRefused(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, nil)
	_, err := call(t, runner(t, here), `{"method": "GET", "url": "`+e.URL+`", "headers": {"X-A": "{{context.evil}}"}}`, `{}`)
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), "header X-A") || e.count() != 0 {
		t.Errorf("%v after %d requests", err, e.count())
	}
}

// Addresses inside the network are refused however they are reached: by address, by a name,
// and by a redirect, which is not followed at all.
func TestAddressesInsideTheNetworkAreNotReached(t *testing.T) {
	t.Parallel()
	inside := newEndpoint(t, nil)
	port := inside.URL[strings.LastIndex(inside.URL, ":"):]
	for _, host := range []string{"127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		_, err := call(t, runner(t), `{"method": "GET", "url": "http://`+host+port+`/", "retries": 3}`, `{}`)
		if kind := fault.KindOf(err); err == nil || kind != fault.Precondition && kind != fault.Unavailable && kind != fault.Invalid || strings.Contains(fault.Public(err), "::1 ") {
			t.Errorf("%s: %v", host, err)
		}
	}
	outside := newEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inside.URL+"/secret", http.StatusTemporaryRedirect)
	})
	_, err := call(t, runner(t, here), `{"method": "POST", "url": "`+outside.URL+`", "headers": {"Authorization": "{{secrets.crm}}"}}`, `{}`)
	if fault.KindOf(err) != fault.Precondition || !strings.Contains(fault.Public(err), "redirects are not followed") || strings.Contains(fault.Public(err), inside.URL) {
		t.Errorf("a redirect: %v", err)
	}
	if inside.count() != 0 {
		t.Error("a request has arrived inside")
	}
}

func TestLongAnswersAreCutOff(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	endless := newEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
		chunk := bytes.Repeat([]byte("x"), 64<<10)
		for r.Context().Err() == nil {
			n, err := w.Write(chunk)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	var bomb bytes.Buffer
	zipped := gzip.NewWriter(&bomb)
	for range 64 { // 64 MiB, 64 kB compressed
		_, _ = zipped.Write(bytes.Repeat([]byte(" "), 1<<20))
	}
	_ = zipped.Close()
	unpacked := newEndpoint(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(bomb.Bytes())
	})
	headers := newEndpoint(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range 1000 {
			w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1000))
		}
	})
	for what, c := range map[string]struct {
		e    *endpoint
		want string
	}{"endless": {endless, "longer than the 1000 bytes"}, "a bomb": {unpacked, "longer than the 1000 bytes"}, "headers": {headers, "cannot be reached"}} {
		_, err := call(t, runner(t, here), `{"method": "GET", "url": "`+c.e.URL+`", "retries": 0, "response": {"maxBytes": 1000}}`, `{}`)
		if err == nil || !strings.Contains(fault.Public(err), c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := sent.Load(); n > 64<<20 {
		t.Errorf("%d bytes of the endless answer were taken", n)
	}
}

// A short answer can be large once it is decoded. Its memory is taken from the tenant's quota.
func TestAnswersTakeMemoryOfTheirTenant(t *testing.T) {
	t.Parallel()
	row := `{"id": 12345, "name": "a usual row, {of} [a] table", "tags": ["a", "b"], "price": 1.5},`
	answers := map[string]struct {
		contentType, body string
		want              fault.Kind
	}{
		"empty objects": {"application/json", "[" + strings.Repeat("{},", 300_000) + "{}]", fault.Exhausted},
		"empty lists":   {"", "[" + strings.Repeat("[],", 300_000) + "[]]", fault.Exhausted},
		"numbers":       {"application/json", "[" + strings.Repeat("1,", 500_000) + "1]", fault.Exhausted},
		"usual rows":    {"application/json", "[" + strings.Repeat(row, 2_000) + "1]", 0},
		"a text":        {"text/plain", strings.Repeat("{},", 300_000), 0},
		"a JSON text":   {"application/json", `"` + strings.Repeat(`{},\"`, 200_000) + `"`, 0},
	}
	guard, err := outbound.New([]string{here})
	if err != nil {
		t.Fatal(err)
	}
	gate := admission.New(admission.Config{MaxMemory: 64 << 20}) // 24 MiB for a tenant
	r := httptool.New(remote.New(remote.Config{Guard: guard, Secrets: stored, Issuer: issuer{}, Gate: gate, Version: "test"}))
	for what, a := range answers {
		e := newEndpoint(t, answering(a.contentType, a.body))
		settings := `{"method": "GET", "url": "` + e.URL + `", "retries": 0, "response": {"maxBytes": 4000000}}`
		_, err := call(t, r, settings, `{}`)
		if (err == nil) != (a.want == 0) || err != nil && (fault.KindOf(err) != a.want || !strings.Contains(fault.Public(err), "ask for less")) {
			t.Errorf("%s: %v", what, err)
		}
	}
	ctx, release := gate.WithMemory(t.Context(), "acme")
	defer release()
	if err := admission.Grow(ctx, 24<<20); err != nil {
		t.Errorf("calls do not return their memory: %v", err)
	}
}

func TestHostileJSONIsRefused(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		strings.Repeat("[", 100_000):               "nested deeper",
		`{"a": 1e999999999}`:                       "a number",
		`{"a": ` + strings.Repeat("9", 1000) + `}`: "a number",
		`{"a": 1`:          "no valid JSON",
		`{"a": 1}{"b": 2}`: "no valid JSON",
	} {
		e := newEndpoint(t, answering("application/json", body))
		_, err := call(t, runner(t, here), `{"method": "GET", "url": "`+e.URL+`", "outputSchema": {"type": "object", "properties": {"a": {"maximum": 3}}}}`, `{}`)
		if fault.KindOf(err) != fault.Precondition || !strings.Contains(fault.Public(err), want) {
			t.Errorf("%.40s: %v", body, err)
		}
	}
}

func TestASlowEndpointIsGivenUp(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{}, 2)
	silent := newEndpoint(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done(); gone <- struct{}{} })
	dripping := newEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
		drip := time.NewTicker(time.Millisecond)
		defer drip.Stop()
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, " ")
			w.(http.Flusher).Flush()
			<-drip.C
		}
		gone <- struct{}{}
	})
	for _, e := range []*endpoint{silent, dripping} {
		_, err := call(t, runner(t, here), `{"method": "GET", "url": "`+e.URL+`", "timeoutMs": 200}`, `{}`)
		if fault.KindOf(err) != fault.Unavailable || !strings.Contains(fault.Public(err), "did not answer within 200ms") {
			t.Errorf("%v", err)
		}
		<-gone
	}
}

func TestACancelledCallEndsTheRequest(t *testing.T) {
	t.Parallel()
	arrived, gone := make(chan struct{}), make(chan struct{})
	e := newEndpoint(t, func(_ http.ResponseWriter, r *http.Request) { close(arrived); <-r.Context().Done(); close(gone) })
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	if _, err := callAs(ctx, t, runner(t, here), "acme", `{"method": "GET", "url": "`+e.URL+`"}`, `{}`); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	<-gone
}

func TestOnlyHarmlessRequestsAreRepeated(t *testing.T) {
	t.Parallel()
	failing := func(times int, status int) http.HandlerFunc {
		var n atomic.Int64
		return func(w http.ResponseWriter, _ *http.Request) {
			if n.Add(1) <= int64(times) {
				w.Header().Set("Retry-After", "0")
				w.WriteHeader(status)
				return
			}
			_, _ = io.WriteString(w, "done")
		}
	}
	for _, c := range []struct {
		method, retries string
		status          int
		requests        int
		key             bool
	}{
		{"GET", ``, 503, 3, false},
		{"PUT", ``, 429, 3, false},
		{"DELETE", `, "retries": 1`, 502, 2, false},
		{"GET", ``, 500, 1, false}, // may not be passing
		{"GET", ``, 404, 1, false},
		{"POST", ``, 503, 1, false},
		{"PATCH", ``, 429, 1, false},
		{"POST", `, "retries": 2`, 503, 3, true},
	} {
		e := newEndpoint(t, failing(2, c.status))
		_, err := call(t, runner(t, here), `{"method": "`+c.method+`", "url": "`+e.URL+`"`+c.retries+`}`, `{}`)
		if e.count() != c.requests || (err == nil) != (c.requests == 3) {
			t.Errorf("%s %s %d: %d requests, %v", c.method, c.retries, c.status, e.count(), err)
		}
		keys := map[string]bool{}
		for _, s := range e.seen {
			keys[s.header.Get("Idempotency-Key")] = true
		}
		if len(keys) != 1 || keys[""] == c.key {
			t.Errorf("%s %s: keys %v", c.method, c.retries, keys)
		}
	}
	// A pause that the endpoint asks for and that is too long is not begun.
	e := newEndpoint(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	_, err := call(t, runner(t, here), `{"method": "GET", "url": "`+e.URL+`"}`, `{}`)
	var refused *fault.Error
	if !errors.As(err, &refused) || refused.Kind != fault.Exhausted || refused.RetryAfter != time.Hour || e.count() != 1 {
		t.Errorf("%v after %d requests", err, e.count())
	}
}

// An error shows what the endpoint said, and no secret that it repeats.
func TestErrorsShowTheAnswerWithoutSecrets(t *testing.T) {
	t.Parallel()
	const secret = "sk-acme+1/2"
	for status, kind := range map[int]fault.Kind{
		400: fault.Invalid, 401: fault.Precondition, 404: fault.NotFound, 409: fault.Precondition, 422: fault.Invalid, 429: fault.Exhausted, 500: fault.Unavailable, 999: fault.Unavailable,
	} {
		e := newEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			fmt.Fprintf(w, "no\x1b[2J such\r\n  order: %s %s %s %s", r.Header.Get("Authorization"), url.QueryEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret)), strings.Repeat("long ", 1000))
		})
		_, err := call(t, runner(t, here), `{"method": "GET", "url": "`+e.URL+`", "retries": 0, "headers": {"Authorization": "Bearer {{secrets.crm}}"}}`, `{}`)
		text := fault.Public(err)
		if fault.KindOf(err) != kind || !strings.Contains(text, fmt.Sprint(status)) || !strings.Contains(text, "no[2J such order: Bearer *** *** ***") || len(text) > 700 {
			t.Errorf("%d: %v", status, err)
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%d: the secret is shown: %v", status, err)
		}
	}
	// Nor does a result.
	for _, contentType := range []string{"application/json", "text/plain"} {
		e := newEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", contentType)
			fmt.Fprintf(w, `{"%s": ["%s"]}`, r.Header.Get("X-Key"), r.Header.Get("X-Key"))
		})
		got, err := call(t, runner(t, here), `{"method": "GET", "url": "`+e.URL+`", "headers": {"X-Key": "{{secrets.crm}}"}}`, `{}`)
		if err != nil || strings.Contains(got.Text+string(got.Structured), secret) || !strings.Contains(got.Text, "***") {
			t.Errorf("%s: %v, %v", contentType, got, err)
		}
	}
	// Nor does an answer that is cut off within it, nor a number.
	e := newEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "no: "+r.Header.Get("X-Key"))
	})
	for n := len("no: s"); n < len("no: ")+len(secret); n++ {
		_, err := call(t, runner(t, here), fmt.Sprintf(`{"method": "GET", "url": %q, "headers": {"X-Key": "{{secrets.crm}}"}, "response": {"maxBytes": %d}}`, e.URL, n), `{}`)
		if text := fault.Public(err); !strings.HasSuffix(text, "no: ***") {
			t.Errorf("%d bytes: %s", n, text)
		}
	}
	pin := newEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"pin": %s}`, r.Header.Get("X-Pin"))
	})
	if got, err := call(t, runner(t, here), `{"method": "GET", "url": "`+pin.URL+`", "headers": {"X-Pin": "{{secrets.pin}}"}}`, `{}`); err != nil || got.Text != `{"pin":"***"}` {
		t.Errorf("a number: %v, %v", got, err)
	}
	_, err := call(t, runner(t, here), `{"method": "GET", "url": "http://127.0.0.1:1/`+`{{arguments.x}}", "retries": 0}`, `{"x": "private"}`)
	if fault.KindOf(err) != fault.Unavailable || !strings.Contains(fault.Public(err), "127.0.0.1:1 cannot be reached: it accepts no connection") || strings.Contains(err.Error(), "private") {
		t.Errorf("unreachable: %v", err)
	}
}

func TestATenantUsesItsOwnSecretOfTheName(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, nil)
	settings := `{"method": "POST", "url": "` + e.URL + `", "body": {"key": "{{secrets.crm}}", "given": "{{arguments.x}}"}}`
	for id, want := range map[tenant.ID]string{"acme": "sk-acme+1/2", "bolt": "sk-bolt+1/2"} {
		if _, err := callAs(t.Context(), t, runner(t, here), id, settings, `{"x": "{{secrets.crm}}"}`); err != nil {
			t.Fatal(err)
		}
		if got := e.last(t).body; got != `{"given":"{{secrets.crm}}","key":"`+want+`"}` {
			t.Errorf("%s: %s", id, got)
		}
	}
	if _, err := callAs(t.Context(), t, runner(t, here), "cord", settings, `{}`); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a tenant without it: %v", err)
	}
}

// An endpoint checks the signature, and the token, which says who asks.
func TestRequestsAreSignedAndSayWhoAsks(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, nil)
	_, err := call(t, runner(t, here), `{"method": "POST", "url": "`+e.URL+`/orders/{{arguments.id}}", "query": {"q": "{{arguments.id}}"},
		"signingSecret": "signing", "token": {"header": "authorization", "context": ["country", "none"]}}`, `{"id": "7"}`)
	if err != nil {
		t.Fatal(err)
	}
	s := e.last(t)
	if err := webhook.Verify(s.header, time.Now(), []byte(s.body), signing); err != nil {
		t.Error(err)
	}
	if want := "Bearer " + e.URL + "|acme|key1|order|POST " + e.URL + "/orders/7|map[country:DE]"; s.header.Get("Authorization") != want {
		t.Errorf("token %q, want %q", s.header.Get("Authorization"), want)
	}
	_, err = call(t, runner(t, here), `{"method": "POST", "url": "`+e.URL+`", "signingSecret": "crm"}`, `{}`)
	if fault.KindOf(err) != fault.Precondition || !strings.Contains(fault.Public(err), "whsec_") || strings.Contains(err.Error(), "sk-acme") {
		t.Errorf("a secret that cannot sign: %v", err)
	}
}

// A tool whose endpoint is a tool ends after a few calls.
func TestToolsThatCallEachOtherInACircleEnd(t *testing.T) {
	t.Parallel()
	r := runner(t, here)
	settings := ""
	e := newEndpoint(t, func(w http.ResponseWriter, req *http.Request) {
		var decoded map[string]any
		_ = json.Unmarshal([]byte(settings), &decoded)
		var depth int
		_, _ = fmt.Sscan(req.Header.Get("Ragd-Depth"), &depth)
		ctx := access.NewContext(req.Context(), &access.Request{Tenant: "acme", Depth: depth, Principal: access.Principal{Tenant: "acme", Scopes: []access.Scope{access.Read}}})
		d, err := r.Check(ctx, decoded)
		if err == nil {
			_, err = r.Call(ctx, d, httptool.Call{Tool: "order", Request: requestContext})
		}
		w.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprint(w, fault.Public(err))
	})
	settings = `{"method": "GET", "url": "` + e.URL + `"}`
	_, err := call(t, r, settings, `{}`)
	if err == nil || !strings.Contains(fault.Public(err), "in a circle") || e.count() != remote.MaxDepth {
		t.Errorf("%v after %d requests", err, e.count())
	}
}

// Calls to a slow endpoint wait for one of a tenant's slots, and take none of another's.
func TestCallsOfATenantAtOnceAreLimited(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var running, most atomic.Int64
	e := newEndpoint(t, func(_ http.ResponseWriter, req *http.Request) {
		if req.Header.Get("X-Tenant") == "bolt" {
			return
		}
		n := running.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		<-release
		running.Add(-1)
	})
	r := runner(t, here)
	settings := `{"method": "GET", "url": "` + e.URL + `", "headers": {"X-Tenant": "%s"}}`
	var group sync.WaitGroup
	for range remote.MaxCalls + 8 {
		group.Go(func() {
			if _, err := callAs(t.Context(), t, r, "acme", fmt.Sprintf(settings, "acme"), `{}`); err != nil {
				t.Error(err)
			}
		})
	}
	wait.For(t, "as many calls as may run", func() bool { return running.Load() >= remote.MaxCalls })
	if _, err := callAs(t.Context(), t, r, "bolt", fmt.Sprintf(settings, "bolt"), `{}`); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	close(release)
	group.Wait()
	if most.Load() > remote.MaxCalls {
		t.Errorf("%d calls at once", most.Load())
	}
}
