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
	for _, n := range root.first("meta").children {
		text := string(n.content)
		switch n.name {
		case "title":
			p.doc.Title = text
		case "initial-creator":
			p.property("author", text)
		case "creator":
			if p.doc.Properties["author"] == "" {
				p.property("author", text)
			}
		case "creation-date":
			p.property("created", text)
		case "subject", "language":
			p.property(n.name, text)
		case "keyword":
			p.property("keywords", strings.TrimPrefix(p.doc.Properties["keywords"]+", "+text, ", "))
		}
	}
	return nil
}

// odfStyle is the meaning of a style.
type odfStyle struct {
	parent string
	hidden bool // a sheet, a slide, or text
}

// odfLevel is a level of a list style.
type odfLevel struct {
	bullet         bool
	format         string // 1, a, A, i, I, or "" for no number
	prefix, suffix string
	levels, start  int
}

type odfListStyle [maxListLevels + 1]odfLevel

// odfList is a list whose items are counted.
type odfList struct {
	style  *odfListStyle
	counts [maxListLevels + 1]int
}

// odfReader reads the parts of an OpenDocument file.
type odfReader struct {
	ctx        context.Context
	format     Format
	from       *pack
	flow       flow
	failed     error
	stylesOnly bool

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
		"forms", "scripts", "hidden-text", "ruby-text", "note-citation", "date-time-decl", "footer-decl", "header-decl",
		"content-validations", "dde-links", "sequence-decls", "page-thumbnail", "master-styles", "binary-data", "date-string", "creator-initials", "sender-initials":
		return true
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
			o.emit(block{text: strings.TrimSpace(text)})
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
			p.spanned = append(p.spanned, o.styles[attrOf(t.Attr, "style-name")].hidden)
		}
	case "math":
		o.formula = &treeBuilder{}
		o.formula.add(t)
	case "note-body", "text-box", "annotation":
		o.creator = ""
		o.flow.startBox()
	case "object":
		o.object(attrOf(t.Attr, "href"))
	case "page":
		o.startSlide(t)
	case "notes":
		o.slide.notes = true
		o.flow.startBox()
	case "frame", "custom-shape":
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
		if name == "Title" {
			p.level = 1
		}
		p.hidden = p.hidden || o.styles[name].hidden
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

// mark counts the open item and returns its mark.
func (o *odfReader) mark() string {
	level := len(o.lists)
	start := o.startAt
	o.startAt = 0
	return o.lists[level-1].next(level, start)
}

// next counts an item of a level, from 1, and returns its mark. A start over 0 is its number.
func (l *odfList) next(level, start int) string {
	level = min(level, maxListLevels)
	if l.style == nil {
		return "-"
	}
	of := l.style[level]
	switch {
	case start > 0:
		l.counts[level] = start
	case l.counts[level] == 0:
		l.counts[level] = max(of.start, 1)
	default:
		l.counts[level]++
	}
	for deeper := level + 1; deeper < len(l.counts); deeper++ {
		l.counts[deeper] = 0
	}
	if of.bullet {
		return "-"
	}
	if of.format == "" {
		return strings.TrimSpace(of.prefix + of.suffix)
	}
	var numbers []string
	for i := max(level-max(of.levels, 1)+1, 1); i <= level; i++ {
		if above := l.style[i]; above.format != "" {
			numbers = append(numbers, numeral(max(l.counts[i], 1), above.format))
		}
	}
	return strings.TrimSpace(of.prefix + strings.Join(numbers, ".") + of.suffix)
}

func (o *odfReader) startList(t xml.StartElement) {
	switch t.Name.Local {
	case "list":
		if len(o.lists) > 0 { // all levels count together
			l := o.lists[len(o.lists)-1]
			if style := o.listStyles[attrOf(t.Attr, "style-name")]; style != nil && style != l.style {
				l = &odfList{style: style, counts: l.counts}
			}
			o.lists = append(o.lists, l)
			return
		}
		name := attrOf(t.Attr, "style-name")
		l := o.byID[attrOf(t.Attr, "continue-list")]
		if l == nil && attrOf(t.Attr, "continue-numbering") == "true" {
			l = o.byStyle[name]
		}
		if l == nil {
			l = &odfList{style: o.listStyles[name]}
		}
		o.byStyle[name] = l
		if id := attrOf(t.Attr, "id"); id != "" {
			o.byID[id] = l
		}
		o.lists = append(o.lists, l)
	case "list-item":
		o.counted = append(o.counted, false)
		o.startAt = number(attrOf(t.Attr, "start-value"))
	case "list-header":
		o.counted = append(o.counted, true)
	}
}

func (o *odfReader) startStyle(t xml.StartElement) {
	name := attrOf(t.Attr, "name")
	switch t.Name.Local {
	case "style":
		s := odfStyle{parent: attrOf(t.Attr, "parent-style-name")}
		o.styles[name] = s
		o.styleName = name
	case "table-properties":
		o.hide(attrOf(t.Attr, "display") == "false")
	case "text-properties":
		o.hide(attrOf(t.Attr, "display") == "none")
	case "drawing-page-properties":
		o.hide(attrOf(t.Attr, "visibility") == "hidden")
	case "list-style":
		o.defining = &odfListStyle{}
		o.listStyles[name] = o.defining
	case "outline-style":
		o.defining = &odfListStyle{}
		o.outline.style = o.defining
	case "list-level-style-bullet", "list-level-style-image", "list-level-style-number", "outline-level-style":
		if o.defining != nil {
			o.defining[min(max(number(attrOf(t.Attr, "level")), 1), maxListLevels)] = odfLevel{
				bullet: strings.HasSuffix(t.Name.Local, "bullet") || strings.HasSuffix(t.Name.Local, "image"),
				format: attrOf(t.Attr, "num-format"), prefix: attrOf(t.Attr, "num-prefix"), suffix: attrOf(t.Attr, "num-suffix"),
				levels: number(attrOf(t.Attr, "display-levels")), start: number(attrOf(t.Attr, "start-value")),
			}
		}
	}
}

// hide marks the style that is being read as hidden.
func (o *odfReader) hide(hidden bool) {
	if s, ok := o.styles[o.styleName]; ok && hidden && o.parent() == "style" {
		s.hidden = true
		o.styles[o.styleName] = s
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
		o.sheets.note += " (comment: " + text + ")"
	case author != "":
		o.emit(block{text: "Comment by " + author + ": " + text})
	default:
		o.emit(block{text: "Comment: " + text})
	}
}

// odfSlide is the slide that is being read.
type odfSlide struct {
	number  int      // from 1; 0 outside of slides
	classes []string // of the open frames
	titles  []block
	spoken  []block
	notes   bool
}

func (o *odfReader) startSlide(t xml.StartElement) {
	if o.format != ODP || o.parent() != "presentation" {
		return
	}
	o.slide.number++
	if o.styles[attrOf(t.Attr, "style-name")].hidden {
		o.hiddenSlides = append(o.hiddenSlides, strconv.Itoa(o.slide.number))
	}
	o.slide.titles, o.slide.spoken = nil, nil
	o.flow.startBox()
}

func (o *odfReader) endFrame() {
	n := len(o.slide.classes)
	if n == 0 {
		return
	}
	class := o.slide.classes[n-1]
	o.slide.classes = o.slide.classes[:n-1]
	if o.slide.number == 0 || class != "title" {
		return
	}
	if text := inline(o.flow.endBox()); text != "" && !o.slide.notes {
		o.slide.titles = append(o.slide.titles, block{text: text, level: 2})
	}
}

func (o *odfReader) endNotes() {
	o.slide.notes = false
	for i, b := range o.flow.endBox() {
		if i == 0 && b.table == nil {
			b.text = "Notes: " + b.text
		}
		o.slide.spoken = append(o.slide.spoken, b)
	}
}

func (o *odfReader) endSlide() {
	if o.format != ODP || o.parent() != "presentation" || len(o.flow.open) == 0 {
		return
	}
	blocks := o.flow.endBox()
	_ = o.flow.out.span(Span{Kind: Slide, Number: o.slide.number}, func() error {
		for _, b := range slices.Concat(o.slide.titles, blocks, o.slide.spoken) {
			o.flow.paragraph(b)
		}
		return nil
	})
}

// odfSheets reads the tables of a spreadsheet.
type odfSheets struct {
	open   []*odfCells // one, or none outside of a sheet
	count  int         // of sheets that were begun
	cells  int         // read so far
	note   string      // comments on the cell
	boxes  []block     // on the sheet
	merged *merges
}

// odfCells is the sheet that is being read.
type odfCells struct {
	table  sheetTable
	start  int // in the text
	row    sheetRow
	number int // of the row
	copies int // of the row
	copied int // of the cell
	width  int // of the row, in columns
	across int // columns of the cell
	down   int // rows of the cell
}

func (o *odfReader) startTable(t xml.StartElement) {
	if o.format == ODS && (len(o.sheets.open) > 0 || o.parent() == "spreadsheet") {
		o.startSheet(t)
		return
	}
	switch t.Name.Local {
	case "table":
		o.flow.startTable()
		o.spans, o.columns = append(o.spans, map[int]int{}), append(o.columns, 0)
	case "table-row":
		if n := len(o.columns); n > 0 {
			o.columns[n-1] = 0
		}
	case "table-cell":
		across := max(number(attrOf(t.Attr, "number-columns-spanned")), 1)
		o.flow.startCell(across, false)
		if n := len(o.columns); n > 0 {
			if down := number(attrOf(t.Attr, "number-rows-spanned")); down > 1 && len(o.spans[n-1]) < 1<<14 {
				o.spans[n-1][o.columns[n-1]] = down - 1
			}
			o.columns[n-1]++
		}
	case "covered-table-cell":
		n := len(o.columns)
		if n == 0 {
			return
		}
		column := o.columns[n-1]
		o.columns[n-1]++
		if o.spans[n-1][column] > 0 {
			o.spans[n-1][column]--
			o.flow.startCell(1, true)
			o.flow.endCell()
		}
	}
}

func (o *odfReader) endTable(name string) {
	if len(o.sheets.open) > 0 {
		o.endSheet(name)
		return
	}
	switch name {
	case "table":
		if n := len(o.spans); n > 0 {
			o.spans, o.columns = o.spans[:n-1], o.columns[:n-1]
		}
		if p := o.paragraph(); p != nil && p.open == len(o.flow.open) {
			o.flow.startBox()
			o.flow.endTable()
			for _, b := range o.flow.endBox() {
				o.emit(b)
			}
			return
		}
		o.flow.endTable()
	case "table-row":
		o.flow.endRow(false)
	case "table-cell":
		o.flow.endCell()
	}
}

func (o *odfReader) startSheet(t xml.StartElement) {
	if t.Name.Local == "table" && o.parent() == "spreadsheet" {
		o.sheets.count++
		name := sheetName(attrOf(t.Attr, "name"), o.sheets.count)
		if o.styles[attrOf(t.Attr, "style-name")].hidden {
			o.hiddenSheets = append(o.hiddenSheets, name)
		}
		o.sheets.open = append(o.sheets.open, &odfCells{table: sheetTable{out: o.flow.out, name: name}, start: o.flow.out.Len()})
		o.sheets.merged, o.sheets.boxes = &merges{}, nil
		return
	}
	if len(o.sheets.open) == 0 {
		return
	}
	s := o.sheets.open[0]
	switch t.Name.Local {
	case "table-row":
		s.number++
		s.copies = max(number(attrOf(t.Attr, "number-rows-repeated")), 1)
		s.row, s.width = sheetRow{number: s.number}, 0
	case "table-cell", "covered-table-cell":
		s.copied = max(number(attrOf(t.Attr, "number-columns-repeated")), 1)
		s.across = max(number(attrOf(t.Attr, "number-columns-spanned")), 1)
		s.down = max(number(attrOf(t.Attr, "number-rows-spanned")), 1)
		o.sheets.note = ""
		o.flow.startBox()
	case "shapes":
		o.flow.startBox()
	}
}

func (o *odfReader) endSheet(name string) {
	s := o.sheets.open[0]
	switch name {
	case "shapes":
		o.sheets.boxes = append(o.sheets.boxes, o.flow.endBox()...)
	case "table-cell", "covered-table-cell":
		o.endSheetCell(s)
	case "table-row":
		for i := range s.copies {
			if i > 0 && (len(s.row.cells) == 0 || o.flow.out.full) {
				break
			}
			o.count(len(s.row.cells) + 1)
			row := sheetRow{number: s.number + i, cells: slices.Clone(s.row.cells), wide: s.row.wide}
			s.table.row(o.sheets.merged.apply(row.number, row.cells))
			if o.failed != nil || o.ctx.Err() != nil {
				return
			}
		}
		s.number += s.copies - 1
	case "table":
		if o.parent() != "spreadsheet" {
			return
		}
		s.table.finish()
		for _, b := range o.sheets.boxes {
			s.table.heading()
			o.flow.paragraph(b)
		}
		o.sheets.open = nil
		from := s.start
		for from < o.flow.out.Len() && o.flow.out.String()[from] == '\n' {
			from++
		}
		if from < o.flow.out.Len() {
			o.flow.out.spans = append(o.flow.out.spans, Span{Kind: Sheet, Start: from, End: o.flow.out.Len(), Name: s.table.name})
		}
	}
}

// endSheetCell adds the cell, and its copies, to the row.
func (o *odfReader) endSheetCell(s *odfCells) {
	text := inline(o.flow.endBox()) + o.sheets.note
	if text == "" {
		s.width += s.copied
		return
	}
	if s.width+s.copied > 1<<14 {
		return // no sheet is that wide
	}
	o.count(s.copied)
	for len(s.row.cells) < s.width {
		s.row.cells = append(s.row.cells, "")
	}
	if s.across > 1 || s.down > 1 {
		m := o.sheets.merged
		at := mergedRange{s.width + 1, s.number, s.width + s.across, s.number + s.down - 1, ""}
		if len(m.ranges) < maxMerged {
			m.ranges = append(m.ranges, at)
		}
	}
	for range s.copied {
		s.row.cells = append(s.row.cells, text)
	}
	s.width += s.copied
}

// count counts cells of a workbook.
func (o *odfReader) count(cells int) {
	if o.sheets.cells += cells; o.sheets.cells > maxCells {
		o.failed = tooLarge(o.format, "it has more than %d cells", maxCells)
	}
}
