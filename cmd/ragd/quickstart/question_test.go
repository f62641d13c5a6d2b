package quickstart

import "testing"

func TestChooseAsksWhatTheDocumentsAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		texts []string
		want  string
	}{
		{"nothing", nil, ""},
		{"a heading", []string{"# Tides\n\n## Opening the harbour gate\n\nTwo hours before high water.", "# Fees\n\n## The\n\nA berth costs money."}, "Opening the harbour gate"},
		{"a question before others", []string{"## Opening the northern harbour gate", "## When may boats **leave**? ##"}, "When may boats leave?"},
		{"rare words", []string{"## The harbour of the town", "## The harbour of whales", "Whales rest in the harbour of the town.", "The town."}, "The harbour of whales"},
		{"no names of authors", []string{"## Johanna Lindqvist, Marten Vandenberg", "## Opening the gate", "Opening of the gate takes an hour."}, "Opening the gate"},
		{"not a comment in code", []string{"```sh\n# start the service now\nragd serve\n```\n\nBoats leave with the tide. Or not."}, "Boats leave with the tide."},
		{"a sentence", []string{"One. The ferry waits below the lock until noon. 1, 2, 3, 4, 5, 6, 7."}, "The ferry waits below the lock until noon."},
		{"no sentence", []string{"1 2 3 4"}, "1 2 3 4"},
		{"links and markup", []string{"## See [the *tide* tables](tides.md) before sailing"}, "See the tide tables before sailing"},
	} {
		if got := choose(c.texts); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestIndexNames(t *testing.T) {
	t.Parallel()
	for folder, want := range map[string]string{
		"/srv/handbook": "handbook", "/srv/My Notes (2026)/": "My-Notes-2026", "/srv/2026": "_2026", "/": "documents", "/srv/文書": "documents", "/srv/../a.b": "a-b",
	} {
		if got := indexName(folder); got != want {
			t.Errorf("%s: %q, want %q", folder, got, want)
		}
	}
}
