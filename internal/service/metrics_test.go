package service_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	dto "github.com/prometheus/client_model/go"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// hostile is a name that a caller chooses and that must not become a label.
const hostile = "hostile-name-of-a-caller"

// scrape returns the metrics of a service by name.
func scrape(t *testing.T, s *servicetest.Service) map[string]*dto.MetricFamily {
	t.Helper()
	response, err := http.Get(s.MetricsURL())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(body), hostile) {
		t.Errorf("the metrics contain %q", hostile)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// value returns the value of the metric with these labels, or the count of a histogram.
func value(families map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	for _, m := range families[name].GetMetric() {
		var given []string
		for _, l := range m.GetLabel() {
			given = append(given, l.GetName()+"="+l.GetValue())
		}
		if slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(given, l) }) {
			continue
		}
		switch {
		case m.GetHistogram() != nil:
			return float64(m.GetHistogram().GetSampleCount())
		case m.GetCounter() != nil:
			return m.GetCounter().GetValue()
		}
		return m.GetGauge().GetValue()
	}
	return -1
}

// A service that has done a little of everything shows it, and no name of a caller.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{Metrics: service.MetricsConfig{Listen: "127.0.0.1:0", Tenants: 5}})
	c := s.Tenant(t, "acme")
	if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs"}); err != nil {
		t.Fatal(err)
	}
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Source: servicetest.Text("The ammonia alarm rings in hall 3.")})
	for range 2 {
		if _, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "alarm"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.GraphRag(t.Context(), &ragdv1.GraphRagRequest{IndexName: "docs", QueryText: "alarm"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: hostile, QueryText: "alarm"}); err == nil {
		t.Error("an index that does not exist was searched")
	}
	for _, call := range []struct{ method, path, body, tool string }{
		{"POST", mcphttp.Path, tool(t, "vector_query", map[string]any{"indexName": "docs", "queryText": "alarm"}), "vector_query"},
		{"POST", mcphttp.Path, tool(t, hostile, map[string]any{}), hostile},
		{"POST", mcphttp.Path, `{"jsonrpc": "2.0", "id": 2, "method": "` + hostile + `"}`, ""},
		{"GET", "/v1/models", "", ""},
		{"GET", "/v1/files/" + hostile, "", ""},
		{"GET", "/v1/" + hostile, "", ""},
		{"GET", "/" + hostile, "", ""},
		{"POST", "/ragd.v1.QueryService/" + hostile, "{}", ""},
		{"POST", "/" + hostile + ".v1.QueryService/VectorQuery", "{}", ""},
		{"GET", "/readyz", "", ""},
	} {
		request, err := http.NewRequestWithContext(t.Context(), call.method, s.URL+call.path, strings.NewReader(call.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+c.Secret)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		request.Header.Set("Mcp-Method", "tools/call")
		request.Header.Set("Mcp-Name", call.tool)
		request.Header.Set("Accept", "application/json, text/event-stream")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
	got := scrape(t, s)
	for _, want := range []struct {
		name   string
		labels []string
		least  float64
	}{
		{"ragd_requests_total", []string{"interface=rpc", "method=ragd.v1.QueryService/VectorQuery", "code=ok"}, 2},
		{"ragd_requests_total", []string{"interface=rpc", "method=ragd.v1.QueryService/VectorQuery", "code=not_found"}, 1},
		{"ragd_request_duration_seconds", []string{"interface=rpc", "method=ragd.v1.QueryService/VectorQuery"}, 3},
		{"ragd_requests_total", []string{"interface=mcp", "method=tools/call"}, 1},
		{"ragd_requests_total", []string{"interface=mcp", "method=other"}, 1},
		{"ragd_requests_total", []string{"interface=openai", "method=GET /v1/models", "code=ok"}, 1},
		{"ragd_requests_total", []string{"interface=openai", "method=GET /v1/files/{file}"}, 1},
		{"ragd_requests_total", []string{"interface=openai", "method=other", "code=not_found"}, 1},
		{"ragd_requests_total", []string{"interface=http", "method=other"}, 1},
		{"ragd_requests_total", []string{"interface=http", "method=/readyz", "code=ok"}, 1},
		{"ragd_tool_calls_total", []string{"kind=vector_query", "code=ok"}, 1},
		{"ragd_tool_call_duration_seconds", []string{"kind=vector_query"}, 1},
		{"ragd_stage_duration_seconds", []string{"stage=query.embed"}, 2},
		{"ragd_stage_duration_seconds", []string{"stage=graph.walk"}, 1},
		{"ragd_stage_duration_seconds", []string{"stage=ingest.store"}, 1},
		{"ragd_documents_total", []string{"outcome=stored"}, 1},
		{"ragd_cache_lookups_total", []string{"cache=questions", "result=hit"}, 0},
		{"ragd_database_connections_max", []string{"pool=requests"}, 1},
		{"ragd_up", nil, 1},
		{"ragd_backlog_documents", []string{"state=waiting"}, 0},
		{"ragd_tenants", []string{"state=served"}, 1},
		{"ragd_database_bytes", nil, 1 << 20},
		{"ragd_build_info", nil, 1},
		{"process_open_fds", nil, 1},
	} {
		if v := value(got, want.name, want.labels...); v < want.least {
			t.Errorf("%s%v is %v, want at least %v", want.name, want.labels, v, want.least)
		}
	}
	if got["ragd_tenant_requests_per_second"] != nil {
		t.Error("tenants are named before a minute is over")
	}
	wantDocumented(t, got)
}

// wantDocumented fails the test for a metric that the reference does not name, and for one that
// it names and that is not shown, unless it needs more than the test has.
func wantDocumented(t *testing.T, shown map[string]*dto.MetricFamily) {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(ragd_[a-z_]+)`").FindAllStringSubmatch(string(page), -1) {
		documented[m[1]] = true
	}
	for name := range shown {
		if strings.HasPrefix(name, "ragd_") && !documented[name] {
			t.Errorf("docs/reference/telemetry.md does not name %s", name)
		}
	}
	for _, absent := range []string{ // need a provider, a job, an embedded database, a minute
		"ragd_endpoint_calls_total", "ragd_endpoint_call_duration_seconds", "ragd_model_tokens_total", "ragd_job_attempts_total",
		"ragd_job_attempt_duration_seconds", "ragd_database_disk_bytes", "ragd_tenant_requests_per_second",
		"ragd_certificate_expiry_timestamp_seconds", "ragd_certificate_failing", // need TLS
		"ragd_reads_total", "ragd_read_fallbacks_total", "ragd_replica_used", "ragd_replica_lag_seconds", // need a replica
		"ragd_placed_up", "ragd_placed_tenants", "ragd_placed_bytes", // need a registered database
	} {
		delete(documented, absent)
	}
	for name := range documented {
		if shown[name] == nil {
			t.Errorf("%s is not shown", name)
		}
	}
}

// tool returns the request of a call of a tool.
func tool(t *testing.T, name string, arguments map[string]any) string {
	t.Helper()
	call, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
		"name": name, "arguments": arguments,
		"_meta": map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return string(call)
}

// The public address shows neither metrics nor profiles; profiles are shown to this machine alone.
func TestMetricsAndProfilesStayPrivate(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{Metrics: service.MetricsConfig{Listen: "127.0.0.1:0", ProfileListen: "127.0.0.1:0"}})
	status := func(address, host string) int {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			request.Host = host
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode == http.StatusOK && strings.Contains(address, s.URL) && strings.Contains(string(body), "go_goroutines") {
			t.Errorf("%s shows metrics", address)
		}
		return response.StatusCode
	}
	if got := status(s.ProfileURL()+"goroutine?debug=1", ""); got != http.StatusOK {
		t.Errorf("a profile: status %d", got)
	}
	if got := status(s.ProfileURL()+"goroutine?debug=1", "attacker.example"); got != http.StatusMisdirectedRequest {
		t.Errorf("a profile under another host name: status %d", got)
	}
	if got := status(s.ProfileURL()+"cmdline", ""); got != http.StatusNotFound {
		t.Errorf("the command line: status %d", got)
	}
	status(s.URL+"/metrics", "")
	if got := status(s.URL+"/debug/pprof/heap", ""); got == http.StatusOK {
		t.Error("the public address shows profiles")
	}
	for _, address := range []string{":6060", "0.0.0.0:6060", "10.0.0.1:6060", "example.com:6060", "x"} {
		_, err := service.New(t.Context(), service.Config{Metrics: service.MetricsConfig{ProfileListen: address}, Listen: "127.0.0.1:0", DataDir: t.TempDir()})
		if err == nil || !strings.Contains(err.Error(), "profile-listen") {
			t.Errorf("profile-listen %s: error %v", address, err)
		}
	}
}

// The dashboard and the alerts ask for metrics that the reference has.
func TestDashboardAndAlertsAskForKnownMetrics(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(ragd_[a-z_]+)` \\| (.*?) \\|").FindAllStringSubmatch(string(page), -1) {
		labels[m[1]] = m[2]
	}
	asked := regexp.MustCompile(`(ragd_[a-z_]+?)(?:_bucket)?(?:\{([^}]*)\})?(?:[^a-z_]|$)`)
	label := regexp.MustCompile(`([a-z]+)(?:=|!=)~?\\?"`)
	for _, name := range []string{"../../deploy/prometheus/alerts.yml", "../../deploy/grafana/dashboard.json"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found := asked.FindAllStringSubmatch(string(text), -1)
		if len(found) < 10 {
			t.Errorf("%s asks for %d metrics", name, len(found))
		}
		for _, m := range found {
			known, ok := labels[m[1]]
			if !ok {
				t.Errorf("%s asks for %s, which docs/reference/telemetry.md does not have", name, m[1])
			}
			for _, l := range label.FindAllStringSubmatch(m[2], -1) {
				if l[1] != "instance" && !strings.Contains(known, "`"+l[1]+"`") {
					t.Errorf("%s asks for the label %s of %s, which has %s", name, l[1], m[1], known)
				}
			}
		}
	}
}
