package openai

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// No text makes the decoder of a request panic, and what it refuses is the caller's mistake. A filter
// that is accepted is one of the filter language.
func FuzzSearchRequest(f *testing.F) {
	for _, seed := range []string{
		`{"query":"a","max_num_results":3,"rewrite_query":false}`,
		`{"query":["a","b"],"filters":{"type":"and","filters":[{"type":"eq","key":"a","value":1},{"type":"in","key":"b","value":["c"]}]}}`,
		`{"query":"a","ranking_options":{"ranker":"auto","score_threshold":0.5,"hybrid_search":{"embedding_weight":1,"text_weight":2}}}`,
		`{"query":{},"filters":{"type":"or","filters":[null]}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var in searchRequest
		if err := json.Unmarshal([]byte(text), &in); err != nil {
			if kind := fault.KindOf(malformed(err)); kind != fault.Invalid {
				t.Errorf("%q: %v is %v", text, err, kind)
			}
			return
		}
		asked, err := in.query("docs")
		if err != nil {
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if asked.GetFilter() == nil {
			return
		}
		encoded, err := json.Marshal(asked.GetFilter().AsInterface())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := filter.Parse(encoded); err != nil && fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %s: %v", text, encoded, err)
		}
	})
}

func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		`{"input":"a"}`, `{"input":["a"]}`, `{"input":[1]}`, `{"documents":[{"text":"a"},"b"]}`,
		`{"model":"passages","messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f"}}]},{"role":"tool","tool_call_id":"c"}]}`,
		`{"model":"passages","input":[{"content":"a","role":"user"},{"type":"function_call","call_id":"c","name":"f"},{"type":"function_call_output","call_id":"c","output":[]}],"tools":[{"type":"file_search"},{"type":"function","name":"f","parameters":{}}]}`,
		`{"file_ids":["a"],"chunking_strategy":{"type":"static","static":{"max_chunk_size_tokens":100}}}`, `{"attributes":{"a":1e999}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, in := range []any{&embeddingsRequest{}, &rerankRequest{}, &storeRequest{}, &batchRequest{}, &updateFileRequest{}, &chatRequest{}, &responseRequest{}} {
			if err := json.Unmarshal([]byte(text), in); err != nil {
				if kind := fault.KindOf(malformed(err)); kind != fault.Invalid {
					t.Errorf("%T of %q: %v is %v", in, text, err, kind)
				}
				continue
			}
			switch in := in.(type) {
			case *chatRequest:
				converses(t, in.read)
			case *responseRequest:
				converses(t, in.read)
			case *storeRequest:
				_ = in.check()
				_, _ = in.ChunkingStrategy.settings()
			case *updateFileRequest:
				_, _ = checkAttributes(in.Attributes)
			}
		}
	})
}

// converses checks that what read refuses is the caller's mistake, and that what it accepts has a question or is refused, too.
func converses(t *testing.T, read func(*http.Request) (*conversation, form, error)) {
	t.Helper()
	c, _, err := read(httptest.NewRequest(http.MethodPost, "/v1/responses", http.NoBody))
	if err == nil {
		_, _, err = c.question()
	}
	if err != nil && fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
}

// The extract of a text is made of its sentences, in their order.
func FuzzSentences(f *testing.F) {
	f.Add("# Head\n\nOne. Two!\nthree\n- a\n1. b\n\n| c |\n```\n")
	f.Fuzz(func(t *testing.T, text string) {
		at := 0
		for _, s := range sentencesOf(text) {
			if s.start < at || s.end <= s.start || s.end > len(text) {
				t.Fatalf("%q: %+v after %d", text, s, at)
			}
			at = s.end
		}
		said := extract([]*ragdv1.Source{{Document: text, Score: 1}})
		if len(said.citations) > 0 && len(said.text) > 2*maxExtract {
			t.Errorf("%q: %d bytes", text, len(said.text))
		}
	})
}

func FuzzPage(f *testing.F) {
	f.Add("limit=3&after=a&order=asc&before=")
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequest(http.MethodGet, "/v1/files", http.NoBody)
		r.URL = &url.URL{Path: "/v1/files", RawQuery: query}
		p, err := pageOf(r, 20, 100, "purpose")
		if err == nil && (p.limit < 1 || p.limit > 100) || err != nil && fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %+v, %v", query, p, err)
		}
	})
}

func FuzzIndexName(f *testing.F) {
	f.Add("Häfen & Tides 2")
	f.Fuzz(func(t *testing.T, store string) {
		name := indexNameFor(store)
		if len(name) > 63 || name[0] < 'a' || name[0] > 'z' {
			t.Errorf("%q: %q", store, name)
		}
	})
}
