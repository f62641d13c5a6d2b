package chunk

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLocateGivesLinesAndHeadings(t *testing.T) {
	t.Parallel()
	text := "before\n\n# One\n\nfirst\n\n### Deep\n\nsecond\n```\n# code\n```\n\n## Two\n\nthird\nline\n"
	opts, err := parseOptions(map[string]any{"strategy": "markdown", "maxSize": 35, "overlap": 0})
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := Split(t.Context(), text, opts)
	if err != nil {
		t.Fatal(err)
	}
	Locate(text, opts, chunks)
	type place struct {
		Text       string
		Start, End any
		Headings   any
	}
	var got []place
	for _, c := range chunks {
		got = append(got, place{c.Text, c.Metadata["startLine"], c.Metadata["endLine"], c.Metadata["headings"]})
	}
	want := []place{
		{"before\n\n# One\n\nfirst", 1, 5, nil},
		{"### Deep\n\nsecond\n```\n# code\n```", 7, 12, []any{"One", "Deep"}},
		{"## Two\n\nthird\nline", 14, 17, []any{"One", "Two"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLocateTakesChunksInAnyOrder(t *testing.T) {
	t.Parallel()
	chunks := []Chunk{{StartByte: 4, EndByte: 6}, {StartByte: 0, EndByte: 2, Metadata: map[string]any{"k": "v"}}}
	Locate("a\nb\nc\nd", Options{Strategy: JSON}, chunks)
	want := []map[string]any{{"startLine": 3, "endLine": 3}, {"startLine": 1, "endLine": 1, "k": "v"}}
	for i, c := range chunks {
		if diff := cmp.Diff(want[i], c.Metadata); diff != "" {
			t.Errorf("chunk %d (-want +got):\n%s", i, diff)
		}
	}
}
