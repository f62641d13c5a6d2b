package service_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// otlp is a collector that keeps the texts of the spans that it received.
type otlp struct {
	mu    sync.Mutex
	texts []string
}

// ServeHTTP receives spans as OTLP over HTTP.
func (o *otlp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = z
	}
	raw, err := io.ReadAll(body)
	var spans collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(raw, &spans)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, resource := range spans.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				for _, a := range span.Attributes {
					o.texts = append(o.texts, a.Key+"="+a.Value.GetStringValue())
				}
			}
		}
	}
}

func (o *otlp) has(text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, t := range o.texts {
		if strings.Contains(t, text) {
			return true
		}
	}
	return false
}

// Bytes of callers that are not UTF-8 do not keep spans from the collector, neither their
// own nor others of the batch.
func TestSpansOfRequestsThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	received := &otlp{}
	address := httptest.NewServer(received)
	t.Cleanup(address.Close)
	s := servicetest.New(t, service.Config{NoWorkers: true, Traces: service.TraceConfig{URL: address.URL, Share: 1}})
	for _, headers := range [][2]string{
		{"User-Agent", "agent-\xff"}, {"X-Forwarded-For", "forwarded-\xff"}, {"User-Agent", "an agent in order"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/path-%ff", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(headers[0], headers[1])
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
	}
	for _, wanted := range []string{"path-\uFFFD", "agent-\uFFFD", "forwarded-\uFFFD", "an agent in order"} {
		wait.For(t, "the span "+wanted, func() bool { return received.has(wanted) })
	}
}
