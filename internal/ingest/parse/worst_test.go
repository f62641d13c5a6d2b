package parse

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// worst are texts that cost a reader the most for their length in bytes.
var worst = []struct {
	name, file string
	make       func(bytes int) string
}{
	{"lists in lists", "a.html", of("", "<ol><li>a", "")},
	{"quotations in quotations", "a.html", of("", "<blockquote>a", "")},
	{"lists in quotations", "a.html", of("", "<blockquote><ul><li>a</li></ul>", "")},
	{"heads over many columns and rows", "a.html", of("<table>", "<tr><th colspan=1000 rowspan=1000>a<td>b", "")},
	{"a head of many rows", "a.html", of("<table><thead>", "<tr><th colspan=1000 rowspan=1000>a<th>b", "<tbody><tr><td>x")},
	{"cells over many columns", "a.html", of("<table><tr><th>a<th>b", "<td colspan=1000>b", "<tr><td>a<td>b<tr><td>a<td>b")},
	{"cells over many rows", "a.html", of("<table>", "<tr><td rowspan=900>a<td>b", "")},
	{"cells over the rows below", "a.html", of("<table>", "<tr><td rowspan=60 colspan=60>a<td>b", "")},
	{"one wide row above many short ones", "a.html", func(n int) string {
		return "<table><tr>" + strings.Repeat("<td>a", n/10) + strings.Repeat("<tr><td>a<td>b", n/28) + "</table>"
	}},
	{"rows without cells", "a.html", of("<table>", "<tr>", "<tr><td colspan=1000>a<td>b")},
	{"lines of a cell", "a.html", of("<table><tr><td>a<td>b<tr><td>", "<br>", "<td>c")},
	{"pictures beside each other", "a.html", of("", "<img src=a alt=b>", "")},
	{"tables in tables", "a.html", of("", "<table><tr><td>a", "")},
	{"formatting that each paragraph opens again", "a.html", of("", "<b><p>a", "")},
	{"lists of links", "a.html", of("", "<ul><li><a href=#a>b</a><li><a href=#a>b</a><li><a href=#a>b</a><li><a href=#a>b</a><li><a href=#a>b</a></ul>", "")},
	{"attributes of AsciiDoc that double", "a.adoc", func(n int) string {
		var out strings.Builder
		fmt.Fprintf(&out, ":a0: %s\n", strings.Repeat("x", 500))
		for i := range 40 {
			fmt.Fprintf(&out, ":a%d: {a%d} {a%d}\n", i+1, i, i)
		}
		return out.String() + "\n" + strings.Repeat("{a0} {a40} ", n/11)
	}},
	{"a wide row of AsciiDoc", "a.adoc", func(n int) string {
		return "|===\n|" + strings.Repeat("a|", 63) + "b\n" + strings.Repeat("|a\n", n/3) + "|===\n"
	}},
	{"a wide row of a manual page", "a.1", func(n int) string {
		return ".TH A 1\n.TS\nl l.\n" + strings.Repeat("a\t", 64) + "\n" + strings.Repeat("a\n", n/2) + ".TE\n"
	}},
	{"strings of a manual page that double", "a.1", func(n int) string {
		return ".TH A 1\n.ds a " + strings.Repeat("x", 500) + "\n" + strings.Repeat(".ds a \\*a\\*a\n", 40) + strings.Repeat("\\*a ", n/4)
	}},
	{"strings of a manual page that grow", "a.1", of(".TH A 1\n.ds a x\n", ".as a y\\*a\n", "")},
	{"a wide row of MediaWiki", "a.mediawiki", func(n int) string {
		return "{|\n|" + strings.Repeat("a||", 64) + "\n" + strings.Repeat("|-\n|a\n", n/6) + "|}"
	}},
	{"templates that are not closed", "a.mediawiki", of("", "{{a|", "")},
	{"substitutions of reStructuredText", "a.rst", of(".. |a| replace:: "+strings.Repeat("x", 256)+"\n\n", "|a| ", "")},
	{"XML below long names", "a.xml", func(n int) string {
		name := strings.Repeat("n", 100)
		return "<r>" + strings.Repeat("<"+name+">", 100) + strings.Repeat("<a>b</a>", n/8) + strings.Repeat("</"+name+">", 100) + "</r>"
	}},
	{"backticks in a cell of a notebook", "a.ipynb", of(`{"nbformat":4,"cells":[{"cell_type":"code","source":"`, "`", `"}]}`)},
	{"outputs of a cell of a notebook", "a.ipynb", of(`{"nbformat":4,"cells":[{"cell_type":"code","source":"a","outputs":[{"text":"`, `\u001b[1m`, `"}]}]}`)},
	{"backticks of Markdown", "a.md", of("", "`a ", "")},
	{"comments of Markdown that are not closed", "a.md", of("", "<!-- a ", "")},
	{"quotes of a CSV file that are not closed", "a.csv", of("name,fee\n", "\"a\n", "")},
	{"conditions of LaTeX that are not closed", "a.tex", of("", `\iffalse `, "")},
	{"classes in classes", "a.py", func(n int) string {
		var out strings.Builder
		for i := 0; out.Len() < n; i++ {
			out.WriteString(strings.Repeat(" ", i%200) + "class a:\n")
		}
		return out.String()
	}},
	{"tags of subtitles that are not closed", "a.vtt", of("WEBVTT\n\n00:01.000 --> 00:02.000\n", "<", "")},
}

// of returns a text of a length in which a piece is repeated.
func of(before, piece, after string) func(bytes int) string {
	return func(bytes int) string { return before + strings.Repeat(piece, bytes/len(piece)) + after }
}

// A text that is eight times as long as another makes a reader allocate eight times as much, or 64 times if its work grows with the
// square of the length. The test is not parallel, because it counts what the whole process allocates.
func TestWorkGrowsWithTheLengthOfATextAlone(t *testing.T) {
	const (
		short      = 4 << 10 // bytes
		growth     = 8
		mostGrowth = 20
		least      = 16 << 20 // bytes; what allocates less costs nothing
		mostText   = 600      // bytes for each of the source: XML writes the path of each value
	)
	for _, w := range worst {
		allocated := func(bytes int) (uint64, Document) {
			content := []byte(w.make(bytes))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			d, err := Parse(t.Context(), Source{Content: content, FileName: w.file})
			runtime.ReadMemStats(&after)
			if err != nil && d.Text != "" {
				t.Errorf("%s: %v", w.name, err)
			}
			return after.TotalAlloc - before.TotalAlloc, d
		}
		part, _ := allocated(short)
		whole, d := allocated(growth * short)
		if whole > least && whole > mostGrowth*part {
			t.Errorf("%s: %d bytes are allocated for %d of text, and %d for an eighth of them", w.name, whole, growth*short, part)
		}
		if len(d.Text) > mostText*growth*short {
			t.Errorf("%s: %d bytes make %d", w.name, growth*short, len(d.Text))
		}
	}
}

func TestListsAndQuotationsNestedDeepAreBlocks(t *testing.T) {
	t.Parallel()
	const deep = 40
	for _, element := range []string{"<ul><li>", "<blockquote>"} {
		d, err := Parse(t.Context(), Source{Content: []byte("<p>before</p>" + strings.Repeat(element+"word", deep)), FileName: "a.html"})
		if err != nil || strings.Count(d.Text, "word") != deep {
			t.Errorf("%s: %q, %v", element, d.Text, err)
		}
		for line := range strings.Lines(d.Text) {
			if marks, _, _ := strings.Cut(line, "word"); len(marks) > 3*maxLists {
				t.Errorf("%s: the line %q", element, line)
			}
		}
	}
}

// A table most of which would be blank cells is text, in which nothing is lost; one whose cells reach beyond it is a table.
func TestTablesOfBlankCellsAreText(t *testing.T) {
	t.Parallel()
	sparse := "<table><tr>" + strings.Repeat("<td>wide", 300) + strings.Repeat("<tr><td>short<td>row", 200) + "</table>"
	d, err := Parse(t.Context(), Source{Content: []byte(sparse), FileName: "a.html"})
	if err != nil || strings.Count(d.Text, "wide") != 300 || strings.Count(d.Text, "short row") != 200 || strings.Contains(d.Text, "|") {
		t.Errorf("%.300q, %v", d.Text, err)
	}
	const table = "<table><tr><th>Berth<th>Fee<tr><td colspan=2000>closed<tr><td rowspan=2000>North<td>30<tr><td>40</table>"
	const want = "| Berth  | Fee |\n|--------|-----|\n| closed |"
	d, err = Parse(t.Context(), Source{Content: []byte(table), FileName: "a.html"})
	if err != nil || !strings.HasPrefix(d.Text, "| Berth") || strings.Count(d.Text, "\n") != 4 || len(d.Text) > 5*5*maxCellSpan || !strings.Contains(d.Text, "| North ") {
		t.Errorf("%q, want %q ..., %v", d.Text, want, err)
	}
}
