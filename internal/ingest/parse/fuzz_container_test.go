package parse

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"path"
	"strings"
	"testing"
)

// checkRead fails the test unless a source is read to a valid document in which the position of every
// part can be found, or to an Invalid error on the field content.
func checkRead(t *testing.T, src Source) {
	t.Helper()
	d, err := Parse(t.Context(), src)
	if err != nil {
		if !isInvalid(err) || !strings.HasPrefix(err.Error(), "content: ") {
			t.Errorf("error %v", err)
		}
		return
	}
	check(t, d)
	spans := d.SpanIndex()
	for at := 0; at < len(d.Text); at += 97 {
		_ = spans.Metadata(at, min(at+20, len(d.Text)))
	}
}

// partsOf returns the named parts of an Office file, "" for those that it does not have.
func partsOf(f *testing.F, file string, format Format, names ...string) []string {
	f.Helper()
	from, err := (&parser{src: Source{Content: read(f, path.Join("testdata/files", file))}, format: format, budget: newBudget()}).openPack()
	if err != nil {
		f.Fatal(err)
	}
	var parts []string
	for _, name := range names {
		part := []byte{}
		if from.named[name] {
			if part, err = from.part(name); err != nil {
				f.Fatal(err)
			}
		}
		parts = append(parts, string(part))
	}
	return parts
}

// officeFile returns an Office file whose main part relates to others by their kinds.
func officeFile(t testing.TB, main, content string, related map[string]string) []byte {
	t.Helper()
	const relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
	var relations strings.Builder
	parts := map[string]string{
		"[Content_Types].xml": `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`,
		"_rels/.rels":         relationHead + `<Relationship Id="a" Type="` + relation + `officeDocument" Target="` + main + `"/>` + relationFoot,
		main:                  content,
	}
	for kind, part := range related {
		relations.WriteString(`<Relationship Id="` + kind + `" Type="` + relation + kind + `" Target="` + kind + `.xml"/>`)
		parts[path.Join(path.Dir(main), kind+".xml")] = part
	}
	parts[path.Join(path.Dir(main), "_rels", path.Base(main)+".rels")] = relationHead + relations.String() + relationFoot
	return packed(t, parts)
}

// For any parts of a Word document, its reader returns a valid document or an Invalid error.
func FuzzWordDocument(f *testing.F) {
	for _, file := range []string{"plan.docx", "report.docx"} {
		p := partsOf(f, file, DOCX, "word/document.xml", "word/styles.xml", "word/numbering.xml", "word/footnotes.xml", "word/comments.xml")
		f.Add(p[0], p[1], p[2], p[3], p[4])
	}
	const names = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"`
	f.Add(`<w:document `+names+`><w:body><w:p><w:pPr><w:pStyle w:val="a"/><w:numPr><w:ilvl w:val="8"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>x</w:t><w:footnoteReference w:id="1"/></w:r></w:p></w:body></w:document>`,
		`<w:styles `+names+`><w:style w:styleId="a"><w:basedOn w:val="b"/></w:style><w:style w:styleId="b"><w:basedOn w:val="a"/></w:style></w:styles>`,
		`<w:numbering `+names+`><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="8"><w:start w:val="-1"/><w:numFmt w:val="lowerRoman"/><w:lvlText w:val="%9.%1"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>`,
		`<w:footnotes `+names+`><w:footnote w:id="1"><w:p><w:r><w:t>n</w:t><w:footnoteReference w:id="1"/></w:r></w:p></w:footnote></w:footnotes>`, "")
	f.Fuzz(func(t *testing.T, document, styles, numbering, footnotes, comments string) {
		checkRead(t, Source{FileName: "a.docx", Content: officeFile(t, "word/document.xml", document, map[string]string{
			"styles": styles, "numbering": numbering, "footnotes": footnotes, "comments": comments,
		})})
	})
}

// For any slide with its notes, and any drawing, the reader of presentations returns a valid document or an
// Invalid error.
func FuzzPresentation(f *testing.F) {
	for _, file := range []string{"intro.pptx", "glance.pptx"} {
		p := partsOf(f, file, PPTX, "ppt/slides/slide1.xml", "ppt/notesSlides/notesSlide1.xml", "ppt/charts/chart1.xml", "ppt/diagrams/data1.xml")
		f.Add(p[0], p[1], p[2], p[3])
	}
	f.Fuzz(func(t *testing.T, slide, notes, chart, diagram string) {
		const relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
		const main = `xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:r="` + relation + `"`
		relations := relationHead
		for kind, target := range map[string]string{"notesSlide": "notes.xml", "chart": "chart.xml", "diagramData": "diagram.xml"} {
			relations += `<Relationship Id="` + kind + `" Type="` + relation + `/` + kind + `" Target="` + target + `"/>`
		}
		checkRead(t, Source{FileName: "a.pptx", Content: packed(t, map[string]string{
			"[Content_Types].xml":             `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`,
			"_rels/.rels":                     relationHead + `<Relationship Id="a" Type="` + relation + `/officeDocument" Target="ppt/presentation.xml"/>` + relationFoot,
			"ppt/presentation.xml":            `<p:presentation ` + main + `><p:sldIdLst><p:sldId id="256" r:id="s"/></p:sldIdLst></p:presentation>`,
			"ppt/_rels/presentation.xml.rels": relationHead + `<Relationship Id="s" Type="` + relation + `/slide" Target="slide.xml"/>` + relationFoot,
			"ppt/slide.xml":                   slide,
			"ppt/_rels/slide.xml.rels":        relations + relationFoot,
			"ppt/notes.xml":                   notes,
			"ppt/chart.xml":                   chart,
			"ppt/diagram.xml":                 diagram,
		})})
	})
}

// For any page, the reader of HTML returns a valid document or an Invalid error.
func FuzzPage(f *testing.F) {
	f.Add(read(f, "testdata/files/tides.html"))
	f.Add([]byte(`<html><head><title>t</title><meta charset="koi8-r"></head><body><nav><a href="/">a</a></nav><main><h1>h</h1><p>b<sup>2</sup></p></main></body></html>`))
	f.Add([]byte(`<table><tr><th rowspan=9>a<td colspan=1000>b<table><tr><td>c</table></table><ul><li>a<ol start=-7><li value=x>b</ol></ul><pre><code class="language-go">x` + "```" + `</pre>`))
	f.Add([]byte(`<p><math><mfrac><mi>a</mi><mrow><msup/></mrow></mfrac></math><svg><title>s</title></svg><template><p>q</template><dl><dt>a<dd>b</dl><details><summary>s</summary>t</details>`))
	f.Fuzz(func(t *testing.T, page []byte) {
		checkRead(t, Source{Content: page, FileName: "a.html"})
	})
}

// For any text in any encoding, declared or not, what is read is a valid text or an Invalid error.
func FuzzEncoding(f *testing.F) {
	for _, file := range []string{"files/utf16.txt", "hostile/cyrillic.txt"} {
		f.Add(read(f, "testdata/"+file), "text/plain")
	}
	f.Add([]byte("\xcf\xf0\xe8\xeb\xe8\xe2"), "text/plain; charset=windows-1251")
	f.Add([]byte("\x1b$B$\"\x1b(B"), "text/plain; charset=iso-2022-jp")
	f.Add([]byte("\xff\xfea\x00\x00\xd8"), "")
	f.Add([]byte("\x82\xa0\x82\xa2\x81"), "text/plain; charset=\"shift_jis")
	f.Fuzz(func(t *testing.T, content []byte, contentType string) {
		checkRead(t, Source{Content: content, ContentType: contentType, FileName: "a.txt"})
	})
}

// A container of a member: within is the kind of container, in turn one for each of its digits.
func containers(t testing.TB, within, name string, content []byte) (outer string, nested []byte) {
	t.Helper()
	for _, kind := range within {
		switch kind % 5 {
		case 0:
			content, name = packed(t, map[string]string{name: string(content)}), "a.zip"
		case 1, 2:
			var out bytes.Buffer
			w := tar.NewWriter(&out)
			if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o600}); err != nil {
				t.Skip() // a name that no tar file can hold
			}
			_, _ = w.Write(content)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			content, name = out.Bytes(), "a.tar"
			if kind%5 == 2 {
				var small bytes.Buffer
				z := gzip.NewWriter(&small)
				_, _ = z.Write(content)
				if err := z.Close(); err != nil {
					t.Fatal(err)
				}
				content, name = small.Bytes(), "a.tar.gz"
			}
		case 3:
			content = []byte("Subject: s\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"=_=\"\r\n\r\n--=_=\r\n\r\nt\r\n--=_=\r\n" +
				"Content-Type: message/rfc822\r\nContent-Disposition: attachment; filename=\"" + strings.Map(inHeader, name) + "\"\r\nContent-Transfer-Encoding: base64\r\n\r\n" +
				base64.StdEncoding.EncodeToString(content) + "\r\n--=_=--\r\n")
			name = "a.eml"
		case 4:
			content = append([]byte("From a@b.example Mon Jan  1 00:00:00 2024\nSubject: s\n\n"), content...)
			name = "a.mbox"
		}
	}
	return name, content
}

func inHeader(r rune) rune {
	if r < ' ' || r == '"' || r == '\\' {
		return -1
	}
	return r
}

// For any member of archives, messages and mailboxes within each other, the readers return a valid document or
// an Invalid error, and Members ends.
func FuzzContainers(f *testing.F) {
	for _, file := range []string{"notes.txt", "reply.eml", "archive.zip", "archive.tar.gz", "harbour.mbox", "tales.epub", "tides.html", "berths.csv"} {
		for _, within := range []string{"0", "00", "3", "33", "4", "01", "0000000", "33333333"} {
			f.Add(within, file, read(f, "testdata/files/"+file))
		}
	}
	f.Fuzz(func(t *testing.T, within, name string, content []byte) {
		if len(within) > 20 || len(content) > 64<<10 {
			return
		}
		name, content = containers(t, within, name, content)
		checkRead(t, Source{Content: content, FileName: name})
		for _, err := range Members(Source{Content: content, FileName: name}) {
			if err != nil && !isInvalid(err) {
				t.Errorf("error %v", err)
			}
		}
	})
}

// For any message, its reader returns a valid document or an Invalid error.
func FuzzMessage(f *testing.F) {
	for _, file := range []string{"files/reply.eml", "hostile/no-body.eml", "hostile/encrypted.eml"} {
		f.Add(read(f, "testdata/"+file))
	}
	for _, within := range []string{"3", "33", "333", "03", "43"} {
		_, message := containers(f, within, "reply.eml", read(f, "testdata/files/reply.eml"))
		f.Add(message)
	}
	f.Add([]byte("From: =?koi8-r?Q?=C9?= <a@b>\nReferences: <a@b> <c@d\nContent-Type: text/html; charset=x\nContent-Transfer-Encoding: quoted-printable\n\n<p>=C3=\n=A4"))
	f.Add([]byte("Content-Type: multipart/alternative; boundary=a\n\n--a\nContent-Type: text/plain; format=flowed\n\n> q \n--a\nContent-Type: multipart/related; boundary=b\n\n--b\nContent-Type: text/html\n\n<b>x\n--b--\n--a--"))
	f.Fuzz(func(t *testing.T, message []byte) {
		checkRead(t, Source{Content: message, FileName: "a.eml"})
	})
}
