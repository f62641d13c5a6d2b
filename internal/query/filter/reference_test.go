package filter

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/service/testing/long"
)

// values looks paths up in a map, for tests.
func values(of map[string]any) func(string) (any, bool) {
	return func(path string) (any, bool) {
		v, ok := of[path]
		return v, ok
	}
}

func resolve(t *testing.T, text string, of map[string]any) Filter {
	t.Helper()
	f, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	resolved, err := f.Resolve(values(of))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return resolved
}

func TestReferencesStandForValues(t *testing.T) {
	t.Parallel()
	claims := map[string]any{
		"claims.groups": []any{"hr", "it"}, "claims.one": "hr", "claims.level": json.Number("3"), "claims.yes": true,
		"claims.no": false, "claims.folder": "hr/",
	}
	readers := map[string]any{"readers": []any{"it", "law"}, "owner": "hr", "level": 5.0, "folder": "hr/a.md", "two": []any{"hr", "it"}}
	for text, want := range map[string]bool{
		`{"readers": {"$in": {"$context": "claims.groups"}}}`:                       true,
		`{"readers": {"$in": ["law2", {"$context": "claims.groups"}]}}`:             true,
		`{"readers": {"$context": "claims.groups"}}`:                                true,
		`{"readers": [{"$context": "claims.groups"}, "x"]}`:                         true,
		`{"readers": {"$in": {"$context": "claims.one"}}}`:                          false,
		`{"owner": {"$context": "claims.one"}}`:                                     true,
		`{"owner": {"$ne": {"$context": "claims.one"}}}`:                            false,
		`{"owner": {"$nin": {"$context": "claims.groups"}}}`:                        false,
		`{"level": {"$gt": {"$context": "claims.level"}}}`:                          true,
		`{"two": {"$all": {"$context": "claims.groups"}}}`:                          true,
		`{"two": {"$all": ["hr", {"$context": "claims.groups"}]}}`:                  true,
		`{"two": {"$eq": {"$context": "claims.groups"}}}`:                           true,
		`{"two": {"$elemMatch": {"$context": "claims.groups"}}}`:                    true,
		`{"two": {"$elemMatch": {"$eq": {"$context": "claims.one"}}}}`:              true,
		`{"two": {"$size": {"$context": "claims.level"}}}`:                          false,
		`{"two": {"$size": {"$lt": {"$context": "claims.level"}}}}`:                 true,
		`{"owner": {"$exists": {"$context": "claims.yes"}}}`:                        true,
		`{"owner": {"$exists": {"$context": "claims.no"}}}`:                         false,
		`{"absent": {"$exists": {"$context": "claims.no"}}}`:                        true,
		`{"folder": {"$startsWith": {"$context": "claims.folder"}}}`:                true,
		`{"folder": {"$contains": {"$context": "claims.one"}}}`:                     true,
		`{"$or": [{"owner": "hr"}, {"readers": {"$context": "claims.missing"}}]}`:   true,
		`{"$not": {"owner": {"$context": "claims.folder"}}}`:                        true,
		`{"$nor": [{"owner": {"$in": ["law", {"$context": "claims.missing"}]}}]}`:   false,
		`{"readers": {"$in": ["law", {"$context": "claims.missing"}]}}`:             true,
		`{"owner": {"$not": {"$in": {"$context": "claims.groups"}}}}`:               false,
		`{"$and": [{"level": {"$gte": {"$context": "claims.level"}, "$lt": 9}}]}`:   true,
		`{"two": {"$not": {"$elemMatch": {"$eq": {"$context": "claims.absent"}}}}}`: false,
	} {
		f := resolve(t, text, claims)
		if got := f.Match(readers); got != want {
			t.Errorf("%s, as %s: %v", text, f, got)
		}
		if len(f.References()) != 0 {
			t.Errorf("%s still refers to %v", f, f.References())
		}
	}
}

// An operand without a value matches nothing, nor does its negation.
func TestMissingReferencesMatchNothing(t *testing.T) {
	t.Parallel()
	hostile := map[string]any{
		"null": nil, "empty": []any{}, "object": map[string]any{"$exists": true}, "operators": map[string]any{"$ne": "x"},
		"withNull": []any{"a", nil}, "nested": []any{[]any{"a"}}, "objects": []any{map[string]any{"$gt": ""}},
		"reference": map[string]any{"$context": "claims.all"}, "zero": "a\x00b", "utf8": "\xff", "long": strings.Repeat("x", MaxBytes+1),
	}
	claims := map[string]any{"claims.all": []any{"a"}}
	for name, v := range hostile {
		claims["claims."+name] = v
	}
	hostile["absent"] = nil
	rows := []map[string]any{
		{}, {"f": nil}, {"f": "a"}, {"f": "b"}, {"f": []any{}}, {"f": []any{"a", "b"}}, {"f": 1.0}, {"f": map[string]any{"g": "a"}},
		{"f": []any{map[string]any{"g": "a"}}},
	}
	operands := []string{`R`, `[R]`}
	for _, operator := range []string{"$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$all", "$elemMatch", "$exists", "$size", "$contains", "$startsWith"} {
		operands = append(operands, `{"`+operator+`": R}`)
	}
	operands = append(operands, `{"$in": [R]}`, `{"$nin": [R, "z"]}`, `{"$all": [R]}`, `{"$elemMatch": {"$eq": R}}`, `{"$elemMatch": {"$ne": R}}`,
		`{"$elemMatch": {"g": R}}`, `{"$elemMatch": {"$not": {"g": R}}}`, `{"$elemMatch": {"$nin": [R]}}`, `{"$eq": {"g": R}}`, `{"$ne": [R]}`,
		`{"$size": {"$gte": R}}`, `{"$not": {"$in": R}}`, `{"$not": {"$elemMatch": {"g": R}}}`, `{"$elemMatch": {"$elemMatch": {"$ne": R}}}`, `{"$contains": [R]}`)
	for name := range hostile {
		for _, operand := range operands {
			operand = strings.ReplaceAll(operand, "R", `{"$context": "claims.`+name+`"}`)
			for _, pattern := range []string{
				`{"f": O}`, `{"$not": {"f": O}}`, `{"$nor": [{"f": O}]}`, `{"$not": {"$not": {"f": O}}}`, `{"$or": [{"f": O}, {"never": 1}]}`,
				`{"$not": {"$or": [{"f": O}, {"f": O}]}}`, `{"$and": [{"f": O}, {"$not": {"f": O}}]}`,
			} {
				text := strings.ReplaceAll(pattern, "O", operand)
				if name == "empty" && operand == `{"$eq": {"$context": "claims.empty"}}` {
					continue
				}
				f := resolve(t, text, claims)
				if f.IsZero() {
					t.Fatalf("%s selects everything", text)
				}
				for _, row := range rows {
					if f.Match(row) {
						t.Errorf("%s, as %s, matches %v", text, f, row)
					}
				}
			}
		}
	}
}

// What matches while a value is missing matches whatever the value is, in memory and in the
// database.
func TestMissingReferencesOnlyRemoveMatches(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := generator{rand.New(rand.NewPCG(seed, 1))}
	compared, matched := 0, 0
	for range long.Rounds(20_000) {
		raw, _ := withReferences(random, random.filter(3), "").(map[string]any)
		f, err := Parse(raw)
		if err != nil || len(f.References()) == 0 {
			continue
		}
		missing, err := f.Resolve(values(nil))
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, f, err)
		}
		some := map[string]any{}
		for _, path := range f.References() {
			if random.IntN(4) > 0 {
				some[path] = random.value(1)
			}
		}
		known, err := f.Resolve(values(some))
		if err != nil {
			t.Fatalf("seed %d: %s with %v: %v", seed, f, some, err)
		}
		for range 20 {
			row := random.object(3)
			compared++
			if f.Match(row) != missing.Match(row) {
				t.Fatalf("seed %d: %s unresolved differs from %s on %v", seed, f, missing, row)
			}
			if missing.Match(row) {
				matched++
				if !known.Match(row) {
					t.Fatalf("seed %d: %s matches %v without a value, but not with %v", seed, f, row, some)
				}
			}
		}
	}
	t.Logf("%d compared, %d matched", compared, matched)
}

// withReferences replaces some operands by references.
func withReferences(r generator, v any, key string) any {
	switch t := v.(type) {
	case map[string]any:
		for name, inner := range t {
			t[name] = withReferences(r, inner, name)
		}
		return t
	case []any:
		for i := range t {
			t[i] = withReferences(r, t[i], "[]")
		}
		if slices.Contains([]string{"$and", "$or", "$nor"}, key) {
			return t
		}
	}
	if r.IntN(3) == 0 && key != "$regex" && key != "$options" {
		return map[string]any{"$context": pick(r, "claims.a", "claims.b", "key.c", "subject")}
	}
	return v
}

func TestResolvedReferencesCannotBeResolvedAgain(t *testing.T) {
	t.Parallel()
	f := resolve(t, `{"$or": [{"a": {"$context": "claims.missing"}}, {"b": {"$context": "claims.b"}}]}`, map[string]any{"claims.b": "x"})
	again := resolve(t, f.String(), map[string]any{"claims.missing": "a", "claims.b": "y"})
	if !again.Equal(f) || again.Match(map[string]any{"a": "a"}) || !again.Match(map[string]any{"b": "x"}) {
		t.Errorf("%s became %s", f, again)
	}
	if !And(f, again).Within(f) {
		t.Error("a conjunction is not within its part")
	}
}

func TestConditionsWithDifferentReferencesDiffer(t *testing.T) {
	t.Parallel()
	a, _ := Parse(`{"f": {"$context": "claims.a"}}`)
	b, _ := Parse(`{"f": {"$context": "claims.b"}}`)
	if a.Within(b) || !a.Within(a) {
		t.Error("conditions with different references are taken for one")
	}
}

func TestMandatoryFiltersCannotReferToURIs(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"$uri": {"$context": "claims.uri"}}`, `{"$uri": {"$startsWith": {"$context": "claims.uri"}}}`, `{"$uri": [{"$context": "claims.uri"}]}`} {
		if f, err := Parse(text); err != nil || !f.HasURI() {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestBadReferencesAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a": {"$context": "secrets.key"}}`:                             "begins with one of",
		`{"a": {"$context": "Claims.groups"}}`:                           "begins with one of",
		`{"a": {"$context": "claims"}}`:                                  "write context.name",
		`{"a": {"$context": "claims."}}`:                                 "write context.name",
		`{"a": {"$context": "tenant.name"}}`:                             "write context.name",
		`{"a": {"$context": "context.a-b"}}`:                             "letters, digits",
		`{"a": {"$context": 1}}`:                                         "must be a path",
		`{"a": {"$context": "claims.a", "b": 1}}`:                        "Invalid operator: b",
		`{"a": {"$in": {"$context": "claims.a", "b": 1}}}`:               "must be a string",
		`{"$context": "claims.a"}`:                                       "Unsupported operator",
		`{"a": {"$regex": {"$context": "claims.a"}}}`:                    "requires a string",
		`{"a": {"$not": {"$context": "claims.a"}}}`:                      "only key",
		`{"$and": {"$context": "claims.a"}}`:                             "requires a list",
		`{"a": {"$size": {"$bad": {"$context": "claims.a"}}}}`:           "$size takes",
		`{"a": {"$context": "claims.` + strings.Repeat("x", 300) + `"}}`: "a path may have 256",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
