package parse

import (
	"encoding/xml"
	"strings"
)

// openLink is the beginning of a link in the text of a paragraph.
type openLink struct {
	at      int
	address string
}

// wordField is a field whose result is text.
type wordField struct {
	code strings.Builder
	in   *wordParagraph // where its result begins
	at   int
}

// startReference reads links, fields, notes, comments and drawings.
func (w *wordReader) startReference(t xml.StartElement) {
	p := w.paragraph()
	switch name := t.Name.Local; name {
	case "footnote", "endnote", "comment":
		if w.kind == name+"s" {
			w.remark = remark{author: attrOf(t.Attr, "author"), mark: attrOf(t.Attr, "id")}
			w.flow.startBox()
		}
	case "footnoteReference", "endnoteReference", "commentReference":
		w.refer(strings.TrimSuffix(name, "Reference")+"s", attrOf(t.Attr, "id"))
	case "hyperlink":
		if p != nil {
			p.links = append(p.links, openLink{len(p.text), w.address(attrOf(t.Attr, "id"))})
		}
	case "fldChar":
		w.field(attrOf(t.Attr, "fldCharType"))
	case "inline", "anchor":
		w.shape = wordShape{}
	case "extent":
		w.shape.size = [2]float64{emu(attrOf(t.Attr, "cx")), emu(attrOf(t.Attr, "cy"))}
	case "docPr":
		w.describe(attrOf(t.Attr, "descr"))
	case "blip":
		w.picture(w.relations[attrOf(t.Attr, "embed")])
	case "imagedata":
		w.shape = wordShape{}
		w.picture(w.relations[attrOf(t.Attr, "id")])
	case "relIds", "chart":
		w.drawing(name, t)
	case "altChunk":
		w.inserted(w.relations[attrOf(t.Attr, "id")])
	}
}

// address returns the address outside of the file to which a relation leads, "" for none.
func (w *wordReader) address(id string) string {
	if r := w.relations[id]; r.beyond {
		return r.target
	}
	return ""
}

// field reads the beginning and the end of fields.
func (w *wordReader) field(kind string) {
	n := len(w.fields)
	switch {
	case kind == "begin" && n < maxXMLDepth:
		w.fields = append(w.fields, &wordField{})
	case n == 0:
	case kind == "separate":
		if p := w.paragraph(); p != nil {
			w.fields[n-1].in, w.fields[n-1].at = p, len(p.text)
		}
	case kind == "end":
		f := w.fields[n-1]
		w.fields = w.fields[:n-1]
		if p := w.paragraph(); p != nil && f.in == p {
			w.linked(f.at, fieldAddress(f.code.String()))
		}
	}
}

// fieldAddress returns the address in the code of a field, such as HYPERLINK "https://...".
func fieldAddress(code string) string {
	kind, rest, _ := strings.Cut(strings.TrimSpace(code), " ")
	rest = strings.TrimSpace(rest)
	if !strings.EqualFold(kind, "HYPERLINK") || strings.HasPrefix(rest, `\`) {
		return ""
	}
	if inQuotes, ok := strings.CutPrefix(rest, `"`); ok {
		address, _, _ := strings.Cut(inQuotes, `"`)
		return address
	}
	address, _, _ := strings.Cut(rest, " ")
	return address
}

// linked makes the text of the paragraph since a position a link.
func (w *wordReader) linked(at int, address string) {
	p := w.paragraph()
	if p == nil || at > len(p.text) || address == "" {
		return
	}
	p.text = append(p.text[:at], link(string(p.text[at:]), address)...)
}
