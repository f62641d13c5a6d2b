package query_test

import (
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// points returns a client of an index of ready-made vectors on a circle, whose names are their degrees.
func points(t *testing.T) (*servicetest.Service, servicetest.Client) {
	t.Helper()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	for _, client := range []servicetest.Client{c, s.Tenant(t, "other")} {
		if _, err := client.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "points", Dimension: 2}); err != nil {
			t.Fatal(err)
		}
	}
	entries := []*ragdv1.Entry{}
	for id, values := range map[string][]float32{"0": {1, 0}, "10": {0.985, 0.174}, "20": {0.94, 0.342}, "45": {0.707, 0.707}, "60": {0.5, 0.866}, "90": {0, 1}, "180": {-1, 0}} {
		metadata := servicetest.Object(t, map[string]any{"text": "at " + id, "open": id != "90"})
		entries = append(entries, &ragdv1.Entry{Id: id, Values: values, Metadata: metadata})
	}
	if _, err := c.Upsert(t.Context(), &ragdv1.UpsertRequest{IndexName: "points", Entries: entries}); err != nil {
		t.Fatal(err)
	}
	return s, c
}

func byID(ids ...string) (examples []*ragdv1.Example) {
	for _, id := range ids {
		examples = append(examples, &ragdv1.Example{Id: id})
	}
	return examples
}

// idsLike returns the ids of the sources that are like examples.
func idsLike(t *testing.T, c servicetest.Client, like *ragdv1.Like, topK int32) string {
	t.Helper()
	got, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "points", Like: like, TopK: &topK})
	if err != nil {
		t.Fatalf("%v: %v", like, err)
	}
	var ids []string
	for _, source := range got.GetSources() {
		ids = append(ids, source.GetId())
	}
	return strings.Join(ids, " ")
}

// Examples attract and repel, by their mean or one by one, and are not found themselves.
func TestSourcesAreLikeExamples(t *testing.T) {
	t.Parallel()
	_, c := points(t)
	for name, tc := range map[string]struct {
		like *ragdv1.Like
		want string
	}{
		"one":                       {&ragdv1.Like{Positive: byID("0")}, "10 20 45"},
		"the mean of two":           {&ragdv1.Like{Positive: byID("0", "90")}, "45 60 20"},
		"the best of two":           {&ragdv1.Like{Positive: byID("0", "90"), Combine: "best"}, "10 20 60"},
		"away from another":         {&ragdv1.Like{Positive: byID("20"), Negative: byID("0")}, "45 60 10"},
		"not more like another":     {&ragdv1.Like{Positive: byID("45"), Negative: byID("0"), Combine: "best"}, "60 90 180"},
		"without what is named":     {&ragdv1.Like{Positive: byID("0"), Exclude: byID("10", "45")}, "20 60 90"},
		"the best, without":         {&ragdv1.Like{Positive: byID("0", "90"), Exclude: byID("10"), Combine: "best"}, "20 60 45"},
		"the same example as often": {&ragdv1.Like{Positive: byID("0", "0", "0")}, "10 20 45"},
	} {
		if got := idsLike(t, c, tc.like, 3); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// Documents and texts are examples too, with the words of a question beside them.
func TestDocumentsAndTextsAreExamples(t *testing.T) {
	t.Parallel()
	_, c := library(t)
	upload := func(uri, text string) string {
		c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "minutes", Uri: uri, Source: servicetest.Text(text)})
		list, err := c.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "minutes", Search: uri})
		if err != nil || len(list.GetDocuments()) != 1 {
			t.Fatal(list, err)
		}
		return list.GetDocuments()[0].GetDocumentId()
	}
	id := upload("crane-1.md", "The old crane lifts forty tons of grain.")
	upload("crane-2.md", "The new crane lifts fifty tons of coal.")
	for name, like := range map[string]*ragdv1.Like{
		"a document":      {Positive: []*ragdv1.Example{{DocumentId: id}}},
		"a uri":           {Positive: []*ragdv1.Example{{Uri: "crane-1.md"}}},
		"a text":          {Positive: []*ragdv1.Example{{Text: "a crane that lifts tons of coal"}}, Exclude: []*ragdv1.Example{{DocumentId: id}}},
		"texts, the best": {Positive: []*ragdv1.Example{{Text: "a crane that lifts tons"}, {Text: "coal"}}, Exclude: []*ragdv1.Example{{Uri: "crane-1.md"}}, Combine: "best"},
	} {
		for _, question := range []string{"", "what does it lift"} {
			got, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "minutes", Like: like, QueryText: question, Explain: true})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			mode := map[bool]string{true: "vector", false: "hybrid"}[question == ""]
			if len(got.GetSources()) == 0 || got.GetSources()[0].GetUri() != "crane-2.md" || got.GetExplain().GetSearchMode() != mode {
				t.Errorf("%s, %q: %v", name, question, got)
			}
			if slices.ContainsFunc(got.GetSources(), func(source *ragdv1.Source) bool { return source.GetDocumentId() == id }) {
				t.Errorf("%s: the example is found", name)
			}
		}
	}
	across, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{Like: &ragdv1.Like{Positive: []*ragdv1.Example{{Text: "a crane that lifts tons of coal"}}}})
	if err != nil || len(across.GetSources()) == 0 || across.GetSources()[0].GetUri() != "crane-2.md" {
		t.Errorf("several indexes: %v, %v", across, err)
	}
}

// What a caller may not see is no example, and is answered as what does not exist.
func TestExamplesKeepWalls(t *testing.T) {
	t.Parallel()
	s, c := points(t)
	other := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "other"}))
	bound := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"open": true})}))
	ask := func(c servicetest.Client, like *ragdv1.Like) error {
		_, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "points", Like: like})
		return err
	}
	for name, client := range map[string]servicetest.Client{"another tenant": other, "a mandatory filter": bound} {
		for place, like := range map[string]*ragdv1.Like{
			"positive": {Positive: byID("90")}, "negative": {Positive: []*ragdv1.Example{{Id: "0"}}, Negative: byID("90")}, "exclude": {Positive: byID("0"), Exclude: byID("90")},
		} {
			err := ask(client, like)
			servicetest.WantCode(t, name+", "+place, err, connect.CodeNotFound)
			for _, list := range [][]*ragdv1.Example{like.GetPositive(), like.GetNegative(), like.GetExclude()} {
				for _, e := range list {
					if e.GetId() == "90" {
						e.Id = "absent"
					}
				}
			}
			if absent := ask(client, like); absent == nil || err == nil || absent.Error() != err.Error() {
				t.Errorf("%s, %s: %v differs from %v", name, place, err, absent)
			}
		}
	}
	if err := ask(c, &ragdv1.Like{Positive: byID("90")}); err != nil {
		t.Error(err)
	}
}

// An example that cannot be says what is wrong with it.
func TestExamplesAreCheckedClearly(t *testing.T) {
	t.Parallel()
	_, c := points(t)
	one := byID("0")
	text := []*ragdv1.Example{{Text: "a"}}
	for want, req := range map[string]*ragdv1.VectorQueryRequest{
		"like.positive: must be 1 to 10 examples":                 {Like: &ragdv1.Like{}},
		"like.positive[0]: must have exactly one of":              {Like: &ragdv1.Like{Positive: []*ragdv1.Example{{Id: "a", Text: "b"}}}},
		"like.negative[0]: must have exactly one of":              {Like: &ragdv1.Like{Positive: one, Negative: []*ragdv1.Example{{}}}},
		"like.positive[0].text: cannot be embedded":               {Like: &ragdv1.Like{Positive: text}},
		"like.exclude[0].text: cannot be excluded":                {Like: &ragdv1.Like{Positive: one, Exclude: text}},
		"like.positive[0].documentId: is no id of a document":     {Like: &ragdv1.Like{Positive: []*ragdv1.Example{{DocumentId: "a.md"}}}},
		"like.combine: unknown value":                             {Like: &ragdv1.Like{Positive: one, Combine: "most"}},
		"like: and queryVector are mutually exclusive":            {Like: &ragdv1.Like{Positive: one}, QueryVector: []float32{1, 0}},
		"like: compares embeddings, which searchMode keyword":     {Like: &ragdv1.Like{Positive: one}, SearchMode: "keyword", QueryText: "a"},
		"boost: is not for like.combine best":                     {Like: &ragdv1.Like{Positive: one, Combine: "best"}, Boost: &ragdv1.Boost{Field: "a", HalfLife: "1d"}},
		"names a chunk or document of one index, and several are": {Like: &ragdv1.Like{Positive: one}, IndexNames: []string{"p*"}},
	} {
		if req.IndexNames == nil {
			req.IndexName = "points"
		}
		_, err := c.VectorQuery(t.Context(), req)
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", req, err, want)
		}
	}
}
