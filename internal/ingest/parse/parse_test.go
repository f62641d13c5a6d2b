package parse

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func files(t testing.TB, folder string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("testdata", folder, "*"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no files in %s: %v", folder, err)
	}
	return found
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// numbered are the kinds of spans without a name. A Page may have one.
var numbered = []Kind{Slide, Row, Line, Cell, Time}

// check fails the test unless the text and the spans of a document are valid.
func check(t testing.TB, d Document) {
	t.Helper()
	if !utf8.ValidString(d.Text) || strings.ContainsRune(d.Text, 0) || strings.TrimSpace(d.Text) == "" {
		t.Error("the text is not fit to be stored")
	}
	ends := map[Kind]int{}
	start := 0
	for _, s := range d.Spans {
		if s.Start < start || s.Start < ends[s.Kind] || s.Start >= s.End || s.End > len(d.Text) {
			t.Fatalf("span %+v is out of order, empty or outside", s)
		}
		if !utf8.ValidString(d.Text[s.Start:s.End]) || !utf8.ValidString(s.Name) || s.Lines && s.Number == 0 ||
			s.Kind != Page && (s.Name == "") != slices.Contains(numbered, s.Kind) {
			t.Fatalf("span %+v is not well-formed", s)
		}
		start, ends[s.Kind] = s.Start, s.End
	}
	start = 0
	for _, f := range d.Figures {
		if f.Start < start || f.End <= f.Start || f.End > len(d.Text) || !utf8.ValidString(d.Text[f.Start:f.End]) || strings.ContainsAny(d.Text[f.Start:f.End], figureBegin+figureEnd) {
			t.Fatalf("figure %+v is not well-formed", f)
		}
		start = f.Start
	}
}

// describe returns all fields of a document as text for a golden file.
func describe(d Document) string {
	var out strings.Builder
	fmt.Fprintf(&out, "format: %s\ncontentType: %s\ntitle: %s\n", d.Format, d.ContentType, d.Title)
	for _, key := range slices.Sorted(maps.Keys(d.Properties)) {
		fmt.Fprintf(&out, "%s: %s\n", key, d.Properties[key])
	}
	if d.Pages > 0 {
		fmt.Fprintf(&out, "pages: %d\n", d.Pages)
	}
	for _, id := range d.References {
		fmt.Fprintf(&out, "reference: %s\n", id)
	}
	for _, s := range d.Skipped {
		fmt.Fprintf(&out, "skipped: %s\n", s)
	}
	for _, s := range d.Spans {
		first, _, _ := strings.Cut(d.Text[s.Start:s.End], "\n")
		fmt.Fprintf(&out, "%s %d %q [%d:%d] %q...\n", s.Kind, s.Number, s.Name, s.Start, s.End, first)
	}
	for _, f := range d.Figures {
		fmt.Fprintf(&out, "figure captioned=%v %s %dx%d %v %q\n", f.Captioned, f.MediaType, f.Width, f.Height, f.Box, d.Text[f.Start:f.End])
	}
	return out.String() + "---\n" + d.Text
}

func TestEveryFormat(t *testing.T) {
	t.Parallel()
	for _, path := range files(t, "files") {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := read(t, path)
			d, err := Parse(t.Context(), Source{Content: content, FileName: name})
			if err != nil {
				t.Fatal(err)
			}
			check(t, d)
			golden := filepath.Join("testdata", "golden", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(describe(d)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(read(t, golden)), describe(d)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// The name of a file does not change its format if the content has a signature.
func TestSignatureDecidesBeforeName(t *testing.T) {
	t.Parallel()
	for _, path := range files(t, "files") {
		want, err := Detect(Source{Content: read(t, path), FileName: path})
		if err != nil {
			t.Fatal(err)
		}
		switch want {
		case Code, Markdown, CSV, JSONLines, RST, AsciiDoc, Org, MediaWiki: // these look like any text
			continue
		}
		for _, src := range []Source{{}, {FileName: "notes.txt"}, {FileName: "a.docx"}, {ContentType: "application/octet-stream"}} {
			src.Content = read(t, path)
			if src.FileName != "" && (want.IsText() || want == Email) {
				continue
			}
			if got, err := Detect(src); got != want || err != nil {
				t.Errorf("Detect(%s as %q %q) = %s, %v; want %s", path, src.FileName, src.ContentType, got, err, want)
			}
		}
	}
}

func TestDetectText(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		src  Source
		want Format
	}{
		{"the declared type beats the name", Source{ContentType: "text/markdown; charset=utf-8", FileName: "a.html"}, Markdown},
		{"a type that says nothing does not", Source{ContentType: "text/plain", FileName: "a.md"}, Markdown},
		{"a language that has no reader", Source{ContentType: "text/x-go", FileName: "a.html"}, Text},
		{"a page that is declared to be plain text", Source{ContentType: "text/plain", Content: []byte("<!DOCTYPE html><p>x")}, Text},
		{"a URL's name", Source{FileName: "https://example.org/a.md?x=1#top"}, Markdown},
		{"a file of a repository", Source{FileName: "https://example.org/h/docs.git#main:lists/berths.CSV"}, CSV},
		{"a part of a text of a page", Source{FileName: "https://example.org/h/a#:~:text=x.csv", Content: []byte("\n<!DOCTYPE html><p>x")}, HTML},
		{"a name within an archive", Source{FileName: `docs\guide.HTML`}, HTML},
		{"a page by its look", Source{Content: []byte("\n<!DOCTYPE html><p>x")}, HTML},
		{"JSON by its look", Source{Content: []byte(` {"a": [1]} `)}, JSON},
		{"what only begins like JSON", Source{Content: []byte("{a} is a set")}, Text},
		{"LaTeX by its look", Source{Content: []byte("% x\n\\documentclass{book}\n")}, LaTeX},
		{"a delivered message", Source{Content: []byte("Received: x\nFrom: a\nDate: b\n\nhello")}, Email},
		{"a note that names its author", Source{Content: []byte("From: me\nTo: you\n\nhello")}, Text},
		{"a text about PDF", Source{Content: []byte("%PDF-1.4 is what such files begin with.")}, Text},
		{"a PDF file that is declared to be plain text", Source{ContentType: "text/plain", Content: []byte("%PDF-1.7\r\nxref")}, PDF},
		{"what is left of a PDF file", Source{ContentType: "text/plain", FileName: "a.txt", Content: []byte("%PDF-1.4")}, PDF},
		{"a text that quotes the first line of a PDF file", Source{ContentType: "text/markdown", Content: []byte("The first line:\n\n%PDF-1.7\n")}, Markdown},
		{"a text that begins like a bitmap", Source{Content: []byte("BMW is a maker of cars.")}, Text},
		{"the beginning of an old Word file", Source{FileName: "a.doc", Content: []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00")}, DOC},
		{"a structured suffix", Source{ContentType: "application/ld+json"}, JSON},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if len(tc.src.Content) == 0 {
				tc.src.Content = []byte("x")
			}
			if got, err := Detect(tc.src); got != tc.want || err != nil {
				t.Errorf("Detect = %s, %v; want %s", got, err, tc.want)
			}
		})
	}
}

func TestSpanMetadata(t *testing.T) {
	t.Parallel()
	d := Document{Spans: []Span{
		{Kind: Page, Start: 0, End: 10, Number: 1}, {Kind: Section, Start: 2, End: 30, Name: "A"},
		{Kind: Page, Start: 12, End: 20, Number: 2}, {Kind: Page, Start: 20, End: 30, Number: 3},
		{Kind: Section, Start: 30, End: 40, Name: "A > B"}, {Kind: Member, Start: 70, End: 90, Name: "a.md"},
	}, Text: strings.Repeat(" ", 100)}
	spans := d.SpanIndex()
	for _, tc := range []struct {
		start, end int
		want       map[string]any
	}{
		{0, 2, map[string]any{"page": 1}},
		{3, 9, map[string]any{"page": 1, "section": "A"}},
		{5, 25, map[string]any{"page": 1, "pageEnd": 3, "section": "A"}},
		{10, 12, map[string]any{"section": "A"}},
		{25, 35, map[string]any{"page": 3, "section": "A"}},
		{40, 50, nil},
		{60, 90, nil},
		{70, 80, map[string]any{"file": "a.md"}},
	} {
		if diff := cmp.Diff(tc.want, spans.Metadata(tc.start, tc.end)); diff != "" {
			t.Errorf("Of(%d, %d) (-want +got)\n%s", tc.start, tc.end, diff)
		}
	}
}

func TestSpansOfLines(t *testing.T) {
	t.Parallel()
	d := Document{
		Text: "a\nb\nc\n\nd\ne", // lines 2, 3 and 4 of one sheet, 1 and 2 of another
		Spans: []Span{
			{Kind: Sheet, Start: 0, End: 5, Name: "One"}, {Kind: Sheet, Start: 7, End: 10, Name: "Two"},
			{Kind: Row, Start: 0, End: 5, Number: 2, Lines: true, Columns: [2]int{1, 28}},
			{Kind: Row, Start: 7, End: 8, Number: 1, Last: 3, Columns: [2]int{2, 2}}, {Kind: Row, Start: 9, End: 10, Number: 9, Columns: [2]int{1, 3}},
			{Kind: Line, Start: 0, End: 10, Number: 1, Lines: true}, {Kind: Time, Start: 0, End: 1, Number: 0, Last: 1500}, {Kind: Time, Start: 2, End: 3, Number: 1500, Last: 2000},
			{Kind: Cell, Start: 9, End: 10, Number: 4},
		},
	}
	spans := d.SpanIndex()
	for _, tc := range []struct {
		start, end int
		want       map[string]any
	}{
		{0, 5, map[string]any{"sheet": "One", "range": "A2:AB4", "line": 1, "lineEnd": 3, "time": 0., "timeEnd": 2.}},
		{4, 10, map[string]any{"sheet": "One", "range": "A4:AB4", "line": 3, "lineEnd": 6, "cell": 4}},
		{2, 3, map[string]any{"sheet": "One", "range": "A3:AB3", "line": 2, "time": 1.5, "timeEnd": 2.}},
		{7, 8, map[string]any{"sheet": "Two", "range": "B1:B3", "line": 5}},
		{6, 10, map[string]any{"sheet": "Two", "range": "A1:C9", "line": 4, "lineEnd": 6, "cell": 4}},
		{0, 2, map[string]any{"sheet": "One", "range": "A2:AB2", "line": 1, "time": 0., "timeEnd": 1.5}},
	} {
		if diff := cmp.Diff(tc.want, spans.Metadata(tc.start, tc.end)); diff != "" {
			t.Errorf("Metadata(%d, %d) (-want +got)\n%s", tc.start, tc.end, diff)
		}
	}
}

// Lines that follow each other share a span; a gap begins another.
func TestNumberedLinesShareSpans(t *testing.T) {
	t.Parallel()
	var b textBuilder
	for _, line := range []struct {
		number int
		text   string
	}{{1, "a"}, {2, "b\nbb"}, {4, "c"}, {6, "d"}, {7, ""}, {8, "e"}} {
		start := b.Len()
		if start > 0 && line.text != "" {
			b.write("\n")
		}
		b.write(line.text)
		b.numbered(start, Span{Kind: Line, Number: line.number})
	}
	want := []Span{
		{Kind: Line, Start: 0, End: 8, Number: 1, Lines: true}, {Kind: Line, Start: 9, End: 10, Number: 6, Lines: true}, {Kind: Line, Start: 11, End: 12, Number: 8, Lines: true},
	}
	if diff := cmp.Diff(want, b.spans); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTitleOf(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, contentType, text, want string }{
		{"the first heading", "text/markdown", "intro\n\n# The  Plan #\r\n\n# Other", "The Plan"},
		{"no heading", "text/markdown", "just text\n## deeper", ""},
		{"a page's title", "text/html", "<html><head><title>\n A &amp; B </title>", "A & B"},
		{"a page without one", "text/html", "<p>text", ""},
		{"a LaTeX title", "application/x-latex", `\title{On {Tides}} x`, "On {Tides}"},
		{"a JSON title", "application/json", `{"a": {"title": "inner"}, "list": [1, {}], "title": "Codes", "rest": [`, "Codes"},
		{"a JSON title that is no text", "application/json", `{"title": {"en": "Codes"}}`, ""},
		{"JSON without a title", "application/json", `[{"title": "inner"}]`, ""},
		{"plain text has none", "text/plain", "# not a heading", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := TitleOf(tc.contentType, tc.text); got != tc.want {
				t.Errorf("TitleOf = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"archive.zip", "archive.tar", "archive.tar.gz"} {
		var got []string
		for member, err := range Members(Source{Content: read(t, filepath.Join("testdata/files", name))}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(member.FileName, " ", len(member.Content) > 0))
		}
		want := []string{"docs/tides.md true", "docs/handbook.pdf true", "logo.png true"}
		if name != "archive.zip" {
			want = []string{"docs/tides.md true", "docs/notes.txt true"}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	for _, err := range Members(Source{Content: []byte("text")}) {
		if !isInvalid(err) {
			t.Errorf("members of a text: %v", err)
		}
	}
}

func TestParseEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, path := range files(t, "files") {
		if _, err := Parse(ctx, Source{Content: read(t, path), FileName: path}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// Before format 4 of notebooks, lines may be stored without their ends.
func TestLinesOfOldNotebooks(t *testing.T) {
	t.Parallel()
	for stored, want := range map[string]string{
		`{"nbformat":2,"worksheets":[{"cells":[{"cell_type":"markdown","source":["High water","at noon"]},{"cell_type":"code","input":["a = 1","a"],"outputs":[{"text":["1","2"]}]}]}]}`: "High water\nat noon\n\n```\na = 1\na\n```\n\n```text\n1\n2\n```",
		`{"nbformat":3,"worksheets":[{"cells":[{"cell_type":"markdown","source":["High water\n","at ","noon"]}]}]}`:                                                                      "High water\nat noon",
		`{"nbformat":4,"cells":[{"cell_type":"markdown","source":["High water ","at noon"]}]}`:                                                                                           "High water at noon",
	} {
		if d, err := Parse(t.Context(), Source{Content: []byte(stored), FileName: "a.ipynb"}); err != nil || d.Text != want {
			t.Errorf("%s: %q, %v", stored, d.Text, err)
		}
	}
}
