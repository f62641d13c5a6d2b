package filter

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestURICompilesToARange(t *testing.T) {
	t.Parallel()
	const document = "EXISTS (SELECT FROM tenant.documents AS u WHERE u.document_id = c.document_id AND u.index_id = tenant.this_index AND u.namespace = c.namespace AND "
	for _, tc := range []struct{ filter, column, want string }{
		{`{"$uri": {"$startsWith": "docs/"}}`, "d.metadata", `(d.uri >= $1::text AND d.uri < $2::text)`},
		{`{"$uri": "a.md"}`, "d.metadata", `d.uri = ANY ($1::text[])`},
		{`{"$uri": ["a.md", "b.md"]}`, "d.metadata", `d.uri = ANY ($1::text[])`},
		{`{"$uri": {"$ne": "a.md"}}`, "d.metadata", `NOT (d.uri = ANY ($1::text[]))`},
		{`{"$uri": {"$startsWith": "docs/"}}`, ChunkMetadata, document + `(u.uri >= $1::text AND u.uri < $2::text))`},
		{`{"$not": {"$uri": "a.md"}}`, ChunkMetadata, `(c.document_id IS NOT NULL AND NOT ` + document + `u.uri = ANY ($1::text[])))`},
		{`{"path": {"$startsWith": "docs/"}}`, "d.metadata", `((d.metadata ->> $1::text) COLLATE "C" >= $2::text AND (d.metadata ->> $1::text) COLLATE "C" < $3::text)`},
	} {
		f, err := Parse(tc.filter)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.SQL(tc.column, NewArgs()); got != tc.want {
			t.Errorf("%s on %s:\n%s\nwant\n%s", tc.filter, tc.column, got, tc.want)
		}
		if f.HasURI() != strings.Contains(tc.filter, "$uri") {
			t.Errorf("HasURI of %s is %v", tc.filter, f.HasURI())
		}
	}
}

func TestURIRefusesWhatHasNoMeaning(t *testing.T) {
	t.Parallel()
	for filter, want := range map[string]string{
		`{"$uri": {"$gt": "a"}}`:        "filter.$uri.$gt: is not an operator of $uri; it has $eq, $ne, $in, $nin and $startsWith",
		`{"$uri": 5}`:                   "filter.$uri: must be a uri, which is a string, got a number",
		`{"$uri": {}}`:                  `filter.$uri: has an empty condition; give a uri or {"$startsWith": "folder/"}`,
		`{"$uri": {"$startsWith": ""}}`: `filter.$uri.$startsWith: $startsWith cannot be empty; {"$exists": true} selects what has the field`,
		`{"$uri": {"$startsWith": "` + strings.Repeat("x", MaxPrefixBytes+1) + `"}}`: "filter.$uri.$startsWith: is 2049 bytes long; $startsWith may have 2048",
	} {
		if _, err := Parse(filter); err == nil || err.Error() != want {
			t.Errorf("%.60s: %v, want %s", filter, err, want)
		}
	}
	for _, filter := range []string{`{"maker": {"$uri": "a"}}`, `{"list": {"$elemMatch": {"$uri": "a"}}}`} {
		if _, err := Parse(filter); err == nil {
			t.Errorf("accepted %s", filter)
		}
	}
}

func FuzzAfterPrefix(f *testing.F) {
	for _, seed := range []string{"a", "docs/", "\u00e9", "\ud7ff", "\U0010ffff", "a\U0010ffff\U0010ffff"} {
		f.Add(seed, "rest")
	}
	f.Fuzz(func(t *testing.T, prefix, rest string) {
		if prefix == "" || !utf8.ValidString(prefix) || !utf8.ValidString(rest) {
			t.Skip()
		}
		end := afterPrefix(prefix)
		if !utf8.ValidString(end) {
			t.Fatalf("%q is not UTF-8", end)
		}
		if inRange := func(s string) bool { return s >= prefix && (end == "" || s < end) }; !inRange(prefix+rest) || inRange(rest) != strings.HasPrefix(rest, prefix) {
			t.Errorf("the range of %q ends at %q, which is wrong for %q", prefix, end, rest)
		}
	})
}
