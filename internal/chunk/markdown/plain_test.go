package markdown_test

import (
	"testing"

	"github.com/ragdhq/ragd/internal/chunk/markdown"
)

func TestTitlesAreWithoutMarkup(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"The gate": "The gate",
		"[Exim](http://www.exim.org) and _others_":  "Exim and others",
		"**When** the `gate_open()` call fails":     "When the gate_open() call fails",
		"`a*b*c`":                                   "a*b*c",
		"![a picture of the gate](gate.png) opens":  "a picture of the gate opens",
		"object.__init__(self)":                     "object.__init__(self)",
		`snake\_case and 2 \* 3`:                    "snake_case and 2 * 3",
		"Q&amp;A &#8211; R&D":                       "Q&A – R&D",
		"<a name=\"x\"></a>Berths <https://a.test>": "Berths https://a.test",
		"a < b > c [not a link] 3 * 4 * 5":          "a < b > c [not a link] 3 * 4 * 5",
		"**one _two `three` four_ five**":           "one two three four five",
		"多い **重要** 見出し":                             "多い 重要 見出し",
		"x_y_z and _x":                              "x_y_z and _x",
	} {
		if got := markdown.Headings("# "+title+"\n", nil); len(got) != 1 || got[0].Title != want {
			t.Errorf("the title of %q is %+v, not %q", title, got, want)
		}
	}
	if got := markdown.Headings("# []()\n", nil); len(got) != 0 {
		t.Errorf("a heading without words is one: %+v", got)
	}
}
