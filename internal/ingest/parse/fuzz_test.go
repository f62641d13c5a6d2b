package parse

import (
	"strings"
	"testing"
)

// For any bytes and any name, Parse returns a valid document or an Invalid error on the
// field content.
func FuzzParse(f *testing.F) {
	for _, folder := range []string{"files", "hostile"} {
		for _, path := range files(f, folder) {
			// Bombs are slow; other tests bound their time.
			if content := read(f, path); len(content) < 40<<10 && !strings.Contains(path, "bomb") {
				f.Add(content, path)
			}
		}
	}
	f.Fuzz(func(t *testing.T, content []byte, name string) {
		d, err := Parse(t.Context(), Source{Content: content, FileName: name})
		if err == nil {
			check(t, d)
			return
		}
		if !isInvalid(err) || !strings.HasPrefix(err.Error(), "content: ") {
			t.Errorf("error %v", err)
		}
	})
}

// Our own readers of XML must not crash for any XML.
func FuzzDocumentXML(f *testing.F) {
	f.Add([]byte(`<w:p xmlns:w="w"><w:pPr><w:pStyle w:val="H1"/></w:pPr><w:r><w:t>Text</w:t></w:r></w:p>`))
	f.Add([]byte(`<w:tbl xmlns:w="w"><w:tr><w:tc><w:tbl><w:tr><w:tc><w:p><w:t>in</w:t></w:p></w:tc></w:tr></w:tbl></w:tc></w:tr></w:tbl>`))
	f.Add([]byte(`<p:sp xmlns:p="p"><p:ph type="title"/><a:p><a:t>Title</a:t></a:p></p:sp>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		from := &pack{format: DOCX, named: map[string]bool{}, budget: newBudget()}
		var word textBuilder
		w := &wordReader{ctx: t.Context(), from: from, lists: wordLists(nil), styles: map[string]wordStyle{"H1": {level: 1}}, flow: flow{out: &word}}
		_ = w.read(data)
		s := &slideReader{from: from}
		_ = walkXML(data, s.visit)
	})
}
