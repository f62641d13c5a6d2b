package filter

import "testing"

// The table of docs/reference/filters.md: which entries a condition selects if the field is absent, null, an array or a scalar.
func TestMissingFieldsAndArrays(t *testing.T) {
	t.Parallel()
	entries := []struct {
		name     string
		metadata map[string]any
	}{
		{"absent", map[string]any{}}, {"null", map[string]any{"a": nil}}, {"x", map[string]any{"a": "x"}}, {"y", map[string]any{"a": "y"}},
		{"[x]", map[string]any{"a": []any{"x"}}}, {"[]", map[string]any{"a": []any{}}},
	}
	for condition, want := range map[string]string{
		`{"a": "x"}`:                                  "x ",
		`{"a": {"$in": ["x"]}}`:                       "x [x] ",
		`{"a": {"$ne": "x"}}`:                         "y [x] [] ",
		`{"a": {"$not": {"$eq": "x"}}}`:               "y [x] [] ",
		`{"$not": {"a": "x"}}`:                        "y [x] [] ",
		`{"a": {"$nin": ["x"]}}`:                      "y [] ",
		`{"a": {"$nin": []}}`:                         "absent null x y [x] [] ",
		`{"a": {"$not": {"$gt": 1}}}`:                 "",
		`{"$nor": [{"a": "x"}]}`:                      "y [x] [] ",
		`{"a": null}`:                                 "absent null ",
		`{"a": {"$ne": null}}`:                        "x y [x] [] ",
		`{"a": {"$exists": false}}`:                   "absent ",
		`{"a": {"$not": {"$exists": true}}}`:          "absent ",
		`{"a": {"$not": {"$all": ["x"]}}}`:            "null y [] ",
		`{"a": {"$not": {"$size": 1}}}`:               "absent null x y [] ",
		`{"$or": [{"a": {"$ne": "x"}}, {"a": null}]}`: "absent null y [x] [] ",
	} {
		f, err := Parse(condition)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, entry := range entries {
			if f.Match(entry.metadata) {
				got += entry.name + " "
			}
		}
		if got != want {
			t.Errorf("%s selects %q, want %q", condition, got, want)
		}
	}
}

func TestEveryKeyHasAName(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"a.b", "$price", `\$price`, "two words", "Größe", "数量", `a"b`, "a-b", ".", "$a.b", "🚢"} {
		f, err := Parse(map[string]any{FieldName(key): "x", FieldName("in", key): "x"})
		if err != nil {
			t.Errorf("%q: %v", key, err)
			continue
		}
		if !f.Match(map[string]any{key: "x", "in": map[string]any{key: "x"}}) {
			t.Errorf("%q is not found by %s", key, f)
		}
	}
}
