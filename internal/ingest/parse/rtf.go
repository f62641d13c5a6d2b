package parse

import (
	"bytes"
	"context"
	"errors"
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
		parser: p, data: p.src.Content, last: bytes.LastIndex(p.src.Content, []byte(`\par`)), flow: flow{out: &p.text}, state: rtfState{skip: 1, font: -1},
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
	last   int // where the last word that ends or begins a paragraph stands, -1 if there is none
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
			r.state.begun = true
			r.groups = append(r.groups, r.state)
			if r.state.name != "" {
				r.state.within = r.state.name
			}
			r.state.name, r.state.begun, r.passing = "", false, 0
		case '}':
			r.flush()
			r.at++
			if len(r.groups) == 0 {
				return nil // what follows is not part of the document
			}
			if r.isStray() {
				continue
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

// isStray reports whether the brace before the position closes the whole document although it goes on, as in damaged files.
func (r *rtfReader) isStray() bool {
	return len(r.groups) == 1 && r.state.name == "" && r.at <= r.last && !bytes.HasPrefix(bytes.TrimLeft(r.data[r.at:], "\r\n\x00 "), []byte(`{\rtf`))
}

// literal adds a byte in the encoding of the font.
func (r *rtfReader) literal(c byte) {
	r.state.begun = r.state.begun || c > ' '
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

// star leaves out a destination that a reader may ignore, unless it is known. Where a group does not begin there is none.
func (r *rtfReader) star() {
	if r.state.begun {
		return
	}
	rest := r.data[r.at:min(r.at+40, len(r.data))]
	rest = bytes.TrimLeft(rest, " \r\n")
	for _, known := range []string{"cs", "footnote", "annotation", "atnauthor", "fldinst", "shpinst", "shptxt", "listtext", "pntext", "ud", "moMath", "moMathPara", "nesttableprops", "txfieldtext"} {
		if name, ok := bytes.CutPrefix(rest, []byte(`\`+known)); ok && (len(name) == 0 || !unicode.IsLetter(rune(name[0]))) {
			if known == "cs" && r.state.within == "stylesheet" {
				break // the names of styles of characters say nothing
			}
			return
		}
	}
	r.state.to = dropped
}

// unicode adds the character of a \u.
func (r *rtfReader) unicode(value int) {
	r.flush()
	r.passing, r.state.begun = 0, true
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
