package filter

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNotesSayWhatAConditionLeavesOut(t *testing.T) {
	t.Parallel()
	list := func(field, value string) string {
		return field + ": equal to a single value, so a list that has " + value + ` is not selected; {"$in": [` + value + `]} selects both`
	}
	absent := func(field string) string {
		return field + `: what does not have the field is not selected by $ne, $nin or $not; "$or" with {"` + strings.ReplaceAll(field, `\`, `\\`) + `": null} selects it too`
	}
	for text, want := range map[string][]string{
		`{}`:                             nil,
		`{"tags": "x"}`:                  {list("tags", `"x"`)},
		`{"a.b": 7, "c": {"$eq": true}}`: {list("a.b", "7"), list("c", "true")},
		`{"tags": {"$in": ["x"]}, "n": {"$gt": 1}}`: nil,
		`{"team": {"$ne": "x"}}`:                    {absent("team")},
		`{"team": {"$nin": ["x", "y"]}}`:            {absent("team")},
		`{"$nor": [{"n": {"$gt": 1}}, {"t": "x"}]}`: {absent("n"), absent("t")},
		`{"n": {"$not": {"$exists": true}}}`:        nil,
		`{"n": {"$ne": null}}`:                      nil,
		`{"$not": {"team": {"$ne": "x"}}}`:          {list("team", `"x"`)},
		`{"dc\\.title": {"$ne": "x"}}`:              {absent(`dc\.title`)},
	} {
		f, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, f.Notes()); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", text, diff)
		}
	}
}

func TestTimesInMetadataBecomeTexts(t *testing.T) {
	t.Parallel()
	given := map[string]any{
		"a": map[string]any{"$date": "2026-03-01T09:30:00+02:00"}, "b": map[string]any{"$date": 1772353800123.0},
		"c": []any{map[string]any{"$date": map[string]any{"$numberLong": "-1000"}}, "x"}, "d": map[string]any{"e": map[string]any{"$date": 0.0}, "$date": "x"}, "f": "now",
	}
	want := map[string]any{
		"a": "2026-03-01T09:30:00+02:00", "b": "2026-03-01T08:30:00.123Z", "c": []any{"1969-12-31T23:59:59Z", "x"},
		"d": map[string]any{"e": "1970-01-01T00:00:00Z", "$date": "x"}, "f": "now",
	}
	got, err := WithDates("metadata", given)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	for text, field := range map[string]map[string]any{
		"metadata.a.b: ": {"a": map[string]any{"b": map[string]any{"$date": "now-30d"}}},
		"metadata.c: ":   {"c": []any{map[string]any{"$date": "2026-02-30"}}},
		"metadata.d: ":   {"d": map[string]any{"$date": 1.5}},
		"metadata.e: ":   {"e": map[string]any{"$date": nil}},
	} {
		if _, err := WithDates("metadata", field); err == nil || !strings.HasPrefix(err.Error(), text) {
			t.Errorf("%v: error %v", field, err)
		}
	}
}
