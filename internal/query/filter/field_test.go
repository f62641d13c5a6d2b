package filter

import "testing"

func TestWithoutDropsConditionsOnAFieldAlone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ filter, field, want string }{
		"no filter":                 {`{}`, "a", `{}`},
		"one condition":             {`{"a": 1}`, "a", `{}`},
		"beside another":            {`{"a": {"$in": [1, 2]}, "b": 2}`, "a", `{"b":2}`},
		"in $and":                   {`{"$and": [{"a": 1, "b": 2}, {"$and": [{"a": 3}]}]}`, "a", `{"$and":[{"b":2},{"$and":[{}]}]}`},
		"an alternative of its own": {`{"$or": [{"a": 1}, {"a": 2}], "b": 2}`, "a", `{"b":2}`},
		"negated":                   {`{"$not": {"a": 1}, "a": {"$not": {"$gt": 3}}}`, "a", `{}`},
		"with others in $or":        {`{"$or": [{"a": 1}, {"b": 2}]}`, "a", `{"$or": [{"a": 1}, {"b": 2}]}`},
		"with the uri in $or":       {`{"$or": [{"a": 1}, {"$uri": "x"}]}`, "a", `{"$or": [{"a": 1}, {"$uri": "x"}]}`},
		"another field":             {`{"b": 1}`, "a", `{"b": 1}`},
		"below an object":           {`{"a": {"b": 1}, "c": 2}`, "a.b", `{"c":2}`},
		"a field above":             {`{"a": {"b": 1}}`, "a", `{"a": {"b": 1}}`},
		"escaped":                   {`{"a\\.b": 1, "\\$c": 2}`, `a\.b`, `{"\\$c":2}`},
		"a reference":               {`{"a": {"$context": "claims.x"}, "b": 1}`, "a", `{"b":1}`},
	} {
		f, err := Parse(tc.filter)
		if err != nil {
			t.Fatal(name, err)
		}
		want, err := Parse(tc.want)
		if err != nil {
			t.Fatal(name, err)
		}
		if got := f.Without(tc.field); got.String() != want.String() {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestFieldNamesAreChecked(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{"a": true, "a.b": true, `a\.b`: true, `\$a`: true, "größe 2": true, "": false, "$a": false, "$uri": false, "a\x00b": false} {
		if err := CheckField("facets[0].field", name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
