package parse

import (
	"encoding/xml"
	"path"
	"strconv"
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

// wordShape is the drawing that is being read.
type wordShape struct {
	size     [2]float64     // in points
	in       *wordParagraph // that has its description, nil if it has none or a picture has taken it
	from, to int            // of the description in the text of the paragraph
}

// emu returns a length of a drawing in points.
func emu(value string) float64 {
	const perPoint = 12700
	n, _ := strconv.ParseFloat(value, 64)
	return n / perPoint
}

// describe adds the description of a drawing to the paragraph.
func (w *wordReader) describe(description string) {
	p := w.paragraph()
	if p == nil {
		return
	}
	from := len(p.text)
	w.add(pictureText(description))
	w.shape.in, w.shape.from, w.shape.to = p, from, len(p.text)
}

// picture marks the place of a picture, around the description of its drawing.
func (w *wordReader) picture(r relation) {
	p := w.paragraph()
	if p == nil || w.hidden || r.kind != "image" {
		return
	}
	found := drawn{shown: w.shape.size, beyond: true}
	if !r.beyond {
		found = w.from.picture(r.target, w.shape.size)
	}
	number := w.from.drawings.add(found)
	if w.shape.in != p || w.shape.to > len(p.text) {
		p.text = append(p.text, figureMark(number, "")...)
		return
	}
	description := strings.TrimSpace(string(p.text[w.shape.from:w.shape.to]))
	marked := " " + figureMark(number, description) + " " + string(p.text[w.shape.to:])
	p.text = append(p.text[:w.shape.from], marked...)
	w.shape.in = nil
}
