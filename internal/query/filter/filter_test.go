package filter

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parse(t *testing.T, v any) Filter {
	t.Helper()
	f, err := Parse(v)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFilterWithoutConditionsIsZero(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		nil, "", " \n", []byte(nil), "{}", map[string]any{},
		`{"$and": []}`, `{"$nor": []}`, `{"$or": [{}]}`, `{"$and": [{}, {"$and": []}]}`,
		`{"a": {"$nin": []}}`, `{"$not": {"$or": []}}`, `{"a": {"$not": {"$in": []}}}`, `{"$or": [{"a": 1}, {}]}`,
	} {
		f := parse(t, v)
		if !f.IsZero() || f.SQL("c.metadata", NewArgs()) != "true" || !f.Match(nil) || f.String() != "{}" || f.Fields() != nil {
			t.Errorf("%v states a condition: %s", v, f)
		}
	}
	for _, v := range []string{`{"$or": []}`, `{"a": []}`, `{"$nor": [{}]}`, `{"a": {"$gt": null}}`, `{"a": null}`, `{"a": {"$exists": true}}`} {
		if parse(t, v).IsZero() {
			t.Errorf("%s states no condition", v)
		}
	}
}

func TestAndJoinsFilters(t *testing.T) {
	t.Parallel()
	deck, cheap := parse(t, `{"category": "deck"}`), parse(t, `{"price": {"$lt": 50}}`)
	never := parse(t, `{"$or": []}`)
	for _, tc := range []struct {
		name    string
		filters []Filter
		want    string
	}{
		{"nothing", nil, `{}`},
		{"only empty filters", []Filter{{}, {}}, `{}`},
		{"one", []Filter{{}, deck}, `{"category":"deck"}`},
		{"two", []Filter{deck, {}, cheap}, `{"$and":[{"category":"deck"},{"price":{"$lt":50}}]}`},
		{"one that selects nothing", []Filter{deck, never}, `{"$and":[{"category":"deck"},{"$or":[]}]}`},
	} {
		got := And(tc.filters...)
		if got.String() != tc.want || got.IsZero() != (tc.want == "{}") {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
		}
		again := parse(t, got.JSON())
		if !again.Equal(got) || again.SQL("m", NewArgs()) != got.SQL("m", NewArgs()) {
			t.Errorf("%s: parsed again it is %s", tc.name, again)
		}
	}
	both := And(deck, cheap)
	for metadata, want := range map[string]bool{
		`{"category": "deck", "price": 35}`: true, `{"category": "deck", "price": 60}`: false, `{"price": 35}`: false,
	} {
		var m map[string]any
		if err := json.Unmarshal([]byte(metadata), &m); err != nil {
			t.Fatal(err)
		}
		if both.Match(m) != want || And(deck, never).Match(m) {
			t.Errorf("%s: match is %v, want %v", metadata, !want, want)
		}
	}
}

func TestFieldsAreNamedOnce(t *testing.T) {
	t.Parallel()
	f := parse(t, `{"b": 1, "$or": [{"a": {"x.y": null, "z": {"$size": 1}}}, {"b": {"$gt": 2, "$lt": 3}}, {"$not": {"c": {"$elemMatch": {"d": 1}}}}],
		"dc\\.title": {"$exists": true}, "\\$price": {"$regex": "^1"}, "l": {"$all": ["x"]}, "i": [1], "o": {"$eq": {"k": 1}}, "n": {"$gt": null}}`)
	want := []string{`\$price`, "a.x.y", "a.z", "b", "c", `dc\.title`, "i", "l", "n", "o"}
	if diff := cmp.Diff(want, f.Fields()); diff != "" {
		t.Error(diff)
	}
}

// TestParseCopiesItsArgument changes an object after it was parsed.
func TestParseCopiesItsArgument(t *testing.T) {
	t.Parallel()
	inner := map[string]any{"x": []any{1.0}}
	object := map[string]any{"a": map[string]any{"$eq": inner}}
	f := parse(t, object)
	inner["x"].([]any)[0] = 2.0
	inner["y"] = 1.0
	object["b"] = 1.0
	if !f.Match(map[string]any{"a": map[string]any{"x": []any{1.0}}}) || f.String() != `{"a":{"$eq":{"x":[1]}}}` {
		t.Errorf("the filter changed to %s", f)
	}
}

// TestUnknownStaysUnknown checks conditions that are neither true nor false, so
// that neither they nor their negations match. The golden cases cannot show this.
func TestUnknownStaysUnknown(t *testing.T) {
	t.Parallel()
	metadata := map[string]any{"s": "x", "n": nil, "list": []any{"x"}, "deep": map[string]any{"k": 1.0}, "num": 2}
	for _, tc := range []struct {
		filter string
		want   truth
	}{
		{`{"none": 1}`, unknown}, {`{"n": 1}`, unknown}, {`{"none": {"$ne": 1}}`, unknown}, {`{"list": 1}`, no}, {`{"deep": "x"}`, no},
		{`{"none": {"$eq": [1]}}`, unknown}, {`{"s": {"$eq": [1]}}`, no}, {`{"none": null}`, yes}, {`{"n": {"$ne": null}}`, no},
		{`{"s": {"$gt": 1}}`, unknown}, {`{"list": {"$gt": 1}}`, unknown}, {`{"num": {"$gt": 1}}`, yes}, {`{"s": {"$gt": null}}`, unknown},
		{`{"none": {"$in": ["x"]}}`, unknown}, {`{"none": {"$in": []}}`, no}, {`{"none": {"$nin": []}}`, yes}, {`{"s": {"$in": ["y", null]}}`, unknown},
		{`{"s": {"$in": ["x", null]}}`, yes}, {`{"list": {"$nin": ["y", null]}}`, yes}, {`{"deep": {"$in": [null]}}`, unknown},
		{`{"none": {"$all": ["x"]}}`, unknown}, {`{"n": {"$all": ["x"]}}`, no}, {`{"none": {"$all": [null]}}`, unknown}, {`{"list": {"$all": ["x", null]}}`, no},
		{`{"none": {"$elemMatch": {"a": 1}}}`, no}, {`{"n": {"$size": 1}}`, no}, {`{"none": {"$exists": true}}`, no},
		{`{"none": {"$regex": "x"}}`, unknown}, {`{"none": {"$contains": "x"}}`, unknown}, {`{"s": {"$regex": "(x)\\1"}}`, unknown},
		{`{"$or": [{"s": "x"}, {"none": 1}]}`, yes}, {`{"$or": [{"s": "y"}, {"none": 1}]}`, unknown}, {`{"$and": [{"s": "y"}, {"none": 1}]}`, no},
		{`{"$and": [{"s": "x"}, {"none": 1}]}`, unknown}, {`{"$nor": [{"s": "y"}, {"none": 1}]}`, unknown},
	} {
		f := parse(t, tc.filter)
		var got truth
		if f.root == nil {
			got = yes
		} else {
			got = f.root.truth(metadata)
		}
		if got != tc.want {
			t.Errorf("%s is %d, want %d", tc.filter, got, tc.want)
		}
	}
}

// TestMatchTakesNumbersOfEveryDecodedType checks each Go number type that Match
// accepts, and that values of other types count as null.
func TestMatchTakesNumbersOfEveryDecodedType(t *testing.T) {
	t.Parallel()
	f, null := parse(t, `{"n": {"$gte": 2, "$lt": 2.5}, "$and": [{"n": 2}]}`), parse(t, `{"n": null}`)
	for _, n := range []any{2.0, 2, int64(2), json.Number("2"), json.Number("0.2e1"), json.Number("2.000")} {
		if !f.Match(map[string]any{"n": n}) || null.Match(map[string]any{"n": n}) {
			t.Errorf("%T %v does not match", n, n)
		}
	}
	for _, n := range []any{nil, float32(2), []string{"2"}, struct{}{}} {
		if f.Match(map[string]any{"n": n}) || !null.Match(map[string]any{"n": n}) {
			t.Errorf("%T does not count as null", n)
		}
	}
}

// TestDocumentedExamplesParse parses every JSON block of docs/reference/filters.md.
func TestDocumentedExamplesParse(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/reference/filters.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```json\n")[1:]
	if len(blocks) < 5 {
		t.Fatalf("%d examples", len(blocks))
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		for d := json.NewDecoder(strings.NewReader(block)); ; {
			var filter map[string]any
			err := d.Decode(&filter)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", block, err)
			}
			if parse(t, filter).IsZero() {
				t.Errorf("%s selects everything", block)
			}
		}
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		f, g string
		want bool
	}{
		{`{"team": "red"}`, `{}`, true},
		{`{}`, `{}`, true},
		{`{}`, `{"team": "red"}`, false},
		{`{"team": "red"}`, `{"team": "red"}`, true},
		{`{"team": {"$eq": "red"}}`, `{"team": "red"}`, true},
		{`{"team": "red"}`, `{"team": "blue"}`, false},
		{`{"team": "red"}`, `{"squad": "red"}`, false},
		{`{"n": 1}`, `{"n": "1"}`, true}, // equal in the filter language
		{`{"n": 1.0}`, `{"n": 1}`, true},
		{`{"team": "red", "year": 1}`, `{"team": "red"}`, true},
		{`{"$and": [{"$and": [{"team": "red"}, {"year": 1}]}, {"day": 2}]}`, `{"year": 1, "team": "red"}`, true},
		{`{"$or": [{"team": "red"}, {"year": 1}]}`, `{"team": "red"}`, false},
		{`{"$or": [{"team": "red"}, {"year": 1}], "day": 1}`, `{"$or": [{"team": "red"}, {"year": 1}]}`, true},
		{`{"team": {"$ne": "red"}}`, `{"team": "red"}`, false},
		{`{"team": {"$in": ["a", "b"]}}`, `{"team": {"$in": ["a"]}}`, false},
		{`{"team": {"$in": []}}`, `{"team": "red"}`, true},
		{`{"team": {"$regex": "^r"}}`, `{"team": {"$regex": "^re"}}`, false},
		{`{"team": {"$regex": "^r", "$options": "i"}}`, `{"team": {"$regex": "^r"}}`, false},
		{`{"team": {"$elemMatch": {"a": 1}}, "b": 1}`, `{"team": {"$elemMatch": {"a": 1}}}`, true},
	} {
		if got := parse(t, c.f).Within(parse(t, c.g)); got != c.want {
			t.Errorf("%s within %s = %v", c.f, c.g, got)
		}
	}
}

func TestATrustedFilterDoesNotMatchWhatTheContentSet(t *testing.T) {
	t.Parallel()
	f, err := Parse([]byte(`{"team": "a"}`))
	if err != nil {
		t.Fatal(err)
	}
	metadata := map[string]any{"team": "a"}
	for _, tc := range []struct {
		name        string
		filter      Filter
		contentKeys []string
		want        bool
	}{
		{"as given, set by the content", f, []string{"team"}, true},
		{"trusted, set by the uploader", f.Trusted(), nil, true},
		{"trusted, another key set by the content", f.Trusted(), []string{"title"}, true},
		{"trusted, set by the content", f.Trusted(), []string{"team"}, false},
	} {
		if got := tc.filter.MatchChunk(metadata, tc.contentKeys); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
	if f.Identity() == f.Trusted().Identity() {
		t.Error("a filter and its Trusted have the same identity")
	}
}
