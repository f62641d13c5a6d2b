package parse

import (
	"context"
	"encoding/xml"
	"strings"
)

// docx reads a Word document: paragraphs, headings by their styles and outline levels, lists
// with their numbers, tables, text boxes, formulas, links, notes and comments after the
// paragraph that refers to them, SmartArt, charts and inserted files. Tracked changes are read as accepted.
// Headers, footers, hidden text and tables of contents are left out.
func (p *parser) docx(ctx context.Context) error {
	from, err := p.openPack()
	if err != nil {
		return err
	}
	if err := p.describeOffice(from); err != nil {
		return err
	}
	name, err := from.mainPart("word/document.xml")
	if err != nil {
		return err
	}
	w, err := newWordReader(ctx, from, name, &p.text)
	if err != nil {
		return err
	}
	w.nesting, w.all = p.nesting, p.src.Hidden
	data, err := from.part(name)
	if err != nil {
		return err
	}
	if err := w.read(data); err != nil {
		return err
	}
	w.flow.endPage()
	return nil
}

// newWordReader returns a reader of the main part of a document, with its styles, lists,
// notes and comments.
func newWordReader(ctx context.Context, from *pack, name string, out *textBuilder) (*wordReader, error) {
	relations, err := from.relations(name)
	if err != nil {
		return nil, err
	}
	w := &wordReader{ctx: ctx, from: from, relations: relations, flow: flow{out: out}, remarks: map[string]remark{}}
	styles, err := from.related(relations, "styles")
	if err != nil {
		return nil, err
	}
	w.styles = wordStyles(styles)
	lists, err := from.related(relations, "numbering")
	if err != nil {
		return nil, err
	}
	w.lists = wordLists(lists)
	for _, kind := range []string{"footnotes", "endnotes", "comments"} {
		if err := w.readRemarks(kind); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// read reads a part. Errors: broken; that of the context.
func (w *wordReader) read(data []byte) error {
	err := walkXML(data, w.visit)
	if ended := w.ctx.Err(); ended != nil {
		return ended
	}
	if err != nil && w.failed == nil {
		return broken(w.from.format, err)
	}
	return w.failed
}

// wordReader reads the paragraphs and tables of a part.
type wordReader struct {
	ctx       context.Context
	failed    error // of a part that was referred to
	from      *pack
	relations map[string]relation
	styles    map[string]wordStyle
	lists     *wordNumbering
	nesting   int               // how many levels of documents within this one may follow
	remarks   map[string]remark // by kind and id
	kind      string            // of a part with remarks; "" for the main part
	remark    remark            // being read
	flow      flow

	names      []string // of the open elements
	skipped    int      // depth within an element that is left out
	paragraphs []*wordParagraph
	fields     []*wordField
	formula    *treeBuilder
	dropRow    bool
	all        bool           // hidden and deleted text too
	hidden     bool           // the run
	carried    *wordParagraph // whose mark was deleted
	shape      wordShape
}

// wordParagraph is a paragraph being read. Text boxes have paragraphs within one.
type wordParagraph struct {
	text   []byte
	style  string
	level  int    // -1 if the paragraph does not say it
	list   string // "" if the paragraph does not say it
	depth  int    // -1 if the paragraph does not say it
	joins  bool   // its mark is deleted, so that the next paragraph continues it
	after  []block
	links  []openLink
	inText bool
}

func (w *wordReader) visit(token xml.Token, _ int) error {
	if w.formula != nil {
		if w.formula.add(token) {
			w.add(mathText(&w.formula.top))
			w.formula, w.names = nil, w.names[:max(len(w.names)-1, 0)]
		}
		return nil
	}
	switch t := token.(type) {
	case xml.StartElement:
		if w.skipped > 0 || w.leavesOut(t) {
			w.skipped++
			return nil
		}
		w.start(t)
		w.names = append(w.names, t.Name.Local)
	case xml.EndElement:
		if w.skipped > 0 {
			w.skipped--
			return nil
		}
		w.names = w.names[:max(len(w.names)-1, 0)]
		w.end(t.Name.Local)
	case xml.CharData:
		if w.skipped == 0 {
			w.charData(t)
		}
	}
	return w.failed
}

func (w *wordReader) charData(data []byte) {
	if n := len(w.names); n > 0 && w.names[n-1] == "instrText" {
		if f := len(w.fields); f > 0 && w.fields[f-1].code.Len() < maxAddress {
			w.fields[f-1].code.Write(data)
		}
		return
	}
	if p := w.paragraph(); p != nil && p.inText && !w.hidden {
		p.text = append(p.text, data...)
	}
}

// parent returns the name of the element in which the present one is.
func (w *wordReader) parent() string {
	if n := len(w.names); n > 0 {
		return w.names[n-1]
	}
	return ""
}

// leavesOut reports whether an element is skipped: deleted text, former properties, and the
// fallback of a drawing that was read already.
func (w *wordReader) leavesOut(t xml.StartElement) bool {
	switch t.Name.Local {
	case "del", "delText":
		if w.all {
			return false
		}
		switch w.parent() {
		case "rPr": // of the mark of the paragraph
			if p := w.paragraph(); p != nil && len(w.names) > 1 && w.names[len(w.names)-2] == "pPr" {
				p.joins = true
			}
		case "trPr":
			w.dropRow = true
		}
		return true
	case "moveFrom", "delInstrText", "Fallback", "rt", "sdtPr", "sectPr",
		"pPrChange", "rPrChange", "tblPrChange", "trPrChange", "tcPrChange", "sectPrChange", "tblGridChange", "numberingChange":
		return true
	}
	return false
}

func (w *wordReader) paragraph() *wordParagraph {
	if n := len(w.paragraphs); n > 0 {
		return w.paragraphs[n-1]
	}
	return nil
}

// add appends text to the paragraph.
func (w *wordReader) add(text string) {
	if p := w.paragraph(); p != nil && !w.hidden {
		p.text = append(p.text, text...)
	}
}

func (w *wordReader) start(t xml.StartElement) {
	switch name := t.Name.Local; name {
	case "p":
		if w.ctx.Err() != nil {
			w.failed = w.ctx.Err()
		}
		w.startParagraph()
	case "r":
		w.hidden = false
	case "t", "delText":
		if p := w.paragraph(); p != nil {
			p.inText = true
		}
	case "tab", "ptab":
		if w.parent() != "tabs" {
			w.add(" ")
		}
	case "br", "cr":
		w.add("\n")
	case "noBreakHyphen":
		w.add("-")
	case "sym":
		w.add(symbol(attrOf(t.Attr, "font"), attrOf(t.Attr, "char")))
	case "lastRenderedPageBreak":
		w.flow.nextPage()
	case "oMath":
		w.formula = &treeBuilder{}
		w.formula.add(t)
	case "txbxContent":
		w.flow.startBox()
	default:
		w.startTable(t)
		w.startProperty(t)
		w.startReference(t)
	}
}

func (w *wordReader) startParagraph() {
	p := &wordParagraph{level: -1, depth: -1}
	if w.carried != nil {
		p.text, p.after, w.carried = w.carried.text, w.carried.after, nil
	}
	w.paragraphs = append(w.paragraphs, p)
}

func (w *wordReader) startTable(t xml.StartElement) {
	switch t.Name.Local {
	case "tbl":
		w.flow.startTable()
	case "tr":
		w.dropRow = false
	case "tblHeader":
		if value := attrOf(t.Attr, "val"); value != "0" && value != "false" && value != "off" {
			w.flow.headRow()
		}
	case "tc":
		w.flow.startCell(1, false)
	case "gridSpan":
		w.flow.setCell(func(c *flowCell) { c.span = min(max(number(attrOf(t.Attr, "val")), 1), maxCellSpan) })
	case "vMerge":
		w.flow.setCell(func(c *flowCell) { c.above = attrOf(t.Attr, "val") != "restart" })
	}
}

// startProperty reads the properties of paragraphs and runs.
func (w *wordReader) startProperty(t xml.StartElement) {
	p := w.paragraph()
	if p == nil {
		return
	}
	value := attrOf(t.Attr, "val")
	switch t.Name.Local {
	case "pStyle":
		p.style = value
	case "outlineLvl":
		p.level = outlineLevel(value)
	case "ilvl":
		p.depth = listDepth(value) - 1
	case "numId":
		p.list = value
	case "vanish":
		w.hidden = !w.all && value != "0" && value != "false" && w.parent() == "rPr" && len(w.names) > 1 && w.names[len(w.names)-2] == "r"
	}
}

func (w *wordReader) end(name string) {
	switch name {
	case "t", "delText":
		if p := w.paragraph(); p != nil {
			p.inText = false
		}
	case "r":
		w.hidden = false
	case "p":
		w.endParagraph()
	case "hyperlink":
		if p := w.paragraph(); p != nil && len(p.links) > 0 {
			last := p.links[len(p.links)-1]
			p.links = p.links[:len(p.links)-1]
			w.linked(last.at, last.address)
		}
	case "tc":
		w.flow.endCell()
	case "tr":
		w.flow.endRow(w.dropRow)
		w.dropRow = false
	case "tbl":
		w.flow.endTable()
	case "txbxContent":
		blocks := w.flow.endBox()
		if p := w.paragraph(); p != nil {
			p.after = append(p.after, blocks...)
		}
	case "footnote", "endnote", "comment":
		if w.kind == name+"s" {
			r, id := w.remark, w.remark.mark
			r.mark, r.blocks = "", w.flow.endBox()
			w.remarks[w.kind+id] = r
		}
	}
}

// endParagraph writes the paragraph, and what follows it.
func (w *wordReader) endParagraph() {
	p := w.paragraph()
	if p == nil {
		return
	}
	w.paragraphs = w.paragraphs[:len(w.paragraphs)-1]
	if p.joins {
		w.carried = p
		return
	}
	style := w.style(p.style)
	if style.contents {
		return
	}
	b := block{text: string(p.text), level: style.level}
	if p.level >= 0 {
		b.level = p.level
	}
	switch {
	case isPictures(b.text):
		w.flow.paragraph(block{text: b.text})
	case strings.TrimSpace(b.text) != "":
		if style.caption {
			b.text = w.from.drawings.caption() + b.text
		}
		w.number(p, style, &b)
		w.flow.paragraph(b)
	}
	for _, after := range p.after {
		w.flow.paragraph(after)
	}
}

// number sets the list and the mark of a paragraph.
func (w *wordReader) number(p *wordParagraph, style wordStyle, b *block) {
	list, depth := p.list, p.depth
	if list == "" {
		list = style.list
	}
	if depth < 0 {
		depth = max(style.depth, w.lists.depthOf(list, p.style), 0)
	}
	if list == "" || list == "0" {
		return
	}
	b.marker = w.lists.next(list, depth)
	switch {
	case b.level > 0 && b.marker == "-":
		b.marker = ""
	case b.level == 0 && b.marker != "":
		b.depth = depth + 1
	}
}
