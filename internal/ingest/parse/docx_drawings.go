package parse

import (
	"encoding/xml"
	"path"
	"strings"
)

// pictureText returns the description of a picture as text of the paragraph, unless it is
// only the name of a file.
func pictureText(description string) string {
	description = strings.Join(strings.Fields(description), " ")
	if description == "" || !strings.Contains(description, " ") && strings.ContainsAny(description, `./\`) {
		return ""
	}
	return " " + description + " "
}

// inserted writes the text of a file that stands in the document as it is until Word opens it: a
// page, text, RTF or another document. What cannot be read is left out.
func (w *wordReader) inserted(r relation) {
	if r.beyond || r.target == "" || w.nesting <= 0 || w.from.repeated(r.target) {
		return
	}
	content, err := w.from.optional(r.target)
	if err != nil || content == nil {
		w.failed = err
		return
	}
	src := Source{Content: content, FileName: r.target}
	if ending := path.Ext(r.target); ending == ".mht" || ending == ".mhtml" {
		src.ContentType = "message/rfc822"
	}
	d, err := parseWithin(w.ctx, src, w.from.budget, w.nesting-1)
	switch {
	case err == nil:
		w.flow.paragraph(block{text: d.Text})
	case !isInvalid(err):
		w.failed = err
	}
}

// drawing adds the texts of SmartArt or of a chart after the paragraph.
func (w *wordReader) drawing(name string, t xml.StartElement) {
	p := w.paragraph()
	if p == nil {
		return
	}
	id := attrOf(t.Attr, "id")
	if name == "relIds" {
		id = attrOf(t.Attr, "dm")
	}
	blocks, err := w.from.drawing(w.relations[id])
	if err != nil {
		w.failed = err
	}
	p.after = append(p.after, blocks...)
}
