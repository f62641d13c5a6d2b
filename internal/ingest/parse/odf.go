package parse

import (
	"context"
	"encoding/xml"
	"path"
	"slices"
	"strconv"
	"strings"
)

// odf reads an OpenDocument text, spreadsheet or presentation, as docx, xlsx and pptx read
// theirs.
func (p *parser) odf(ctx context.Context) error {
	from, err := p.openPack()
	if err != nil {
		return err
	}
	if err := protectedODF(from); err != nil {
		return err
	}
	if err := p.describeODF(from); err != nil {
		return err
	}
	o := newODFReader(ctx, p.format, from, &p.text)
	o.all = p.src.Hidden
	styles, err := from.optional("styles.xml")
	if err != nil {
		return err
	}
	o.stylesOnly = true
	if styles != nil {
		if err := o.read(styles); err != nil {
			return err
		}
	}
	o.stylesOnly = false
	content, err := from.part("content.xml")
	if err != nil {
		return err
	}
	if err := o.read(content); err != nil {
		return err
	}
	o.flow.endPage()
	p.property("hiddenSheets", strings.Join(o.hiddenSheets, ", "))
	p.property("hiddenSlides", strings.Join(o.hiddenSlides, ", "))
	return nil
}

// protectedODF returns an error for a file whose text is encrypted.
func protectedODF(from *pack) error {
	if _, ok := from.files["encrypted-package"]; ok {
		return encrypted(from.format)
	}
	data, err := from.optional("META-INF/manifest.xml")
	if err != nil || data == nil {
		return err
	}
	list, _ := tree(data) // without it, the parts say themselves whether they can be read
	list.all("file-entry", func(n *node) {
		if n.attr("full-path") == "content.xml" && n.child("encryption-data").name != "" {
			err = encrypted(from.format)
		}
	})
	return err
}

// describeODF stores the properties in meta.xml.
func (p *parser) describeODF(from *pack) error {
	data, err := from.optional("meta.xml")
	if err != nil || data == nil {
		return err
	}
	root, _ := tree(data) // a broken part is ignored, because the text does not depend on it
	latest := ""
	for _, n := range root.first("meta").children {
		text := string(n.content)
		switch n.name {
		case "title":
			p.doc.Title = text
		case "initial-creator":
			p.property("author", text)
		case "creator":
			latest = text
		case "creation-date":
			p.property("created", text)
		case "date":
			p.property("modified", text)
		case "document-statistic":
			p.pages(n.attr("page-count"))
		case "subject", "language", "description":
			p.property(n.name, text)
		case "keyword":
			p.property("keywords", strings.TrimPrefix(p.doc.Properties["keywords"]+", "+text, ", "))
		}
	}
	p.property("modifiedBy", latest)
	if p.doc.Properties["author"] == "" {
		p.property("author", latest)
	}
	return nil
}

// odfReader reads the parts of an OpenDocument file.
type odfReader struct {
	ctx        context.Context
	format     Format
	from       *pack
	flow       flow
	failed     error
	stylesOnly bool
	all        bool // hidden text, sheets, rows, columns and slides too

	styles     map[string]odfStyle
	styleName  string // of the style that is being read
	listStyles map[string]*odfListStyle
	defining   *odfListStyle // being read
	outline    odfList       // of headings

	skipped    int
	names      []string
	paragraphs []*odfParagraph
	formula    *treeBuilder

	lists   []*odfList          // open, by level
	byStyle map[string]*odfList // the last of each style
	byID    map[string]*odfList
	counted []bool // for each open item whether it has its mark
	startAt int    // of the next item, 0 if not said
	spans   []map[int]int
	columns []int // the column of each open table
	creator string
	frames  []odfFrame // open

	sheets       odfSheets
	slide        odfSlide
	hiddenSheets []string
	hiddenSlides []string
}

// odfParagraph is a paragraph being read. Notes and boxes have paragraphs within one.
type odfParagraph struct {
	text    []byte
	level   int
	hidden  bool
	marked  bool
	marker  string
	depth   int
	after   []block
	links   []openLink
	open    int // the cells and boxes that were open when it began
	spanned []bool
	caption bool // its style is that of captions of figures
}

func newODFReader(ctx context.Context, format Format, from *pack, out *textBuilder) *odfReader {
	return &odfReader{
		ctx: ctx, format: format, from: from, flow: flow{out: out},
		styles: map[string]odfStyle{}, listStyles: map[string]*odfListStyle{}, byStyle: map[string]*odfList{}, byID: map[string]*odfList{},
	}
}

// read reads a part. Errors: broken; that of the context.
func (o *odfReader) read(data []byte) error {
	err := walkXML(data, o.visit)
	if ended := o.ctx.Err(); ended != nil {
		return ended
	}
	if err != nil && o.failed == nil {
		return broken(o.format, err)
	}
	return o.failed
}

func (o *odfReader) visit(token xml.Token, _ int) error {
	if o.formula != nil {
		if o.formula.add(token) {
			o.add(mathText(&o.formula.top))
			o.formula, o.names = nil, o.names[:max(len(o.names)-1, 0)]
		}
		return nil
	}
	switch t := token.(type) {
	case xml.StartElement:
		if o.skipped > 0 || o.leavesOut(t) {
			o.skipped++
			return nil
		}
		o.start(t)
		o.names = append(o.names, t.Name.Local)
	case xml.EndElement:
		if o.skipped > 0 {
			o.skipped--
			return nil
		}
		o.names = o.names[:max(len(o.names)-1, 0)]
		o.end(t.Name.Local)
	case xml.CharData:
		if o.skipped == 0 {
			o.charData(t)
		}
	}
	return o.failed
}

// leavesOut reports whether an element is skipped: what is not shown, and what is made from
// the rest of the document.
func (o *odfReader) leavesOut(t xml.StartElement) bool {
	switch t.Name.Local {
	case "tracked-changes", "table-of-content", "illustration-index", "table-index", "object-index", "user-index", "alphabetical-index",
		"forms", "scripts", "ruby-text", "note-citation", "date-time-decl", "footer-decl", "header-decl",
		"content-validations", "dde-links", "sequence-decls", "page-thumbnail", "master-styles", "binary-data", "date-string", "creator-initials", "sender-initials":
		return true
	case "hidden-text":
		return !o.all
	case "body":
		return o.stylesOnly
	case "frame", "custom-shape":
		switch attrOf(t.Attr, "class") {
		case "date-time", "footer", "header", "page-number":
			return true
		}
	case "date":
		return o.parent() == "annotation"
	}
	return false
}

func (o *odfReader) parent() string {
	if n := len(o.names); n > 0 {
		return o.names[n-1]
	}
	return ""
}

func (o *odfReader) paragraph() *odfParagraph {
	if n := len(o.paragraphs); n > 0 {
		return o.paragraphs[n-1]
	}
	return nil
}

func (o *odfReader) charData(data []byte) {
	switch o.parent() {
	case "creator":
		if len(o.creator) < maxProperty {
			o.creator += string(data)
		}
		return
	case "desc", "title":
		if text := pictureText(string(data)); text != "" && o.format != ODS {
			o.emit(block{text: o.described(strings.TrimSpace(text))})
		}
		return
	case "number":
		if p := o.paragraph(); p != nil {
			p.marker, p.marked = strings.TrimSpace(string(data)), true
		}
		return
	}
	o.add(string(data))
}

// add appends text to the paragraph. White space is one space, as in HTML.
func (o *odfReader) add(text string) {
	p := o.paragraph()
	if p == nil || p.hidden || slices.Contains(p.spanned, true) {
		return
	}
	for i, field := range strings.FieldsFunc(text, isXMLSpace) {
		if i > 0 || isXMLSpace(rune(text[0])) {
			p.space()
		}
		p.text = append(p.text, field...)
	}
	if text != "" && isXMLSpace(rune(text[len(text)-1])) {
		p.space()
	}
}

func isXMLSpace(r rune) bool { return r == ' ' || r == '\n' || r == '\t' || r == '\r' }

func (p *odfParagraph) space() {
	if n := len(p.text); n > 0 && p.text[n-1] != ' ' && p.text[n-1] != '\n' {
		p.text = append(p.text, ' ')
	}
}

// emit adds a block after the paragraph in which it is, if it is not in a box of its own.
func (o *odfReader) emit(b block) {
	if p := o.paragraph(); p != nil && p.open == len(o.flow.open) {
		p.after = append(p.after, b)
		return
	}
	o.flow.paragraph(b)
}

func (o *odfReader) start(t xml.StartElement) {
	switch t.Name.Local {
	case "p", "h":
		o.startParagraph(t)
	case "s":
		o.add(" ")
	case "tab":
		o.add(" ")
	case "line-break":
		if p := o.paragraph(); p != nil {
			p.text = append(p.text, '\n')
		}
	case "soft-page-break":
		if o.format == ODT {
			o.flow.nextPage()
		}
	case "a":
		if p := o.paragraph(); p != nil {
			p.links = append(p.links, openLink{len(p.text), attrOf(t.Attr, "href")})
		}
	case "span":
		if p := o.paragraph(); p != nil {
			p.spanned = append(p.spanned, !o.all && o.styles[attrOf(t.Attr, "style-name")].hidden)
		}
	case "math":
		o.formula = &treeBuilder{}
		o.formula.add(t)
	case "note-body", "text-box", "annotation":
		o.creator = ""
		o.flow.startBox()
	case "object":
		o.startObject()
		o.object(attrOf(t.Attr, "href"))
	case "image":
		o.image(attrOf(t.Attr, "href"))
	case "page":
		o.startSlide(t)
	case "notes":
		o.slide.notes = true
		o.flow.startBox()
	case "frame", "custom-shape":
		o.startFrame(t)
		o.slide.classes = append(o.slide.classes, attrOf(t.Attr, "class"))
		if o.slide.number > 0 && attrOf(t.Attr, "class") == "title" {
			o.flow.startBox()
		}
	default:
		o.startList(t)
		o.startTable(t)
		o.startStyle(t)
	}
}

func (o *odfReader) startParagraph(t xml.StartElement) {
	if o.ctx.Err() != nil {
		o.failed = o.ctx.Err()
	}
	p := &odfParagraph{open: len(o.flow.open)}
	o.paragraphs = append(o.paragraphs, p)
	style := attrOf(t.Attr, "style-name")
	for name, hops := style, 0; name != "" && hops < 16; hops++ {
		switch name {
		case "Title":
			p.level = 1
		case "Illustration", "Figure", "Drawing":
			p.caption = true
		}
		p.hidden = p.hidden || !o.all && o.styles[name].hidden
		name = o.styles[name].parent
	}
	if t.Name.Local == "h" {
		p.level = min(max(number(attrOf(t.Attr, "outline-level")), 1), maxListLevels)
	}
	if n := len(o.counted); n > 0 && !o.counted[n-1] && len(o.lists) > 0 {
		o.counted[n-1] = true
		p.marker, p.marked, p.depth = o.mark(), true, len(o.lists)
	} else if t.Name.Local == "h" && len(o.lists) == 0 && attrOf(t.Attr, "is-list-header") != "true" && o.outline.style != nil {
		p.marker = o.outline.next(p.level, 0)
	}
}

// object reads a formula or chart that is a file within the file.
func (o *odfReader) object(name string) {
	part := path.Join(strings.TrimPrefix(name, "./"), "content.xml")
	if name == "" || strings.Contains(name, ":") || o.from.repeated(part) {
		return
	}
	data, err := o.from.optional(part)
	if err != nil || data == nil {
		o.failed = err
		return
	}
	if root, err := tree(data); err == nil && root.name == "math" {
		o.add(mathText(root))
		return
	}
	within := newODFReader(o.ctx, ODT, o.from, &textBuilder{})
	within.flow.startBox()
	if within.read(data) == nil {
		for _, b := range within.flow.endBox() {
			if o.format == ODS {
				o.sheets.boxes = append(o.sheets.boxes, b)
			} else {
				o.emit(b)
			}
		}
	}
}

func (o *odfReader) end(name string) {
	switch name {
	case "p", "h":
		o.endParagraph()
	case "a":
		if p := o.paragraph(); p != nil && len(p.links) > 0 {
			last := p.links[len(p.links)-1]
			p.links = p.links[:len(p.links)-1]
			if last.at <= len(p.text) {
				p.text = append(p.text[:last.at], link(string(p.text[last.at:]), last.address)...)
			}
		}
	case "span":
		if p := o.paragraph(); p != nil && len(p.spanned) > 0 {
			p.spanned = p.spanned[:len(p.spanned)-1]
		}
	case "note-body":
		o.endNote()
	case "annotation":
		o.endComment()
	case "text-box":
		for _, b := range o.flow.endBox() {
			o.emit(b)
		}
	case "list":
		o.lists = o.lists[:max(len(o.lists)-1, 0)]
	case "list-item", "list-header":
		o.counted = o.counted[:max(len(o.counted)-1, 0)]
	case "page":
		o.endSlide()
	case "notes":
		o.endNotes()
	case "frame", "custom-shape":
		o.endFrame()
	default:
		o.endTable(name)
	}
}

func (o *odfReader) endParagraph() {
	p := o.paragraph()
	if p == nil {
		return
	}
	o.paragraphs = o.paragraphs[:len(o.paragraphs)-1]
	b := block{text: string(p.text), level: p.level, marker: p.marker}
	if p.caption && strings.TrimSpace(unmarkedText(b.text)) != "" {
		b.text = o.from.drawings.caption() + b.text
	}
	switch {
	case b.level > 0 && b.marker == "-":
		b.marker = ""
	case b.level == 0 && p.marked && b.marker != "":
		b.depth = max(p.depth, 1)
	}
	o.emit(b)
	for _, after := range p.after {
		o.emit(after)
	}
}

func (o *odfReader) endNote() {
	text := inline(o.flow.endBox())
	p := o.paragraph()
	if p == nil || text == "" {
		return
	}
	o.flow.notes++
	mark := "[^" + strconv.Itoa(o.flow.notes) + "]"
	p.text = append(p.text, mark...)
	p.after = append(p.after, block{text: mark + ": " + text})
}

func (o *odfReader) endComment() {
	text := inline(o.flow.endBox())
	author := strings.Join(strings.Fields(o.creator), " ")
	o.creator = ""
	switch {
	case text == "":
	case len(o.sheets.open) > 0:
		o.sheets.note += commentMark + text + ")"
	case author != "":
		o.emit(block{text: "Comment by " + author + ": " + text})
	default:
		o.emit(block{text: "Comment: " + text})
	}
}
