package toolset

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/jsonmessage"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/dataset/synthetic"
)

func argumentsOf(t testing.TB, tool string) *arguments {
	t.Helper()
	s, err := New(Config{API: noAPI{}})
	if err != nil || s.builtin[tool] == nil {
		t.Fatalf("no tool %s: %v", tool, err)
	}
	return s.builtin[tool].arguments
}

func TestArgumentsThatDoNotFit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		tool      string
		arguments string
		want      string
	}{
		{"an unknown argument", "describe_index", `{"indexName": "a", "index": "b"}`, "index: is not known here; known are indexName"},
		{"a missing argument", "get_job", `{}`, "jobId: is required"},
		{"a wrong type", "vector_query", `{"queryText": ["a"]}`, "queryText: must be of type string, got array"},
		{"too little", "vector_query", `{"topK": 0}`, "topK: must be at least 1, got 0"},
		{"too much", "vector_query", `{"topK": 1001}`, "topK: must be at most 1000, got 1001"},
		{"a fraction", "vector_query", `{"topK": 1.5}`, "topK: must be of type integer, got number"},
		{"no number", "vector_query", `{"topK": "many"}`, "topK: must be of type integer, got string"},
		{"no object", "vector_query", `{"filter": "year > 2023"}`, "filter: must be of type object, got string"},
		{"an unknown choice", "vector_query", `{"searchMode": "magic"}`, `searchMode: must be one of "hybrid", "vector", "keyword", got "magic"`},
		{"a number that is too large to work with", "vector_query", `{"topK": 1e1000000}`, "topK: is a number that is too long or too large: at most 64 characters, and an exponent of at most 400"},
		{"a number that is too small", "vector_query", `{"filter": {"year": {"$in": [1, 1e-99999]}}}`, "filter.year.$in[1]: is a number that is too long or too large: at most 64 characters, and an exponent of at most 400"},
		{"several mistakes", "vector_query", `{"topK": 0, "queryText": 1}`, "queryText: must be of type string, got number; topK: must be at least 1, got 0"},
		{"an unknown chunking option", "document_chunker", `{"text": "a", "chunking": {"headers": [{"marker": "#", "key": "a", "level": 1}]}}`,
			"chunking.headers[0].level: is not known here; known are key, marker"},
		{"a missing nested field", "document_chunker", `{"chunking": {"headers": [{"marker": "#"}]}}`, "chunking.headers[0].key: is required"},
		{"a wrong nested type", "document_chunker", `{"chunking": {"separators": [1]}}`, "chunking.separators[0]: must be of type string, got number"},
		{"a word in a vector", "vector_query", `{"queryVector": [0.5, "b"]}`, "queryVector[1]: must be of type number, got string"},
		{"no vector", "vector_query", `{"queryVector": 1}`, "queryVector: must be of type string or array, got number"},
		{"a list of arguments", "get_job", `["j1"]`, "arguments: must be an object"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := argumentsOf(t, tc.tool).accept(Call{Arguments: json.RawMessage(tc.arguments)})
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Violations) == 0 {
				t.Fatalf("%#v", err)
			}
			if diff := cmp.Diff(tc.want, f.Message); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Arguments that end in half of a surrogate pair, as models that stop early send, are
// accepted.
// An error about many or long names is short.
func TestMistakesInManyArgumentsAreShort(t *testing.T) {
	t.Parallel()
	var names strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&names, `"name%d": 1,`, i)
	}
	long := strings.Repeat("x", 1<<20)
	for _, arguments := range []string{`{` + names.String() + `"queryText": "a"}`, `{"` + long + `": 1, "queryText": "a"}`, `{"queryText": "a", "searchMode": "` + long + `"}`} {
		_, err := argumentsOf(t, "vector_query").accept(Call{Arguments: json.RawMessage(arguments)})
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Violations) > maxViolations || len(f.Message) > 8000 {
			t.Errorf("%.100s: %.1000v", arguments, err)
		}
	}
}

func TestArgumentsWithUnpairedSurrogatesAreAccepted(t *testing.T) {
	t.Parallel()
	for _, given := range []string{`{"queryText":"boat \ud83d"}`, "{\"queryText\":\"boat \xf0\"}"} {
		raw, err := argumentsOf(t, "vector_query").accept(Call{Arguments: json.RawMessage(given)})
		if err != nil {
			t.Fatal(err)
		}
		var req ragdv1.VectorQueryRequest
		if err := raw.decode(&req); err != nil || req.GetQueryText() != "boat \uFFFD" {
			t.Errorf("%q: %q, %v", given, req.GetQueryText(), err)
		}
	}
}

func BenchmarkAcceptVector(b *testing.B) {
	values, err := json.Marshal(synthetic.Vectors(1, 1)[0])
	if err != nil {
		b.Fatal(err)
	}
	arguments, call := argumentsOf(b, "vector_query"), json.RawMessage(`{"indexName":"a","queryVector":`+string(values)+`}`)
	b.ReportAllocs()
	for b.Loop() {
		got, err := arguments.accept(Call{Arguments: call})
		if err == nil {
			err = got.decode(&ragdv1.VectorQueryRequest{})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func TestArgumentsKeepTheirNumbers(t *testing.T) {
	t.Parallel()
	const given = `{"filter":{"id":9007199254740991},"queryVector":[0.1,1e-7],"queryText":"a"}`
	got, err := argumentsOf(t, "vector_query").accept(Call{Arguments: json.RawMessage(given)})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"filter":{"id":9007199254740991},"queryVector":[],"queryText":"a"}`; string(got.json) != want {
		t.Errorf("%s, want %s", got.json, want)
	}
	var req ragdv1.VectorQueryRequest
	if err := got.decode(&req); err != nil || !slices.Equal(req.GetQueryVector(), []float32{0.1, 1e-7}) {
		t.Errorf("%v, %v", req.GetQueryVector(), err)
	}
}

// Mistakes that only protobuf finds are reported without the library's prefix, which
// varies between builds.
func TestDecodeExplains(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ arguments, want string }{
		{`{"text": "a", "content": "YQ=="}`, `content: cannot be given together with text`},
		{`{"content": "?"}`, `content: must be base64 in a string, got "?"`},
	} {
		err := jsonmessage.Unmarshal([]byte(tc.arguments), &ragdv1.UploadDocumentRequest{})
		if diff := cmp.Diff(tc.want, fault.Public(err)); diff != "" {
			t.Error(diff)
		}
	}
}

// Any arguments are either rejected as the model's mistake, or fit the message, except for
// mistakes that only protobuf checks.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		`{"queryText": "a", "topK": "5", "filter": "{\"a\": 1}"}`, `{"topK": 1e3}`, `{"topK": 1e400}`, `{"topK": 1e1000000}`, `{"filter": null}`, `{"queryVector": [1e39]}`, `{"queryVector": [0.1, -2e-7], "topK": 1}`, `{"queryVector":[1],"queryVector":[2]}`, `{"queryVector":"", "queryVector":[2]}`,
		`{"topK": "\"5\""}`, `{"chunking": {"headers": {"0": 1}}}`, `null`, `[]`, `"x"`, `{"": {}}`, `{"topK": "1 2"}`,
	} {
		f.Add(seed)
	}
	s, err := New(Config{API: noAPI{}})
	if err != nil {
		f.Fatal(err)
	}
	var all []*arguments
	for _, tool := range s.builtin {
		all = append(all, tool.arguments)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if !json.Valid([]byte(raw)) {
			return // the protocol's own parser rejects it
		}
		for _, a := range all {
			fitting, err := a.accept(Call{Arguments: json.RawMessage(raw)})
			switch {
			case err == nil && !json.Valid(fitting.json):
				t.Errorf("%s became %s", raw, fitting.json)
			case err != nil && fault.KindOf(err) != fault.Invalid:
				t.Errorf("%s: %v", raw, err)
			}
			whole, wanted := a.check(json.RawMessage(raw), nil)
			if (err == nil) != (wanted == nil) || err != nil && err.Error() != wanted.Error() {
				t.Errorf("%s: %v, with vectors %v", raw, err, wanted)
			}
			if !slices.Contains(a.vectors, "queryVector") {
				continue
			}
			var got, want ragdv1.VectorQueryRequest
			err, wanted = fitting.decode(&got), accepted{json: whole}.decode(&want)
			if (err == nil) != (wanted == nil) || err == nil && !proto.Equal(&got, &want) {
				t.Errorf("%s: %v, %v, with vectors %v, %v", raw, &got, err, &want, wanted)
			}
		}
	})
}
