package chunk

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLocateGivesHeadings(t *testing.T) {
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
	type located struct {
		Text     string
		Headings any
	}
	var got []located
	for _, c := range chunks {
		got = append(got, located{c.Text, c.Metadata["headings"]})
	}
	want := []located{
		{"before\n\n# One\n\nfirst", nil},
		{"### Deep\n\nsecond\n```\n# code\n```", []any{"One", "Deep"}},
		{"## Two\n\nthird\nline", []any{"One", "Two"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLocateTakesChunksInAnyOrder(t *testing.T) {
	t.Parallel()
	chunks := []Chunk{{StartByte: 9, EndByte: 12}, {StartByte: 3, EndByte: 5, Metadata: map[string]any{"k": "v"}}}
	Locate("# a\nx\n# b\nx", Options{Strategy: Markdown}, chunks)
	want := []map[string]any{{"headings": []any{"b"}}, {"headings": []any{"a"}, "k": "v"}}
	for i, c := range chunks {
		if diff := cmp.Diff(want[i], c.Metadata); diff != "" {
			t.Errorf("chunk %d (-want +got):\n%s", i, diff)
		}
	}
}
