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
