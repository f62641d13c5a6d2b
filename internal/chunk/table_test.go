package chunk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

func TestChunksOfATableHaveItsHeaderRow(t *testing.T) {
	t.Parallel()
	const header = "| Part | Price |\n|---|---|\n"
	var rows strings.Builder
	for n := range 100 {
		fmt.Fprintf(&rows, "| number %d ä | %d |\n", n, n*7)
	}
	text := "# Prices\n\n" + header + rows.String() + "\nAll without tax.\n\n```\n" + header + rows.String() + "```\n"
	size, overlap := 300, 100
	options, err := Settings{Strategy: Markdown, MaxSize: &size, Overlap: &overlap}.Options()
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := Split(t.Context(), text, options)
	if err != nil {
		t.Fatal(err)
	}
	RepeatTableHeaders(text, options, chunks)
	table := strings.Index(text, "All without")
	covered := 0
	for i, c := range chunks {
		if c.StartByte > covered+2 {
			t.Errorf("chunk %d begins at %d, after a gap from %d", i, c.StartByte, covered)
		}
		covered = c.EndByte
		inTable := i > 0 && c.StartByte < table
		if got := strings.HasPrefix(c.Text, header); got != inTable {
			t.Errorf("chunk %d at %d: %q", i, c.StartByte, c.Text)
		}
		if textspan.Units(c.Text) > size || !strings.HasSuffix(c.Text, text[c.StartByte:c.EndByte]) {
			t.Errorf("chunk %d at %d: %q", i, c.StartByte, c.Text)
		}
	}
	if covered != len(text)-1 {
		t.Errorf("the chunks end at %d of %d", covered, len(text))
	}
}

func TestTablesWithoutRoomForTheirHeaderStayAsTheyAre(t *testing.T) {
	t.Parallel()
	text := "| a long header row of this table |\n|---|\n" + strings.Repeat("| "+strings.Repeat("x", 70)+" |\n", 9)
	size, overlap := 80, 0
	options, err := Settings{Strategy: Markdown, MaxSize: &size, Overlap: &overlap}.Options()
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := Split(t.Context(), text, options)
	if err != nil {
		t.Fatal(err)
	}
	RepeatTableHeaders(text, options, chunks)
	for i, c := range chunks {
		if c.Text != text[c.StartByte:c.EndByte] {
			t.Errorf("chunk %d: %q", i, c.Text)
		}
	}
}
