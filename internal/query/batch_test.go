package query_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// Each query of a batch gets what it would get alone.
func TestBatchAnswersAsSingleQueries(t *testing.T) {
	t.Parallel()
	_, c := library(t)
	queries := []*ragdv1.VectorQueryRequest{
		{IndexName: "minutes", QueryText: "when was the gate painted"},
		{IndexName: "absent", QueryText: "the gate"},
		{QueryText: "pilots", TopK: new(int32(2))},
		{IndexName: "docs-gate", QueryText: "berth", SearchMode: "keyword"},
		{IndexName: "docs-gate", QueryText: "berth", TopK: new(int32(0))},
		{IndexName: "docs-gate", QueryText: " "},
	}
	got, err := c.BatchQuery(t.Context(), &ragdv1.BatchQueryRequest{Queries: queries})
	if err != nil || len(got.GetAnswers()) != len(queries) {
		t.Fatal(got, err)
	}
	for n, query := range queries {
		want, err := c.VectorQuery(t.Context(), query)
		answer := got.GetAnswers()[n]
		if err == nil {
			if !proto.Equal(answer.GetAnswer(), want) || answer.GetError() != nil {
				t.Errorf("query %d: %v, want %v", n, answer, want)
			}
			continue
		}
		failed := answer.GetError()
		if answer.GetAnswer() != nil || failed.GetCode() != connect.CodeOf(err).String() || !strings.Contains(err.Error(), failed.GetMessage()) || failed.GetMessage() == "" {
			t.Errorf("query %d: %v, want %v", n, answer, err)
		}
	}
	if field := got.GetAnswers()[4].GetError().GetField(); field != "topK" {
		t.Errorf("the field of an invalid query is %q", field)
	}

	for name, size := range map[string]int{"none": 0, "too many": 101} {
		_, err := c.BatchQuery(t.Context(), &ragdv1.BatchQueryRequest{Queries: slices.Repeat(queries[:1], size)})
		servicetest.WantCode(t, name, err, connect.CodeInvalidArgument)
	}
}

// The walls hold for each query of a batch.
func TestBatchKeepsWalls(t *testing.T) {
	t.Parallel()
	s, _ := library(t)
	bound := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{
		TenantId: "acme", Scopes: []string{"read"}, Indexes: &ragdv1.AllowedNames{Names: []string{"docs-gate"}}, MandatoryFilter: servicetest.Object(t, map[string]any{"open": true}),
	}))
	got, err := bound.BatchQuery(t.Context(), &ragdv1.BatchQueryRequest{Queries: []*ragdv1.VectorQueryRequest{
		{IndexName: "docs-pilots", QueryText: "pilots"}, {IndexName: "docs-gate", QueryText: "crowns gate"}, {IndexNames: []string{"*"}, QueryText: "pilots crowns gate"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if code := got.GetAnswers()[0].GetError().GetCode(); code != "not_found" {
		t.Errorf("an index beyond the bounds: %v", got.GetAnswers()[0])
	}
	for _, answer := range got.GetAnswers()[1:] {
		sources := answer.GetAnswer().GetSources()
		if len(sources) == 0 {
			t.Errorf("%v", answer)
		}
		for _, source := range sources {
			if source.GetUri() != "gate.md" && source.GetUri() != "crew.md" {
				t.Errorf("%s is hidden", source.GetUri())
			}
		}
	}
}

// The questions of a batch are embedded in one call, and each counts as a request.
func TestBatchEmbedsTogetherAndCounts(t *testing.T) {
	t.Parallel()
	fake := modelserver.New(t)
	s := servicetest.New(t, service.Config{Providers: service.Providers{OpenAI: endpoint.Config{BaseURL: fake.URL + "/v1", APIKey: modelserver.Key}}})
	c := s.Tenant(t, "acme")
	if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", EmbeddingModel: "openai/some-model"}); err != nil {
		t.Fatal(err)
	}
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "a", Source: servicetest.Text("The gate opens.")})
	batch := func(n int) *ragdv1.BatchQueryRequest {
		req := &ragdv1.BatchQueryRequest{}
		for i := range n {
			req.Queries = append(req.Queries, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: fmt.Sprintf("question %d", i%16)})
		}
		return req
	}
	before := len(fake.Requests())
	got, err := c.BatchQuery(t.Context(), batch(32))
	if err != nil {
		t.Fatal(err)
	}
	for _, answer := range got.GetAnswers() {
		if len(answer.GetAnswer().GetSources()) != 1 {
			t.Errorf("%v", answer)
		}
	}
	if calls := len(fake.Requests()) - before; calls != 1 {
		t.Errorf("16 different questions of 32 took %d calls of the model", calls)
	}
	before = len(fake.Requests())
	typed := &ragdv1.BatchQueryRequest{}
	for _, text := range []string{`"the gate" -crane`, `gate* OR door`} {
		typed.Queries = append(typed.Queries, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: text, QuerySyntax: "web"})
	}
	if got, err = c.BatchQuery(t.Context(), typed); err != nil || got.GetAnswers()[0].GetError() != nil || got.GetAnswers()[1].GetError() != nil {
		t.Fatal(got, err)
	}
	if calls := len(fake.Requests()) - before; calls != 1 {
		t.Errorf("2 questions as people type them took %d calls of the model", calls)
	}

	if _, err := s.Operator().UpdateTenant(t.Context(), &ragdv1.UpdateTenantRequest{TenantId: "acme", Settings: servicetest.Object(t, map[string]any{"requestsPerSecond": 5})}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.BatchQuery(t.Context(), batch(9)); err != nil {
		t.Errorf("within the burst: %v", err)
	}
	_, err = c.BatchQuery(t.Context(), batch(9))
	servicetest.WantCode(t, "beyond the rate", err, connect.CodeResourceExhausted)
}
