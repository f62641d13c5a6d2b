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
	options, err := Settings{Strategy: Markdown, MaxSize: &size, Overlap: &overlap}.RetrievalOptions("", "")
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := Split(t.Context(), text, options)
	if err != nil {
		t.Fatal(err)
	}
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
	options, err := Settings{Strategy: Markdown, MaxSize: &size, Overlap: &overlap}.RetrievalOptions("", "")
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := Split(t.Context(), text, options)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range chunks {
		if c.Text != text[c.StartByte:c.EndByte] {
			t.Errorf("chunk %d: %q", i, c.Text)
		}
	}
}

func TestEveryChunkOfATableHasAllHeaderRowsAndWholeRows(t *testing.T) {
	t.Parallel()
	const header = "| Part | Price | |\n| name | net | gross |\n|---|---|---|\n"
	var rows strings.Builder
	for n := range 200 {
		fmt.Fprintf(&rows, "| part %d with a name | %d | %d |\n", n, n, n*2)
	}
	text := "Table 1: Prices\n\n" + header + rows.String() + "\nText after.\n"
	for _, options := range []func(Settings) (Options, error){
		Settings.Options, func(s Settings) (Options, error) { return s.RetrievalOptions("", "") },
	} {
		o, err := options(Settings{Strategy: Markdown, AddStartIndex: new(true)})
		if err != nil {
			t.Fatal(err)
		}
		chunks, err := Split(t.Context(), text, o)
		if err != nil {
			t.Fatal(err)
		}
		seen, captions := map[string]bool{}, 0
		for i, c := range chunks {
			captions += strings.Count(c.Text, "Table 1")
			if c.Metadata["startIndex"] != c.StartByte {
				t.Errorf("chunk %d has startIndex %v at %d", i, c.Metadata["startIndex"], c.StartByte)
			}
			if textspan.Units(c.Text) > o.MaxSize || !strings.HasSuffix(c.Text, text[c.StartByte:c.EndByte]) {
				t.Errorf("chunk %d of %d units: %q", i, textspan.Units(c.Text), c.Text)
			}
			if !strings.Contains(c.Text, "| part") {
				continue
			}
			body, ok := strings.CutPrefix(c.Text, header)
			if !ok {
				t.Errorf("chunk %d begins without the header rows: %q", i, c.Text[:60])
			}
			for row := range strings.SplitSeq(body, "\n") {
				if !strings.Contains(rows.String(), row+"\n") {
					t.Errorf("chunk %d has a row that was cut: %q", i, row)
				}
				seen[row] = true
			}
		}
		if len(seen) != 200 || captions != 1 || len(chunks) < 4 {
			t.Errorf("%d rows, %d captions, %d chunks", len(seen), captions, len(chunks))
		}
	}
}

func TestPiecesOfALongRowHaveTheHeader(t *testing.T) {
	t.Parallel()
	const header = "| a | b |\n|---|---|\n"
	text := header + strings.Repeat("| x | "+strings.Repeat("word ", 1000)+"|\n", 3)
	for _, o := range []Options{
		{Strategy: Markdown, MaxSize: 4000, StripWhitespace: true, Cuts: CutsClauses},
		{Strategy: Markdown, MaxSize: 800, Overlap: 200, StripWhitespace: true, Cuts: CutsSentences},
	} {
		chunks, err := Split(t.Context(), text, o)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range chunks {
			if !strings.HasPrefix(c.Text, header) || len(c.Text) < len(header)+10 || len(c.Text) > o.MaxSize {
				t.Errorf("chunk %d of %d bytes: %q", i, len(c.Text), c.Text[:min(len(c.Text), 60)])
			}
		}
		checkCoverage(t, text, o, chunks)
	}
}

func TestTablesInListsAndWithoutOuterPipes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ before, header, row string }{
		"in a list":           {"- The berths:\n\n", "  | Name | Length |\n  |---|---|\n", "  | berth %d | %d m |\n"},
		"without outer pipes": {"Either a | b:\n", "Name | Length\n:--- | ---:\n", "berth %d | %d m\n"},
	} {
		var rows strings.Builder
		for n := range 200 {
			fmt.Fprintf(&rows, tc.row, n, n)
		}
		text := tc.before + tc.header + rows.String() + "\nText after.\n"
		o, err := Settings{Strategy: Markdown}.RetrievalOptions("", "")
		if err != nil {
			t.Fatal(err)
		}
		chunks, err := Split(t.Context(), text, o)
		if err != nil {
			t.Fatal(err)
		}
		tables := 0
		for i, c := range chunks {
			if strings.Contains(c.Text, "berth ") && strings.Count(c.Text, strings.TrimSpace(tc.header)) != 1 {
				t.Errorf("%s: chunk %d begins %q", name, i, c.Text[:40])
			}
			if strings.Contains(c.Text, "berth ") {
				tables++
			}
		}
		if tables < 3 {
			t.Errorf("%s: %d chunks", name, tables)
		}
		checkCoverage(t, text, o, chunks)
	}
}

func TestALongRowIsCutBetweenItsCells(t *testing.T) {
	t.Parallel()
	const header = "| name | what | note |\n|---|---|---|\n"
	long := strings.Repeat("It is wide \\| and long. ", 100)
	text := header + "| first | short | one |\n| second | " + long + "| two |\n| third | short | three |\n"
	o := Options{Strategy: Markdown, MaxSize: 800, Overlap: 200, StripWhitespace: true, Cuts: CutsSentences, AddStartIndex: true}
	chunks, err := Split(t.Context(), text, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range chunks {
		body, ok := strings.CutPrefix(c.Text, header)
		if !ok || textspan.Units(c.Text) > o.MaxSize || c.Metadata["startIndex"] != c.StartByte {
			t.Errorf("chunk %d of %d units at %d, %v: %q", i, textspan.Units(c.Text), c.StartByte, c.Metadata, c.Text[:40])
		}
		switch i {
		case 0:
			ok = body == "| first | short | one |"
		case 1:
			ok = strings.HasPrefix(body, "| second | It is wide")
		case len(chunks) - 2:
			ok = strings.HasPrefix(body, "| second | It is wide") && strings.HasSuffix(body, "| two |")
		case len(chunks) - 1:
			ok = body == "| third | short | three |"
		default:
			ok = strings.HasPrefix(body, "| second | ")
		}
		if !ok {
			t.Errorf("chunk %d: %q", i, body)
		}
	}
	if len(chunks) < 6 {
		t.Errorf("%d chunks", len(chunks))
	}
	checkCoverage(t, text, o, chunks)
}

func TestARowOfManyCellsIsCutBetweenThem(t *testing.T) {
	t.Parallel()
	header := strings.Repeat("| c ", 10) + "|\n" + strings.Repeat("|---", 10) + "|\n"
	cell := strings.Repeat("word. ", 40)
	text := header + "| north " + strings.Repeat("| "+cell, 9) + "|\n"
	o := Options{Strategy: Markdown, MaxSize: 800, StripWhitespace: true, Cuts: CutsSentences}
	chunks, err := Split(t.Context(), text, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range chunks {
		body, ok := strings.CutPrefix(c.Text, header+"| north ")
		if !ok || strings.Count(strings.TrimLeft(body, "| "), "word")%40 != 0 {
			t.Errorf("chunk %d: %q", i, c.Text)
		}
	}
	if len(chunks) != 5 {
		t.Errorf("%d chunks", len(chunks))
	}
	checkCoverage(t, text, o, chunks)
}
