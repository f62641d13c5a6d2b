package chunk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

func TestPiecesOfALongRowNameTheirColumn(t *testing.T) {
	t.Parallel()
	long := func(word string) string { return strings.TrimSpace(strings.Repeat(word+" ", 60)) }
	short := "Berth: South; Fee: 30"
	row := "Berth: North 1; Remark: " + long("quiet") + "; History: " + long("built") + "; Fee: 31; Note: end"
	text := "## Fees\n\n" + short + "\n" + row + "\n" + short
	tables := []Records{{Start: len("## Fees\n\n"), End: len(text), Names: []string{"Berth", "Remark", "", "History", "Fee", "Note"}}}
	for _, strategy := range []Strategy{Recursive, Markdown} {
		for size := 60; size < 400; size += 17 {
			opts, err := Settings{Strategy: strategy, MaxSize: &size, AddStartIndex: new(true)}.Options()
			if err != nil {
				t.Fatal(err)
			}
			chunks, err := SplitRecords(t.Context(), text, opts, tables)
			if err != nil {
				t.Fatal(err)
			}
			if size > 100 && chunks[0].Text != "## Fees\n\n"+short {
				t.Errorf("the row before: %q", chunks[0].Text)
			}
			for _, c := range chunks {
				name := fmt.Sprintf("%s, %d: %q", strategy, size, c.Text)
				if textspan.Units(c.Text) > size || !strings.HasSuffix(c.Text, strings.TrimSpace(text[c.StartByte:c.EndByte])) || c.Metadata[startIndexKey] != c.StartByte {
					t.Errorf("%s is %q, at %v", name, text[c.StartByte:c.EndByte], c.Metadata)
				}
				if strings.Contains(c.Text, "quiet") && !strings.Contains(c.Text, "Remark: ") || strings.Contains(c.Text, "built") && !strings.Contains(c.Text, "History: ") {
					t.Errorf("%s does not name its column", name)
				}
				if strings.ContainsAny(c.Text, "q") && !strings.HasPrefix(c.Text, "Berth: North 1; ") {
					t.Errorf("%s does not begin with the first cell", name)
				}
			}
		}
	}
}

func TestRowsThatFitAreCutAsBefore(t *testing.T) {
	t.Parallel()
	text := strings.TrimSpace(strings.Repeat("Berth: South; Fee: 30\n", 40))
	size := 100
	for _, s := range []Settings{{MaxSize: &size}, {Strategy: Token, MaxSize: &size}} {
		opts, err := s.Options()
		if err != nil {
			t.Fatal(err)
		}
		want, err := Split(t.Context(), text, opts)
		if err != nil {
			t.Fatal(err)
		}
		got, err := SplitRecords(t.Context(), text, opts, []Records{{End: len(text), Names: []string{"Berth", "Fee"}}})
		if fmt.Sprint(got) != fmt.Sprint(want) || err != nil {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
}
