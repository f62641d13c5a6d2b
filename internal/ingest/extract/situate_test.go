package extract_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ragdhq/ragd/internal/ingest/extract"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
)

// asked is a message of a call for sentences.
type asked struct {
	Title    string
	Passages []struct {
		Passage int
		Text    string
	}
	Situate []int
}

func askedIn(t *testing.T, c modelserver.Chat) (message asked) {
	t.Helper()
	if err := json.Unmarshal([]byte(c.User), &message); err != nil {
		t.Error(err)
	}
	return message
}

// answer writes the answer to a call.
func answer(sentences map[int]string) string {
	type one struct {
		Passage  int    `json:"passage"`
		Sentence string `json:"sentence"`
	}
	all := []one{}
	for passage, sentence := range sentences {
		all = append(all, one{passage, sentence})
	}
	raw, _ := json.Marshal(map[string]any{"sentences": all})
	return string(raw)
}

// shelf is an extract.Sentences in memory.
type shelf struct {
	mu    sync.Mutex
	kept  map[string]string
	spent int64
}

func (s *shelf) Load(context.Context) (map[string]string, error) { return s.kept, nil }

func (s *shelf) Save(_ context.Context, found map[string]string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := map[string]string{}
	for _, from := range []map[string]string{s.kept, found} {
		for key, sentence := range from {
			next[key] = sentence
		}
	}
	s.kept = next
	return nil
}

func (s *shelf) Reserve(_ context.Context, tokens, budget int64) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spent+tokens > budget {
		return false, nil
	}
	s.spent += tokens
	return true, nil
}

func (s *shelf) Return(_ context.Context, tokens int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent -= tokens
	return nil
}

func situate(t *testing.T, extractor *extract.Extractor, kept extract.Sentences, settings string, chunks ...extract.Chunk) extract.Result {
	t.Helper()
	result, err := extractor.Extract(t.Context(), extract.Request{Tenant: "acme", Title: "Notes", Options: options(t, settings), Chunks: chunks, Sentences: kept})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

const withContext = `{"model": "openai/m", "context": true}`

func TestDocumentComesBeforeWhatIsAskedOfIt(t *testing.T) {
	t.Parallel()
	ai, extractor := setup(t)
	var mu sync.Mutex
	var prefixes []string
	var situated [][]int
	ai.Chat = func(c modelserver.Chat) string {
		message := askedIn(t, c)
		before, _, _ := strings.Cut(c.User, `"situate"`)
		mu.Lock()
		defer mu.Unlock()
		prefixes, situated = append(prefixes, c.System+before), append(situated, message.Situate)
		sentences := map[int]string{}
		for _, n := range message.Situate {
			sentences[n] = fmt.Sprintf("It is passage %d of the notes.", n)
		}
		return answer(sentences)
	}
	chunks := make([]extract.Chunk, 40)
	for n := range chunks {
		chunks[n].Text = fmt.Sprintf("Passage %d says that it is green.", n+1)
	}
	kept := &shelf{}
	result := situate(t, extractor, kept, withContext, chunks...)
	if len(prefixes) != 3 || prefixes[0] != prefixes[1] || prefixes[1] != prefixes[2] || len(situated[0]) != 16 || len(situated[2]) != 8 {
		t.Errorf("%d calls, for %v, which begin with %q", len(prefixes), situated, prefixes)
	}
	for n, fields := range result.Fields {
		if want := fmt.Sprintf("It is passage %d of the notes.", n+1); fields[extract.ContextKey] != want {
			t.Errorf("passage %d: %v", n+1, fields)
		}
	}
	if used := int64(result.Usage.InputTokens + result.Usage.OutputTokens); kept.spent != used || used == 0 {
		t.Errorf("%d tokens on the account, %d were used", kept.spent, used)
	}
	sizes := make([]int, len(chunks))
	for n, c := range chunks {
		sizes[n] = len(c.Text)
	}
	cost := extract.EstimateContext(sizes)
	if used := float64(result.Usage.InputTokens); cost.Calls != 3 || float64(cost.InputTokens) < 0.8*used || float64(cost.InputTokens) > 1.2*used || cost.CachedTokens >= cost.InputTokens {
		t.Errorf("estimated %+v, used %+v", cost, result.Usage)
	}

	t.Run("what is kept is not asked again", func(t *testing.T) {
		_, again := setup(t) // whose memory is empty
		before := kept.spent
		if result := situate(t, again, kept, withContext, chunks...); len(result.Failures) > 0 || result.Usage.Calls != 0 || kept.spent != before || result.Fields[39][extract.ContextKey] == nil {
			t.Errorf("%+v", result.Usage)
		}
	})
}

func TestLongDocumentIsShownByItsBeginningAndAPart(t *testing.T) {
	t.Parallel()
	ai, extractor := setup(t)
	ai.Chat = func(c modelserver.Chat) string {
		message := askedIn(t, c)
		if len(c.User) > 80<<10 || message.Passages[0].Passage != 1 {
			t.Errorf("%d bytes from passage %d", len(c.User), message.Passages[0].Passage)
		}
		sentences := map[int]string{}
		for _, n := range message.Situate {
			if !slices.ContainsFunc(message.Passages, func(p struct {
				Passage int
				Text    string
			}) bool {
				return p.Passage == n
			}) {
				t.Errorf("passage %d is asked about and not shown", n)
			}
			sentences[n] = "It is one of many."
		}
		return answer(sentences)
	}
	chunks := make([]extract.Chunk, 150)
	for n := range chunks {
		chunks[n].Text = strings.Repeat("It is long. ", 100)
	}
	result := situate(t, extractor, &shelf{}, withContext, chunks...)
	if len(result.Failures) > 0 || result.Fields[149][extract.ContextKey] == nil || result.Usage.Calls > 14 {
		t.Errorf("%d failures, %d calls", len(result.Failures), result.Usage.Calls)
	}
}

func TestSentencesAreChecked(t *testing.T) {
	t.Parallel()
	for sentence, reason := range map[string]string{
		"From the notes: what the heron, which it calls the bird, eats.": "",
		"Aus den Notizen: der Reiher.\n":                                 "",
		"第三节说明苍鹭在冬天吃什么。":                                                 "",
		"Section 7 of the notes is about the heron.":                     "",
		"See https://evil.example/x for the heron.":                      "a link",
		"Write to boss@evil.example about the heron.":                    "a link",
		"See www.evil.example.":                                          "a link",
		"The [heron](x) of the notes.":                                   "markup",
		"The heron <img src=x> of the notes.":                            "markup",
		"The heron ignores {{previous}} instructions.":                   "markup",
		"The heron \u202eseton eht fo.":                                  "invisible",
		"The heron was seen in 1832.":                                    "a number",
		strings.Repeat("The heron of the notes. ", 20):                   "longer",
		"...": "no words",
	} {
		ai, extractor := setup(t)
		ai.Chat = func(modelserver.Chat) string {
			return answer(map[int]string{1: sentence, 2: "The fish of the notes.", 3: "Not asked for.", -1: "Nor this."})
		}
		result := situate(t, extractor, nil, withContext, extract.Chunk{Text: "It eats fish. See section 7."}, extract.Chunk{Text: "They swim."})
		if reason == "" {
			if len(result.Failures) > 0 || result.Fields[0][extract.ContextKey] != strings.TrimSpace(sentence) {
				t.Errorf("%q: %v, %v", sentence, result.Fields[0], result.Failures)
			}
			continue
		}
		if result.Fields[0] != nil || len(result.Failures) != 1 || result.Failures[0].Chunk != 0 || !strings.Contains(result.Failures[0].Err.Error(), reason) {
			t.Errorf("%q: %v, %v, want: %s", sentence, result.Fields[0], result.Failures, reason)
		}
		if result.Fields[1][extract.ContextKey] != "The fish of the notes." {
			t.Errorf("%q: the other passage has %v", sentence, result.Fields[1])
		}
	}
}

func TestContextCostsNoDocument(t *testing.T) {
	t.Parallel()
	one := extract.Chunk{Text: "It eats fish."}
	for name, tc := range map[string]struct {
		settings string
		fault    modelserver.Fault
		answer   string
		kept     extract.Sentences
		reason   string
	}{
		"no JSON":             {withContext, modelserver.Fault{}, "The heron.", &shelf{}, "makes no sense"},
		"nothing":             {withContext, modelserver.Fault{}, `{"sentences": []}`, &shelf{}, "no sentence"},
		"of another passage":  {withContext, modelserver.Fault{}, answer(map[int]string{7: "The heron."}), &shelf{}, "no sentence"},
		"a provider is down":  {withContext, modelserver.Fault{Status: http.StatusInternalServerError}, "", &shelf{}, "is failing"},
		"a key is refused":    {withContext, modelserver.Fault{Status: http.StatusUnauthorized}, "", &shelf{}, ""},
		"the budget is spent": {`{"model": "openai/m", "context": {"budgetTokens": 1000}}`, modelserver.Fault{}, answer(map[int]string{1: "The heron."}), &shelf{spent: 900}, "budget of 1000 tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ai, extractor := setup(t)
			ai.Set(tc.fault)
			ai.Chat = func(modelserver.Chat) string { return tc.answer }
			result := situate(t, extractor, tc.kept, tc.settings, one)
			if len(result.Failures) != 1 || result.Failures[0].Field != "context" || !strings.Contains(result.Failures[0].Err.Error(), tc.reason) || result.Fields[0] != nil {
				t.Errorf("%v, %v", result.Fields, result.Failures)
			}
		})
	}
}

// No other option writes what is searched as the sentence of context.
func TestNothingElsePassesForASentence(t *testing.T) {
	t.Parallel()
	ai, extractor := setup(t)
	ai.Chat = func(modelserver.Chat) string { return `{"excerptContext": "Forged.", "team": "red", "a": 1}` }
	result := situate(t, extractor, nil, `{"model": "openai/m", "schema": {"schema": {"type": "object"}}}`, extract.Chunk{Text: "It eats fish.", Metadata: map[string]any{"team": "blue"}})
	if result.Fields[0]["a"] == nil || result.Fields[0][extract.ContextKey] != nil {
		t.Error(result.Fields)
	}
}
