package embed_test

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/model/embed"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
)

// at returns a registry with an endpoint "e" of this kind.
func at(ai *modelserver.Server, kind endpoint.Kind, change ...func(*endpoint.Config)) *embed.Registry {
	config := endpoint.Config{BaseURL: ai.URL, APIKey: modelserver.Key, MinWait: time.Millisecond, MaxWait: time.Second, Timeout: 20 * time.Second}
	if kind == endpoint.OpenAI {
		config.BaseURL += "/v1"
	}
	for _, c := range change {
		c(&config)
	}
	return embed.NewRegistry(embed.Config{Endpoints: endpoint.NewDirectory(nil, endpoint.NewEndpoint("e", kind, config))})
}

// Each kind says in its own way what a text is for and which dimension is wanted.
func TestEachKindTellsQuestionsFromDocuments(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind               endpoint.Kind
		model              string
		dimension          int // asked for; 0 for the model's own
		path               string
		document, question []string // in the body of the request
		absent             []string
	}{
		{endpoint.Cohere, "embed-v4.0", 256, "/v2/embed",
			[]string{`"input_type":"search_document"`, `"output_dimension":256`, `"embedding_types":["float"]`}, []string{`"input_type":"search_query"`}, nil},
		{endpoint.Cohere, "embed-english-v3.0", 0, "/v2/embed", []string{`"texts":["text"]`}, nil, []string{"output_dimension"}},
		{endpoint.Voyage, "voyage-3.5", 2048, "/v1/embeddings",
			[]string{`"input_type":"document"`, `"output_dimension":2048`}, []string{`"input_type":"query"`}, nil},
		{endpoint.Jina, "jina-embeddings-v3", 128, "/v1/embeddings",
			[]string{`"task":"retrieval.passage"`, `"dimensions":128`}, []string{`"task":"retrieval.query"`}, nil},
		{endpoint.Jina, "jina-embeddings-v2-base-en", 0, "/v1/embeddings", nil, nil, []string{"task", "dimensions"}},
		{endpoint.Jina, "jina-code-embeddings-1.5b", 0, "/v1/embeddings",
			[]string{`"task":"nl2code.passage"`}, []string{`"task":"nl2code.query"`}, nil},
		{endpoint.Gemini, "gemini-embedding-001", 768, "/v1beta/models/gemini-embedding-001:batchEmbedContents",
			[]string{`"model":"models/gemini-embedding-001"`, `"taskType":"RETRIEVAL_DOCUMENT"`, `"outputDimensionality":768`}, []string{`"taskType":"RETRIEVAL_QUERY"`}, nil},
		{endpoint.TEI, "BAAI/bge-small-en-v1.5", 0, "/embed",
			[]string{`"inputs":["text"]`}, []string{"Represent this sentence for searching relevant passages: text"}, []string{"dimensions"}},
		{endpoint.Ollama, "nomic-embed-text:latest", 0, "/api/embed",
			[]string{`"input":["search_document: text"]`}, []string{`"input":["search_query: text"]`}, []string{"dimensions"}},
	} {
		t.Run(string(tc.kind)+" "+tc.model, func(t *testing.T) {
			t.Parallel()
			ai := modelserver.New(t)
			registry := at(ai, tc.kind)
			model, err := registry.Model(t.Context(), "acme", "e/"+tc.model)
			if err == nil {
				model, err = model.WithDimension(tc.dimension)
			}
			if err != nil {
				t.Fatal(err)
			}
			ai.Dimension = max(model.Dimension, 8)
			documents, err := model.Embed(t.Context(), "acme", []string{"text"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := registry.EmbedQuery(t.Context(), "acme", model, "text"); err != nil {
				t.Fatal(err)
			}
			if n := len(documents[0]); n != ai.Dimension || math.Abs(length(documents[0])-1) > 1e-5 {
				t.Errorf("%d values of length %v", n, length(documents[0]))
			}
			for i, want := range [][]string{tc.document, tc.question} {
				got := ai.Requests()[i]
				if got.Path != tc.path {
					t.Errorf("asked %s, want %s", got.Path, tc.path)
				}
				for _, part := range want {
					if !strings.Contains(got.Raw, part) {
						t.Errorf("%s is not in %s", part, got.Raw)
					}
				}
				for _, part := range tc.absent {
					if strings.Contains(got.Raw, part) {
						t.Errorf("%s is in %s", part, got.Raw)
					}
				}
			}
		})
	}
}

func length(vector []float32) float64 {
	var squares float64
	for _, x := range vector {
		squares += float64(x) * float64(x)
	}
	return math.Sqrt(squares)
}

// An API without a parameter for the dimension gets the vectors of a Matryoshka model cut.
func TestVectorsOfMatryoshkaModelsAreCut(t *testing.T) {
	t.Parallel()
	for _, kind := range []endpoint.Kind{endpoint.OpenAI, endpoint.TEI, endpoint.Ollama} {
		ai := modelserver.New(t)
		ai.Dimension = 100
		registry := at(ai, kind, func(c *endpoint.Config) {
			c.Declared = []endpoint.Model{{Name: "doll", Dimension: 100, Matryoshka: true, DocumentPrefix: "d: "}, {Name: "stone", Dimension: 100}}
		})
		whole, err := registry.Model(t.Context(), "acme", "e/doll")
		if err != nil {
			t.Fatal(err)
		}
		small, err := whole.WithDimension(25)
		if err != nil {
			t.Fatal(err)
		}
		long, err := whole.Embed(t.Context(), "acme", []string{"one", "two"})
		if err != nil {
			t.Fatal(err)
		}
		short, err := small.Embed(t.Context(), "acme", []string{"one", "two"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range short {
			scale := float32(length(long[i][:25]))
			if len(short[i]) != 25 || math.Abs(length(short[i])-1) > 1e-5 || math.Abs(float64(short[i][3]*scale-long[i][3])) > 1e-6 {
				t.Errorf("%s: %d values of length %v", kind, len(short[i]), length(short[i]))
			}
		}
		if raw := ai.Requests()[0].Raw; !strings.Contains(raw, `"d: one"`) || strings.Contains(raw, "dimensions") {
			t.Errorf("%s: sent %s", kind, raw)
		}
		stone, err := registry.Model(t.Context(), "acme", "e/stone")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stone.WithDimension(25); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: a model that is no Matryoshka was cut: %v", kind, err)
		}
	}
}

func TestEachKindKeepsToItsBatchLimit(t *testing.T) {
	t.Parallel()
	for kind, most := range map[endpoint.Kind]int{endpoint.Cohere: 96, endpoint.Voyage: 128, endpoint.Jina: 128, endpoint.TEI: 32, endpoint.Ollama: 128, endpoint.Gemini: 100} {
		ai := modelserver.New(t)
		model, err := at(ai, kind).Model(t.Context(), "acme", "e/m")
		if err != nil {
			t.Fatal(err)
		}
		vectors, err := model.Embed(t.Context(), "acme", texts(300))
		if err != nil {
			t.Fatal(err)
		}
		for i, vector := range vectors {
			if diff := math.Abs(float64(vector[0] - ai.Embed(texts(300)[i])[0])); diff > 1e-6 {
				t.Fatalf("%s: the vector of text %d is another's", kind, i)
			}
		}
		for _, r := range ai.Requests() {
			for _, field := range []string{"texts", "input", "inputs", "requests"} {
				if list, ok := r.Body[field].([]any); ok && len(list) > most {
					t.Errorf("%s: %d texts in a request, at most %d are allowed", kind, len(list), most)
				}
			}
		}
		if n := len(ai.Requests()); n != (300+most-1)/most {
			t.Errorf("%s: %d requests", kind, n)
		}
	}
}

func TestAnswersOfAnotherShapeAreErrors(t *testing.T) {
	t.Parallel()
	for _, kind := range endpoint.Kinds {
		for _, body := range []string{`{}`, `[]`, `"x"`, `{"embeddings":[]}`, `{"embeddings":{"float":[]}}`, `{"embeddings":[{"values":[]}]}`, `[[]]`, `{"embeddings":[["a"]]}`, `{"data":[{"embedding":[]}]}`, `null`} {
			ai := modelserver.New(t)
			ai.Set(modelserver.Fault{Body: body})
			model, err := at(ai, kind).Model(t.Context(), "acme", "e/m")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := model.Embed(t.Context(), "acme", []string{"a"}); fault.KindOf(err) != fault.Unavailable {
				t.Errorf("%s answered %s: %v", kind, body, err)
			}
		}
	}
}

// The key goes where each provider looks for it, and nowhere else.
func TestEachKindSendsItsKeyInItsHeader(t *testing.T) {
	t.Parallel()
	for _, kind := range endpoint.Kinds {
		ai := modelserver.New(t)
		model, err := at(ai, kind, func(c *endpoint.Config) { c.Headers = map[string]string{"X-Team": "search"} }).Model(t.Context(), "acme", "e/m")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := model.Embed(t.Context(), "acme", []string{"a"}); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"Authorization": "Bearer " + modelserver.Key, "X-Team": "search"}
		if kind == endpoint.Gemini {
			want = map[string]string{"X-Goog-Api-Key": modelserver.Key, "X-Team": "search"}
		}
		got := map[string]string{}
		for name := range maps.Keys(ai.Requests()[0].Header) {
			if slices.Contains([]string{"Authorization", "X-Goog-Api-Key", "X-Team"}, name) {
				got[name] = ai.Requests()[0].Header.Get(name)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
}

// Vectors of an endpoint are not taken for those of another of the same name.
func TestCachedQuestionsBelongToTheTenantAndTheAddress(t *testing.T) {
	t.Parallel()
	one, two := modelserver.New(t), modelserver.New(t)
	two.Embed = func(string) []float32 { return []float32{1, 0} }
	now := one
	own := func(_ context.Context, _, name string) (*endpoint.Endpoint, error) {
		return endpoint.NewEndpoint(name, endpoint.TEI, endpoint.Config{BaseURL: now.URL}), nil
	}
	registry := embed.NewRegistry(embed.Config{Endpoints: endpoint.NewDirectory(own)})
	ask := func(tenant string) int {
		model, err := registry.Model(t.Context(), tenant, "mine/m")
		if err != nil {
			t.Fatal(err)
		}
		vector, err := registry.EmbedQuery(t.Context(), tenant, model, "q")
		if err != nil {
			t.Fatal(err)
		}
		return len(vector)
	}
	ask("acme")
	ask("acme")
	ask("bolt")
	if n := len(one.Requests()); n != 2 {
		t.Errorf("%d requests for two tenants, want one for each", n)
	}
	now = two
	if n := ask("acme"); n != 2 {
		t.Errorf("after the address changed, the vector has %d values", n)
	}
}
