package rpc_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// notableOf returns the notable questions of a caller's index without the slow ones, which depend on the machine,
// the latest first.
func notableOf(t *testing.T, s *servicetest.Service, c servicetest.Client, indexName string) (all []string) {
	t.Helper()
	s.Handlers.Notable.Flush(t.Context())
	list, err := c.ListNotableQuestions(t.Context(), &ragdv1.ListNotableQuestionsRequest{IndexName: indexName})
	noError(t, err)
	for _, q := range list.Questions {
		if q.SlowestMs <= 0 || q.LastTime == nil {
			t.Errorf("%v has no times", q)
		}
		if q.Kind != "slow" {
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s x%d %s", q.IndexName, q.Namespace, q.Kind, q.Count, q.Code))+": "+q.Text)
		}
	}
	return all
}

func askKeywords(t *testing.T, c servicetest.Client, req *ragdv1.VectorQueryRequest) {
	t.Helper()
	req.SearchMode = "keyword"
	need(t)(c.VectorQuery(t.Context(), req))
}

func TestNotableQuestionsAreListed(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	harbour(t, acme)
	acme.Index(t, "faq")
	ctx := t.Context()
	askKeywords(t, acme, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "zeppelin maintenance"})
	askKeywords(t, acme, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: " Zeppelin\n maintenance "})
	askKeywords(t, acme, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "crane for heavy goods"})                         // is answered
	askKeywords(t, acme, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "crane for heavy goods", MinScore: new(0.99999)}) // is not
	askKeywords(t, acme, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "zepp", Prefix: true})                            // is being typed
	askKeywords(t, acme, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: strings.Repeat("zeppelin ", 300)})                // is too long
	askKeywords(t, acme, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "price of tea", Namespace: "north"})
	need(t)(acme.GraphRag(ctx, &ragdv1.GraphRagRequest{IndexName: "faq", QueryText: "who opened the harbour", SearchMode: "keyword"}))
	visitor := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}, MandatoryFilter: servicetest.Object(t, map[string]any{"level": "open"})}))
	askKeywords(t, visitor, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "secret plan"})
	need(t)(acme.CreateQuestionSet(ctx, &ragdv1.CreateQuestionSetRequest{SetName: "town", IndexName: "docs", Questions: harbourQuestions()}))
	evaluateNow(t, acme, &ragdv1.StartEvaluationRequest{SetName: "town", Settings: keywordQuery()})

	docs := []string{"docs north unanswered x1: price of tea", "docs default unanswered x1: crane for heavy goods", "docs default unanswered x2: Zeppelin maintenance"}
	faq := "faq default unanswered x1: who opened the harbour"
	if diff := cmp.Diff(append([]string{faq}, docs...), notableOf(t, s, acme, "")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(docs, notableOf(t, s, acme, "docs")); diff != "" {
		t.Error(diff)
	}
	list := need(t)(acme.ListNotableQuestions(ctx, &ragdv1.ListNotableQuestionsRequest{IndexName: "docs", Kind: "unanswered"})).(*ragdv1.ListNotableQuestionsResponse)
	if crane, tea := list.Questions[1], list.Questions[0]; crane.BestScore == nil || *crane.BestScore < 0.3 || tea.BestScore != nil {
		t.Errorf("the scores are %v and %v", crane.BestScore, tea.BestScore)
	}
	var paged []string
	for token := ""; ; {
		page := need(t)(acme.ListNotableQuestions(ctx, &ragdv1.ListNotableQuestionsRequest{Kind: "unanswered", PageSize: 1, PageToken: token})).(*ragdv1.ListNotableQuestionsResponse)
		paged = append(paged, page.Questions[0].Text)
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	if want := []string{"who opened the harbour", "price of tea", "crane for heavy goods", "Zeppelin maintenance"}; !slices.Equal(paged, want) {
		t.Errorf("pages have %q, want %q", paged, want)
	}

	// A later instance adds to what is stored.
	askKeywords(t, acme, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "zeppelin maintenance"})
	if got := notableOf(t, s, acme, "docs"); len(got) != 3 || got[0] != "docs default unanswered x3: zeppelin maintenance" {
		t.Errorf("asked again: %q", got)
	}

	// They are deleted on request, with the contents, with the index and when it records none.
	res := need(t)(acme.DeleteAskedQuestions(ctx, &ragdv1.DeleteAskedQuestionsRequest{IndexName: "faq"})).(*ragdv1.DeleteAskedQuestionsResponse)
	if res.Deleted < 1 || len(notableOf(t, s, acme, "faq")) != 0 {
		t.Errorf("%d questions were deleted", res.Deleted)
	}
	need(t)(acme.UpdateIndex(ctx, &ragdv1.UpdateIndexRequest{IndexName: "docs", RecordQuestions: new(false)}))
	askKeywords(t, acme, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "zeppelin maintenance"})
	if got := notableOf(t, s, acme, "docs"); got != nil {
		t.Errorf("an index that records none has %q", got)
	}
	need(t)(acme.UpdateIndex(ctx, &ragdv1.UpdateIndexRequest{IndexName: "docs", RecordQuestions: new(true)}))
	for _, remove := range []func(){
		func() { need(t)(acme.TruncateIndex(ctx, &ragdv1.TruncateIndexRequest{IndexName: "faq"})) },
		func() { need(t)(acme.DeleteIndex(ctx, &ragdv1.DeleteIndexRequest{IndexName: "faq"})) },
	} {
		askKeywords(t, acme, &ragdv1.VectorQueryRequest{IndexName: "faq", QueryText: "zeppelin maintenance"})
		if len(notableOf(t, s, acme, "faq")) == 0 {
			t.Fatal("the question was not recorded")
		}
		askKeywords(t, acme, &ragdv1.VectorQueryRequest{IndexName: "faq", QueryText: "waits while the index is deleted"})
		remove()
		var left int
		noError(t, s.Pool.QueryRow(ctx, `SELECT count(*) FROM ragd_shared.notable_questions`).Scan(&left))
		if left != 0 {
			t.Errorf("%d questions are left", left)
		}
	}
	s.Handlers.Notable.Flush(ctx)
	var left int
	noError(t, s.Pool.QueryRow(ctx, `SELECT count(*) FROM ragd_shared.notable_questions AS q WHERE NOT EXISTS (SELECT FROM tenant_acme.indexes AS i WHERE i.index_id = q.index_id)`).Scan(&left))
	if left != 0 {
		t.Errorf("%d questions are stored of an index that is gone", left)
	}
}

// Notable questions are of their tenant alone, and of those who may see all of its indexes' contents.
func TestWhoMayListNotableQuestions(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	for _, c := range []servicetest.Client{acme, bolt} {
		c.Index(t, "docs")
		c.Index(t, "faq")
	}
	askKeywords(t, acme, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "apricot"})
	askKeywords(t, acme, &ragdv1.VectorQueryRequest{IndexName: "faq", QueryText: "cherry"})
	askKeywords(t, bolt, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "kumquat"})
	for tenant, want := range map[string][]string{
		"acme": {"faq default unanswered x1: cherry", "docs default unanswered x1: apricot"}, "bolt": {"docs default unanswered x1: kumquat"},
	} {
		for _, c := range []servicetest.Client{s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: tenant, Scopes: []string{"admin"}})), s.Operator("Ragd-Tenant", tenant)} {
			if diff := cmp.Diff(want, notableOf(t, s, c, "")); diff != "" {
				t.Error(diff)
			}
		}
	}
	bound := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}, Indexes: names("faq")}))
	if got := notableOf(t, s, bound, ""); !slices.Equal(got, []string{"faq default unanswered x1: cherry"}) {
		t.Errorf("a bound key sees %q", got)
	}
	_, err := bound.ListNotableQuestions(t.Context(), &ragdv1.ListNotableQuestionsRequest{IndexName: "docs"})
	servicetest.WantCode(t, "another index than the bound one", err, connect.CodeNotFound)
	for what, req := range map[string]*ragdv1.CreateApiKeyRequest{
		"a key that may write":            {TenantId: "acme", Scopes: []string{"write"}},
		"a key with a mandatory filter":   {TenantId: "acme", Scopes: []string{"admin"}, MandatoryFilter: servicetest.Object(t, map[string]any{"level": "open"})},
		"a key of tools with scope admin": {TenantId: "acme", Scopes: []string{"admin"}, Tools: names("search")},
	} {
		_, err := s.Client(s.Key(t, req)).ListNotableQuestions(t.Context(), &ragdv1.ListNotableQuestionsRequest{})
		servicetest.WantCode(t, what, err, connect.CodePermissionDenied)
	}
	_, err = acme.ListNotableQuestions(t.Context(), &ragdv1.ListNotableQuestionsRequest{Kind: "loud"})
	servicetest.WantCode(t, "an unknown kind", err, connect.CodeInvalidArgument)
}

// A failure of a model is recorded with its code alone, and a wrong request is not.
func TestFailedQuestionsAreNotable(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	s := servicetest.New(t, service.Config{Providers: service.Providers{OpenAI: endpoint.Config{BaseURL: ai.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1, Models: []string{"*"}}}})
	acme := s.Tenant(t, "acme")
	need(t)(acme.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", EmbeddingModel: "openai/m", Dimension: 8}))
	ai.Set(modelserver.Fault{Status: http.StatusInternalServerError, Code: "secret-of-the-provider"})
	_, err := acme.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "price of tea", SearchMode: "vector"})
	servicetest.WantCode(t, "a model that fails", err, connect.CodeUnavailable)
	_, err = acme.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "price of tea", QueryVector: []float32{1}})
	servicetest.WantCode(t, "a vector of another dimension", err, connect.CodeInvalidArgument)
	if got := notableOf(t, s, acme, "docs"); !slices.Equal(got, []string{"docs default failed x1 unavailable: price of tea"}) {
		t.Errorf("the failed questions are %q", got)
	}
}

func TestAServiceMayRecordNoQuestions(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{RecordNoQuestions: true})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	askKeywords(t, acme, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "apricot"})
	if got := notableOf(t, s, acme, ""); got != nil {
		t.Errorf("%q was recorded", got)
	}
}
