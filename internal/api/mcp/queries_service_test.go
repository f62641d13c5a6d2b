package mcp_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// severalAnswers is the structured content of a call with several questions.
type severalAnswers struct {
	Sources []struct{ ID, URI, Document string }
	Answers []struct {
		QueryText string
		Sources   []struct {
			Number int
			Score  float64
		}
		QueryID string
		Error   *struct{ Code, Message, Field string }
	}
}

// askSeveral calls vector_query and returns its result, which is an error if want is not empty and then has it in its text.
func askSeveral(t testing.TB, s *servicetest.Service, key, want string, arguments map[string]any) (several severalAnswers, text string) {
	t.Helper()
	result := rawCall(t, s.URL+mcphttp.Path, key, "tools/call", map[string]any{"name": "vector_query", "arguments": arguments}, nil)
	if result.IsError != (want != "") || !strings.Contains(string(result.raw), want) {
		t.Fatalf("%v is answered with %s, want %q", arguments, result.raw, want)
	}
	if want == "" {
		if err := json.Unmarshal(result.StructuredContent, &several); err != nil {
			t.Fatal(err)
		}
	}
	return several, result.Content[0].Text
}

// questionsService has the indexes docs and hidden of the tenant acme, and one of another tenant.
func questionsService(t testing.TB) (*servicetest.Service, servicetest.Client, servicetest.Client) {
	t.Helper()
	s := servicetest.New(t, service.Config{})
	acme, other := s.Tenant(t, "acme"), s.Tenant(t, "other")
	for _, index := range []string{"docs", "hidden"} {
		acme.Index(t, index)
	}
	other.Index(t, "docs")
	metadata := servicetest.Object(t, map[string]any{"open": true})
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "gate.md", Source: servicetest.Text("The harbour gate was painted green in May."), Metadata: metadata})
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "crane.md", Source: servicetest.Text("The crane lifts forty tons."), Metadata: metadata})
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "draft.md", Source: servicetest.Text("Draft: the crane shall lift fifty tons.")})
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "hidden", Uri: "wages.md", Source: servicetest.Text("The crane driver earns nine crowns."), Metadata: metadata})
	other.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "secret.md", Source: servicetest.Text("The crane and the gate of another harbour."), Metadata: metadata})
	return s, acme, other
}

// Each of several questions has its answer or its error, each passage is shown once, and feedback names an answer.
func TestSeveralQuestionsInOneCall(t *testing.T) {
	t.Parallel()
	s, acme, _ := questionsService(t)
	got, text := askSeveral(t, s, acme.Secret, "", map[string]any{
		"queries": []string{"When was the gate painted?", " ", "What does the crane lift?", "painted gate"}, "indexName": "docs", "topK": 2,
	})
	ids := map[string]bool{}
	for _, source := range got.Sources {
		if ids[source.ID] {
			t.Errorf("%s is shown twice", source.ID)
		}
		ids[source.ID] = true
	}
	if len(got.Answers) != 4 || len(got.Sources) != 3 {
		t.Fatalf("%+v", got)
	}
	best := func(n int) string { return got.Sources[got.Answers[n].Sources[0].Number-1].URI }
	if best(0) != "gate.md" || best(3) != "gate.md" || best(2) == "gate.md" {
		t.Errorf("%+v", got)
	}
	if failed := got.Answers[1]; failed.Error == nil || failed.Error.Code != "invalid_argument" || failed.Error.Field != "queryText" || len(failed.Sources) > 0 {
		t.Errorf("%+v", failed)
	}
	for _, want := range []string{"Question 1: When was the gate painted?\n", "Question 2: ", "Error: ", "See above: [1]"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	answer := got.Answers[3]
	if _, err := acme.RecordFeedback(t.Context(), &ragdv1.RecordFeedbackRequest{QueryId: answer.QueryID, Source: got.Sources[answer.Sources[0].Number-1].ID, Helpful: new(true)}); err != nil {
		t.Error(err)
	}
}

// A call that cannot be says which argument to change.
func TestSeveralQuestionsAreRefusedClearly(t *testing.T) {
	t.Parallel()
	s, acme, _ := questionsService(t)
	two := []string{"the gate", "the crane"}
	for want, arguments := range map[string]map[string]any{
		"queries: and queryText are mutually exclusive":   {"queries": two, "queryText": "the gate"},
		"queries: and queryVector are mutually exclusive": {"queries": two, "queryVector": []float64{1}},
		"groupBy: is for one question":                    {"queries": two, "groupBy": map[string]any{"field": "team"}},
		"pageSize: is for one question":                   {"queries": two, "pageSize": 5},
		"explain: is for one question":                    {"queries": two, "explain": true},
		"includeSources: must be true with queries":       {"queries": two, "includeSources": false},
		"queries: must have 1 to 100 queries, got 0":      {"queries": []string{}},
		"queries: must have 1 to 100 queries, got 101":    {"queries": slices.Repeat(two[:1], 101)},
		"for these 100 questions, got 512: raise it":      {"queries": slices.Repeat(two, 50), "maxTokens": 512},
	} {
		arguments["indexName"] = "docs"
		askSeveral(t, s, acme.Secret, want, arguments)
	}
}

// The walls and bounds of a key hold for each of several questions.
func TestSeveralQuestionsKeepWalls(t *testing.T) {
	t.Parallel()
	s, _, other := questionsService(t)
	bound := s.Key(t, &ragdv1.CreateApiKeyRequest{
		TenantId: "acme", Scopes: []string{"read"}, Indexes: &ragdv1.AllowedNames{Names: []string{"docs"}}, MandatoryFilter: servicetest.Object(t, map[string]any{"open": true}),
	})
	uris := func(got severalAnswers) (all []string) {
		for _, source := range got.Sources {
			all = append(all, source.URI)
		}
		slices.Sort(all)
		return all
	}
	questions := []string{"what does the crane lift", "crane driver crowns", "the gate"}
	if got, _ := askSeveral(t, s, bound, "", map[string]any{"queries": questions}); fmt.Sprint(uris(got)) != "[crane.md gate.md]" {
		t.Errorf("a bound key is shown %v", uris(got))
	}
	if got, _ := askSeveral(t, s, other.Secret, "", map[string]any{"queries": questions}); fmt.Sprint(uris(got)) != "[secret.md]" {
		t.Errorf("another tenant is shown %v", uris(got))
	}
	got, _ := askSeveral(t, s, bound, "", map[string]any{"queries": questions, "indexName": "hidden"})
	for _, answer := range got.Answers {
		if answer.Error == nil || answer.Error.Code != "not_found" {
			t.Errorf("an index beyond the bounds: %+v", answer)
		}
	}
}
