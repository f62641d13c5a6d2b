package embed_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/model/embed"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// setup returns a fake provider and its model of this name.
func setup(t *testing.T, name string) (*modelserver.Server, *embed.Registry, *embed.Model) {
	t.Helper()
	return setupWithin(t, name, 20*time.Second)
}

// setupWithin is setup with this timeout for a call.
func setupWithin(t *testing.T, name string, timeout time.Duration) (*modelserver.Server, *embed.Registry, *embed.Model) {
	t.Helper()
	ai := modelserver.New(t)
	registry := embed.NewRegistry(embed.Config{Endpoints: endpoint.NewDirectory(nil, endpoint.NewEndpoint("openai", endpoint.OpenAI, endpoint.Config{
		BaseURL: ai.URL + "/v1", APIKey: modelserver.Key, MinWait: time.Millisecond, MaxWait: 1500 * time.Millisecond, Timeout: timeout,
	}))})
	model, err := registry.Model(t.Context(), "acme", name)
	if err != nil {
		t.Fatal(err)
	}
	return ai, registry, model
}

func texts(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("text number %d", i)
	}
	return out
}

func TestOpenAIKeepsTheOrderOverManyBatches(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		mangle func(map[string]any)
	}{
		{"as base64", nil},
		{"as arrays of numbers", func(answer map[string]any) {
			for i, item := range answer["data"].([]any) {
				item.(map[string]any)["embedding"] = []float64{float64(i), 0.5, -0.25}
			}
		}},
		{"in any order", func(answer map[string]any) {
			data := answer["data"].([]any)
			for i, j := 0, len(data)-1; i < j; i, j = i+1, j-1 {
				data[i], data[j] = data[j], data[i]
			}
		}},
		{"without index", func(answer map[string]any) {
			for _, item := range answer["data"].([]any) {
				delete(item.(map[string]any), "index")
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ai, _, model := setup(t, "openai/some-model")
			ai.Set(modelserver.Fault{Mangle: tc.mangle})
			asked := texts(300)
			got, err := model.Embed(t.Context(), "acme", asked)
			if err != nil {
				t.Fatal(err)
			}
			want := make([][]float32, len(asked))
			for i, text := range asked {
				if want[i] = ai.Embed(text); tc.name == "as arrays of numbers" {
					want[i] = []float32{float32(i % 128), 0.5, -0.25}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if n := len(ai.Requests()); n != 3 {
				t.Errorf("%d requests for 300 texts, want 3", n)
			}
		})
	}
}

func TestOpenAIBatchesByTokensToo(t *testing.T) {
	t.Parallel()
	ai, _, model := setup(t, "openai/some-model")
	long := make([]string, 9) // some 20,000 tokens each, so three to a request
	for i := range long {
		long[i] = strings.Repeat("harbour ", 7000) + fmt.Sprint(i)
	}
	if _, err := model.Embed(t.Context(), "acme", long); err != nil {
		t.Fatal(err)
	}
	for _, r := range ai.Requests() {
		if n := len(r.Body["input"].([]any)); n > 3 {
			t.Errorf("%d long texts in one request", n)
		}
	}
}

func TestOpenAISendsWhatTheModelNeeds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		model      string
		dimension  int
		dimensions any // in the request
		document   string
		question   string
	}{
		{"openai/text-embedding-3-small", 256, 256.0, "a", "a"},
		{"openai/unheard-of", 8, nil, "a", "a"},
		{"openai/nomic-embed-text:latest", 0, nil, "search_document: a", "search_query: a"},
	} {
		t.Run(tc.model, func(t *testing.T) {
			t.Parallel()
			ai, registry, model := setup(t, tc.model)
			ai.Dimension = 768
			if tc.dimension != 0 {
				ai.Dimension = tc.dimension
			}
			model, err := model.WithDimension(tc.dimension)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := model.Embed(t.Context(), "acme", []string{"a"}); err != nil {
				t.Fatal(err)
			}
			if _, err := registry.EmbedQuery(t.Context(), "acme", model, "a"); err != nil {
				t.Fatal(err)
			}
			requests := ai.Requests()
			for i, want := range []string{tc.document, tc.question} {
				body := requests[i].Body
				if got := body["input"].([]any)[0]; got != want {
					t.Errorf("sent %q, want %q", got, want)
				}
				if body["dimensions"] != tc.dimensions {
					t.Errorf("asked for %v dimensions, want %v", body["dimensions"], tc.dimensions)
				}
			}
			if got := requests[0].Header.Get("Authorization"); got != "Bearer "+modelserver.Key {
				t.Errorf("authorization %q", got)
			}
		})
	}
}

func TestOpenAIWithoutAKey(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-of-the-environment")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	ai := modelserver.New(t)
	registry := embed.NewRegistry(embed.Config{Endpoints: endpoint.NewDirectory(nil, endpoint.NewEndpoint("openai", endpoint.OpenAI, endpoint.Config{BaseURL: ai.URL + "/v1"}))})
	model, err := registry.Model(t.Context(), "acme", "openai/local")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := model.Embed(t.Context(), "acme", []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if key := ai.Requests()[0].Header.Get("Authorization"); key != "" {
		t.Errorf("sent %q, though no key is configured", key)
	}
}

func TestOpenAIFaults(t *testing.T) {
	t.Parallel()
	first := func(change func(item map[string]any)) func(map[string]any) {
		return func(answer map[string]any) { change(answer["data"].([]any)[0].(map[string]any)) }
	}
	for _, tc := range []struct {
		name   string
		fault  modelserver.Fault
		kind   fault.Kind
		public string
	}{
		{"key refused", modelserver.Fault{Status: 401}, fault.Precondition, "the embedding provider openai refused its API key"},
		{"limited", modelserver.Fault{Status: 429, RetryAfter: "30"}, fault.Exhausted, "the embedding provider openai limits how often it may be called"},
		{"down", modelserver.Fault{Status: 502}, fault.Unavailable, "the embedding provider openai is failing"},
		{"silent", modelserver.Fault{Hang: true}, fault.Unavailable, "the embedding provider openai did not answer within 500ms"},
		{"half an answer", modelserver.Fault{Half: true}, fault.Unavailable, "the embedding provider openai broke off in the middle of its answer"},
		{"not JSON", modelserver.Fault{Body: "oops", ContentType: "text/html"}, fault.Unavailable, "the embedding provider openai gave an answer that makes no sense"},
		{"a vector left out", modelserver.Fault{Mangle: func(a map[string]any) { a["data"] = a["data"].([]any)[1:] }}, fault.Unavailable, "the embedding provider openai gave an answer that makes no sense"},
		{"an index twice", modelserver.Fault{Mangle: first(func(i map[string]any) { i["index"] = 1 })}, fault.Unavailable, "the embedding provider openai gave an answer that makes no sense"},
		{"an index out of range", modelserver.Fault{Mangle: first(func(i map[string]any) { i["index"] = -1 })}, fault.Unavailable, "the embedding provider openai gave an answer that makes no sense"},
		{"a vector of words", modelserver.Fault{Mangle: first(func(i map[string]any) { i["embedding"] = []string{"x"} })}, fault.Unavailable, "the embedding provider openai gave an answer that makes no sense"},
		{"a vector of nothing", modelserver.Fault{Mangle: first(func(i map[string]any) { i["embedding"] = nil })}, fault.Unavailable, "the embedding provider openai gave an answer that makes no sense"},
		{"bad base64", modelserver.Fault{Mangle: first(func(i map[string]any) { i["embedding"] = "AAA" })}, fault.Unavailable, "the embedding provider openai gave an answer that makes no sense"},
		{"NaN", modelserver.Fault{Mangle: first(func(i map[string]any) { i["embedding"] = strings.Repeat("AADAfwAAwH8AAMB/", 2) + "AADAfwAAwH8=" })}, fault.Unavailable, "the embedding model openai/unheard-of answered with a vector that holds values which are not numbers"},
		{"another dimension", modelserver.Fault{Mangle: first(func(i map[string]any) { i["embedding"] = []float64{1} })}, fault.Unavailable, "the embedding model openai/unheard-of answered with a vector of 1 values where 8 are expected: use an index of dimension 1 for it, or another model"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			timeout := 20 * time.Second
			if tc.fault.Hang {
				timeout = 500 * time.Millisecond
			}
			ai, _, model := setupWithin(t, "openai/unheard-of", timeout)
			model, err := model.WithDimension(8)
			if err != nil {
				t.Fatal(err)
			}
			ai.Set(tc.fault)
			vectors, err := model.Embed(t.Context(), "acme", texts(3))
			if vectors != nil || fault.KindOf(err) != tc.kind || fault.Public(err) != tc.public {
				t.Errorf("%v %q", fault.KindOf(err), fault.Public(err))
			}
			if err != nil && strings.Contains(err.Error(), modelserver.Key) {
				t.Errorf("the error shows the key: %v", err)
			}
		})
	}
}

func TestOpenAIFindsTheTextThatIsRefused(t *testing.T) {
	t.Parallel()
	ai, _, model := setup(t, "openai/unheard-of")
	ai.Set(modelserver.Fault{Status: 400, When: func(r modelserver.Request) bool { return strings.Contains(r.Raw, "number 77\"") }})
	_, err := model.Embed(t.Context(), "acme", texts(100))
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), "refused text 77 (14 bytes") {
		t.Errorf("%v", err)
	}
	if n := len(ai.Requests()); n > 16 {
		t.Errorf("%d requests to find one text in 100", n)
	}
}

func TestOpenAIHalvesRequestsThatAreTooBigForTheServer(t *testing.T) {
	t.Parallel()
	ai, _, model := setup(t, "openai/unheard-of")
	ai.Set(modelserver.Fault{Status: 413, When: func(r modelserver.Request) bool { return len(r.Body["input"].([]any)) > 32 }})
	asked := texts(128)
	got, err := model.Embed(t.Context(), "acme", asked)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if diff := cmp.Diff(ai.Embed(asked[i]), v); diff != "" {
			t.Fatalf("text %d: %s", i, diff)
		}
	}
}

func TestOpenAISurvivesAFlakyProvider(t *testing.T) {
	t.Parallel()
	ai, _, model := setup(t, "openai/unheard-of")
	var failed sync.Map // requests by their bodies, which fail once
	ai.Set(modelserver.Fault{Status: 500, When: func(r modelserver.Request) bool {
		_, again := failed.LoadOrStore(fmt.Sprint(r.Body), true)
		return !again
	}})
	if _, err := model.Embed(t.Context(), "acme", texts(2000)); err != nil {
		t.Error(err)
	}
}

func TestResolveAsksForTheDimension(t *testing.T) {
	t.Parallel()
	ai, _, model := setup(t, "openai/unheard-of")
	resolved, err := model.Resolve(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	if resolved.Dimension != 8 || model.Dimension != 0 || len(ai.Requests()) != 1 {
		t.Errorf("dimension %d, was %d, after %d requests", resolved.Dimension, model.Dimension, len(ai.Requests()))
	}
	again, err := resolved.Resolve(t.Context(), "acme")
	if err != nil || again != resolved || len(ai.Requests()) != 1 {
		t.Error("asked again")
	}
}

func TestEmbedEndsWithItsContext(t *testing.T) {
	ai, _, model := setup(t, "openai/unheard-of")
	ai.Set(modelserver.Fault{Hang: true})
	ai.NoLeaks(t, func() {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := model.Embed(ctx, "acme", texts(4000)); fault.KindOf(err) != fault.Deadline {
			t.Error(err)
		}
	})
}

func TestEmbedQueryIsCachedByTenant(t *testing.T) {
	t.Parallel()
	ai, registry, model := setup(t, "openai/text-embedding-3-small")
	short, err := model.WithDimension(256)
	if err != nil {
		t.Fatal(err)
	}
	ai.Dimension = 1536
	for _, tc := range []struct {
		tenant   string
		model    *embed.Model
		text     string
		requests int
	}{
		{"acme", model, "a", 1},
		{"acme", model, "a", 1},
		{"acme", model, "b", 2},
		{"globex", model, "a", 3},
		{"acme", short, "a", 4},
		{"acme", short, "a", 4},
	} {
		v, err := registry.EmbedQuery(t.Context(), tc.tenant, tc.model, tc.text)
		if err != nil {
			t.Fatal(err)
		}
		if len(v) != tc.model.Dimension || len(ai.Requests()) != tc.requests {
			t.Errorf("%s %q: %d values after %d requests, want %d", tc.tenant, tc.text, len(v), len(ai.Requests()), tc.requests)
		}
	}
}

func TestManyQuestionsOfOneTenantDoNotDisplaceAnothers(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	ai.Dimension = 256
	registry := embed.NewRegistry(embed.Config{
		Endpoints: endpoint.NewDirectory(nil, endpoint.NewEndpoint("openai", endpoint.OpenAI, endpoint.Config{BaseURL: ai.URL + "/v1", APIKey: modelserver.Key})), QueryCacheBytes: 64 << 10,
	})
	model, err := registry.Model(t.Context(), "acme", "openai/unheard-of")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(tenant string, questions int) {
		t.Helper()
		for n := range questions {
			if _, err := registry.EmbedQuery(t.Context(), tenant, model, fmt.Sprint("question ", n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	ask("acme", 10)
	ask("globex", 300) // several times what fits
	before := len(ai.Requests())
	ask("acme", 10)
	if asked := len(ai.Requests()) - before; asked != 0 {
		t.Errorf("%d of 10 questions were embedded again", asked)
	}
	ask("globex", 10)
	if asked := len(ai.Requests()) - before; asked != 10 {
		t.Errorf("%d of 10 old questions were embedded again", asked)
	}
}

func TestEmbedQueryDoesNotKeepFailures(t *testing.T) {
	t.Parallel()
	ai, registry, model := setup(t, "openai/unheard-of")
	ai.Set(modelserver.Fault{Status: 400, Times: 1})
	if _, err := registry.EmbedQuery(t.Context(), "acme", model, "a"); err == nil {
		t.Fatal("no error")
	}
	if _, err := registry.EmbedQuery(t.Context(), "acme", model, "a"); err != nil {
		t.Error(err)
	}
}

func TestEmbedQueryJoinsCallersAndOutlivesTheFirst(t *testing.T) {
	t.Parallel()
	ai, registry, model := setup(t, "openai/unheard-of")
	ai.Set(modelserver.Fault{Delay: 100 * time.Millisecond})
	first, leave := context.WithCancel(t.Context())
	results := make(chan error, 20)
	for i := range 20 {
		ctx := t.Context()
		if i == 0 {
			ctx = first
		}
		go func() {
			_, err := registry.EmbedQuery(ctx, "acme", model, "a")
			results <- err
		}()
		if i == 0 {
			wait.For(t, "the first request", func() bool { return len(ai.Requests()) > 0 })
		}
	}
	leave()
	canceled := 0
	for range 20 {
		if err := <-results; errors.Is(err, context.Canceled) {
			canceled++
		} else if err != nil {
			t.Error(err)
		}
	}
	if canceled != 1 || len(ai.Requests()) > 2 {
		t.Errorf("%d callers canceled, %d requests", canceled, len(ai.Requests()))
	}
}

func TestEmbedQueryStopsWhenNobodyWaits(t *testing.T) {
	ai, registry, model := setup(t, "openai/unheard-of")
	ai.Set(modelserver.Fault{Hang: true})
	ai.NoLeaks(t, func() {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		if _, err := registry.EmbedQuery(ctx, "acme", model, "a"); fault.KindOf(err) != fault.Deadline {
			t.Error(err)
		}
	})
	ai.Set(modelserver.Fault{})
	if _, err := registry.EmbedQuery(t.Context(), "acme", model, "a"); err != nil {
		t.Errorf("the question cannot be asked again: %v", err)
	}
}

func TestAnIngestDoesNotKeepQuestionsWaiting(t *testing.T) {
	t.Parallel()
	ai, registry, model := setup(t, "openai/unheard-of")
	ai.Set(modelserver.Fault{Hang: true, When: func(r modelserver.Request) bool { return len(r.Body["input"].([]any)) > 1 }})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _, _ = model.Embed(ctx, "acme", texts(4000)) }()
	wait.For(t, "16 requests at once", func() bool { return ai.Peak() >= 16 })
	if _, err := registry.EmbedQuery(t.Context(), "acme", model, "a"); err != nil {
		t.Error(err)
	}
	cancel()
	<-done
}

// A tenant fills its quota of calls with texts whose embedding does not come: another
// tenant's documents and questions do not wait for it.
func TestSlowEmbeddingsOfOneTenantDoNotDelayAnother(t *testing.T) {
	t.Parallel()
	ai, registry, model := setup(t, "openai/unheard-of")
	release, usual := make(chan struct{}), ai.Embed
	ai.Embed = func(text string) []float32 {
		if text == "slow" {
			<-release
		}
		return usual(text)
	}
	var group sync.WaitGroup
	for range 40 {
		group.Go(func() {
			if _, err := model.Embed(t.Context(), "acme", []string{"slow"}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.For(t, "16 requests at once", func() bool { return ai.Peak() >= 16 })
	if _, err := model.Embed(t.Context(), "bolt", []string{"quick"}); err != nil {
		t.Error(err)
	}
	if _, err := registry.EmbedQuery(t.Context(), "bolt", model, "quick"); err != nil {
		t.Error(err)
	}
	if n := len(ai.Requests()); n != 16+2 {
		t.Errorf("%d requests arrived, want the 16 slow ones that one tenant may have, and 2", n)
	}
	close(release)
	group.Wait()
}
