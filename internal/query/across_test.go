package query_test

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// shelves are the texts of several indexes.
var shelves = map[string]map[string]string{
	"docs-gate":   {"gate.md": "The harbour gate opens two hours before high water.", "fees.md": "A berth costs thirty crowns a day.", "crew.md": "The crew eats at noon."},
	"docs-pilots": {"pilots.md": "A pilot boards every ship before the harbour gate.", "radio.md": "Pilots listen on channel twelve."},
	"minutes":     {"march.md": "In March the gate was painted green.", "april.md": "In April nothing happened."},
}

// library returns the service with a tenant that has the shelves, and another whose shelves have the same names and texts.
func library(t *testing.T) (*servicetest.Service, servicetest.Client) {
	t.Helper()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	for _, client := range []servicetest.Client{c, s.Tenant(t, "other")} {
		for name, texts := range shelves {
			client.Index(t, name)
			for uri, text := range texts {
				client.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: name, Uri: uri, Source: servicetest.Text(text), Metadata: servicetest.Object(t, map[string]any{"open": uri != "fees.md" && uri != "pilots.md"})})
			}
		}
	}
	return s, c
}

// places returns where sources are, as index/uri.
func places(sources []*ragdv1.Source) []string {
	out := make([]string, len(sources))
	for i, source := range sources {
		out[i] = source.GetIndexName() + "/" + source.GetUri()
	}
	return out
}

// An answer from several indexes has the best sources of the answers of each.
func TestSeveralIndexesAreOneOrder(t *testing.T) {
	t.Parallel()
	_, c := library(t)
	const question = "when does the harbour gate open"
	for _, mode := range []string{"hybrid", "keyword", "vector"} {
		var want []*ragdv1.Source
		for name := range shelves {
			alone, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: name, QueryText: question, SearchMode: mode, TopK: new(int32(4))})
			if err != nil {
				t.Fatal(err)
			}
			for _, source := range alone.GetSources() {
				if source.GetIndexName() != "" {
					t.Errorf("a source of one index names it: %v", source)
				}
				source.IndexName = name
				want = append(want, source)
			}
		}
		slices.SortFunc(want, func(a, b *ragdv1.Source) int { return cmp.Compare(b.GetScore(), a.GetScore()) })
		for _, names := range [][]string{nil, {"*"}, {"docs-*", "minutes"}, {"minutes", "docs-pilots", "docs-gate", "docs-gate"}} {
			got, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexNames: names, QueryText: question, SearchMode: mode, TopK: new(int32(4)), Explain: true})
			if err != nil {
				t.Fatal(err)
			}
			if len(got.GetWarnings()) > 0 || !got.GetExplain().GetComplete() || got.GetExplain().GetSearchMode() != mode {
				t.Errorf("%s over %q: %v, %v", mode, names, got.GetWarnings(), got.GetExplain())
			}
			if len(got.GetSources()) != min(4, len(want)) {
				t.Fatalf("%s over %q gives %d sources", mode, names, len(got.GetSources()))
			}
			for i, source := range got.GetSources() {
				if source.GetScore() != want[i].GetScore() {
					t.Errorf("%s over %q: source %d is %s with %g, want %s with %g", mode, names, i, source.GetUri(), source.GetScore(), want[i].GetUri(), want[i].GetScore())
				}
			}
		}
	}
	got, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexNames: []string{"docs-*"}, QueryText: "gate"})
	if err != nil || strings.Contains(strings.Join(places(got.GetSources()), " "), "minutes") {
		t.Errorf("docs-*: %v, %v", places(got.GetSources()), err)
	}
}

// Nobody sees an index or a document of others through several indexes.
func TestSeveralIndexesKeepWalls(t *testing.T) {
	t.Parallel()
	s, _ := library(t)
	own := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme"}))
	ids := map[string]bool{}
	for name := range shelves {
		page, err := own.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: name})
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range page.GetDocuments() {
			ids[document.GetDocumentId()] = true
		}
	}
	ask := func(c servicetest.Client, names ...string) (*ragdv1.VectorQueryResponse, error) {
		return c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexNames: names, QueryText: "harbour gate pilots crowns March", TopK: new(int32(50))})
	}
	all, err := ask(own)
	if err != nil || len(all.GetSources()) == 0 {
		t.Fatal(all, err)
	}
	for _, source := range all.GetSources() {
		if !ids[source.GetDocumentId()] {
			t.Errorf("%s is of another tenant", source)
		}
	}

	bound := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Indexes: &ragdv1.AllowedNames{Names: []string{"docs-gate", "minutes"}}}))
	for _, names := range [][]string{nil, {"*"}, {"docs-*", "m*"}} {
		answer, err := ask(bound, names...)
		if err != nil || strings.Contains(strings.Join(places(answer.GetSources()), " "), "docs-pilots") {
			t.Errorf("bound to indexes, %q: %v, %v", names, places(answer.GetSources()), err)
		}
	}
	_, err = ask(bound, "docs-gate", "docs-pilots")
	servicetest.WantCode(t, "an index beyond the bounds", err, connect.CodeNotFound)
	_, err = ask(bound, "docs-p*")
	servicetest.WantCode(t, "a pattern beyond the bounds", err, connect.CodeNotFound)

	filtered := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"open": true})}))
	answer, err := ask(filtered)
	if found := places(answer.GetSources()); err != nil || len(found) == 0 || slices.Contains(found, "docs-gate/fees.md") || slices.Contains(found, "docs-pilots/pilots.md") {
		t.Errorf("with a mandatory filter: %v, %v", found, err)
	}
}

func weightsOf(weights map[string]float64) (out []*ragdv1.IndexWeight) {
	for name, weight := range weights {
		out = append(out, &ragdv1.IndexWeight{IndexName: name, Weight: weight})
	}
	return out
}

func TestIndexesAreWeighted(t *testing.T) {
	t.Parallel()
	_, c := library(t)
	ask := func(weights map[string]float64) map[string]float64 {
		answer, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexNames: []string{"*"}, IndexWeights: weightsOf(weights), QueryText: "harbour gate", TopK: new(int32(50))})
		if err != nil {
			t.Fatal(err)
		}
		scores := map[string]float64{}
		for _, source := range answer.GetSources() {
			scores[source.GetIndexName()+"/"+source.GetUri()] = source.GetScore()
		}
		return scores
	}
	plain := ask(nil)
	for name, factors := range map[string]struct {
		weights map[string]float64
		factor  map[string]float64
	}{
		"below": {map[string]float64{"minutes": 0.5}, map[string]float64{"minutes": 0.5, "docs-gate": 1, "docs-pilots": 1}},
		"above": {map[string]float64{"docs-gate": 4, "minutes": 2}, map[string]float64{"docs-gate": 1, "minutes": 0.5, "docs-pilots": 0.25}},
		"all":   {map[string]float64{"docs-gate": 0.5, "minutes": 0.5, "docs-pilots": 0.5}, map[string]float64{"docs-gate": 1, "minutes": 1, "docs-pilots": 1}},
	} {
		for place, score := range ask(factors.weights) {
			index, _, _ := strings.Cut(place, "/")
			if want := plain[place] * factors.factor[index]; score != want {
				t.Errorf("%s: %s scores %g, want %g", name, place, score, want)
			}
		}
	}
}

// An index that cannot answer is named, and the others answer.
func TestSeveralIndexesAnswerWithoutOne(t *testing.T) {
	t.Parallel()
	_, c := library(t)
	if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "vectors", Dimension: 3}); err != nil {
		t.Fatal(err)
	}
	answer, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexNames: []string{"minutes", "vectors"}, QueryText: "the green gate", SearchMode: "hybrid", Explain: true})
	if err != nil || len(answer.GetSources()) == 0 || len(answer.GetWarnings()) != 1 || !strings.Contains(answer.GetWarnings()[0], `index "vectors" did not answer`) || answer.GetExplain().GetComplete() {
		t.Errorf("%v, %v", answer, err)
	}
	_, err = c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexNames: []string{"vectors"}, QueryText: "the green gate"})
	servicetest.WantCode(t, "none answers", err, connect.CodeInvalidArgument)
}

func TestSeveralIndexesAreRerankedAndCutTogether(t *testing.T) {
	t.Parallel()
	_, c := library(t)
	answer, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{
		IndexNames: []string{"*"}, QueryText: "In which month was the gate painted green?", TopK: new(int32(2)), MaxTokens: new(int32(512)), Highlight: true,
		Reranker: &ragdv1.Reranker{Kind: "lexical", Candidates: 20},
	})
	if err != nil || len(answer.GetSources()) != 2 || places(answer.GetSources())[0] != "minutes/march.md" {
		t.Fatalf("%v, %v", answer, err)
	}
	first := answer.GetSources()[0]
	if first.GetDetails() == nil || first.GetHighlight() == nil || answer.GetBudget() == nil || !strings.Contains(answer.GetRelevantContext(), "painted green") {
		t.Errorf("%v", answer)
	}
}

func TestQuestionsToSeveralIndexesAreChecked(t *testing.T) {
	t.Parallel()
	s, c := library(t)
	for name, tc := range map[string]struct {
		request *ragdv1.VectorQueryRequest
		code    connect.Code
		says    string
	}{
		"both":             {&ragdv1.VectorQueryRequest{IndexName: "minutes", IndexNames: []string{"*"}}, connect.CodeInvalidArgument, "indexNames: and indexName are mutually exclusive"},
		"ranks":            {&ragdv1.VectorQueryRequest{IndexNames: []string{"*"}, Hybrid: &ragdv1.Hybrid{Fusion: "rrf"}}, connect.CodeInvalidArgument, "hybrid.fusion: rrf"},
		"empty name":       {&ragdv1.VectorQueryRequest{IndexNames: []string{"minutes", " "}}, connect.CodeInvalidArgument, "indexNames: has an empty name"},
		"long name":        {&ragdv1.VectorQueryRequest{IndexNames: []string{strings.Repeat("a", 129)}}, connect.CodeInvalidArgument, "over the limit of 128"},
		"many names":       {&ragdv1.VectorQueryRequest{IndexNames: slices.Repeat([]string{"minutes"}, 101)}, connect.CodeInvalidArgument, "over the limit of 100"},
		"unknown":          {&ragdv1.VectorQueryRequest{IndexNames: []string{"minutes", "docs-gates"}}, connect.CodeNotFound, `index "docs-gates" not found`},
		"no match":         {&ragdv1.VectorQueryRequest{IndexNames: []string{"x_*", "%"}}, connect.CodeNotFound, `index "%" not found`},
		"underscore":       {&ragdv1.VectorQueryRequest{IndexNames: []string{"minute_*"}}, connect.CodeNotFound, "no index matches minute_*"},
		"weight of none":   {&ragdv1.VectorQueryRequest{IndexNames: []string{"docs-*"}, IndexWeights: weightsOf(map[string]float64{"minutes": 2})}, connect.CodeInvalidArgument, `indexWeights: "minutes" is none of the indexes`},
		"weight 0":         {&ragdv1.VectorQueryRequest{IndexWeights: weightsOf(map[string]float64{"minutes": 0})}, connect.CodeInvalidArgument, `the weight of "minutes" must be above 0`},
		"weight of one":    {&ragdv1.VectorQueryRequest{IndexName: "minutes", IndexWeights: weightsOf(map[string]float64{"minutes": 1})}, connect.CodeInvalidArgument, "indexWeights: is for several indexes"},
		"two weights":      {&ragdv1.VectorQueryRequest{IndexWeights: slices.Repeat(weightsOf(map[string]float64{"minutes": 2}), 2)}, connect.CodeInvalidArgument, `"minutes" has two weights`},
		"unknown reranker": {&ragdv1.VectorQueryRequest{IndexNames: []string{"*"}, Reranker: &ragdv1.Reranker{Kind: "guess"}}, connect.CodeInvalidArgument, "reranker"},
		"a bad filter":     {&ragdv1.VectorQueryRequest{IndexNames: []string{"*"}, Filter: structpb.NewStringValue(`{"$no": 1}`)}, connect.CodeInvalidArgument, "filter"},
		"topK":             {&ragdv1.VectorQueryRequest{IndexNames: []string{"*"}, TopK: new(int32(1001))}, connect.CodeInvalidArgument, "topK"},
	} {
		tc.request.QueryText = "the gate"
		_, err := c.VectorQuery(t.Context(), tc.request)
		servicetest.WantCode(t, name, err, tc.code)
		if !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v does not say %q", name, err, tc.says)
		}
	}
	empty := s.Tenant(t, "empty")
	_, err := empty.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: "the gate"})
	servicetest.WantCode(t, "no index", err, connect.CodeNotFound)
	_, err = empty.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexNames: []string{"*"}, QueryText: "the gate"})
	servicetest.WantCode(t, "no index to match", err, connect.CodeNotFound)
}

// A passage in two indexes is one source, the best, unless each is asked for.
func TestAPassageOfSeveralIndexesIsOneSource(t *testing.T) {
	t.Parallel()
	_, c := library(t)
	const text = "The lighthouse keeper writes the log of every night, from dusk to dawn, in a book bound in blue cloth that lies beside the lamp."
	for _, name := range []string{"docs-gate", "minutes"} {
		c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: name, Uri: name + "/log.md", Title: "Log", Source: servicetest.Text(text)})
	}
	ask := func(distinct *bool) *ragdv1.VectorQueryResponse {
		got, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{
			QueryText: "lighthouse keeper log", Distinct: distinct, Explain: true, IndexWeights: []*ragdv1.IndexWeight{{IndexName: "minutes", Weight: 4}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	logs := func(sources []*ragdv1.Source) []string {
		return slices.DeleteFunc(places(sources), func(place string) bool { return !strings.HasSuffix(place, "log.md") })
	}
	got := ask(nil)
	if said := logs(got.GetSources()); !slices.Equal(said, []string{"minutes/minutes/log.md"}) {
		t.Fatalf("%q", said)
	}
	also := got.GetSources()[0].GetAlsoIn()
	if len(also) != 1 || also[0].GetIndexName() != "docs-gate" || also[0].GetUri() != "docs-gate/log.md" || got.GetSources()[0].GetAlsoInCount() != 1 || got.GetExplain().GetRepeatedCount() != 1 {
		t.Errorf("%v", got)
	}
	if said := logs(ask(new(false)).GetSources()); len(said) != 2 {
		t.Errorf("each one: %q", said)
	}
}

// Feedback on a source of several indexes goes to the question set of its index, and not from another tenant.
func TestFeedbackOnAnAnswerOfSeveralIndexes(t *testing.T) {
	t.Parallel()
	s, c := library(t)
	got, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexNames: []string{"*"}, QueryText: "when does the harbour gate open"})
	if err != nil || got.GetQueryId() == "" {
		t.Fatal(got, err)
	}
	sets := map[string]bool{}
	for _, source := range got.GetSources() {
		recorded, err := c.RecordFeedback(t.Context(), &ragdv1.RecordFeedbackRequest{QueryId: got.GetQueryId(), Source: source.GetId(), Helpful: new(true)})
		if err != nil || recorded.GetSetName() != "feedback-"+source.GetIndexName() {
			t.Errorf("%s of %s: %v, %v", source.GetUri(), source.GetIndexName(), recorded, err)
		}
		sets[recorded.GetSetName()] = true
	}
	if len(sets) < 2 {
		t.Errorf("%v", sets)
	}
	other := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "other"}))
	_, err = other.RecordFeedback(t.Context(), &ragdv1.RecordFeedbackRequest{QueryId: got.GetQueryId(), Source: got.GetSources()[0].GetId(), Helpful: new(true)})
	servicetest.WantCode(t, "another tenant", err, connect.CodeInvalidArgument)

	if _, err := c.DeleteIndex(t.Context(), &ragdv1.DeleteIndexRequest{IndexName: got.GetSources()[0].GetIndexName()}); err != nil {
		t.Fatal(err)
	}
	_, err = c.RecordFeedback(t.Context(), &ragdv1.RecordFeedbackRequest{QueryId: got.GetQueryId(), Source: got.GetSources()[0].GetId(), Helpful: new(true)})
	servicetest.WantCode(t, "an index that is gone", err, connect.CodeNotFound)
}

// A question to several indexes is embedded once for each model, also while it is in no cache.
func TestSeveralIndexesOfAModelEmbedOnce(t *testing.T) {
	t.Parallel()
	fake := modelserver.New(t)
	s := servicetest.New(t, service.Config{Providers: service.Providers{OpenAI: endpoint.Config{BaseURL: fake.URL + "/v1", APIKey: modelserver.Key}}})
	c := s.Tenant(t, "acme")
	for name, model := range map[string]string{"a": "openai/one", "b": "openai/one", "c": "openai/one", "d": "openai/two", "e": "builtin/hash-512"} {
		if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: name, EmbeddingModel: model}); err != nil {
			t.Fatal(err)
		}
		c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: name, Uri: "gate.md", Source: servicetest.Text("The gate of " + name + " opens at noon.")})
	}
	asked := func(ask func() error) map[string]int {
		before := len(fake.Requests())
		if err := ask(); err != nil {
			t.Fatal(err)
		}
		models := map[string]int{}
		for _, request := range fake.Requests()[before:] {
			model, _ := request.Body["model"].(string)
			texts, _ := request.Body["input"].([]any)
			models[model] += len(texts)
		}
		return models
	}
	want := map[string]int{"one": 1, "two": 1}
	if got := asked(func() error {
		_, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: "when does it open"})
		return err
	}); !maps.Equal(got, want) {
		t.Errorf("a search embeds %v, not %v", got, want)
	}
	if got := asked(func() error {
		_, err := c.GraphRag(t.Context(), &ragdv1.GraphRagRequest{QueryText: "when does the gate open"})
		return err
	}); !maps.Equal(got, want) {
		t.Errorf("a walk embeds %v, not %v", got, want)
	}
}

// A word that one of several indexes has is not misspelt in the others; one that none has is corrected in each.
func TestWordsOfOtherIndexesAreNotMisspelt(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	for name, text := range map[string]string{"mountains": "A hut stands on the mountain.", "fountains": "The fountain is made of marble."} {
		c.Index(t, name)
		c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: name, Uri: name, Source: servicetest.Text(text)})
	}
	ask := func(question string, names ...string) *ragdv1.VectorQueryResponse {
		t.Helper()
		found, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexNames: names, QueryText: question, SearchMode: "keyword"})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	for _, question := range []string{"mountain", "fountain"} {
		if found := ask(question, "mountains", "fountains"); len(found.Sources) != 1 || found.Sources[0].Uri != question+"s" || len(found.Warnings) > 0 {
			t.Errorf("%q: %q, warnings %q", question, places(found.Sources), found.Warnings)
		}
	}
	if found := ask("fountain", "mountains"); len(found.Sources) != 1 || len(found.Warnings) != 1 {
		t.Errorf("one index: %q, warnings %q", places(found.Sources), found.Warnings)
	}
	found := ask("marbel", "mountains", "fountains")
	if len(found.Sources) != 1 || found.Sources[0].Uri != "fountains" || len(found.Warnings) != 1 || !strings.Contains(found.Warnings[0], "marble") {
		t.Errorf("a word that is nowhere: %q, warnings %q", places(found.Sources), found.Warnings)
	}
}
