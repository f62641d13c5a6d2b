package parse

import (
	"context"
	"encoding/xml"
	"path"
	"strconv"
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
	w.nesting = p.nesting
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

// remark is a note or a comment.
type remark struct {
	blocks []block
	author string // of a comment
	mark   string // of a note that was referred to, such as [^1]
}

// readRemarks reads a part with notes or comments.
func (w *wordReader) readRemarks(kind string) error {
	for _, name := range ofKind(w.relations, kind) {
		data, err := w.from.optional(name)
		if err != nil || data == nil {
			return err
		}
		relations, err := w.from.relations(name)
		if err != nil {
			return err
		}
		part := &wordReader{ctx: w.ctx, from: w.from, relations: relations, styles: w.styles, lists: w.lists, flow: flow{out: &textBuilder{}}, remarks: w.remarks, kind: kind}
		if err := part.read(data); err != nil {
			return err
		}
	}
	return nil
}

// wordStyle is the meaning of a paragraph style.
type wordStyle struct {
	basedOn  string
	level    int    // heading level, 0 for none
	list     string // the id of a list, "" for none
	depth    int    // level in the list, from 0; -1 if not said
	contents bool   // of tables of contents
	bare     bool   // says that there is neither a level nor a list
}

// wordStyles returns the styles of a document by id, with what they inherit. The title
// is a heading of level 1. The part may be nil.
func wordStyles(part *node) map[string]wordStyle {
	styles := map[string]wordStyle{}
	if part == nil {
		return styles
	}
	for _, n := range part.children {
		if id := n.attr("styleId"); id != "" {
			styles[id] = newWordStyle(n)
		}
	}
	for id, s := range styles {
		for base, hops := s.basedOn, 0; base != "" && hops < 16; hops++ {
			above := styles[base]
			if s.level == 0 && !s.bare {
				s.level = above.level
			}
			if s.list == "" {
				s.list, s.depth = above.list, max(s.depth, above.depth)
			}
			base = above.basedOn
		}
		styles[id] = s
	}
	return styles
}

func newWordStyle(n *node) wordStyle {
	s := wordStyle{basedOn: n.child("basedOn").attr("val"), depth: -1}
	name := strings.ToLower(n.child("name").attr("val"))
	if level, ok := strings.CutPrefix(name, "heading "); ok {
		s.level = number(level)
	} else if name == "title" {
		s.level = 1
	}
	s.contents = strings.HasPrefix(name, "toc ") || name == "table of figures"
	properties := n.child("pPr")
	if outline := properties.child("outlineLvl"); outline.name != "" {
		s.level = outlineLevel(outline.attr("val"))
		s.bare = s.level == 0
	}
	if list := properties.child("numPr"); list.name != "" {
		s.list = list.child("numId").attr("val")
		if depth := list.child("ilvl"); depth.name != "" {
			s.depth = listDepth(depth.attr("val")) - 1
		}
	}
	return s
}

// outlineLevel returns the heading level of an outline level, 0 for that of other text.
func outlineLevel(value string) int {
	if level, err := strconv.Atoi(value); err == nil && level >= 0 && level < 9 {
		return level + 1
	}
	return 0
}

// listDepth returns the list depth, from 1, of a level that is counted from 0.
func listDepth(level string) int {
	depth, _ := strconv.Atoi(level)
	return min(max(depth, 0), maxListLevels-1) + 1
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
	hidden     bool           // the run
	carried    *wordParagraph // whose mark was deleted
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
	case "del":
		switch w.parent() {
		case "rPr": // of the mark of the paragraph
			if p := w.paragraph(); p != nil && len(w.names) > 1 && w.names[len(w.names)-2] == "pPr" {
				p.joins = true
			}
		case "trPr":
			w.dropRow = true
		}
		return true
	case "moveFrom", "delText", "delInstrText", "Fallback", "rt", "sdtPr", "sectPr",
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
	case "t":
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
		w.hidden = value != "0" && value != "false" && w.parent() == "rPr" && len(w.names) > 1 && w.names[len(w.names)-2] == "r"
	}
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
	case "docPr":
		w.add(pictureText(attrOf(t.Attr, "descr")))
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

// pictureText returns the description of a picture as text of the paragraph, unless it is
// only the name of a file.
func pictureText(description string) string {
	description = strings.Join(strings.Fields(description), " ")
	if description == "" || !strings.Contains(description, " ") && strings.ContainsAny(description, `./\`) {
		return ""
	}
	return " " + description + " "
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

// refer writes the mark of a note, and the note or comment after the paragraph. What is
// referred to again is not written again.
func (w *wordReader) refer(kind, id string) {
	p := w.paragraph()
	key := kind + id
	r, ok := w.remarks[key]
	if p == nil || !ok || w.kind != "" {
		return
	}
	begun := "Comment by " + r.author + ": "
	if kind != "comments" {
		if r.mark == "" {
			w.flow.notes++
			r.mark = "[^" + strconv.Itoa(w.flow.notes) + "]"
		}
		w.add(r.mark)
		begun = r.mark + ": "
	} else if r.author == "" {
		begun = "Comment: "
	}
	if text := inline(r.blocks); text != "" {
		p.after = append(p.after, block{text: begun + text})
	}
	r.blocks = nil
	w.remarks[key] = r
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

func (w *wordReader) end(name string) {
	switch name {
	case "t":
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
	style := w.styles[p.style]
	if style.contents {
		return
	}
	b := block{text: string(p.text), level: style.level}
	if p.level >= 0 {
		b.level = p.level
	}
	if strings.TrimSpace(b.text) != "" {
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

// greek are the letters A to Z and a to z of the font Symbol.
var greek = []rune("ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖαβχδεφγηιϕκλμνοπθρστυϖωξψζ")

// symbol returns the character of a font of symbols. Unknown ones are left out.
func symbol(font, code string) string {
	value, err := strconv.ParseUint(code, 16, 16)
	if err != nil {
		return ""
	}
	value &^= 0xF000
	switch strings.ToLower(font) {
	case "symbol":
		switch {
		case value >= 'A' && value <= 'Z':
			return string(greek[value-'A'])
		case value >= 'a' && value <= 'z':
			return string(greek[value-'a'+26])
		}
		return map[uint64]string{0xA3: "≤", 0xB3: "≥", 0xB1: "±", 0xB4: "×", 0xB8: "÷", 0xB9: "≠", 0xAE: "→", 0xAC: "←", 0xA5: "∞", 0xB0: "°", 0xB7: "•", 0xD6: "√"}[value]
	case "wingdings", "wingdings 2":
		return map[uint64]string{0xFE: "☑", 0xFD: "☒", 0xA8: "☐", 0xFC: "✓", 0xFB: "✗", 0xE0: "→", 0x52: "☑", 0xA3: "☐"}[value]
	}
	return ""
}
