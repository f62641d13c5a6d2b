package parse

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFrontMatterIsNoSection(t *testing.T) {
	t.Parallel()
	const text = "---\n# a comment\ntitle: Tides\n---\n# High water\n\nAt six.\n"
	doc, err := Parse(t.Context(), Source{Content: []byte(text), FileName: "a.md"})
	if err != nil {
		t.Fatal(err)
	}
	want := []Span{Lines(text), {Kind: Section, Start: strings.Index(text, "# High"), End: len(text), Name: "High water"}}
	if diff := cmp.Diff(want, doc.Spans); diff != "" || doc.Title != "Tides" || doc.Text != text {
		t.Errorf("title %q, text %q, spans (-want +got)\n%s", doc.Title, doc.Text, diff)
	}
}
