package filter

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePathReachesEveryKey(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]path{
		"a":       {"a"},
		"":        {""},
		"a.b.c":   {"a", "b", "c"},
		".a..b.":  {"", "a", "", "b", ""},
		`a\.b`:    {"a.b"},
		`a\.b.c`:  {"a.b", "c"},
		`a\\.b`:   {`a\.b`},
		`a\b`:     {`a\b`},
		`a\`:      {`a\`},
		`\$a`:     {"$a"},
		`\\$a.b`:  {`\$a`, "b"},
		"a.$b":    {"a", "$b"},
		"ключ.é ": {"ключ", "é "},
	} {
		if diff := cmp.Diff(want, parsePath(name)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", name, diff)
		}
		if got := want.String(); got != name {
			t.Errorf("%q is printed as %q", name, got)
		}
	}
}

func TestFindReadsArrayIndexesAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	list := []any{"a", "b", []any{"c"}}
	for _, key := range []string{"0", "1", "2", "3", "-1", "-3", "-4", "+1", " 1", "1 ", "\t\n\v\f\r1", "01", "-0", "", "-", "x", "1x", "0x1", "1.0", "1e0",
		"2147483647", "2147483648", "-2147483648", "-2147483649", "99999999999999999999", "\u00a01", "1_0"} {
		var want *string
		if err := conn.QueryRow(t.Context(), `SELECT '["a", "b", ["c"]]'::jsonb #>> $1::text[]`, []string{key}).Scan(&want); err != nil {
			t.Fatal(err)
		}
		got, ok := printed(path{key}.find(list))
		if ok != (want != nil) || ok && got != *want {
			t.Errorf("%q finds %q, %v", key, got, ok)
		}
	}
}
