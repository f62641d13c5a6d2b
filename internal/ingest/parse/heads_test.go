package parse

import "testing"

func TestHeadsOfSeveralRowsAreJoined(t *testing.T) {
	t.Parallel()
	cell := func(text string) string {
		return `<w:tc><w:tcPr/>` + `<w:p>` + run(text) + `</w:p></w:tc>`
	}
	wide := `<w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr><w:p>` + run("Size") + `</w:p></w:tc>`
	tall := func(mark, text string) string {
		return `<w:tc><w:tcPr><w:vMerge` + mark + `/></w:tcPr><w:p>` + run(text) + `</w:p></w:tc>`
	}
	body := `<w:tr>` + cell("North") + cell("30") + cell("8") + `</w:tr>`
	const want = "| Name | Size Length | Size Width |\n| --- | --- | --- |\n| North | 30 | 8 |"
	for name, table := range map[string]string{
		"marked":    `<w:tr><w:trPr><w:tblHeader/></w:trPr>` + cell("Name") + wide + `</w:tr><w:tr><w:trPr><w:tblHeader w:val="true"/></w:trPr>` + cell("") + cell("Length") + cell("Width") + `</w:tr>` + body,
		"by merges": `<w:tr>` + tall(` w:val="restart"`, "Name") + wide + `</w:tr><w:tr>` + tall("", "") + cell("Length") + cell("Width") + `</w:tr>` + body,
	} {
		got, err := wordText(t, `<w:tbl>`+table+`</w:tbl>`, nil)
		if got != want || err != nil {
			t.Errorf("DOCX, %s: %q, %v", name, got, err)
		}
	}
	for _, tc := range []struct{ name, file, content, want string }{
		{"RTF", "a.rtf", `{\rtf1\trowd\trhdr\clvmgf\cellx10\clmgf\cellx20\clmrg\cellx30\intbl Name\cell Size\cell\cell\row\trowd\trhdr\clvmrg\cellx10\cellx20\cellx30\intbl\cell Length\cell Width\cell\row\trowd\cellx10\cellx20\cellx30\intbl North\cell 30\cell 8\cell\row\pard}`, want},
		{
			"HTML", "a.html",
			`<table><caption>Table 1: Berths</caption><thead><tr><th rowspan="2">Name</th><th colspan="2">Size</th></tr><tr><th>Length</th><th>Width</th></tr></thead><tr><td>North</td><td>30</td><td>8</td></tr></table>`,
			"Table 1: Berths\n\n| Name  | Size Length | Size Width |\n|-------|-------------|------------|\n| North | 30          | 8          |",
		},
		{
			"HTML without thead", "a.html",
			`<table><tr><th>Name</th><th colspan="2">Size</th></tr><tr><th></th><th>Length</th><th>Width</th></tr><tr><th scope="row">North</th><td>30</td><td>8</td></tr></table>`,
			"| Name  | Size Length | Size Width |\n|-------|-------------|------------|\n| North | 30          | 8          |",
		},
		{
			"HTML of nothing but names", "a.html", `<table><tr><th>a</th><th>b</th></tr><tr><th>c</th><th>d</th></tr></table>`,
			"| a | b |\n|---|---|\n| c | d |",
		},
	} {
		d, err := Parse(t.Context(), Source{Content: []byte(tc.content), FileName: tc.file})
		if err != nil || d.Text != tc.want {
			t.Errorf("%s: %q, %v", tc.name, d.Text, err)
		}
	}
}
