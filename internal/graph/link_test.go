package graph_test

import (
	"slices"
	"testing"
)

func TestLinksLeadToTheDocumentsTheyName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, uri, text string }{
		{"a Markdown link", "faults/ld-101.md", "Ask [the list](../faults/ld-101.md) first."},
		{"a link to a part", "faults/pump-loss.md", "Ask [the list](/faults/pump-loss.md#causes 'list') first."},
		{"a web address", "https://docs.example.com/faults/pump-loss.html", "Ask https://docs.example.com/faults/pump-loss.html?lang=en, then us."},
		{"an address without an extension", "https://docs.example.com/faults/pump-loss", "Ask <https://docs.example.com/faults/pump-loss/>."},
		{"a reference", "https://docs.example.com/faults/pump-loss.html", "Ask [us][1].\n\n[1]: https://docs.example.com/faults/pump-loss.html"},
		{"a file path", "/srv/etc/drive.toml", "Edit `C:\\conf` or /srv/etc/drive.toml by hand."},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := newTestGraph(t)
			g.upload(t, "from", "Starting point", test.text)
			g.upload(t, test.uri, "", "Nothing that says what it is called.")
			if got := g.walked(t, "What is the starting point?"); !slices.Contains(got, test.uri) {
				t.Errorf("the walk leads to %v", got)
			}
		})
	}
}
