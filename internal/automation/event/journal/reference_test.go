package journal_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/automation/event/journal"
)

var update = flag.Bool("update", false, "rewrite the types of events in docs/reference/events.md")

// Marks around the types in the reference.
const (
	begin = "<!-- types: rewritten by go test ./internal/automation/event/journal -update -->\n"
	end   = "<!-- end of types -->\n"
)

// reference returns the types and their fields as Markdown.
func reference() string {
	var b strings.Builder
	last := ""
	for i, t := range journal.Types {
		topic, _, _ := strings.Cut(t.Name, ".")
		if topic != last {
			fmt.Fprintf(&b, "\n## %s\n\n| type | when |\n|---|---|\n", topic)
		}
		last = topic
		fmt.Fprintf(&b, "| `%s` | %s |\n", t.Name, t.Says)
		if i+1 < len(journal.Types) && strings.HasPrefix(journal.Types[i+1].Name, topic+".") {
			continue
		}
		if len(journal.Fields[topic]) > 0 {
			b.WriteString("\n| field of `data` | |\n|---|---|\n")
		}
		for _, f := range journal.Fields[topic] {
			fmt.Fprintf(&b, "| `%s` | %s |\n", f.Name, f.Says)
		}
	}
	return b.String() + "\n"
}

func TestTheReferenceListsEveryType(t *testing.T) {
	t.Parallel()
	const file = "../../../../docs/reference/events.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	listed, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the lines %q and %q", file, begin, end)
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+reference()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(listed, reference()); diff != "" {
		t.Errorf("%s is not up to date; run this test with -update (-listed +types):\n%s", file, diff)
	}
}

func TestPatternsSelectTypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		patterns []string
		want     string
	}{
		{[]string{"document.ready"}, "document.ready"},
		{[]string{"key.*", "document.ready", "key.created"}, "document.ready key.created key.revoked"},
		{[]string{"document.read"}, ""}, {[]string{"doc*"}, ""}, {[]string{"document"}, ""}, {[]string{""}, ""}, {[]string{"*.*"}, ""}, {[]string{"hook.test"}, ""},
	} {
		names, err := journal.Select("types", c.patterns)
		if got := strings.Join(names, " "); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q: %s, %v", c.patterns, got, err)
		}
	}
	for _, every := range [][]string{nil, {"*"}} {
		if names, err := journal.Select("types", every); len(names) != len(journal.Types) || err != nil {
			t.Errorf("%q: %d types, %v", every, len(names), err)
		}
	}
}
