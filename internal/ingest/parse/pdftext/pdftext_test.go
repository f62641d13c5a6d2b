package pdftext

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLayout(t *testing.T) {
	t.Parallel()
	lines := []line{
		{text: "Gates", size: 20, across: 200},
		{text: "and locks", size: 20, across: 176},
		{text: "They open early,2", size: 10, across: 150},
		{text: "be-", size: 10, across: 138},
		{text: "fore flood.", size: 10, across: 126},
		{text: "Another paragraph.", size: 10, across: 100},
		{text: "It goes on.", size: 10, across: 88},
	}
	want := "# Gates and locks\n\nThey open early,2\nbefore flood.\n\nAnother paragraph.\nIt goes on."
	if diff := cmp.Diff(want, pageOf(lines, 10)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// row returns a line with cells that begin at multiples of 100 points.
func row(across float64, texts ...string) line {
	l := line{text: strings.Join(texts, " "), size: 10, across: across}
	for i, text := range texts {
		if text != "" {
			l.cells = append(l.cells, cell{text, float64(100 * i), float64(100*i + 6*len(text))})
		}
	}
	return l
}

func TestLinesOfCellsAreATable(t *testing.T) {
	t.Parallel()
	before := line{text: "Depths:", size: 10, across: 120}
	after := line{text: "All at low tide.", size: 10, across: 30}
	lines := []line{before, row(100, "Berth", "Depth", "Crane"), row(88, "North", "11 m", ""), row(76, "Fish | ice", "4 m", "none"), after}
	want := "Depths:\n\n| Berth | Depth | Crane |\n| --- | --- | --- |\n| North | 11 m |  |\n| Fish \\| ice | 4 m | none |\n\nAll at low tide."
	if diff := cmp.Diff(want, pageOf(lines, 10)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for name, lines := range map[string][]line{
		"one row":           {row(100, "a", "b", "c")},
		"two of two":        {row(100, "a", "b"), row(88, "c", "d")},
		"a list of figures": {row(100, "a . . . .", "1"), row(88, "b . . . .", "2"), row(76, "c . . . .", "3")},
		"mostly gaps":       {row(100, "a", "b", "c"), row(88, "", "d", "e"), row(76, "f", "g", ""), row(64, "", "h", "i")},
	} {
		if got := pageOf(lines, 10); strings.Contains(got, "|") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// The rest of a table has its head on the next page, whether that repeats it or not; another table has its own.
func TestATableGoesOnOnTheNextPage(t *testing.T) {
	t.Parallel()
	first := []line{{text: "Depths:", size: 10, across: 120}, row(100, "Berth", "Depth", "Crane"), row(88, "North", "11 m", "yes"), row(76, "Fish", "4 m", "none")}
	end := line{text: "All at low tide.", size: 10, across: 30}
	const head = "| Berth | Depth | Crane |\n| --- | --- | --- |\n"
	for name, tc := range map[string]struct {
		lines []line
		want  string
	}{
		"one row":        {[]line{row(100, "South", "7 m", ""), end}, head + "| South | 7 m |  |\n\nAll at low tide."},
		"a head":         {[]line{row(100, "Berth", "Depth", "Crane"), row(88, "South", "7 m", "yes"), end}, head + "| South | 7 m | yes |\n\nAll at low tide."},
		"other columns":  {[]line{row(100, "Day", "Tide"), row(88, "1", "05:23"), row(76, "2", "06:30")}, "| Day | Tide |\n| --- | --- |\n| 1 | 05:23 |\n| 2 | 06:30 |"},
		"text before it": {[]line{{text: "Cranes:", size: 10, across: 112}, row(100, "No", "Reach", "Load"), row(88, "1", "9 m", "2 t"), end}, "Cranes:\n\n| No | Reach | Load |\n| --- | --- | --- |\n| 1 | 9 m | 2 t |\n\nAll at low tide."},
	} {
		texts, _ := layout([][]line{slices.Clone(first), tc.lines}, nil)
		if diff := cmp.Diff(tc.want, texts[1]); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// The rows at the edges of pages differ in their numbers, as running lines do; but not with the page.
func TestRowsAtTheEdgesOfPagesAreKept(t *testing.T) {
	t.Parallel()
	var pages [][]line
	for i := range 4 {
		lines := []line{row(800, "Harbour", "Tides of 2026", fmt.Sprintf("%d / 4", i+1))}
		for n := range 20 {
			lines = append(lines, row(float64(700-20*n), fmt.Sprintf("Berth %d", 20*i+n), fmt.Sprintf("%d m", (7*i+n)%13), "free"))
		}
		pages = append(pages, lines)
	}
	texts, _ := layout(pages, nil)
	for i, text := range texts {
		for n := range 20 {
			if want := fmt.Sprintf("| Berth %d |", 20*i+n); strings.Count(text, want) != 1 {
				t.Errorf("page %d has %q %d times: %q", i+1, want, strings.Count(text, want), text)
			}
		}
		if strings.Contains(text, "Harbour") {
			t.Errorf("page %d has a running line: %q", i+1, text)
		}
	}
}

func TestRunningLinesAreLeftOut(t *testing.T) {
	t.Parallel()
	var pages [][]line
	for i := range 4 {
		pages = append(pages, []line{
			{text: "Harbour handbook", size: 8, across: 800},
			{text: "Page text", size: 10, across: 700}, {text: "goes on.", size: 10, across: 688},
			{text: "It ends.", size: 10, across: 676}, {text: "Here.", size: 10, across: 664},
			{text: strconv.Itoa(98 + i), size: 8, across: 20},
		})
	}
	texts, title := layout(pages, nil)
	if title != "Harbour handbook" {
		t.Errorf("the running title is %q", title)
	}
	for i, got := range texts {
		if strings.Contains(got, "Harbour") || strings.ContainsAny(got, "019") || !strings.Contains(got, "Here.") {
			t.Errorf("page %d: %q", i+1, got)
		}
	}
}

func TestRunningLinesOfSeveralKinds(t *testing.T) {
	t.Parallel()
	text := func(n int) []line {
		return []line{
			{text: fmt.Sprintf("Text of page %d", n), size: 10, across: 700}, {text: "goes on.", size: 10, across: 688},
			{text: "It ends.", size: 10, across: 676}, {text: fmt.Sprintf("Here %d.", n), size: 10, across: 664},
		}
	}
	rows := []line{
		{text: "Berth Depth", size: 10, across: 600, cells: make([]cell, 2)}, {text: "North 11", size: 10, across: 588, cells: make([]cell, 2)},
	}
	for name, tc := range map[string]struct {
		pages  int
		edges  func(n int) []line
		before bool // the text
		gone   string
		stays  string
		title  string
	}{
		"numbers of all pages": {3, func(n int) []line { return []line{{text: fmt.Sprintf("Page %d of 3", n), size: 8, across: 20}} }, false, "Page", "", ""},
		"two lines at the top": {3, func(int) []line {
			return []line{{text: "Harbour office", size: 8, across: 800}, {text: "Internal", size: 8, across: 790}}
		}, true, "Harbour Internal", "", "Harbour office"},
		"a line at the bottom above a number": {3, func(n int) []line {
			return []line{{text: "Confidential", size: 8, across: 40}, {text: fmt.Sprint(n), size: 8, across: 20}}
		}, false, "Confidential", "", "Confidential"},
		"chapters": {30, func(n int) []line {
			return []line{{text: []string{"Tides", "Berths", "Locks", "Fees", "Ice", "Wind"}[(n-1)/5], size: 9, across: 800}}
		}, true, "", "Tides Berths", ""},
		"slides in steps": {30, func(n int) []line {
			return []line{{text: []string{"Tides", "Berths", "Locks", "Fees", "Ice", "Wind"}[(n-1)/5], size: 20, across: 800}}
		}, true, "", "Tides Berths", ""},
		"the same table": {4, func(int) []line { return rows }, false, "", "North 11", ""},
		"a heading on some pages": {30, func(n int) []line {
			if n%10 == 3 {
				return []line{{text: "Example", size: 10, across: 800}}
			}
			return nil
		}, true, "", "Example", ""},
	} {
		var pages [][]line
		for n := 1; n <= tc.pages; n++ {
			if tc.before {
				pages = append(pages, append(tc.edges(n), text(n)...))
			} else {
				pages = append(pages, append(text(n), tc.edges(n)...))
			}
		}
		texts, title := layout(pages, nil)
		all := strings.Join(texts, "\n")
		if title != tc.title || strings.Count(all, "goes on.") != tc.pages || !strings.Contains(all, fmt.Sprintf("Here %d.", tc.pages)) {
			t.Errorf("%s: title %q of %q", name, title, all)
		}
		for word := range strings.FieldsSeq(tc.gone) {
			if strings.Contains(all, word+" ") || strings.Contains(all, word+"\n") {
				t.Errorf("%s: %q is in %q", name, word, all)
			}
		}
		for word := range strings.FieldsSeq(tc.stays) {
			want := tc.pages
			if name == "chapters" {
				want = 1
			} else if name != "the same table" {
				want = strings.Count(all, word)
			}
			if got := strings.Count(all, word); got != want || got == 0 {
				t.Errorf("%s: %q is there %d times", name, word, got)
			}
		}
	}
}

func TestListItemsAndBoldHeadings(t *testing.T) {
	t.Parallel()
	lines := []line{
		{text: "Papers", size: 10, across: 100, bold: true},
		{text: "Bring:", size: 10, across: 88},
		{text: "• the list of", size: 10, across: 76, along: 10},
		{text: "the crew", size: 10, across: 64, along: 20},
		{text: "• a pilot", size: 10, across: 52, along: 10},
		{text: "All of it.", size: 10, across: 40},
	}
	want := "### Papers\n\nBring:\n- the list of\nthe crew\n- a pilot\n\nAll of it."
	if diff := cmp.Diff(want, pageOf(lines, 10)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestDatesOfFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"D:20240229101530+01'00'": "2024-02-29T10:15:30+01:00", "D:20240229101530Z": "2024-02-29T10:15:30Z",
		"D:2024": "2024-01-01T00:00:00Z", "D:20241399": "", "yesterday": "", "": "",
	} {
		if got := date(text); got != want {
			t.Errorf("date(%q) = %q, want %q", text, got, want)
		}
	}
}

// seen returns the words of a line whose characters stand as they are drawn from left to right.
func seen(line string) [][]glyph {
	var words [][]glyph
	at := 0.0
	for word := range strings.FieldsSeq(line) {
		var positions []float64
		for range []rune(word) {
			at++
			positions = append(positions, at)
		}
		words = append(words, glyphs([]rune(word), positions))
	}
	return words
}

func TestLinesWrittenFromRightToLeft(t *testing.T) {
	t.Parallel()
	for drawn, want := range map[string]string{
		"plain words, all 3": "plain words, all 3",
		"ג ב א":              "א ב ג",
		"!דג two 42 ב ,א":    "א, ב two 42 גד!",
		"one two ב א three":  "one two א ב three",
		"one ב – א three":    "one א – ב three",
		"תיב (ב) א":          "א (ב) בית",
		"תיב )ב( א":          "א (ב) בית",
		"\u05b8א ב":          "ב א\u05b8",
		"(\u05b8א) ב":        "ב (א)\u05b8",
	} {
		if got := logical(seen(drawn)); got != want {
			t.Errorf("logical(%q) = %q, want %q", drawn, got, want)
		}
	}
}

// The letters of a word may come in any order; those of a ligature and marks share a position.
func TestGlyphsStandAsTheyAreSeen(t *testing.T) {
	t.Parallel()
	got := logical([][]glyph{glyphs([]rune("افشان\u0650لأدامن"), []float64{9, 8, 7, 6, 5, 5, 4.5, 4.5, 4, 3, 2, 1})})
	if want := "افشان\u0650لأدامن"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	got = logical([][]glyph{glyphs([]rune("دامنافشان"), []float64{13, 12, 11, 10, 9, 8, 7, 6, 5})})
	if want := "دامنافشان"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	got = logical([][]glyph{glyphs([]rune("افشاندامن"), []float64{9, 8, 7, 6, 5, 13, 12, 11, 10})})
	if want := "دامنافشان"; got != want {
		t.Errorf("parts of a word in the order of the content: %q, want %q", got, want)
	}
}

// Words stand farther apart than letters do, also than those of a line in spaced letters.
func TestWordsAreFoundByTheGapsBetweenThem(t *testing.T) {
	t.Parallel()
	at := func(width float64, gaps ...float64) (extents []extent) {
		end := 0.0
		for _, gap := range append([]float64{0}, gaps...) {
			extents = append(extents, extent{from: end + gap, to: end + gap + width})
			end += gap + width
		}
		return extents
	}
	inked := at(5, 0, 1, 0)
	inked[1].inked = true
	for name, tc := range map[string]struct {
		extents []extent
		want    []float64
	}{
		"letters":          {at(5, 0, -1, 0.3, 0), nil},
		"two words":        {at(5, 0, 0, 2.5, 0), []float64{17.5}},
		"one letter":       {at(5), nil},
		"spaced letters":   {at(5, 3, 3, 3, 6, 3, 3), []float64{35}},
		"ink over the end": {inked, []float64{11}},
	} {
		if diff := cmp.Diff(tc.want, wordStarts(tc.extents, 10)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestReadAFile(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../testdata/files/handbook.pdf")
	if err != nil {
		t.Fatal(err)
	}
	f, err := Read(t.Context(), content, nil)
	if err != nil || len(f.Pages) != 2 || f.Title != "Harbour handbook" || f.Unreadable != 0 {
		t.Fatalf("file %+v, %v", f, err)
	}
	if !strings.Contains(f.Pages[1], "30 € a night") {
		t.Errorf("page 2 is %q", f.Pages[1])
	}
}

func TestAnEncryptedFile(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../testdata/hostile/encrypted.pdf")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(t.Context(), content, nil); !errors.Is(err, ErrEncrypted) {
		t.Errorf("error %v", err)
	}
}

func TestColumnsOfTextAreReadOneAfterTheOther(t *testing.T) {
	t.Parallel()
	row := func(across float64, texts ...string) line {
		l := line{text: strings.Join(texts, " "), size: 10, across: across}
		for i, text := range texts {
			from := float64(i) * 150
			l.cells = append(l.cells, cell{text, from, from + 5*float64(len(text))})
		}
		l.along, l.end = l.cells[0].from, l.cells[len(texts)-1].to
		if len(texts) == 1 {
			l.cells = nil
		}
		return l
	}
	words := func(n int, name string) string { return name + " " + strings.Repeat("w", n-1-len(name)) }
	var three, short, ragged []line
	for i := range 4 {
		n := string(rune('0' + i))
		three = append(three, row(100-12*float64(i), words(25, "a"+n), words(24, "b"+n), words(26, "c"+n)))
		short = append(short, row(100-12*float64(i), words(9, "a"+n), words(9, "b"+n), words(9, "c"+n)))
		ragged = append(ragged, row(100-12*float64(i), words(16+i%2*14, "a"+n), words(16+i%2*13, "b"+n), words(16+i%2*13, "c"+n)))
	}
	last := row(52, words(24, "a4"), words(20, "b4"))
	three = append(three, last)
	names := func(lines []line) string {
		var out []string
		for _, l := range inColumns(lines) {
			for _, word := range strings.Fields(l.text) {
				if !strings.HasPrefix(word, "w") {
					out = append(out, word)
				}
			}
		}
		return strings.Join(out, " ")
	}
	if got, want := names(three), "a0 a1 a2 a3 a4 b0 b1 b2 b3 b4 c0 c1 c2 c3"; got != want {
		t.Errorf("three columns: %s, want %s", got, want)
	}
	for name, lines := range map[string][]line{"short cells": short, "cells that do not fill their columns": ragged} {
		if got, want := names(lines), "a0 b0 c0 a1 b1 c1 a2 b2 c2 a3 b3 c3"; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestColumnsFromRightToLeftBeginAtTheRight(t *testing.T) {
	t.Parallel()
	var words [][]glyph
	add := func(text string, at float64) {
		for _, word := range strings.Fields(text) {
			var made []glyph
			for _, r := range word {
				made = append(made, glyph{text: []rune{r}, at: at, direction: directionOf(r)})
				at += 5
			}
			words, at = append(words, made), at+3
		}
	}
	add("הרוש לאמש רוט דועו םילמ", 0)
	add("הרוש ןימי רוט דועו םילמ", 250)
	got := columnsOfWords(words, 10)
	if len(got) != 2 || got[0].text != "מלים ועוד טור ימין שורה" || got[1].text != "מלים ועוד טור שמאל שורה" || got[0].from != 250 {
		t.Errorf("%+v", got)
	}
	words = nil
	add("הרוש לאמש", 0)
	add("הרוש", 250)
	if got := columnsOfWords(words, 10); got != nil {
		t.Errorf("short pieces: %+v", got)
	}
}

func TestATurnedLineIsNoHeading(t *testing.T) {
	t.Parallel()
	if level := headingLevel(line{text: "arXiv:1234.5678v1", size: 24, turned: 1.57}, 12); level != 0 {
		t.Errorf("level %d", level)
	}
}

// A bookmark that follows itself, or is below itself, does not keep a file from being read.
func TestBookmarksInACircle(t *testing.T) {
	t.Parallel()
	content := pdfOf([]byte("BT /F 12 Tf 72 700 Td (The boat leaves at nine.) Tj ET"), nil)
	for _, next := range []string{"/Next 8 0 R", "/First 8 0 R /Last 8 0 R", "/Next 8 0 R /First 7 0 R /Last 8 0 R"} {
		bookmarks := "/Outlines 6 0 R >>\nendobj\n6 0 obj\n<< /Type /Outlines /First 7 0 R /Last 8 0 R /Count 2 >>\nendobj\n" +
			"7 0 obj\n<< /Title (Boats) /Parent 6 0 R /Next 8 0 R /Dest [3 0 R /Fit] >>\nendobj\n" +
			"8 0 obj\n<< /Title (Quays) /Parent 6 0 R " + next + " /Dest [3 0 R /Fit] "
		circle := bytes.Replace(content, []byte("/MarkInfo << /Marked true >> "), []byte(bookmarks), 1) // the table of objects is made anew
		if got, err := Read(t.Context(), circle, nil); err != nil || strings.Join(got.Pages, "") != "The boat leaves at nine." {
			t.Errorf("%s: %v, %v", next, got.Pages, err)
		}
	}
}

// pageOf returns the lines of a page as Markdown.
func pageOf(lines []line, body float64) string {
	text, _ := markdown(lines, body, grid{})
	return text
}
