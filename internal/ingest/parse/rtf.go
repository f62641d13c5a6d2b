package parse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// rtf reads a document in the Rich Text Format as docx reads its own: paragraphs, headings by
// outline levels and style names, lists with the numbers that the file has, tables, notes,
// comments, text boxes and links. Deleted and hidden text, headers and footers are left out.
func (p *parser) rtf(ctx context.Context) error {
	r := &rtfReader{
		parser: p, data: p.src.Content, flow: flow{out: &p.text}, state: rtfState{skip: 1, font: -1},
		fonts: map[int]string{}, styles: map[int]int{}, encodings: map[string]encoding.Encoding{}, codepage: "windows-1252",
	}
	r.paragraph = &rtfParagraph{}
	if err := r.read(ctx); err != nil {
		return err
	}
	r.endParagraph()
	r.closeTables(0)
	return nil
}

// maxGroups bounds the nesting of groups in an RTF file.
const maxGroups = 1000

var errGroups = errors.New("groups stand in each other too deep")

// rtfReader reads an RTF file.
type rtfReader struct {
	parser *parser
	data   []byte
	at     int
	flow   flow

	state  rtfState
	groups []rtfState // the states outside of the open groups

	codepage  string         // of the document
	fonts     map[int]string // encodings by font
	styles    map[int]int    // heading levels by style
	encodings map[string]encoding.Encoding
	raw       []byte // bytes that are not decoded yet
	passing   int    // characters that stand for the last \u
	high      rune   // the first half of a surrogate pair

	paragraph *rtfParagraph
	outer     []rtfBox // around the open notes and boxes
	tables    []*rtfTable
	base      int // the tables outside of the innermost box
	captured  []byte
	author    string // of a comment
	link      openLink
	date      [5]int
}

// destination is what the text of a group is for.
type destination int

const (
	shown destination = iota
	dropped
	capturedText // see rtfState.name
	boxed        // a note, comment or text box
)

// rtfState is what a group may change until its end.
type rtfState struct {
	to      destination
	name    string // of the destination that this group is, "" if it is none
	within  string // of the destination around
	skip    int    // characters after \u
	font    int
	hidden  bool
	deleted bool
	format  rtfFormat
}

// rtfFormat are properties of paragraphs.
type rtfFormat struct {
	style, level    int // level from 1, 0 for none
	inTable         bool
	nesting         int
	depth           int // in lists, from 1
	indent, hanging int // twips
}

type rtfParagraph struct {
	text   []byte
	marker string
	tab    int // the position after the first tab, 0 if there is none
	after  []block
}

// rtfBox is what was read when a note or box began.
type rtfBox struct {
	paragraph *rtfParagraph
	base      int
}

type rtfTable struct {
	inCell bool
	cell   rtfCell
	cells  []rtfCell // of the row
	edges  []int     // the right edges of the cells of the first row
}

// rtfCell is the definition of a cell.
type rtfCell struct {
	above, left bool // continues that cell
	edge        int  // twips
}

func (r *rtfReader) read(ctx context.Context) error {
	for steps := 0; r.at < len(r.data); steps++ {
		if steps%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		switch c := r.data[r.at]; c {
		case '{':
			r.flush()
			r.at++
			if len(r.groups) >= maxGroups {
				return broken(r.parser.format, errGroups)
			}
			r.groups = append(r.groups, r.state)
			if r.state.name != "" {
				r.state.within = r.state.name
			}
			r.state.name, r.passing = "", 0
		case '}':
			r.flush()
			r.at++
			if len(r.groups) == 0 {
				return nil // what follows is not part of the document
			}
			r.endGroup()
			if len(r.groups) == 0 {
				return nil
			}
		case '\\':
			r.control()
		case '\r', '\n', 0:
			r.at++
		default:
			r.at++
			r.literal(c)
		}
	}
	if len(r.groups) > 0 && r.flow.out.Len() == 0 && len(r.paragraph.text) == 0 {
		return broken(r.parser.format, errors.New("the file ends within a group"))
	}
	return nil
}

// literal adds a byte in the encoding of the font.
func (r *rtfReader) literal(c byte) {
	if r.passing > 0 {
		r.passing--
		return
	}
	if r.state.to != dropped {
		r.raw = append(r.raw, c)
	}
}

// control reads what begins with a backslash.
func (r *rtfReader) control() {
	r.at++
	if r.at >= len(r.data) {
		return
	}
	c := r.data[r.at]
	if c < 'a' || c > 'z' {
		if c < 'A' || c > 'Z' {
			r.at++
			r.symbol(c)
			return
		}
	}
	start := r.at
	for r.at < len(r.data) && (r.data[r.at]|0x20 >= 'a' && r.data[r.at]|0x20 <= 'z') && r.at-start < 64 {
		r.at++
	}
	word := string(r.data[start:r.at])
	start = r.at
	if r.at < len(r.data) && r.data[r.at] == '-' {
		r.at++
	}
	for r.at < len(r.data) && r.data[r.at] >= '0' && r.data[r.at] <= '9' && r.at-start < 12 {
		r.at++
	}
	value, err := strconv.Atoi(string(r.data[start:r.at]))
	has := err == nil
	if r.at < len(r.data) && r.data[r.at] == ' ' {
		r.at++
	}
	if word == "u" && has {
		r.unicode(value)
		return
	}
	r.flush()
	if word == "bin" {
		r.at = min(r.at+max(value, 0), len(r.data))
		return
	}
	if r.passing > 0 {
		r.passing--
		return
	}
	r.word(word, value, has)
}

// symbol reads a control symbol.
func (r *rtfReader) symbol(c byte) {
	switch c {
	case '\'':
		if r.at+2 <= len(r.data) {
			if b, err := strconv.ParseUint(string(r.data[r.at:r.at+2]), 16, 8); err == nil {
				r.literal(byte(b))
			}
			r.at += 2
		}
	case '\\', '{', '}':
		r.literal(c)
	case '~':
		r.say(" ")
	case '_':
		r.say("-")
	case '\n', '\r':
		r.flush()
		r.word("par", 0, false)
	case '*':
		r.flush()
		r.star()
	}
}

// star leaves out a destination that a reader may ignore, unless it is known.
func (r *rtfReader) star() {
	rest := r.data[r.at:min(r.at+40, len(r.data))]
	rest = bytes.TrimLeft(rest, " \r\n")
	for _, known := range []string{"footnote", "annotation", "atnauthor", "fldinst", "shpinst", "shptxt", "listtext", "pntext", "ud", "moMath", "nesttableprops", "txfieldtext"} {
		if name, ok := bytes.CutPrefix(rest, []byte(`\`+known)); ok && (len(name) == 0 || !unicode.IsLetter(rune(name[0]))) {
			return
		}
	}
	r.state.to = dropped
}

// unicode adds the character of a \u.
func (r *rtfReader) unicode(value int) {
	r.flush()
	r.passing = 0
	c := rune(uint16(value))
	switch {
	case utf16.IsSurrogate(c) && r.high == 0:
		r.high = c
	case r.high != 0:
		r.say(string(utf16.DecodeRune(r.high, c)))
		r.high = 0
	default:
		if c >= 0xF020 && c <= 0xF0FF { // of a font of symbols
			c = '•'
		}
		r.say(string(c))
	}
	r.passing = r.state.skip
}

// say adds text where the group's text belongs.
func (r *rtfReader) say(text string) {
	r.flush()
	r.put(text)
}

func (r *rtfReader) put(text string) {
	switch {
	case r.state.to == capturedText:
		if len(r.captured) < maxAddress {
			r.captured = append(r.captured, text...)
		}
	case r.state.to == dropped || r.state.hidden || r.state.deleted:
	default:
		r.paragraph.text = append(r.paragraph.text, text...)
	}
}

// flush decodes the bytes that were read.
func (r *rtfReader) flush() {
	if len(r.raw) == 0 {
		return
	}
	label := r.fonts[r.state.font]
	if label == "" {
		label = r.codepage
	}
	e, ok := r.encodings[label]
	if !ok {
		e, _ = charset.Lookup(label)
		r.encodings[label] = e
	}
	text := string(r.raw)
	if e != nil {
		if decoded, err := e.NewDecoder().Bytes(r.raw); err == nil {
			text = string(decoded)
		}
	}
	r.raw = r.raw[:0]
	r.put(text)
}

// rtfCharacters are the characters that have a word.
var rtfCharacters = map[string]string{
	"tab": "\t", "line": "\n", "lbr": "\n", "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”",
	"bullet": "•", "emspace": " ", "enspace": " ", "qmspace": " ",
}

// rtfDestinations are the groups whose text is not part of the document's, or not at its
// position.
var rtfDestinations = map[string]destination{
	"fonttbl": capturedText, "stylesheet": capturedText, "colortbl": dropped, "pict": dropped, "objdata": dropped, "objclass": dropped, "objname": dropped, "template": dropped,
	"header": dropped, "headerl": dropped, "headerr": dropped, "headerf": dropped, "footer": dropped, "footerl": dropped, "footerr": dropped, "footerf": dropped,
	"ftnsep": dropped, "ftnsepc": dropped, "ftncn": dropped, "aftnsep": dropped, "aftnsepc": dropped, "aftncn": dropped,
	"listtable": dropped, "listoverridetable": dropped, "revtbl": dropped, "rsidtbl": dropped, "filetbl": dropped, "nonshppict": dropped, "nonesttables": dropped,
	"tc": dropped, "xe": dropped, "sp": dropped, "sn": dropped, "sv": dropped, "shprslt": dropped, "upr": dropped, "mmathPict": dropped, "shpinst": dropped, "nesttableprops": dropped,
	"info": dropped, "title": capturedText, "author": capturedText, "subject": capturedText, "keywords": capturedText, "operator": dropped, "doccomm": dropped, "company": dropped,
	"creatim": dropped, "fldinst": capturedText, "atnid": dropped, "atnauthor": capturedText, "listtext": capturedText, "pntext": capturedText,
	"footnote": boxed, "annotation": boxed, "shptxt": boxed, "ud": shown, "fldrslt": shown, "result": shown, "moMath": shown,
}

// word reads a control word.
func (r *rtfReader) word(word string, value int, has bool) {
	if text, ok := rtfCharacters[word]; ok {
		r.put(text)
		if word == "tab" && r.paragraph.tab == 0 && r.state.to == shown {
			r.paragraph.tab = len(r.paragraph.text)
		}
		return
	}
	if to, ok := rtfDestinations[word]; ok {
		r.begin(word, to)
		return
	}
	on := !has || value != 0
	switch word {
	case "ansicpg":
		r.codepage = codepageLabel(value)
	case "mac":
		r.codepage = "macintosh"
	case "uc":
		r.state.skip = min(max(value, 0), 16)
	case "f":
		r.state.font = value
	case "fcharset":
		if label := charsetLabel(value); label != "" && r.state.within == "fonttbl" {
			r.fonts[r.state.font] = label
		}
	case "v":
		r.state.hidden = on
	case "deleted":
		r.state.deleted = on
	case "plain":
		r.state.hidden, r.state.deleted = false, false
	case "yr", "mo", "dy", "hr", "min":
		if r.state.name == "creatim" {
			r.date[map[string]int{"yr": 0, "mo": 1, "dy": 2, "hr": 3, "min": 4}[word]] = value
		}
	default:
		r.formatting(word, value)
		r.structure(word, value)
	}
}

// begin makes the group a destination.
func (r *rtfReader) begin(name string, to destination) {
	hidden := r.state.to == dropped && to != boxed && name != "ud" && name != "nesttableprops" && r.state.within != "info"
	if hidden || name == "title" && r.state.within != "info" {
		return
	}
	if to == boxed && r.state.to == dropped && (name != "shptxt" || r.state.within != "shpinst") {
		return // within a header, say
	}
	if r.state.name != "" && name != "fldrslt" {
		return
	}
	r.state.name, r.state.to = name, to
	switch {
	case to == capturedText:
		r.captured = r.captured[:0]
	case to == boxed:
		r.outer = append(r.outer, rtfBox{r.paragraph, r.base})
		r.base, r.paragraph = len(r.tables), &rtfParagraph{}
		r.state.format = rtfFormat{}
		r.flow.startBox()
	case name == "fldrslt":
		r.link.at = len(r.paragraph.text)
	}
}

// formatting reads properties of paragraphs.
func (r *rtfReader) formatting(word string, value int) {
	f := &r.state.format
	switch word {
	case "pard":
		*f = rtfFormat{}
	case "s":
		f.style = value
	case "outlinelevel":
		f.level = outlineLevel(strconv.Itoa(value))
	case "intbl":
		f.inTable = true
	case "itap":
		f.nesting = min(max(value, 0), maxTableDepth)
	case "ilvl":
		f.depth = listDepth(strconv.Itoa(value))
	case "li":
		f.indent = value
	case "fi":
		f.hanging = value
	}
}

// structure reads the ends of paragraphs, cells and rows.
func (r *rtfReader) structure(word string, value int) {
	if r.state.to == capturedText || r.state.to == dropped && r.state.name != "nesttableprops" {
		return
	}
	switch word {
	case "par", "sect", "page":
		r.endParagraph()
	case "cell", "nestcell":
		r.endCell(word)
	case "row", "nestrow":
		r.endRow()
	case "trowd":
		if t := r.table(); t != nil {
			t.cells, t.cell = t.cells[:0], rtfCell{}
		} else {
			r.openTables(1)
		}
	case "clvmrg":
		r.define(func(c *rtfCell) { c.above = true })
	case "clmrg":
		r.define(func(c *rtfCell) { c.left = true })
	case "cellx":
		if t := r.table(); t != nil && len(t.cells) < 1<<10 {
			t.cell.edge = value
			t.cells = append(t.cells, t.cell)
			t.cell = rtfCell{}
		}
	}
}

func (r *rtfReader) define(change func(*rtfCell)) {
	if t := r.table(); t != nil {
		change(&t.cell)
	}
}

// table returns the innermost table of the box, or nil.
func (r *rtfReader) table() *rtfTable {
	if n := len(r.tables); n > r.base {
		return r.tables[n-1]
	}
	return nil
}

// openTables opens tables of the box up to a nesting, and closes deeper ones.
func (r *rtfReader) openTables(nesting int) {
	r.closeTables(nesting)
	for len(r.tables)-r.base < nesting {
		if t := r.table(); t != nil && !t.inCell {
			r.flow.startCell(1, false)
			t.inCell = true
		}
		r.flow.startTable()
		r.tables = append(r.tables, &rtfTable{})
	}
}

// closeTables closes the tables of the box that are nested deeper.
func (r *rtfReader) closeTables(nesting int) {
	for len(r.tables)-r.base > nesting {
		t := r.table()
		r.tables = r.tables[:len(r.tables)-1]
		if t.inCell {
			r.flow.endCell()
		}
		r.flow.endTable()
	}
}

func (r *rtfReader) endCell(word string) {
	nesting := 1
	if word == "nestcell" {
		nesting = max(r.state.format.nesting, 2)
	}
	r.writeParagraph(nesting)
	t := r.table()
	if !t.inCell {
		r.flow.startCell(1, false)
	}
	t.inCell = false
	r.flow.endCell()
}

// endRow ends a row, whose cells are known now.
func (r *rtfReader) endRow() {
	t := r.table()
	if t == nil {
		return
	}
	if t.inCell {
		t.inCell = false
		r.flow.endCell()
	}
	if n := len(r.flow.tables); n > 0 {
		r.flow.tables[n-1].row = t.merge(r.flow.tables[n-1].row)
	}
	r.flow.endRow(false)
}

// merge applies the definitions of cells to a row.
func (t *rtfTable) merge(cells []*flowCell) []*flowCell {
	var row []*flowCell
	left := -1 << 31
	for i, c := range cells {
		var of rtfCell
		if i < len(t.cells) {
			of = t.cells[i]
		} else if len(t.cells) > 0 && len(c.blocks) == 0 {
			continue // LibreOffice writes more cells than it defines
		}
		c.above = of.above
		if of.left && len(row) > 0 && len(c.blocks) == 0 {
			row[len(row)-1].span++
			continue
		}
		columns := 0
		for _, edge := range t.edges {
			if edge > left && edge <= of.edge {
				columns++
			}
		}
		left = of.edge
		c.span = min(max(columns, 1), maxCellSpan)
		row = append(row, c)
	}
	if t.edges == nil {
		for _, c := range t.cells[:min(len(t.cells), maxCellSpan)] {
			t.edges = append(t.edges, c.edge)
		}
	}
	return row
}

// endParagraph ends the paragraph by its formatting.
func (r *rtfReader) endParagraph() {
	nesting := r.state.format.nesting
	if r.state.format.inTable {
		nesting = max(nesting, 1)
	}
	if t := r.table(); t != nil && nesting == 0 && len(bytes.TrimSpace(r.paragraph.text)) == 0 && len(r.paragraph.after) == 0 {
		r.paragraph = &rtfParagraph{} // a blank one, such as pandoc's after a table's row
		if !t.inCell {
			r.closeTables(0)
		}
		return
	}
	r.writeParagraph(nesting)
}

// writeParagraph writes the paragraph into the cell of a nesting.
func (r *rtfReader) writeParagraph(nesting int) {
	p := r.paragraph
	r.paragraph = &rtfParagraph{}
	r.openTables(nesting)
	if t := r.table(); t != nil && !t.inCell {
		r.flow.startCell(1, false)
		t.inCell = true
	}
	f := r.state.format
	b := block{level: f.level, marker: p.marker}
	if b.level == 0 {
		b.level = r.styles[f.style]
	}
	if b.marker == "" && f.hanging < 0 && p.tab > 0 && p.tab <= 16 {
		b.marker, p.text = listMark(string(p.text[:p.tab])), p.text[p.tab:]
	}
	if b.marker != "" && b.level == 0 {
		b.depth = f.depth
		if b.depth == 0 {
			b.depth = min(max(f.indent/360, 1), maxListLevels)
		}
	}
	if b.marker == "-" && b.level > 0 {
		b.marker = ""
	}
	b.text = strings.ReplaceAll(string(p.text), "\t", " ")
	r.flow.paragraph(b)
	for _, after := range p.after {
		r.flow.paragraph(after)
	}
}

// listMark returns the mark of an item as a reader sees it, "-" for a bullet.
func listMark(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	if text == "o" || !strings.ContainsFunc(text, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) {
		return "-"
	}
	return text
}

// endGroup ends a group and uses what was read in it.
func (r *rtfReader) endGroup() {
	ended := r.state
	text := strings.TrimSpace(string(r.captured))
	switch ended.name {
	case "":
		r.endEntry(ended, text)
	case "footnote", "annotation", "shptxt":
		r.endBox(ended.name)
	case "fldinst":
		r.link.address = fieldAddress(text)
	case "fldrslt":
		if r.link.address != "" && r.link.at <= len(r.paragraph.text) {
			r.paragraph.text = append(r.paragraph.text[:r.link.at], link(string(r.paragraph.text[r.link.at:]), r.link.address)...)
		}
		r.link.address = ""
	case "listtext", "pntext":
		r.paragraph.marker = listMark(text)
	case "atnauthor":
		r.author = text
	case "title":
		r.parser.doc.Title = text
	case "author", "subject", "keywords":
		r.parser.property(ended.name, text)
	case "creatim":
		if d := r.date; d[0] > 0 {
			r.parser.property("created", fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:00", d[0], d[1], d[2], d[3], d[4]))
		}
	}
	r.state = r.groups[len(r.groups)-1]
	r.groups = r.groups[:len(r.groups)-1]
	r.passing = 0
}

// endEntry reads an entry of the style sheet.
func (r *rtfReader) endEntry(ended rtfState, text string) {
	switch ended.within {
	case "stylesheet":
		name := strings.ToLower(strings.TrimSuffix(text, ";"))
		level := ended.format.level
		if number, ok := strings.CutPrefix(name, "heading "); ok {
			level, _ = strconv.Atoi(number)
		} else if name == "title" {
			level = 1
		}
		if level > 0 && level <= maxListLevels {
			r.styles[ended.format.style] = level
		}
		r.captured = r.captured[:0]
	case "fonttbl":
		r.captured = r.captured[:0]
	}
}

// endBox ends a note, comment or text box.
func (r *rtfReader) endBox(name string) {
	if len(bytes.TrimSpace(r.paragraph.text)) > 0 || len(r.paragraph.after) > 0 {
		r.endParagraph()
	}
	r.closeTables(0)
	blocks := r.flow.endBox()
	n := len(r.outer) - 1
	r.paragraph, r.base = r.outer[n].paragraph, r.outer[n].base
	r.outer = r.outer[:n]
	p := r.paragraph
	text := inline(blocks)
	switch {
	case text == "":
	case name == "shptxt":
		p.after = append(p.after, blocks...)
	case name == "footnote":
		r.flow.notes++
		mark := "[^" + strconv.Itoa(r.flow.notes) + "]"
		p.text = append(p.text, mark...)
		p.after = append(p.after, block{text: mark + ": " + text})
	case r.author != "":
		p.after = append(p.after, block{text: "Comment by " + r.author + ": " + text})
	default:
		p.after = append(p.after, block{text: "Comment: " + text})
	}
	if name == "annotation" {
		r.author = ""
	}
}

// codepageLabel returns the name of the encoding of a code page of Windows.
func codepageLabel(page int) string {
	switch page {
	case 932:
		return "shift_jis"
	case 936:
		return "gbk"
	case 949:
		return "euc-kr"
	case 950:
		return "big5"
	case 65001:
		return "utf-8"
	case 866:
		return "ibm866"
	case 10000:
		return "macintosh"
	}
	return "windows-" + strconv.Itoa(page)
}

// charsetLabel returns the encoding of a font's character set, "" for that of the document.
func charsetLabel(set int) string {
	page, ok := map[int]int{
		77: 10000, 128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255, 178: 1256, 186: 1257, 204: 1251, 222: 874, 238: 1250,
	}[set]
	if !ok {
		return ""
	}
	return codepageLabel(page)
}
