package main

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// traceCollector receives traces as OTLP over HTTP.
type traceCollector struct {
	url string

	mu     sync.Mutex
	traces map[string][]*spans.Span // by id
	raw    strings.Builder
}

func newTraceCollector(t *testing.T) *traceCollector {
	t.Helper()
	c := &traceCollector{traces: map[string][]*spans.Span{}}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var got collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &got)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw.Write(body)
		for _, resource := range got.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				for _, span := range scope.GetSpans() {
					c.traces[string(span.GetTraceId())] = append(c.traces[string(span.GetTraceId())], span)
				}
			}
		}
	}))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

// await waits for a trace that has a span of each name, and returns its spans by name.
func (c *traceCollector) await(t *testing.T, names ...string) map[string]*spans.Span {
	t.Helper()
	for range wait.Poll(t, fmt.Sprintf("a trace with %q", names)) {
		c.mu.Lock()
		traces := maps.Clone(c.traces)
		c.mu.Unlock()
		for _, trace := range traces {
			byName := map[string]*spans.Span{}
			for _, span := range trace {
				byName[span.GetName()] = span
			}
			if !slices.ContainsFunc(names, func(name string) bool { return byName[name] == nil }) {
				return byName
			}
		}
	}
	return nil
}

// The trace of a query has a span for the request, for each stage and for the call of a
// provider, and contains no text of the caller.
func TestTracesOfAQuery(t *testing.T) {
	t.Parallel()
	traces := newTraceCollector(t)
	s := newSession(t, append(providing(modelserver.New(t)), "RAGD_TRACES_URL="+traces.url, "RAGD_EMBEDDING_MODEL=openai/some-model")...)
	s.stdin = `{"id":"a","text":"a confidential fox"}`
	s.want(t, step{args: args("ingest --jsonl -"), stdout: anything, stderr: anything})
	s.want(t, step{args: args("query confidential --rerank lexical"), stdout: anything})
	s.want(t, step{args: args("graph confidential --mode keyword"), stdout: anything})

	const request = "ragd.v1.QueryService/VectorQuery"
	trace := traces.await(t, request, "query.embed", "HTTP POST", "query.search", "query.rerank")
	attributes := map[string]string{}
	for _, attribute := range trace[request].GetAttributes() {
		attributes[attribute.GetKey()] = attribute.GetValue().GetStringValue()
	}
	if attributes["tenant"] != "acme" || attributes["request_id"] == "" {
		t.Errorf("the request's span says %v", attributes)
	}
	if string(trace["query.search"].GetParentSpanId()) != string(trace[request].GetSpanId()) {
		t.Error("the search is not a part of the request")
	}
	traces.await(t, "ragd.v1.QueryService/GraphRag", "query.search", "graph.walk")

	traces.mu.Lock()
	defer traces.mu.Unlock()
	for _, secret := range []string{"confidential", modelserver.Key, operatorSecret} {
		if strings.Contains(traces.raw.String(), secret) {
			t.Errorf("traces hold %q", secret)
		}
	}
}
