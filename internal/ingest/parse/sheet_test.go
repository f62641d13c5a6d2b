package parse

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

func TestSheetTables(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, rows, want string }{
		{"names and rows", "Berth|Fee\nNorth|30\nSouth|20", "Berth: North; Fee: 30\nBerth: South; Fee: 20"},
		{"titles above the names", "Fees\n\nBerth|Fee\nNorth|30", "Fees\nBerth: North; Fee: 30"},
		{"no names", "1|2\n3|4", "1; 2\n3; 4"},
		{"names alone", "Berth|Fee", "Berth; Fee"},
		{"years as names", "Region|2024|2025\nEast|1|2", "Region: East; 2024: 1; 2025: 2"},
		{"a second table", "Berth|Fee\nNorth|30\n\nShip|Tons\nAnt|200", "Berth: North; Fee: 30\nShip: Ant; Tons: 200"},
		{"a gap in a table", "Name|Town\nAda|Oslo\n\nBo|Rome\nCy|Bonn", "Name: Ada; Town: Oslo\nName: Bo; Town: Rome\nName: Cy; Town: Bonn"},
		{"a row with a gap after it, then a table", "Author|R. Keel\n\nBerth|Fee\nNorth|30", "Author; R. Keel\nBerth: North; Fee: 30"},
		{"a column without values", "Berth|Order|Fee\nNorth||30\n\nShip|Tons|Flag\nAnt|200|", "Berth: North; Fee: 30\nColumns without values: Order\nShip: Ant; Tons: 200\nColumns without values: Flag"},
		{"a cell outside of the table", "Berth|Fee\nNorth|30|late", "Berth: North; Fee: 30; late"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var out textBuilder
			table := sheetTable{out: &out, name: "S"}
			for i, row := range strings.Split(tc.rows, "\n") {
				table.row(sheetRow{number: i + 1, cells: strings.Split(row, "|")})
			}
			table.finish()
			if diff := cmp.Diff("## S\n\n"+tc.want, out.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

const (
	odfHead = `<office:document-content xmlns:office="o" xmlns:text="t" xmlns:table="ta" xmlns:draw="d" xmlns:style="s" xmlns:xlink="x">`
	odfFoot = `</office:body></office:document-content>`
)

// odfFile reads an OpenDocument file with this content.
func odfFile(t *testing.T, kind, content string, more map[string]string) (Document, error) {
	t.Helper()
	parts := map[string]string{"mimetype": "application/vnd.oasis.opendocument." + kind, "content.xml": odfHead + content + odfFoot}
	for name, data := range more {
		parts[name] = data
	}
	d, err := Parse(t.Context(), Source{Content: packed(t, parts)})
	if err == nil {
		check(t, d)
	}
	return d, err
}

func TestOpenDocumentText(t *testing.T) {
	t.Parallel()
	const body = `<office:body><office:text>`
	for _, tc := range []struct{ name, content, want string }{
		{"white space", body + `<text:p>a <text:s text:c="3"/> b` + "\n" + `  c<text:tab/>d<text:line-break/>e</text:p></office:text>`, "a b c d\ne"},
		{"deleted text goes", body + `<text:tracked-changes><text:changed-region><text:deletion><text:p>old</text:p></text:deletion></text:changed-region></text:tracked-changes><text:p>new</text:p></office:text>`, "new"},
		{"a note after its paragraph", body + `<text:p>a<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>n</text:p></text:note-body></text:note> b</text:p><text:p>c</text:p></office:text>`, "a[^1] b\n\n[^1]: n\n\nc"},
		{"a comment", body + `<text:p>a<office:annotation><creator>Jo</creator><date>2026</date><text:p>why</text:p></office:annotation></text:p></office:text>`, "a\n\nComment by Jo: why"},
		{"numbers continue", `<office:automatic-styles><text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-format="I" style:num-suffix="."/><text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")" text:display-levels="2"/></text:list-style></office:automatic-styles>` +
			body + `<text:list text:style-name="L"><text:list-item><text:p>a</text:p><text:p>more</text:p><text:list><text:list-item><text:p>b</text:p></text:list-item></text:list></text:list-item></text:list>` +
			`<text:list text:style-name="L" text:continue-numbering="true"><text:list-item><text:p>c</text:p></text:list-item></text:list><text:list text:style-name="L"><text:list-item text:start-value="7"><text:p>d</text:p></text:list-item></text:list></office:text>`,
			"I. a\n\nmore\n\n  I.a) b\nII. c\nVII. d"},
		{"hidden text goes", `<office:automatic-styles><style:style style:name="H"><style:text-properties text:display="none"/></style:style></office:automatic-styles>` + body + `<text:p>a<text:span text:style-name="H">x</text:span>b</text:p><text:p text:style-name="H">y</text:p></office:text>`, "ab"},
		{"a merged cell over rows", body + `<table:table><table:table-row><table:table-cell table:number-rows-spanned="2"><text:p>q</text:p></table:table-cell><table:table-cell><text:p>1</text:p></table:table-cell></table:table-row><table:table-row><table:covered-table-cell/><table:table-cell><text:p>2</text:p></table:table-cell></table:table-row></table:table></office:text>`, "| q | 1 |\n| --- | --- |\n| q | 2 |"},
		{"a text box follows its paragraph", body + `<text:p>a<draw:frame><draw:text-box><text:p>box</text:p></draw:text-box></draw:frame>b</text:p></office:text>`, "ab\n\nbox"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d, err := odfFile(t, "text", tc.content, nil)
			if diff := cmp.Diff(tc.want, d.Text); diff != "" || err != nil {
				t.Errorf("error %v (-want +got)\n%s", err, diff)
			}
		})
	}
}

func TestHostileOpenDocuments(t *testing.T) {
	t.Parallel()
	const head, foot = `<office:body><office:spreadsheet><table:table table:name="S">`, `</table:table></office:spreadsheet>`
	object := `<office:body><office:text><text:p>a</text:p><draw:object xlink:href="./O"/></office:text>`
	for _, tc := range []struct {
		name, kind, content string
		more                map[string]string
		want                string // the beginning of the error, or "" if the text is
	}{
		{"a row for the whole sheet", "spreadsheet", head + `<table:table-row table:number-rows-repeated="1048576"><table:table-cell table:number-columns-repeated="16384"><text:p>x</text:p></table:table-cell></table:table-row>` + foot, nil, "content: is an ODS file that is too large inside"},
		{"an empty rest of the sheet", "spreadsheet", head + `<table:table-row><table:table-cell><text:p>a</text:p></table:table-cell></table:table-row><table:table-row table:number-rows-repeated="1048575"><table:table-cell table:number-columns-repeated="16384"/></table:table-row>` + foot, nil, ""},
		{"an encrypted file", "text", `<office:body>`, map[string]string{"META-INF/manifest.xml": `<manifest><file-entry full-path="content.xml"><encryption-data/></file-entry></manifest>`}, "content: is an encrypted ODT file"},
		{"an object that contains itself", "text", object, map[string]string{"O/content.xml": odfHead + object + odfFoot}, ""},
		{"an object outside of the file", "text", strings.ReplaceAll(object, "./O", "../../etc/passwd"), nil, ""},
		{"an object on the web", "text", strings.ReplaceAll(object, "./O", "http://127.0.0.1:1/x"), nil, ""},
		{"entities", "text", `<office:body><text:p>&xxe;</text:p>`, nil, "content: is a broken ODT file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d, err := odfFile(t, tc.kind, tc.content, tc.more)
			if tc.want == "" && (err != nil || !strings.Contains(d.Text, "a") || len(d.Text) > 50) || !strings.HasPrefix(fault.Public(err), tc.want) {
				t.Errorf("text %.100q, error %v, want %q", d.Text, err, tc.want)
			}
		})
	}
}

// Some programs list modules of macros as sheets.
func TestSheetsWithoutAPartAreLeftOut(t *testing.T) {
	t.Parallel()
	d, err := Parse(t.Context(), Source{Content: packed(t, map[string]string{
		"[Content_Types].xml":        `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`,
		"_rels/.rels":                relationHead + `<Relationship Id="a" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/>` + relationFoot,
		"xl/_rels/workbook.xml.rels": relationHead + `<Relationship Id="a" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/>` + relationFoot,
		"xl/workbook.xml": `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">` +
			`<sheets><sheet name="Fees" sheetId="1" r:id="a"/><sheet name="Module" sheetId="2" r:id=""/></sheets></workbook>`,
		"xl/styles.xml": `<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>`,
		"xl/worksheets/sheet1.xml": `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>` +
			`<row r="1"><c r="A1" t="inlineStr"><is><t>oak</t></is></c></row></sheetData></worksheet>`,
	}), FileName: "fees.xlsx"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("## Fees\n\noak", d.Text); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// For any XML, the reader of OpenDocument returns a valid document or an Invalid error.
func FuzzOpenDocument(f *testing.F) {
	for _, name := range []string{"rules-lo.odt", "glance-lo.odp", "accounts-lo.ods"} {
		from, err := (&parser{src: Source{Content: read(f, "testdata/files/"+name)}, format: ODT, budget: newBudget()}).openPack()
		if err != nil {
			f.Fatal(err)
		}
		content, err := from.part("content.xml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content, len(name)%3)
	}
	f.Add([]byte(`<table:table xmlns:table="t"><table:table-row><table:table-cell table:number-rows-spanned="3"><text:p>a</text:p></table:table-cell><table:covered-table-cell/></table:table-row></table:table>`), 0)
	f.Add([]byte(`<text:p xmlns:text="t" xmlns:draw="d" xmlns:xlink="x"><draw:frame><draw:image xlink:href="a.png"/></draw:frame><text:span>a</text:span></text:p>`), 2)
	f.Fuzz(func(t *testing.T, data []byte, kind int) {
		format := []Format{ODT, ODS, ODP}[(kind%3+3)%3]
		p := &parser{format: format}
		from := &pack{format: format, named: map[string]bool{}, budget: newBudget(), drawings: &p.drawings}
		p.doc.ContentType = markdownType
		o := newODFReader(t.Context(), format, from, &p.text)
		if err := o.read(data); err != nil {
			if !isInvalid(err) {
				t.Errorf("error %v", err)
			}
			return
		}
		o.flow.endPage()
		if d, err := p.finish(); err == nil {
			check(t, d)
		}
	})
}

// For any sheet and shared strings, the reader of workbooks returns a valid document or an Invalid error.
func FuzzWorkbook(f *testing.F) {
	f.Add(`<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>b</t></is></c></row><row r="3"><c r="B3"><f>1+1</f><v>2</v></c></row>`, `<mergeCells><mergeCell ref="A1:B2"/></mergeCells>`, `<si><t>name</t></si>`, `<comment ref="A1"><text><t>n</t></text></comment>`)
	f.Fuzz(func(t *testing.T, rows, tail, shared, comments string) {
		const relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
		const main = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="` + relation + `"`
		content := packed(t, map[string]string{
			"[Content_Types].xml":                 `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`,
			"_rels/.rels":                         relationHead + `<Relationship Id="a" Type="` + relation + `/officeDocument" Target="xl/workbook.xml"/>` + relationFoot,
			"xl/workbook.xml":                     `<workbook ` + main + `><sheets><sheet name="S" sheetId="1" r:id="s"/></sheets></workbook>`,
			"xl/_rels/workbook.xml.rels":          relationHead + `<Relationship Id="s" Type="` + relation + `/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="t" Type="` + relation + `/sharedStrings" Target="sharedStrings.xml"/>` + relationFoot,
			"xl/sharedStrings.xml":                `<sst ` + main + `>` + shared + `</sst>`,
			"xl/worksheets/sheet1.xml":            `<worksheet ` + main + `><sheetData>` + rows + `</sheetData>` + tail + `</worksheet>`,
			"xl/worksheets/_rels/sheet1.xml.rels": relationHead + `<Relationship Id="c" Type="` + relation + `/comments" Target="../comments1.xml"/>` + relationFoot,
			"xl/comments1.xml":                    `<comments ` + main + `><commentList>` + comments + `</commentList></comments>`,
		})
		d, err := Parse(t.Context(), Source{Content: content, FileName: "a.xlsx"})
		if err == nil {
			check(t, d)
		} else if !isInvalid(err) {
			t.Errorf("error %v", err)
		}
	})
}

func TestMergedCellsOfASheet(t *testing.T) {
	t.Parallel()
	m := newMerges([]byte(`<mergeCells><mergeCell ref="A2:A4"/><mergeCell ref="B1:C1"/><mergeCell ref="x"/></mergeCells></worksheet>`))
	got := []sheetRow{m.apply(1, []string{"", "wide"}), m.apply(2, []string{"q", "1"}), m.apply(3, []string{"", "2"}), m.apply(4, []string{""}), m.apply(5, []string{"", "3"})}
	want := []sheetRow{{number: 1, cells: []string{"", "wide"}, wide: map[int]int{1: 2}}, {number: 2, cells: []string{"q", "1"}}, {number: 3, cells: []string{"q", "2"}}, {number: 4, cells: []string{""}}, {number: 5, cells: []string{"", "3"}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sheetRow{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestLinksOfCells(t *testing.T) {
	t.Parallel()
	book := excelize.NewFile()
	defer book.Close()
	for cell, text := range map[string]string{"A1": "Berth", "B1": "Plan", "A2": "North", "B2": "map", "A3": "South", "B3": "inner"} {
		if err := book.SetCellStr("Sheet1", cell, text); err != nil {
			t.Fatal(err)
		}
	}
	for cell, kind := range map[string][2]string{"B2": {"https://example.org/n", "External"}, "B3": {"Sheet1!A1", "Location"}, "A2": {"file:///etc/passwd", "External"}} {
		if err := book.SetCellHyperLink("Sheet1", cell, kind[0], kind[1]); err != nil {
			t.Fatal(err)
		}
	}
	content, err := book.WriteToBuffer()
	if err != nil {
		t.Fatal(err)
	}
	d, err := Parse(t.Context(), Source{Content: content.Bytes()})
	if diff := cmp.Diff("## Sheet1\n\nBerth: North; Plan: [map](https://example.org/n)\nBerth: South; Plan: inner", d.Text); diff != "" || err != nil {
		t.Errorf("error %v (-want +got)\n%s", err, diff)
	}
}

// A number with more digits than a cell has room for is shown with an exponent, but searched by its digits.
func TestWholeNumbersHaveAllTheirDigits(t *testing.T) {
	t.Parallel()
	book := excelize.NewFile()
	defer book.Close()
	for cell, row := range map[string][]any{"A1": {"Order", "Article"}, "A2": {int64(8123456789012345), 4012345678901}, "A3": {1.5e-9, 2.5e20}} {
		if err := book.SetSheetRow("Sheet1", cell, &row); err != nil {
			t.Fatal(err)
		}
	}
	content, err := book.WriteToBuffer()
	if err != nil {
		t.Fatal(err)
	}
	d, err := Parse(t.Context(), Source{Content: content.Bytes()})
	if diff := cmp.Diff("## Sheet1\n\nOrder: 8123456789012345; Article: 4012345678901\nOrder: 0.0000000015; Article: 2.5E+20", d.Text); diff != "" || err != nil {
		t.Errorf("error %v (-want +got)\n%s", err, diff)
	}
}

// Halves are rounded by the digits of a number, as programs for spreadsheets show them, and formats that show something else stay.
func TestDecimalsAreRoundedByTheirDigits(t *testing.T) {
	t.Parallel()
	row := sheetRow{
		cells: []string{"7.2%", "2.67", "-7.2%", "7%", "1234.6", "05", "0.1", "12", "x", "0.12"},
		raw:   []string{"0.0725", "2.6749999999999998", "-7.2499999999999995E-2", "6.5000000000000002E-2", "1234567", "5", "0.1", "12", "0.5", "0.125"},
	}
	roundNumbers(row)
	want := []string{"7.3%", "2.68", "-7.3%", "7%", "1234.6", "05", "0.1", "12", "x", "0.13"}
	if diff := cmp.Diff(want, row.cells); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Links may be over several cells, overlap, or name cells that there cannot be.
func TestLinksOfRangesOfCells(t *testing.T) {
	t.Parallel()
	web := map[string]relation{"w": {kind: "hyperlink", target: "https://example.org/n", beyond: true}}
	links := newCellLinks([]byte(`<hyperlinks><hyperlink ref="A1:B2" r:id="w"/><hyperlink ref="B1" r:id="w"/><hyperlink ref="ZZZZ9" r:id="w"/><hyperlink ref="C1:XFD1" r:id="w"/>`), web)
	got := links.apply(sheetRow{number: 1, cells: []string{"a", "b", "", "d"}})
	want := []string{"[a](https://example.org/n)", "[b](https://example.org/n)", "", "[d](https://example.org/n)"}
	if diff := cmp.Diff(want, got.cells); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTablesOfASheetHaveTheirColumns(t *testing.T) {
	t.Parallel()
	book := excelize.NewFile()
	defer book.Close()
	for cell, row := range map[string][]any{"A1": {"Berth", "Fee"}, "A2": {"North", 30}, "A3": {"South", 31}, "A5": {"Boat", "Crew", "Length"}, "A6": {"Gull", 3, 12}} {
		if err := book.SetSheetRow("Sheet1", cell, &row); err != nil {
			t.Fatal(err)
		}
	}
	var file bytes.Buffer
	if err := book.Write(&file); err != nil {
		t.Fatal(err)
	}
	d, err := Parse(t.Context(), Source{Content: file.Bytes(), FileName: "a.xlsx"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, table := range d.Tables {
		got = append(got, strings.Join(table.Columns, ",")+"="+d.Text[table.Start:table.End])
	}
	want := []string{"Berth,Fee=Berth: North; Fee: 30\nBerth: South; Fee: 31", "Boat,Crew,Length=Boat: Gull; Crew: 3; Length: 12"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
