package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/config"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
)

// secretValues are the secrets of one run by name, and what the run has shown.
type secretValues struct {
	values map[string]string

	mu    sync.Mutex
	shown map[string]string // by the place where it was shown
}

// newSecret returns a value that occurs nowhere else.
func (s *secretValues) newSecret(name string) string {
	value := fmt.Sprintf("shh-%x-%s", time.Now().UnixNano(), strings.ReplaceAll(name, " ", "-"))
	s.add(name, value)
	return value
}

func (s *secretValues) add(name, value string) { s.values[name] = value }

// show records what the run has shown at a place.
func (s *secretValues) show(place, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown[place] += text
}

// forms returns how a secret may be written.
func forms(value string) []string {
	return []string{
		value, url.QueryEscape(value), hex.EncodeToString([]byte(value)), base64.RawStdEncoding.EncodeToString([]byte(value)),
		base64.RawURLEncoding.EncodeToString([]byte(value)),
	}
}

// occurrences returns the names of the secrets that occur in text.
func (s *secretValues) occurrences(text string) (names []string) {
	for name, value := range s.values {
		if slices.ContainsFunc(forms(value), func(form string) bool { return strings.Contains(text, form) }) {
			names = append(names, name)
		}
	}
	return names
}

// secretsOf returns the names of the secret settings of a command.
func secretsOf(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if config.IsSecret(flag) {
			names = append(names, flag.Name)
		}
	})
	return names
}

// TestARunShowsNoSecrets gives a service a secret wherever it takes one, uses them all in calls that
// succeed and that fail, and looks for them in the logs of the service and of its database, traces, metrics, profiles,
// command lines, environments of child processes, answers, events, the audit log and the files of the database.
func TestARunShowsNoSecrets(t *testing.T) {
	t.Parallel()
	s := &secretValues{values: map[string]string{}, shown: map[string]string{}}
	traces, models := newTraceCollector(t), modelserver.New(t)
	counterpart := newEcho(t)

	// The settings. One without an entry here fails the test.
	settings := map[string]string{
		"master-key":  base64.StdEncoding.EncodeToString([]byte(s.newSecret("master-key-of-32-bytes")[:32])),
		"session-key": s.newSecret("a-session-key-of-more-than-32-bytes"),
	}
	s.add("master-key", settings["master-key"])
	environment := []string{
		"RAGD_LOG_LEVEL=debug", "RAGD_TRACES_URL=" + traces.url, "RAGD_ALLOWED_PRIVATE_NETWORKS=127.0.0.0/8", "RAGD_OPENAI_BASE_URL=" + models.URL + "/v1",
		"RAGD_COHERE_BASE_URL=" + counterpart.URL, "RAGD_COHERE_MODELS=*", "RAGD_OPENAI_MODELS=*",
		"RAGD_OAUTH_ISSUER=" + counterpart.URL, "RAGD_OAUTH_INTROSPECTION_URL=" + counterpart.URL + "/introspect", "RAGD_OAUTH_CLIENT_ID=ragd",
		"RAGD_OAUTH_AUDIENCE=ragd", "RAGD_MCP_STATELESS=true", "RAGD_CONSOLE_CLIENT_ID=console",
	}
	external := []string{"database-url", "database-admin-url", "database-read-urls"} // of a service without an embedded database, see below
	for _, name := range secretsOf(serveCommand(t)) {
		if slices.Contains(external, name) {
			continue
		}
		if settings[name] == "" {
			settings[name] = s.newSecret(name)
		}
		environment = append(environment, "RAGD_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+"="+settings[name])
	}
	metrics, profiles := unusedAddress(t), unusedAddress(t)
	h := newHome(t, append(environment, "RAGD_METRICS_LISTEN="+metrics, "RAGD_PROFILE_LISTEN="+profiles)...)
	h.env = append(h.env, "RAGD_PUBLIC_URL=http://"+h.listen)
	run := &secretRun{t: t, base: "http://" + h.listen, operator: settings["operator-key"], secrets: s}
	service := h.command(context.Background(), "serve")
	var log bytes.Buffer
	service.Stdout, service.Stderr = &log, &log
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the log: %s", log.Bytes()[max(0, log.Len()-10_000):])
		}
	})
	service.WaitDelay = time.Minute
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, service, syscall.SIGTERM) })
	h.awaitReady()

	run.use(counterpart, models)
	for _, name := range external {
		password := s.newSecret(name)
		broken := newHome(t, "RAGD_DATABASE_URL=postgres://ragd@127.0.0.1:1/ragd", "RAGD_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+"=postgres://ragd:"+password+"@127.0.0.1:1/ragd?connect_timeout=1")
		for _, command := range []string{"migrate", "doctor"} {
			cmd := broken.command(t.Context(), command)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Errorf("ragd %s reached a database that does not exist", command)
			}
			s.show("ragd "+command+" with a wrong "+name, string(out))
		}
	}

	s.show("metrics", get(t, "http://"+metrics+"/metrics"))
	for _, profile := range []string{"goroutine?debug=2", "heap?debug=1", "mutex?debug=1"} {
		s.show("profile "+profile, get(t, "http://"+profiles+"/debug/pprof/"+profile))
	}
	for _, process := range descendants(t, service.Process.Pid) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", process))
		s.show("command line of process "+strconv.Itoa(process), string(line))
		if process != service.Process.Pid { // its own environment may hold settings
			environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", process))
			s.show("environment of "+string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})), string(environ))
		}
	}
	stop(t, service, syscall.SIGTERM)
	if log.Len() == 0 {
		t.Error("nothing was logged")
	}
	s.show("log", log.String())
	traces.mu.Lock()
	s.show("traces", traces.raw.String())
	traces.mu.Unlock()
	if s.shown["traces"] == "" || s.shown["metrics"] == "" {
		t.Error("no traces or no metrics came")
	}
	files := 0
	_ = filepath.WalkDir(filepath.Join(h.dir, "data"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // a socket or a file that is gone
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		files++
		s.show("file "+strings.TrimPrefix(path, h.dir), string(content))
		return nil
	})
	if files < 100 {
		t.Errorf("only %d files of the database were read", files)
	}

	for name := range s.values {
		if answer, ok := s.shown["answer that makes "+name]; ok && !slices.Contains(s.occurrences(answer), name) {
			t.Errorf("the search does not find the secret %s where it is", name)
		}
	}
	for place, text := range s.shown {
		for _, name := range s.occurrences(text) {
			if !shownOnPurpose(place, name) {
				t.Errorf("%s shows the secret %s", place, name)
			}
		}
	}
	for name := range s.values { // a secret that was never sent anywhere shows nothing
		if strings.HasPrefix(name, "tenant ") && !counterpart.got(s.values[name]) {
			t.Errorf("the secret %s was not used", name)
		}
	}
}

// shownOnPurpose reports whether a place is to show a secret: the one answer that hands it out.
func shownOnPurpose(place, name string) bool { return place == "answer that makes "+name }

// serveCommand returns the command serve with all its settings.
func serveCommand(t *testing.T) *cobra.Command {
	t.Helper()
	p := &program{Program: command.Program{Getenv: func(string) string { return "" }}}
	serve, _, err := p.root().Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	return serve
}

// secretRun calls a service and keeps all that it answers.
type secretRun struct {
	t        *testing.T
	base     string
	operator string
	secrets  *secretValues
}

// call calls a method in JSON with the key and returns the answer; the operator acts for the tenant.
func (r *secretRun) call(place, key, method, body string) string {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.base+method, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+key)
	if key == r.operator && !strings.Contains(method, "TenantService") {
		req.Header.Set("Ragd-Tenant", "harbour")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	r.secrets.show(place, fmt.Sprint(res.Header)+string(answer))
	if res.StatusCode != http.StatusOK {
		return fmt.Sprintf("HTTP %d: %s", res.StatusCode, answer)
	}
	return string(answer)
}

// must is call for a method that succeeds.
func (r *secretRun) must(place, key, method, body string) string {
	r.t.Helper()
	answer := r.call(place, key, method, body)
	if strings.HasPrefix(answer, "HTTP ") {
		r.t.Fatalf("%s %s: %s", method, body, answer)
	}
	return answer
}

// field returns a string of an answer in JSON.
func (r *secretRun) field(answer, name string) string {
	r.t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(answer), &fields); err != nil {
		r.t.Fatal(err)
	}
	value, ok := fields[name].(string)
	if !ok {
		r.t.Fatalf("no %s in %s", name, answer)
	}
	return value
}

// use makes what holds secrets, uses it in calls that succeed and in calls that fail, and lists everything.
func (r *secretRun) use(counterpart *echo, models *modelserver.Server) {
	const v1 = "/ragd.v1."
	s, host := r.secrets, strings.TrimPrefix(counterpart.URL, "http://")
	r.must("answers", r.operator, v1+"TenantService/CreateTenant", `{"tenantId": "harbour"}`)
	key := r.field(r.must("answer that makes api key", r.operator, v1+"TenantService/CreateApiKey", `{"tenantId": "harbour", "scopes": ["admin"]}`), "secret")
	s.add("api key", key)

	// What holds secrets.
	crm, endpointKey, header := s.newSecret("tenant secret"), s.newSecret("tenant endpoint key"), s.newSecret("tenant endpoint header")
	r.must("answers", key, v1+"SecretService/SetSecret", fmt.Sprintf(`{"secretName": "crm", "value": %q, "hosts": {"hosts": [%q]}}`, crm, host))
	signing := r.field(r.must("answer that makes generated secret", key, v1+"SecretService/SetSecret", fmt.Sprintf(`{"secretName": "signing", "generate": true, "hosts": {"hosts": [%q]}}`, host)), "generatedValue")
	s.add("generated secret", signing)
	r.must("answers", key, v1+"EndpointService/CreateEndpoint", fmt.Sprintf(`{"endpointName": "mine", "kind": "openai-compatible", "baseUrl": %q, "apiKey": %q,
		"headers": {"headers": {"x-secret": %q}}, "models": [{"model": "m", "dimension": 8}]}`, counterpart.URL+"/v1", endpointKey, header))
	r.must("answers", key, v1+"ToolService/CreateTool", fmt.Sprintf(`{"toolName": "crm", "kind": "http", "description": "asks the CRM", "settings": {
		"method": "POST", "url": %q, "headers": {"Authorization": "Bearer {{secrets.crm}}", "x-token": "{{context.token}}"}, "body": {"q": "{{arguments.q}}"}, "signingSecret": "signing",
		"inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}}}}`, counterpart.URL+"/orders"))
	hookSecret := r.field(r.must("answer that makes hook secret", key, v1+"HookService/CreateHook", fmt.Sprintf(`{"hookName": "all", "url": %q, "events": ["*"],
		"headers": {"x-secret": "{{secrets.crm}}"}}`, counterpart.URL+"/hook")), "secret")
	s.add("hook secret", hookSecret)
	r.must("answers", key, v1+"ContextService/DeclareContextKey", `{"key": {"name": "token", "secret": true, "schema": {"type": "string"}}}`)
	cookie := r.signIn(key)
	s.add("cookie", cookie)

	// Calls that use them: the counterpart answers with what it was sent, the second time as an error.
	token := s.newSecret("tenant context value")
	for _, fail := range []bool{false, true} {
		counterpart.fails(fail)
		r.call("answers", key, v1+"ToolService/CallTool", fmt.Sprintf(`{"toolName": "crm", "arguments": {"q": "x"}, "context": {"token": %q}}`, token))
		r.call("answers", key, v1+"EndpointService/TestEndpoint", `{"endpointName": "mine", "model": "m", "use": "embed"}`)
		r.call("answers", key, v1+"HookService/TestHook", `{"hookName": "all"}`)
		r.call("answers", key, v1+"QueryService/Embed", `{"model": "cohere/m", "texts": ["a"]}`)
		r.call("answers", key, v1+"QueryService/Embed", `{"model": "mine/m", "texts": ["a"]}`)
		r.call("answers", key, v1+"QueryService/Embed", `{"model": "openai/m", "texts": ["a"]}`)
		models.Set(modelserver.Fault{Status: http.StatusUnauthorized, Body: "the key is not valid"})
	}

	// Secrets where they do not belong: as keys that are not valid, in fields of another type, in unknown fields, and in
	// texts that are no JSON.
	for _, stray := range []string{"stray key", "stray body"} {
		s.newSecret(stray)
	}
	r.call("answers", s.values["stray key"], v1+"TenantService/WhoAmI", `{}`)
	r.call("answers", key[:len(key)-1]+"x", v1+"TenantService/WhoAmI", `{}`)
	r.call("answers", s.values["stray key"], "/v1/models", `{}`)
	r.call("answers", s.values["stray key"], "/mcp", `{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}`)
	r.call("answers", key, v1+"EndpointService/CreateEndpoint", fmt.Sprintf(`{"endpointName": "other", "kind": "openai-compatible", "baseUrl": "not an address", "apiKey": %q}`, s.values["stray body"]))
	r.call("answers", key, v1+"EndpointService/CreateEndpoint", fmt.Sprintf(`{"endpointName": "other", "kind": "openai-compatible", "baseUrl": "http://user:%s@127.0.0.1/"}`, s.values["stray body"]))
	r.call("answers", key, v1+"SecretService/SetSecret", fmt.Sprintf(`{"secretName": "no name!", "value": %q}`, s.values["stray body"]))
	r.call("answers", key, v1+"SecretService/SetSecret", fmt.Sprintf(`{"secretName": "other", "value": [%q]}`, s.values["stray body"]))
	r.call("answers", key, v1+"SecretService/SetSecret", fmt.Sprintf(`{"secretName": "other", "value": %q`, s.values["stray body"]))
	r.call("answers", key, v1+"ToolService/CallTool", fmt.Sprintf(`{"toolName": "crm", "context": {"token": {"nested": %q}}}`, s.values["stray body"]))

	// Everything that lists something.
	for _, method := range []string{
		"SecretService/ListSecrets", "EndpointService/ListEndpoints", "HookService/ListHooks", "ToolService/ListTools", "ContextService/ListContextKeys",
		"TenantService/WhoAmI", "AuditService/ListAuditEntries", "UsageService/ListUsage", "TenantService/ListTenants",
	} {
		r.call("answers", key, v1+method, `{}`)
		r.call("answers", r.operator, v1+method, `{}`)
	}
	r.must("answers", key, v1+"TenantService/ListApiKeys", `{"tenantId": "harbour"}`)
	r.must("answers", key, v1+"HookService/ListDeliveries", `{"hookName": "all"}`)
	r.must("answers", r.operator, v1+"TenantService/ReencryptSecrets", `{}`)
	r.must("answers", key, "/mcp", `{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}`)
	r.must("answers", key, "/mcp", `{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "crm", "arguments": {"q": "x"}}}`)
}

// signIn signs a browser in and returns its cookie.
func (r *secretRun) signIn(key string) string {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.base+"/console/session", strings.NewReader(fmt.Sprintf(`{"key": %q}`, key)))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", r.base)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode >= http.StatusBadRequest || len(res.Cookies()) == 0 {
		r.t.Fatalf("sign in: %s", res.Status)
	}
	return res.Cookies()[0].Value
}

// echo is a server that answers with all that it was sent, and remembers it.
type echo struct {
	*httptest.Server

	mu      sync.Mutex
	failing bool
	sent    strings.Builder
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	e := &echo{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server":
			fmt.Fprintf(w, `{"issuer": %q, "authorization_endpoint": %q, "token_endpoint": %q, "jwks_uri": %q}`, e.URL, e.URL+"/authorize", e.URL+"/token", e.URL+"/keys")
			return
		case "/introspect":
			fmt.Fprint(w, `{"active": false}`)
			return
		}
		body, _ := io.ReadAll(r.Body)
		sent := fmt.Sprintf("%s %v %s", r.URL, r.Header, body)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.sent.WriteString(sent)
		w.Header().Set("Content-Type", "application/json")
		if e.failing {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": sent}, "message": sent})
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *echo) fails(fail bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failing = fail
}

// got reports whether the server was sent a value.
func (e *echo) got(value string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Contains(e.sent.String(), value)
}

// unusedAddress returns an address of this machine on which nothing listens.
func unusedAddress(t *testing.T) string {
	t.Helper()
	return newHome(t).listen
}

// get returns what an address answers.
func get(t *testing.T, address string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v", address, res.Status, err)
	}
	return string(body)
}

// descendants returns a process and its children, and theirs.
func descendants(t *testing.T, pid int) []int {
	t.Helper()
	parents := map[int][]int{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		t.Skip("this system has no /proc")
	}
	for _, path := range stats {
		content, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended
		}
		child, parent := 0, 0
		_, _ = fmt.Sscan(filepath.Base(filepath.Dir(path)), &child)
		if _, rest, ok := strings.Cut(string(content), ") "); ok {
			_, _ = fmt.Sscan(strings.TrimSpace(rest[1:]), &parent)
		}
		parents[parent] = append(parents[parent], child)
	}
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		all = append(all, parents[all[i]]...)
	}
	return all
}
