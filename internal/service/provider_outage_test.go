package service_test

import (
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/faultproxy"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// While the provider of the embedding model and of the language model is down, uploads are accepted and
// wait, what needs a model fails soon and says so, and what needs none goes on.
func TestOutagesOfAModelProviderLoseNothing(t *testing.T) {
	t.Parallel()
	models := modelserver.New(t)
	proxy, address := faultproxy.Before(t, models.URL)
	config := service.Config{
		EmbeddingModel: "openai/m-embed", Logger: slog.New(slog.DiscardHandler),
		Providers: service.Providers{OpenAI: endpoint.Config{BaseURL: address + "/v1", APIKey: modelserver.Key, Timeout: time.Second}},
	}
	s := servicetest.New(t, config)
	c := s.Tenant(t, "other")
	c.Index(t, "docs")
	c.Upload(t, upload("a"))
	// probe calls with each trouble, and without a deadline.
	probe := func(trouble string, want connect.Code) {
		t.Helper()
		var group sync.WaitGroup
		for what, query := range map[string]*ragdv1.VectorQueryRequest{
			"a query that is embedded":                      {},
			"a query that a language model reranks":         {SearchMode: "keyword", Reranker: &ragdv1.Reranker{Model: "openai/m-chat", Required: true}},
			"a query that is not embedded and not reranked": {SearchMode: "keyword"},
		} {
			query.IndexName, query.QueryText = "docs", "a valve while "+trouble // not in any cache
			group.Go(func() {
				began := time.Now()
				_, err := c.VectorQuery(t.Context(), query)
				if query.SearchMode == "keyword" && query.Reranker == nil {
					if err != nil {
						t.Errorf("%s: %s: %v", trouble, what, err)
					}
					return
				}
				servicetest.WantCode(t, trouble+": "+what, err, want)
				if took := time.Since(began); took > promptly {
					t.Errorf("%s: %s failed after %v", trouble, what, took)
				}
			})
		}
		group.Wait()
	}
	var troubles []trouble
	for _, f := range []faultproxy.Fault{faultproxy.Down, faultproxy.Partition, faultproxy.Reset} {
		troubles = append(troubles, trouble{f.Name, func() {
			proxy.Begin(t, f)
			probe(f.Name, connect.CodeUnavailable)
		}, func() { proxy.End(t) }, true})
	}
	for _, status := range []int{http.StatusInternalServerError, http.StatusTooManyRequests} {
		name, want := http.StatusText(status), connect.CodeUnavailable
		if status == http.StatusTooManyRequests {
			want = connect.CodeResourceExhausted
		}
		troubles = append(troubles, trouble{name, func() {
			models.Set(modelserver.Fault{Status: status})
			probe(name, want)
		}, func() { models.Set(modelserver.Fault{}) }, true})
	}
	endure(t, s, config, troubles)
}
