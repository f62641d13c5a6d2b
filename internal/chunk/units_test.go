package chunk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnitsAreNotCut(t *testing.T) {
	t.Parallel()
	text := "import é\n\ndef a():\n    one\n\ndef b():\n    two\n\nclass C:\n    x = 1\n\n    def m(self):\n        three\n\n    def n(self):\n        " +
		strings.Repeat("four ", 12) + "\n\ndef d():\n    five\n"
	var units []Unit
	for _, u := range []struct {
		text  string
		depth int
	}{{"def a", 1}, {"def b", 1}, {"class C", 1}, {"    def m", 2}, {"    def n", 2}, {"def d", 1}} {
		units = append(units, Unit{strings.Index(text, u.text), u.depth})
	}
	opts, err := parseOptions(map[string]any{"strategy": "recursive", "language": "python", "maxSize": 50, "overlap": 0, "addStartIndex": true})
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := SplitUnits(t.Context(), text, opts, units)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range chunks {
		if text[c.StartByte:c.EndByte] != c.Text {
			t.Errorf("%q is at %q", c.Text, text[c.StartByte:c.EndByte])
		}
		if at := c.Metadata["startIndex"]; at != len([]rune(text[:c.StartByte])) {
			t.Errorf("%q has the startIndex %v", c.Text, at)
		}
		got = append(got, c.Text)
	}
	want := []string{
		"import é\n\ndef a():\n    one\n\ndef b():\n    two",
		"class C:\n    x = 1\n\n    def m(self):\n        three",
		"def n(self):",
		strings.TrimSpace(strings.Repeat("four ", 8)),
		strings.TrimSpace(strings.Repeat("four ", 4)),
		"def d():\n    five",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Without units, and with any, the chunks cover the text.
func TestUnitsCoverTheText(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	var units []Unit
	for i := range 200 {
		units = append(units, Unit{text.Len(), 1 + i*7%3})
		fmt.Fprintf(&text, "func f%d() { %s}\n", i, strings.Repeat("x", i%40))
	}
	opts, err := parseOptions(map[string]any{"strategy": "recursive", "language": "go", "maxSize": 100, "overlap": 0})
	if err != nil {
		t.Fatal(err)
	}
	for _, given := range [][]Unit{nil, units, units[:1]} {
		chunks, err := SplitUnits(t.Context(), text.String(), opts, given)
		if err != nil {
			t.Fatal(err)
		}
		joined := ""
		for _, c := range chunks {
			joined += c.Text + "\n"
		}
		if strings.Join(strings.Fields(joined), " ") != strings.Join(strings.Fields(text.String()), " ") {
			t.Errorf("with %d units the chunks are not the text", len(given))
		}
	}
}
