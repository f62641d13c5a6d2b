package parse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

const (
	wordHead     = `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" xmlns:r="r"><w:body>`
	wordFoot     = `</w:body></w:document>`
	relationHead = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`
	relationFoot = `</Relationships>`
)

// wordText reads a document with this body and further parts.
func wordText(t *testing.T, body string, more map[string]string) (string, error) {
	t.Helper()
	parts := map[string]string{"word/document.xml": wordHead + body + wordFoot}
	for name, content := range more {
		parts[name] = content
	}
	d, err := Parse(t.Context(), Source{Content: packed(t, parts), FileName: "a.docx"})
	if err == nil {
		check(t, d)
	}
	return d.Text, err
}

func run(text string) string { return `<w:r><w:t xml:space="preserve">` + text + `</w:t></w:r>` }

func TestWordParagraphs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, body, want string }{
		{"inserted and moved text stays, deleted text goes", `<w:p><w:ins>` + run("new") + `</w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:moveFrom>` + run("from") + `</w:moveFrom><w:moveTo>` + run(" to") + `</w:moveTo></w:p>`, "new to"},
		{"a deleted row goes", `<w:tbl><w:tr><w:tc><w:p>` + run("a") + `</w:p></w:tc><w:tc><w:p>` + run("b") + `</w:p></w:tc></w:tr><w:tr><w:trPr><w:del/></w:trPr><w:tc><w:p>` + run("c") + `</w:p></w:tc></w:tr></w:tbl>`, "| a | b |\n| --- | --- |"},
		{"former properties do not count", `<w:p><w:pPr><w:pPrChange><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:pPrChange></w:pPr>` + run("text") + `</w:p>`, "text"},
		{"an outline level makes a heading", `<w:p><w:pPr><w:outlineLvl w:val="1"/></w:pPr>` + run("Head") + `</w:p>`, "## Head"},
		{"the last outline level is text", `<w:p><w:pPr><w:outlineLvl w:val="9"/></w:pPr>` + run("text") + `</w:p>`, "text"},
		{"a field is its result", `<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>HYPERLINK "https://example.org/a"</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>` + run("here") + `<w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>`, "[here](https://example.org/a)"},
		{"a link into the file is its text", `<w:p><w:hyperlink w:anchor="x">` + run("there") + `</w:hyperlink></w:p>`, "there"},
		{"a formula", `<w:p>` + run("so ") + `<m:oMath><m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath>` + run(" holds") + `</w:p>`, "so (a+b)/2 holds"},
		{"symbols of fonts", `<w:p><w:r><w:sym w:font="Symbol" w:char="F061"/><w:sym w:font="Wingdings" w:char="F0FE"/><w:sym w:font="Other" w:char="F061"/></w:r></w:p>`, "α☑"},
		{"a reading aid is left out", `<w:p><w:r><w:ruby><w:rt><w:r><w:t>reading</w:t></w:r></w:rt><w:rubyBase>` + run("base") + `</w:rubyBase></w:ruby></w:r></w:p>`, "base"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := wordText(t, tc.body, nil)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("error %v (-want +got)\n%s", err, diff)
			}
		})
	}
}

func TestWordHeadingsByTheirNames(t *testing.T) {
	t.Parallel()
	styled := func(style string) string {
		return `<w:p><w:pPr><w:pStyle w:val="` + style + `"/></w:pPr>` + run("Text") + `</w:p>`
	}
	for style, want := range map[string]string{ // without a list of styles
		"Heading1": "# Text", "heading 3": "### Text", "berschrift2": "## Text", "Titre1": "# Text", "Ttulo4": "#### Text", "Title": "# Text",
		"Normal": "Text", "Heading": "Text", "1": "Text", "Heading10": "Text", "Titre": "Text", "ListParagraph1": "Text",
	} {
		if got, err := wordText(t, styled(style), nil); got != want || err != nil {
			t.Errorf("%s: %q, %v", style, got, err)
		}
	}
	relations := relationHead + `<Relationship Id="r1" Type="http://x/styles" Target="styles.xml"/>` + relationFoot
	for name, want := range map[string]string{
		"heading 2": "## Text", "Überschrift 2": "## Text", "見出し 1": "# Text", "Заголовок 3": "### Text", "标题 2": "## Text", "Own": "Text",
	} {
		styles := `<w:styles xmlns:w="x"><w:style w:styleId="a1"><w:name w:val="` + name + `"/></w:style><w:style w:styleId="a2"><w:name w:val="Mine"/><w:basedOn w:val="a1"/></w:style></w:styles>`
		for _, id := range []string{"a1", "a2"} {
			got, err := wordText(t, styled(id), map[string]string{"word/_rels/document.xml.rels": relations, "word/styles.xml": styles})
			if got != want || err != nil {
				t.Errorf("%s of %s: %q, %v", id, name, got, err)
			}
		}
	}
}

func TestWordPagesAreThoseThatWordShowed(t *testing.T) {
	t.Parallel()
	body := `<w:p>` + run("one") + `</w:p><w:p><w:r><w:lastRenderedPageBreak/><w:t>two</w:t></w:r></w:p><w:p>` + run("more") + `</w:p>`
	d, err := Parse(t.Context(), Source{Content: packed(t, map[string]string{"word/document.xml": wordHead + body + wordFoot})})
	if err != nil {
		t.Fatal(err)
	}
	want := []Span{{Kind: Page, Start: 0, End: 3, Number: 1}, {Kind: Page, Start: 5, End: 14, Number: 2}}
	if diff := cmp.Diff(want, d.Spans); diff != "" {
		t.Errorf("text %q (-want +got)\n%s", d.Text, diff)
	}
}

func TestWordNumbersAreThoseShown(t *testing.T) {
	t.Parallel()
	item := func(list, level int, text string) string {
		return fmt.Sprintf(`<w:p><w:pPr><w:numPr><w:ilvl w:val="%d"/><w:numId w:val="%d"/></w:numPr></w:pPr>%s</w:p>`, level, list, run(text))
	}
	level := func(i int, format, text string) string {
		return fmt.Sprintf(`<w:lvl w:ilvl="%d"><w:start w:val="1"/><w:numFmt w:val="%s"/><w:lvlText w:val="%s"/></w:lvl>`, i, format, text)
	}
	numbering := `<w:numbering xmlns:w="w"><w:abstractNum w:abstractNumId="0">` + level(0, "upperRoman", "%1.") + level(1, "lowerLetter", "%1.%2)") + level(2, "bullet", "o") +
		`</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="9"/></w:lvlOverride></w:num></w:numbering>`
	got, err := wordText(t, item(1, 0, "a")+item(1, 1, "b")+item(1, 1, "c")+item(1, 2, "d")+item(1, 0, "e")+item(1, 1, "f")+item(2, 0, "g")+item(2, 0, "h")+item(7, 0, "i"), map[string]string{
		"word/numbering.xml":           numbering,
		"word/_rels/document.xml.rels": relationHead + `<Relationship Id="n" Type="x/numbering" Target="numbering.xml"/>` + relationFoot,
	})
	want := "I. a\n  I.a) b\n  I.b) c\n    - d\nII. e\n  II.a) f\nIX. g\nX. h\n- i"
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got)\n%s", err, diff)
	}
}

// LibreOffice gives headings without a number a level of the format none that has a place for one.
func TestLevelsWithoutNumbers(t *testing.T) {
	t.Parallel()
	none := func(level int, text string) wordLevels {
		var levels wordLevels
		levels[0] = wordLevel{format: "decimal", text: "%1", start: 1}
		levels[level] = wordLevel{format: "none", text: text}
		return levels
	}
	for _, tc := range []struct {
		levels wordLevels
		depth  int
		want   string
	}{{none(0, "%1"), 0, ""}, {none(0, "Part %1"), 0, "Part"}, {none(1, "%1.%2"), 1, "1."}, {none(0, "Note:"), 0, "Note:"}} {
		if got := tc.levels.mark(tc.depth, &[maxListLevels]int{1, 1}); got != tc.want {
			t.Errorf("mark %q, want %q", got, tc.want)
		}
	}
}

// What a few bytes refer to many times is written once.
func TestANoteIsWrittenOnce(t *testing.T) {
	t.Parallel()
	const long = 100_000
	got, err := wordText(t, strings.Repeat(`<w:p><w:r><w:footnoteReference w:id="2"/></w:r></w:p>`, 5000), map[string]string{
		"word/footnotes.xml":           `<w:footnotes xmlns:w="w"><w:footnote w:id="2"><w:p>` + run(strings.Repeat("n", long)) + `</w:p></w:footnote></w:footnotes>`,
		"word/_rels/document.xml.rels": relationHead + `<Relationship Id="n" Type="x/footnotes" Target="footnotes.xml"/>` + relationFoot,
	})
	if err != nil || len(got) > long+5000*10 {
		t.Errorf("text of %d bytes, %v", len(got), err)
	}
}

func TestHostileTables(t *testing.T) {
	t.Parallel()
	cell := `<w:tc><w:p>` + run("x") + `</w:p></w:tc>`
	row := `<w:tr>` + strings.Repeat(cell, 3) + `</w:tr>`
	nested := strings.Repeat(`<w:tbl>`+row+`<w:tr><w:tc>`, 120) + `<w:p>` + run("deep") + `</w:p>` + strings.Repeat(`</w:tc></w:tr></w:tbl>`, 120)
	for _, tc := range []struct {
		name, body string
		most       int
	}{
		{"tables in tables", nested, 10_000},
		{"a cell over all columns", `<w:tbl>` + strings.Repeat(`<w:tr><w:tc><w:tcPr><w:gridSpan w:val="999999999"/></w:tcPr><w:p>`+run("x")+`</w:p></w:tc></w:tr>`, 1000) + `</w:tbl>`, 300_000},
		{"one wide row and many short ones", `<w:tbl><w:tr>` + strings.Repeat(cell, 20_000) + `</w:tr>` + strings.Repeat(`<w:tr>`+cell+`</w:tr>`, 20_000) + `</w:tbl>`, 500_000},
		{"a long cell over many rows", `<w:tbl>` + strings.Repeat(`<w:tr><w:tc><w:tcPr><w:vMerge w:val="restart"/></w:tcPr><w:p>`+run(strings.Repeat("x", 5000))+`</w:p></w:tc>`+cell+`</w:tr>`, 1) +
			strings.Repeat(`<w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr><w:p/></w:tc>`+cell+`</w:tr>`, 5000) + `</w:tbl>`, 60_000},
		{"elements without their table", `<w:tc><w:tr><w:txbxContent><w:p>` + run("x") + `</w:p></w:txbxContent></w:tr></w:tc>` + `<w:p>` + run("y") + `</w:p>`, 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := wordText(t, tc.body, nil)
			if err != nil && fault.KindOf(err) != fault.Invalid || len(got) > tc.most || err == nil && !strings.ContainsAny(got, "xdy") {
				t.Errorf("text of %d bytes, over %d; %v", len(got), tc.most, err)
			}
		})
	}
}

// Targets outside of the file are addresses of links at most: nothing is opened.
func TestRelationsOutsideOfTheFileAreNotRead(t *testing.T) {
	t.Parallel()
	rels := relationHead + `<Relationship Id="a" Type="x/footnotes" Target="file:///etc/passwd" TargetMode="External"/>` +
		`<Relationship Id="b" Type="x/hyperlink" Target="https://example.org/x" TargetMode="External"/>` +
		`<Relationship Id="c" Type="x/comments" Target="../../../../etc/passwd"/><Relationship Id="d" Type="x/styles" Target="document.xml"/>` + relationFoot
	got, err := wordText(t, `<w:p><w:hyperlink r:id="b">`+run("link")+`</w:hyperlink></w:p>`, map[string]string{"word/_rels/document.xml.rels": rels})
	if want := "[link](https://example.org/x)"; got != want || err != nil {
		t.Errorf("text %q, %v; want %q", got, err, want)
	}
}

func TestNumerals(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		n      int
		format string
		want   string
	}{{4, "upperRoman", "IV"}, {1999, "i", "mcmxcix"}, {4000, "I", "4000"}, {27, "lowerLetter", "aa"}, {26, "A", "Z"}, {7, "decimalZero", "07"}, {12, "other", "12"}, {0, "a", "0"}} {
		if got := numeral(tc.n, tc.format); got != tc.want {
			t.Errorf("numeral(%d, %s) = %s, want %s", tc.n, tc.format, got, tc.want)
		}
	}
}

func TestChartsOfCategoriesInLevels(t *testing.T) {
	t.Parallel()
	root, err := tree([]byte(`<chartSpace><chart><ser><tx><v>Ships</v></tx><cat><multiLvlStrRef><lvl><pt idx="0"><v>North</v></pt><pt idx="1"><v>South</v></pt></lvl>` +
		`<lvl><pt idx="0"><v>Quay</v></pt></lvl></multiLvlStrRef></cat><val><pt idx="0"><v>3</v></pt><pt idx="1"><v>4</v></pt></val></ser></chart></chartSpace>`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := inline(chart(root)), ", Ships"; got == want || !strings.Contains(got, "Quay North, 3; Quay South, 4") {
		t.Errorf("chart %q", got)
	}
}

func TestATableWithoutTextIsNoText(t *testing.T) {
	t.Parallel()
	cell := `<w:tc><w:p/></w:tc>`
	if got, err := wordText(t, `<w:tbl><w:tr>`+cell+cell+`</w:tr></w:tbl>`, nil); fault.KindOf(err) != fault.Invalid {
		t.Errorf("text %q, %v", got, err)
	}
}

// Programs that make documents put pages into them as they are; Word turns them into paragraphs.
func TestFilesInsertedIntoADocument(t *testing.T) {
	t.Parallel()
	rels := relationHead + `<Relationship Id="a" Type="x/aFChunk" Target="part.html"/><Relationship Id="b" Type="x/aFChunk" Target="part.rtf"/>` +
		`<Relationship Id="c" Type="x/aFChunk" Target="part.bin"/><Relationship Id="d" Type="x/aFChunk" Target="https://example.org/x.html" TargetMode="External"/>` + relationFoot
	got, err := wordText(t, `<w:p>`+run("before")+`</w:p><w:altChunk r:id="a"/><w:altChunk r:id="b"/><w:altChunk r:id="a"/><w:altChunk r:id="c"/><w:altChunk r:id="d"/><w:p>`+run("after")+`</w:p>`, map[string]string{
		"word/_rels/document.xml.rels": rels,
		"word/part.html":               `<html><body><h2>Fees</h2><p>thirty</p></body></html>`,
		"word/part.rtf":                `{\rtf1 in rich text\par}`,
		"word/part.bin":                "\x00\x01\x02",
	})
	if diff := cmp.Diff("before\n\n## Fees\n\nthirty\n\nin rich text\n\nafter", got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got)\n%s", err, diff)
	}
}

// A document that stands in itself ends.
func TestADocumentInsertedIntoItself(t *testing.T) {
	t.Parallel()
	inner := packed(t, map[string]string{"word/document.xml": wordHead + `<w:p>` + run("deep") + `</w:p>` + wordFoot})
	for range 5 {
		inner = packed(t, map[string]string{
			"word/document.xml": wordHead + `<w:p>` + run("x") + `</w:p><w:altChunk r:id="a"/>` + wordFoot, "word/in.docx": string(inner),
			"word/_rels/document.xml.rels": relationHead + `<Relationship Id="a" Type="x/aFChunk" Target="in.docx"/>` + relationFoot,
		})
	}
	d, err := Parse(t.Context(), Source{Content: inner})
	if err != nil || d.Text != "x\n\nx\n\nx" {
		t.Errorf("text %q, %v", d.Text, err)
	}
}

// Text before the first heading belongs to the file as a whole.
func TestTextBeforeTheFirstHeadingHasThePositionOfItsTitle(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		page string
		want []Span
	}{
		{`<title>Harbour</title><p>lead</p><h2>Fees</h2><p>x</p>`, []Span{{Kind: Section, End: 4, Name: "Harbour"}, {Kind: Section, Start: 6, End: 16, Name: "Fees"}}},
		{`<title>Harbour</title><p>all</p>`, []Span{{Kind: Section, End: 3, Name: "Harbour"}}},
		{`<p>lead</p><h1>Fees</h1><p>x</p>`, []Span{{Kind: Section, Start: 6, End: 15, Name: "Fees"}}},
	} {
		d, err := Parse(t.Context(), Source{Content: []byte(tc.page), ContentType: "text/html"})
		if diff := cmp.Diff(tc.want, d.Spans); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got)\n%s", tc.page, err, diff)
		}
	}
}
