package parse

import (
	"context"
	"encoding/xml"
	"strconv"
	"strings"
)

// docx reads a Word document: paragraphs, headings by their styles, lists, tables,
// foot- and endnotes. Headers, footers, comments and deleted text are left out.
func (p *parser) docx(ctx context.Context) error {
	from, err := p.openPack()
	if err != nil {
		return err
	}
	if err := p.describeOffice(from); err != nil {
		return err
	}
	styles, err := wordStyles(from)
	if err != nil {
		return err
	}
	for i, name := range []string{"word/document.xml", "word/footnotes.xml", "word/endnotes.xml"} {
		data, err := from.optional(name)
		if i == 0 {
			data, err = from.part(name)
		}
		if err != nil {
			return err
		}
		if data == nil {
			continue
		}
		w := &wordReader{out: &p.text, styles: styles}
		if err := walkXML(data, w.visit); err != nil {
			return broken(p.format, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// wordStyle is the meaning of a paragraph style.
type wordStyle struct {
	basedOn string
	level   int // heading level, 0 for none
	listed  int // depth in a list from 1, 0 for none
}

// wordStyles returns the styles of a document by id, with what they inherit. The title
// is a heading of level 1.
func wordStyles(from *pack) (map[string]wordStyle, error) {
	data, err := from.optional("word/styles.xml")
	if err != nil || data == nil {
		return nil, err
	}
	list, err := tree(data)
	if err != nil {
		return nil, broken(from.format, err)
	}
	styles := map[string]wordStyle{}
	for _, n := range list.children {
		if id := n.attr("styleId"); id != "" {
			styles[id] = newWordStyle(n)
		}
	}
	for id, s := range styles {
		for base, hops := s.basedOn, 0; s.level == 0 && s.listed == 0 && base != "" && hops < 16; hops++ {
			s.level, s.listed = styles[base].level, styles[base].listed
			base = styles[base].basedOn
		}
		styles[id] = s
	}
	return styles, nil
}

func newWordStyle(n *node) wordStyle {
	var s wordStyle
	for _, child := range n.children {
		switch child.name {
		case "basedOn":
			s.basedOn = child.attr("val")
		case "name":
			name := strings.ToLower(child.attr("val"))
			if level, ok := strings.CutPrefix(name, "heading "); ok {
				s.level, _ = strconv.Atoi(level)
			} else if name == "title" {
				s.level = 1
			}
		case "pPr":
			child.all("outlineLvl", func(n *node) {
				if level, err := strconv.Atoi(n.attr("val")); err == nil && level < 9 {
					s.level = level + 1
				}
			})
			child.all("numPr", func(n *node) {
				s.listed = 1
				n.all("ilvl", func(n *node) { s.listed = listDepth(n.attr("val")) })
			})
		}
	}
	return s
}

// listDepth returns the list depth of a level that is counted from 0.
func listDepth(level string) int {
	depth, _ := strconv.Atoi(level)
	return min(max(depth, 0), 8) + 1
}

// wordReader writes the paragraphs of a part as Markdown.
type wordReader struct {
	out    *textBuilder
	styles map[string]wordStyle

	paragraph strings.Builder
	level     int // heading level of the paragraph, 0 for none
	listed    int // depth in a list from 1, 0 for none
	inText    bool
	ignored   int // depth within an element that is left out
	rows      []*wordTable
	wasListed bool
}

// wordTable is a table being read. A nested table becomes text of its outer cell.
type wordTable struct {
	rows [][]string
	row  []string
	cell strings.Builder
}

func (w *wordReader) visit(token xml.Token, _ int) error {
	switch t := token.(type) {
	case xml.StartElement:
		if w.ignored > 0 || isLeftOut(t.Name.Local) {
			w.ignored++
			return nil
		}
		w.start(t)
	case xml.EndElement:
		if w.ignored > 0 {
			w.ignored--
			return nil
		}
		w.end(t.Name.Local)
	case xml.CharData:
		if w.inText && w.ignored == 0 {
			w.paragraph.Write(t)
		}
	}
	return nil
}

// isLeftOut reports whether an element is skipped: deleted text, the fallback of a
// drawing that was read already, and the code of a field whose result follows.
func isLeftOut(name string) bool {
	switch name {
	case "del", "moveFrom", "delText", "instrText", "Fallback", "separator":
		return true
	}
	return false
}

func (w *wordReader) start(t xml.StartElement) {
	switch t.Name.Local {
	case "p":
		if w.paragraph.Len() > 0 { // a text box in a paragraph
			w.paragraph.WriteByte(' ')
		}
	case "pStyle":
		style := w.styles[attrOf(t.Attr, "val")]
		w.level, w.listed = style.level, style.listed
	case "outlineLvl":
		if level, err := strconv.Atoi(attrOf(t.Attr, "val")); err == nil && level < 9 {
			w.level = level + 1
		}
	case "ilvl":
		w.listed = listDepth(attrOf(t.Attr, "val"))
	case "t":
		w.inText = true
	case "tab":
		w.paragraph.WriteByte(' ')
	case "br", "cr":
		w.paragraph.WriteByte('\n')
	case "noBreakHyphen":
		w.paragraph.WriteByte('-')
	case "tbl":
		w.rows = append(w.rows, &wordTable{})
	}
}

func (w *wordReader) end(name string) {
	var in *wordTable
	if n := len(w.rows); n > 0 {
		in = w.rows[n-1]
	}
	switch {
	case name == "t":
		w.inText = false
	case name == "p":
		w.finishParagraph(in)
	case in == nil:
	case name == "tc":
		in.row = append(in.row, strings.Join(strings.Fields(in.cell.String()), " "))
		in.cell.Reset()
	case name == "tr":
		in.rows = append(in.rows, in.row)
		in.row = nil
	case name == "tbl":
		w.rows = w.rows[:len(w.rows)-1]
		if n := len(w.rows); n > 0 {
			for _, row := range in.rows {
				w.rows[n-1].cell.WriteString(" " + strings.Join(row, ", "))
			}
			return
		}
		w.out.block(markdownTable(in.rows))
		w.wasListed = false
	}
}

func (w *wordReader) finishParagraph(in *wordTable) {
	text := strings.TrimSpace(w.paragraph.String())
	level, listed := w.level, w.listed
	w.paragraph.Reset()
	w.level, w.listed = 0, 0
	switch {
	case text == "":
	case in != nil:
		in.cell.WriteString(" " + text)
	case level > 0:
		w.out.block(headingLine(level, text))
		w.wasListed = false
	case listed > 0:
		item := strings.Repeat("  ", listed-1) + "- " + strings.ReplaceAll(text, "\n", " ")
		if w.wasListed {
			w.out.write("\n" + item)
		} else {
			w.out.block(item)
		}
		w.wasListed = true
	default:
		w.out.block(text)
		w.wasListed = false
	}
}

// headingLine returns a Markdown heading, of level 6 at most.
func headingLine(level int, text string) string {
	return strings.Repeat("#", min(max(level, 1), 6)) + " " + strings.Join(strings.Fields(text), " ")
}

// markdownTable returns rows as a Markdown table with the first row as head. A table of
// one column is a frame around text and becomes plain text.
func markdownTable(rows [][]string) string {
	columns := 0
	for _, row := range rows {
		columns = max(columns, len(row))
	}
	var out strings.Builder
	if columns <= 1 {
		for _, row := range rows {
			if len(row) > 0 && row[0] != "" {
				out.WriteString(row[0] + "\n\n")
			}
		}
		return out.String()
	}
	for i, row := range rows {
		out.WriteByte('|')
		for c := range columns {
			cell := ""
			if c < len(row) {
				cell = strings.ReplaceAll(row[c], "|", `\|`)
			}
			out.WriteString(" " + cell + " |")
		}
		out.WriteByte('\n')
		if i == 0 {
			out.WriteString("|" + strings.Repeat(" --- |", columns) + "\n")
		}
	}
	return out.String()
}
