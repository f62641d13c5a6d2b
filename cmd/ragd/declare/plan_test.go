package declare

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is declared can be sent: each field is one of the update, of a method of its own, or cannot be changed.
func TestFieldsThatNoUpdateChanges(t *testing.T) {
	t.Parallel()
	got := map[string][]string{}
	for _, k := range kinds {
		var all []string
		for _, f := range k.declarable() {
			all = append(all, f.JSONName())
		}
		for _, name := range all { // alone
			if fixed := k.fixed([]string{name}); len(fixed) > 0 {
				got[k.name] = append(got[k.name], name)
			}
		}
		for name := range k.hidden {
			if k.field(name) == nil {
				t.Errorf("%s has no field %s", k.name, name)
			}
		}
	}
	want := map[string][]string{
		"endpoint":  {"kind"},
		"index":     {"dimension", "metric", "textLanguage", "vectorType"},
		"tool":      {"kind"},
		"connector": {"indexName", "namespace"},
		"alert":     {"indexName", "namespace"},
		"key":       {"scopes", "expireTime", "mandatoryFilter", "servers", "indexes", "tools", "prompts", "attributes", "origins"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestEntriesKeepTheOrderOfTheService(t *testing.T) {
	t.Parallel()
	entry := func(id, term string) tree {
		e := tree{"terms": []any{term}}
		if id != "" {
			e["synonymId"] = id
		}
		return e
	}
	present := []any{entry("1", "a"), entry("2", "b"), entry("3", "c")}
	declared := []any{entry("", "new"), entry("", "c"), entry("2", "changed"), entry("", "a")}
	want := []any{entry("1", "a"), entry("3", "c"), entry("", "new"), entry("2", "changed")}
	if diff := cmp.Diff(want, matched(declared, present, "synonymId")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestDifferencesAreUnified(t *testing.T) {
	t.Parallel()
	numbers := func(edit func(n int) string) string {
		var lines []string
		for n := range 20 {
			if text := edit(n); text != "" {
				lines = append(lines, text)
			}
		}
		return strings.Join(lines, "\n") + "\n"
	}
	before := numbers(func(n int) string { return fmt.Sprint(n) })
	after := numbers(func(n int) string {
		switch n {
		case 1:
			return "one"
		case 8:
			return "8\nnew"
		case 18:
			return ""
		}
		return fmt.Sprint(n)
	})
	want := `--- a
+++ b
@@ -1,5 +1,5 @@
 0
-1
+one
 2
 3
 4
@@ -7,6 +7,7 @@
 6
 7
 8
+new
 9
 10
 11
@@ -16,5 +17,4 @@
 15
 16
 17
-18
 19
`
	if diff := cmp.Diff(want, unified("a", "b", before, after)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := unified("a", "b", before, before); got != "" {
		t.Errorf("equal texts differ: %s", got)
	}
	if got, want := unified("a", "b", "", "x\n"), "--- a\n+++ b\n@@ -0,0 +1,1 @@\n+x\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := unified("a", "b", "x\ny\n", ""), "--- a\n+++ b\n@@ -1,2 +0,0 @@\n-x\n-y\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
