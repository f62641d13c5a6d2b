package parse

import (
	"bytes"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
)

func TestHiddenSheetsRowsAndColumnsAreLeftOut(t *testing.T) {
	t.Parallel()
	book := excelize.NewFile()
	defer book.Close()
	var failed error
	do := func(err error) {
		if failed == nil {
			failed = err
		}
	}
	for i, row := range [][]any{{"Berth", "Note", "Fee"}, {"North", "secretnote", 30}, {"secretrow", "x", 31}, {"South", "secretnote", 32}} {
		do(book.SetSheetRow("Sheet1", "A"+string(rune('1'+i)), &row))
	}
	do(book.SetRowVisible("Sheet1", 3, false))
	do(book.SetColVisible("Sheet1", "B", false))
	_, err := book.NewSheet("Lists")
	do(err)
	do(book.SetCellValue("Lists", "A1", "secretsheet"))
	do(book.SetSheetVisible("Lists", false))
	var file bytes.Buffer
	do(book.Write(&file))
	if failed != nil {
		t.Fatal(failed)
	}
	cells := func(texts ...string) string {
		return `<table:table-cell><text:p>` + strings.Join(texts, `</text:p></table:table-cell><table:table-cell><text:p>`) + `</text:p></table:table-cell></table:table-row>`
	}
	ods := `<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0">` +
		`<office:automatic-styles><style:style style:name="H" style:family="table"><style:table-properties table:display="false"/></style:style></office:automatic-styles><office:body><office:spreadsheet>` +
		`<table:table table:name="Sheet1"><table:table-column/><table:table-column table:visibility="collapse"/><table:table-column/>` +
		`<table:table-row>` + cells("Berth", "Note", "Fee") + `<table:table-row>` + cells("North", "secretnote", "30") +
		`<table:table-row table:visibility="filter">` + cells("secretrow", "x", "31") + `<table:table-row>` + cells("South", "secretnote", "32") + `</table:table>` +
		`<table:table table:name="Lists" table:style-name="H"><table:table-row>` + cells("secretsheet") + `</table:table></office:spreadsheet></office:body></office:document-content>`
	for name, content := range map[string][]byte{
		"a.xlsx": file.Bytes(),
		"a.ods":  packed(t, map[string]string{"mimetype": "application/vnd.oasis.opendocument.spreadsheet", "content.xml": ods}),
	} {
		d, err := Parse(t.Context(), Source{Content: content, FileName: name})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if want := "Berth: North; Fee: 30\nBerth: South; Fee: 32"; !strings.Contains(d.Text, want) || strings.Contains(d.Text, "secret") || d.Properties["hiddenSheets"] != "Lists" {
			t.Errorf("%s: %q, %v", name, d.Text, d.Properties)
		}
		all, err := Parse(t.Context(), Source{Content: content, FileName: name, Hidden: true})
		for _, secret := range []string{"secretnote", "secretrow", "secretsheet"} {
			if err != nil || !strings.Contains(all.Text, secret) {
				t.Errorf("%s: %s is not in %q, %v", name, secret, all.Text, err)
			}
		}
	}
}

func TestFormulasWithoutResultsAreCounted(t *testing.T) {
	t.Parallel()
	book := excelize.NewFile()
	defer book.Close()
	if err := book.SetSheetRow("Sheet1", "A1", &[]any{"Berth", "Fee"}); err != nil {
		t.Fatal(err)
	}
	if err := book.SetCellFormula("Sheet1", "B2", "1+1"); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := book.Write(&file); err != nil {
		t.Fatal(err)
	}
	d, err := Parse(t.Context(), Source{Content: file.Bytes(), FileName: "a.xlsx"})
	if err != nil || d.Properties["formulasWithoutResults"] != "1" {
		t.Errorf("%v, %v", d.Properties, err)
	}
	const sheet = `<c><f>1+1</f><v></v></c><c><f>1</f><v>1</v></c><c><f>2</f></c><c><f>3</f><v/></c><c><f>3</f><v /></c><c><v></v></c>`
	for size := 1; size < 40; size++ {
		var frame sheetFrame
		for rest := []byte(sheet); len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if _, err := frame.Write(rest[:min(size, len(rest))]); err != nil {
				t.Fatal(err)
			}
		}
		if frame.unknown != 4 {
			t.Errorf("in pieces of %d bytes: %d formulas", size, frame.unknown)
		}
	}
}

func TestCommentsOfMarkdownAreNoText(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"on lines of its own":      {"A\n\n<!-- secret\nsecret -->\n\nB\n", "A\n\n\nB\n"},
		"within a line":            {"A <!-- secret --> B\n", "A  B\n"},
		"several":                  {"<!--secret-->A<!-- secret -->\nB", "A\nB"},
		"in a list":                {"- A\n  <!-- secret -->\n- B\n", "- A\n- B\n"},
		"in fenced code":           {"# A\n\n```html\n<!-- shown -->\n```\n", "# A\n\n```html\n<!-- shown -->\n```\n"},
		"in indented code":         {"# A\n\n    <!-- shown -->\n\nB\n", "# A\n\n    <!-- shown -->\n\nB\n"},
		"in code of a line":        {"A `<!-- shown -->` and ``a ` <!-- shown -->`` B <!-- secret -->C\n", "A `<!-- shown -->` and ``a ` <!-- shown -->`` B C\n"},
		"escaped":                  {"A \\<!-- shown -->\n", "A \\<!-- shown -->\n"},
		"after a lone backtick":    {"A ` B\n\n<!-- secret -->\n\nC ` D\n", "A ` B\n\n\nC ` D\n"},
		"never closed":             {"A <!-- shown\n", "A <!-- shown\n"},
		"the shortest":             {"A <!--> B\n", "A  B\n"},
		"a script":                 {"A\n\n<script>\nsecret()\n</script>\n\nB <scripture> C\n", "A\n\n\nB <scripture> C\n"},
		"nothing else":             {"<!-- shown -->\n", "<!-- shown -->\n"},
		"front matter before it":   {"---\na: <!-- kept -->\n---\nA <!-- secret -->B\n", "---\na: <!-- kept -->\n---\nA B\n"},
		"letters of other lengths": {"İİİ <STYLE>secret</STYLE> ü\n", "İİİ  ü\n"},
	} {
		d, err := Parse(t.Context(), Source{Content: []byte(tc.text), FileName: "a.md"})
		if err != nil || d.Text != tc.want {
			t.Errorf("%s: %q, %v; want %q", name, d.Text, err, tc.want)
			continue
		}
		check(t, d)
		if all, err := Parse(t.Context(), Source{Content: []byte(tc.text), FileName: "a.md", Hidden: true}); err != nil || all.Text != tc.text || all.Body != 0 {
			t.Errorf("%s: with all that is hidden: %q from %d, %v", name, all.Text, all.Body, err)
		}
	}
}

func TestLinesAreCountedBehindComments(t *testing.T) {
	t.Parallel()
	d, err := Parse(t.Context(), Source{Content: []byte("---\na: 1\n---\nA\n<!-- x\ny -->\nB <!-- z\n--> C\nD\n"), FileName: "a.md"})
	if err != nil {
		t.Fatal(err)
	}
	lines := d.SpanIndex()
	for word, want := range map[string]int{"A": 4, "B": 7, "C": 8, "D": 9} {
		at := strings.Index(d.Text, word)
		if got := lines.Metadata(at, at+1)["line"]; got != want {
			t.Errorf("%s is in line %v, want %d", word, got, want)
		}
	}
}

func TestHiddenTextIsReadIfAskedFor(t *testing.T) {
	t.Parallel()
	word := `<w:document xmlns:w="w"><w:body><w:p><w:r><w:t>Fees </w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>secrethidden </w:t></w:r>` +
		`<w:del><w:r><w:delText>secretdeleted </w:delText></w:r></w:del><w:r><w:t>end</w:t></w:r></w:p></w:body></w:document>`
	slide := func(show string) string {
		return `<p:sld xmlns:p="p" xmlns:a="a"` + show + `><p:cSld><p:spTree><p:sp><p:txBody><a:p><a:r><a:t>secretslide</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>`
	}
	show := map[string]string{
		"[Content_Types].xml":             "<Types/>",
		"ppt/presentation.xml":            `<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst><p:sldId id="1" r:id="a"/><p:sldId id="2" r:id="b"/></p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels": `<Relationships><Relationship Id="a" Type="x/slide" Target="slides/slide1.xml"/><Relationship Id="b" Type="x/slide" Target="slides/slide2.xml"/></Relationships>`,
		"ppt/slides/slide1.xml":           strings.ReplaceAll(slide(""), "secretslide", "Fees"),
		"ppt/slides/slide2.xml":           slide(` show="0"`),
	}
	odt := `<office:document-content xmlns:office="o" xmlns:text="t" xmlns:style="s"><office:automatic-styles><style:style style:name="H" style:family="text"><style:text-properties text:display="none"/></style:style></office:automatic-styles>` +
		`<office:body><office:text><text:p>Fees <text:span text:style-name="H">secrethidden</text:span></text:p></office:text></office:body></office:document-content>`
	for name, tc := range map[string]struct {
		content []byte
		secrets string
	}{
		"a.docx":  {packed(t, map[string]string{"[Content_Types].xml": "<Types/>", "word/document.xml": word}), "secrethidden secretdeleted"},
		"a.pptx":  {packed(t, show), "secretslide"},
		"a.odt":   {packed(t, map[string]string{"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": odt}), "secrethidden"},
		"a.rtf":   {[]byte(`{\rtf1 Fees {\v secrethidden} {\deleted secretdeleted} end}`), "secrethidden secretdeleted"},
		"a.html":  {[]byte(`<body><p>Fees</p><!-- secretcomment --><p hidden>secrethidden</p><p><del>secretdeleted</del> end</p><script>never</script></body>`), "secretcomment secrethidden secretdeleted"},
		"a.ipynb": {[]byte(`{"nbformat":4,"cells":[{"cell_type":"markdown","source":["Fees <!-- secretcomment -->of ","` + "`<!-- -->`" + `"]}]}`), "secretcomment"},
	} {
		shown, err := Parse(t.Context(), Source{Content: tc.content, FileName: name})
		if err != nil || strings.Contains(shown.Text, "secret") || !strings.Contains(shown.Text, "Fees") {
			t.Errorf("%s: %q, %v", name, shown.Text, err)
		}
		all, err := Parse(t.Context(), Source{Content: tc.content, FileName: name, Hidden: true})
		if err != nil || strings.Contains(all.Text, "never") {
			t.Errorf("%s: %q, %v", name, all.Text, err)
		}
		for secret := range strings.FieldsSeq(tc.secrets) {
			if !strings.Contains(all.Text, secret) {
				t.Errorf("%s: %q is not in %q", name, secret, all.Text)
			}
		}
	}
}

// Comments, elements and code that begin and do not end are looked for once: a quadratic reader would need minutes.
func TestWhatBeginsManyTimesIsReadOnce(t *testing.T) {
	t.Parallel()
	for _, begun := range []string{"<!--", "<script>", "<style ", "`a ``b ```c ", "<!-- a --> <!--"} {
		text := "# Log\n\n" + strings.Repeat(begun, 1<<20/len(begun)) + "words"
		if d, err := Parse(t.Context(), Source{Content: []byte(text), FileName: "a.md"}); err != nil || !strings.HasSuffix(d.Text, "words") {
			t.Errorf("%q: %d bytes of text, %v", begun, len(d.Text), err)
		}
	}
}
