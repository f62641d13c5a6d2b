package chunk

import (
	"strings"
	"testing"
)

func TestSplitApart(t *testing.T) {
	t.Parallel()
	list := strings.Repeat("- The fees of berths\n", 40)
	text := "Äpfel before the list.\n\n" + list + "\nText after the list, which is long enough for two of the chunks."
	start := strings.Index(text, "- ")
	opts, err := parseOptions(map[string]any{"strategy": "recursive", "maxSize": 50, "overlap": 20, "addStartIndex": true})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ max, most int }{{10_000, 1}, {300, 3}, {0, 40}} {
		chunks, err := SplitApart(t.Context(), text, opts, []Part{{Start: start, End: start + len(list), MaxSize: tc.max}})
		if err != nil {
			t.Fatal(err)
		}
		within, largest := 0, 0
		for _, c := range chunks {
			if text[c.StartByte:c.EndByte] != c.Text {
				t.Errorf("bytes %d to %d are not %q", c.StartByte, c.EndByte, c.Text)
			}
			// The umlaut is two bytes and one unit.
			if at := c.Metadata["startIndex"].(int); at != max(c.StartByte-1, 0) {
				t.Errorf("the chunk at byte %d starts at %d", c.StartByte, at)
			}
			if strings.Contains(c.Text, "- ") {
				within++
				largest = max(largest, len(c.Text))
				if strings.Contains(c.Text, "list") {
					t.Errorf("a chunk of both is %q", c.Text)
				}
			}
		}
		if within == 0 || within > tc.most || tc.max > 0 && largest > tc.max || tc.max == 0 && largest > 50 {
			t.Errorf("of at most %d: %d chunks, the largest of %d bytes", tc.max, within, largest)
		}
	}
}
