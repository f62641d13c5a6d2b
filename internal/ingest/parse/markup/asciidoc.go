package markup

import (
	"strings"
	"unicode/utf8"
)

// AsciiDoc reads AsciiDoc, as Asciidoctor and its predecessor know it.
func AsciiDoc(source string) Text {
	a := &asciiDoc{attributes: map[string]string{"nbsp": " ", "zwsp": "", "empty": "", "sp": " ", "plus": "+", "asterisk": "*", "caret": "^", "startsb": "[", "endsb": "]", "backslash": `\`, "tilde": "~", "backtick": "`", "apos": "'", "amp": "&", "lt": "<", "gt": ">", "litdd": "--", "cpp": "C++", "vbar": "|", "two-colons": "::"}}
	var p page
	a.blocks(&p, linesOf(source), 0)
	return Text{Markdown: p.String(), Title: a.title}
}

// asciiDoc reads one document.
type asciiDoc struct {
	title      string
	attributes map[string]string
	// of the block that follows
	style, language, caption string
	lists                    []string // the markers of the lists that are open, the outermost first
	resolved                 int      // bytes of the values written for references to attributes
}

// Limits of the attributes of a document, whose values may refer to each other.
const (
	maxAttributes     = 512
	maxAttributeValue = 512     // bytes
	maxResolved       = 1 << 20 // bytes of all values that are written for references
)

var (
	adocHeading    = lazy(`^(={1,6}|#{1,6})\s+(\S.*)$`)
	adocAttribute  = lazy(`^:(!?[\w-]+!?):(?:\s+(.*))?$`)
	adocDirective  = lazy(`^(?:ifdef|ifndef|ifeval|endif|include|toc|doctitle|leveloffset)::?\S*\[.*\]$`)
	adocImage      = lazy(`^(image|video|audio)::\S*?\[(.*)\]$`)
	adocStyle      = lazy(`^\[([^\]\[]*|\[[^\]]*\])\]$`)
	adocCaption    = lazy(`^\.[^\s.].*$`)
	adocBullet     = lazy(`^\s*(\*{1,6}|-|•)\s+(\S.*)$`)
	adocNumber     = lazy(`^\s*(\.{1,5}|\d{1,4}\.|[a-z]\.|<\d+>|<\.>)\s+(\S.*)$`)
	adocTerm       = lazy(`^\s*(\S.*?)(:::?:?|;;)(?:\s+(.*))?$`)
	adocAdmonition = lazy(`^(NOTE|TIP|IMPORTANT|WARNING|CAUTION):\s+(.*)$`)
)

// delimiter returns the kind of block that a line opens, "" for none.
func delimiter(line string) string {
	if len(line) < 2 {
		return ""
	}
	switch {
	case line == "--":
		return "open"
	case line == "|===" || line == ",===" || line == ":===" || line == "!===" || strings.HasPrefix(line, "|===") && strings.Trim(line, "|=") == "":
		return "table"
	case strings.HasPrefix(line, "```") && !strings.Contains(line[3:], "`"):
		return "fence"
	case len(line) < 4 || strings.Trim(line, line[:1]) != "":
		return ""
	}
	switch line[0] {
	case '-':
		return "listing"
	case '.':
		return "literal"
	case '=':
		return "example"
	case '*':
		return "sidebar"
	case '_':
		return "quote"
	case '+':
		return "pass"
	case '/':
		return "comment"
	}
	return ""
}

// delimited returns the lines in a block that begins with a delimiter, and the number of lines with both.
func delimited(lines []string) ([]string, int) {
	end := lines[0]
	if strings.HasPrefix(end, "```") {
		end = "```"
	}
	for i, line := range lines[1:] {
		if line == end {
			return lines[1 : i+1], i + 2
		}
	}
	return lines[1:], len(lines)
}

// twoLineLevel returns the level of a title that is underlined, 0 for none.
func twoLineLevel(lines []string) int {
	if len(lines) < 2 || len(lines[1]) < 2 || lines[0] == "" || strings.Trim(lines[1], lines[1][:1]) != "" || lines[0][0] == '.' && len(lines[0]) > 1 || !strings.ContainsFunc(lines[0], func(r rune) bool { return isWordByte(byte(min(r, 0x80))) }) {
		return 0
	}
	if d := len(lines[1]) - utf8.RuneCountInString(lines[0]); d < -2 || d > 2 || lines[0][0] == ' ' {
		return 0
	}
	return 1 + strings.IndexByte("=-~^+", lines[1][0])
}

func (a *asciiDoc) blocks(p *page, lines []string, depth int) {
	if depth > maxNesting {
		p.paragraph(a.inline(strings.Join(lines, " ")))
		return
	}
	lists := a.lists
	a.lists = nil
	for len(lines) > 0 {
		lines = lines[max(1, a.next(p, lines, depth)):]
	}
	a.lists = lists
}

func (a *asciiDoc) inner(lines []string, depth int) string {
	var in page
	a.blocks(&in, lines, depth+1)
	return in.String()
}

// next writes the block at the start of lines and returns the number of its lines.
func (a *asciiDoc) next(p *page, lines []string, depth int) int {
	line := lines[0]
	switch {
	case strings.TrimSpace(line) == "", line == "+", line == "'''", line == "<<<", line == "---", line == "***":
		return 1
	case strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "///"):
		a.lists = nil
		return 1
	case adocDirective().MatchString(line):
		return 1
	}
	if m := adocAttribute().FindStringSubmatch(line); m != nil {
		if len(a.attributes) < maxAttributes && len(m[2]) <= maxAttributeValue && !strings.Contains(m[1], "!") {
			if value := a.inline(m[2]); len(value) <= maxAttributeValue {
				a.attributes[strings.ToLower(m[1])] = value
			}
		}
		return 1
	}
	if m := adocStyle().FindStringSubmatch(line); m != nil {
		a.heed(m[1])
		return 1
	}
	if level, title, n := a.titleAt(lines); n > 0 {
		a.forget()
		if a.title == "" && level == 1 {
			a.title = title
		}
		p.heading(level, title)
		if level == 1 && p.Len() == len(title)+2 {
			return n + a.header(lines[n:])
		}
		return n
	}
	if kind := delimiter(line); kind != "" {
		a.lists = nil
		return a.delimitedBlock(p, kind, lines, depth)
	}
	if adocCaption().MatchString(line) {
		a.caption = a.inline(line[1:])
		return 1
	}
	if m := adocImage().FindStringSubmatch(line); m != nil {
		text, _, _ := strings.Cut(m[2], ",")
		p.paragraph(a.takeCaption())
		p.paragraph(a.inline(strings.Trim(text, `"`)))
		return 1
	}
	if n := a.listItem(p, lines, depth); n > 0 {
		return n
	}
	a.lists = nil
	return a.paragraph(p, lines)
}

// titleAt returns the title of a section that begins at a line, with its level and the number of its lines.
func (a *asciiDoc) titleAt(lines []string) (level int, title string, n int) {
	if m := adocHeading().FindStringSubmatch(lines[0]); m != nil {
		return len(m[1]), oneLine(a.inline(strings.TrimRight(m[2], " ="))), 1
	}
	if level := twoLineLevel(lines); level > 0 {
		return level, oneLine(a.inline(lines[0])), 2
	}
	return 0, "", 0
}

// header returns the number of lines of the author and the version below the title.
func (a *asciiDoc) header(lines []string) int {
	for i, line := range lines[:min(2, len(lines))] {
		if line == "" || strings.HasPrefix(line, ":") || i == 0 && !strings.Contains(line, "@") || i == 1 && !strings.HasPrefix(line, "v") {
			return i
		}
	}
	return min(2, len(lines))
}

// heed keeps what an attribute list says about the block that follows.
func (a *asciiDoc) heed(list string) {
	if strings.HasPrefix(list, "[") { // an anchor
		return
	}
	parts := strings.Split(list, ",")
	style, _, _ := strings.Cut(parts[0], "%")
	style, _, _ = strings.Cut(style, "#")
	style, _, _ = strings.Cut(style, ".")
	a.style = strings.TrimSpace(style)
	if len(parts) > 1 && (a.style == "source" || a.style == "") {
		a.language = strings.Trim(strings.TrimPrefix(strings.TrimSpace(parts[1]), "language="), `"`)
	}
}

func (a *asciiDoc) forget() { a.style, a.language, a.caption = "", "", "" }

func (a *asciiDoc) takeCaption() string {
	caption := a.caption
	a.caption = ""
	return caption
}

// admonitions are the styles of notes.
var admonitions = words("NOTE TIP IMPORTANT WARNING CAUTION")

func (a *asciiDoc) delimitedBlock(p *page, kind string, lines []string, depth int) int {
	content, n := delimited(lines)
	style, language := a.style, a.language
	p.paragraph(a.takeCaption())
	a.forget()
	switch {
	case kind == "comment", style == "comment":
	case kind == "fence":
		p.code(strings.Join(content, "\n"), strings.TrimLeft(lines[0], "`"))
	case kind == "listing", kind == "literal", kind == "open" && (style == "source" || style == "listing" || style == "literal"):
		p.code(strings.Join(content, "\n"), language)
	case kind == "pass":
		if style == "stem" || style == "latexmath" {
			p.code(strings.Join(content, "\n"), "latex")
		}
	case kind == "table":
		p.table(a.rows(content))
	case admonitions[style]:
		p.block(labeled(capitalized(strings.ToLower(style)), a.inner(content, depth)))
	case style == "verse":
		p.paragraph(a.inline(strings.Join(content, "\n")))
	default:
		p.block(a.inner(content, depth))
	}
	return n
}

// rows returns the rows of a table: a row a line, or, if the first line has one cell, a cell a line in rows of
// as many cells as the first paragraph has.
func (a *asciiDoc) rows(lines []string) [][]string {
	var cells []string
	var width int
	for i, line := range lines {
		if !strings.HasPrefix(strings.TrimLeft(line, "0123456789.+*<>^aehlmdsv"), "|") {
			if line == "" && width == 0 && len(cells) > 0 {
				width = len(cells)
			}
			if n := len(cells); n > 0 && line != "" {
				if len(cells[n-1]) < 1<<14 {
					cells[n-1] += " " + line
				}
			}
			continue
		}
		parts := strings.Split(strings.ReplaceAll(line, `\|`, "\x01"), "|")
		for _, part := range parts[1:] {
			cells = append(cells, strings.ReplaceAll(part, "\x01", "|"))
		}
		if width == 0 && len(parts) > 2 && i < len(lines) {
			width = len(parts) - 1
		}
	}
	if width == 0 {
		width = len(cells)
	}
	var rows [][]string
	for len(cells) > 0 {
		n := min(max(width, 1), len(cells))
		row := make([]string, n)
		for i, cell := range cells[:n] {
			row[i] = a.inline(oneLine(strings.TrimRight(strings.TrimSpace(cell), "+")))
		}
		rows, cells = append(rows, row), cells[n:]
	}
	return rows
}

// listItem writes an item of a list and returns the number of its lines, 0 for another block.
func (a *asciiDoc) listItem(p *page, lines []string, depth int) int {
	var first, kind string
	marker := "-"
	switch m := adocBullet().FindStringSubmatch(lines[0]); {
	case m != nil:
		kind, first = m[1], m[2]
	default:
		if m := adocNumber().FindStringSubmatch(lines[0]); m != nil {
			kind, first, marker = strings.Trim(m[1], "0123456789<>abcdefghijklmnopqrstuvwxyz"), m[2], "1."
			if m[1][0] != '.' && m[1][0] != '<' {
				marker = m[1]
			}
		} else if m := adocTerm().FindStringSubmatch(lines[0]); m != nil && (m[3] == "" || !strings.Contains(m[1], "http")) {
			return a.term(p, lines, m, depth)
		} else {
			return 0
		}
	}
	body, n := a.itemLines(lines, first)
	a.writeItem(p, kind, marker, a.inner(body, depth))
	return n
}

// term writes terms with what is said about them.
func (a *asciiDoc) term(p *page, lines []string, m []string, depth int) int {
	terms := []string{a.inline(strings.TrimSpace(m[1]))}
	n := 1
	for m[3] == "" && n < len(lines) { // several terms for one text
		next := adocTerm().FindStringSubmatch(lines[n])
		if next == nil || next[2] != m[2] || lines[n][0] == ' ' {
			break
		}
		terms = append(terms, a.inline(strings.TrimSpace(next[1])))
		m, n = next, n+1
	}
	skipped := 0
	if m[3] == "" {
		for n < len(lines) && skipped < 2 && lines[n] == "" {
			n, skipped = n+1, skipped+1
		}
	}
	first := m[3]
	if first == "" && n < len(lines) && skipped > 0 && lines[n] != "" && lines[n][0] != ' ' && !adocBullet().MatchString(lines[n]) && !adocNumber().MatchString(lines[n]) {
		n -= skipped // the text below is no longer the term's
		a.writeItem(p, m[2], "-", labeled(strings.Join(terms, ", "), ""))
		return n
	}
	if n >= len(lines) {
		a.writeItem(p, m[2], "-", labeled(strings.Join(terms, ", "), first))
		return n
	}
	body, more := a.itemLines(lines[n-1:], first)
	a.writeItem(p, m[2], "-", labeled(strings.Join(terms, ", "), a.inner(body, depth)))
	return n - 1 + more
}

// itemLines returns the lines of an item, whose text begins with first, and their number with the line of the
// marker: those up to a blank line, those that "+" attaches, and lists within it.
func (a *asciiDoc) itemLines(lines []string, first string) ([]string, int) {
	body := []string{}
	if first != "" {
		body = append(body, first)
	}
	n := 1
	blank := 0
	for n < len(lines) {
		line := lines[n]
		kind := delimiter(line)
		switch {
		case line == "":
			blank++
			n++
			continue
		case line == "+":
			body, blank = append(body, ""), 0
			n++
			for n < len(lines) && (adocStyle().MatchString(lines[n]) || adocCaption().MatchString(lines[n])) {
				body, n = append(body, lines[n]), n+1
			}
			if n < len(lines) {
				if kind := delimiter(lines[n]); kind != "" {
					_, length := delimited(lines[n:])
					body = append(body, lines[n:n+length]...)
					n += length
				}
			}
			continue
		case kind != "" && blank == 0 && kind != "table" && len(body) == 0:
			_, length := delimited(lines[n:])
			body = append(body, lines[n:n+length]...)
			n += length
			continue
		case kind != "", adocStyle().MatchString(line), adocHeading().MatchString(line), adocBullet().MatchString(line), adocNumber().MatchString(line), adocTerm().MatchString(line):
			return body, n - blank
		case blank > 0 && line[0] != ' ':
			return body, n - blank
		case blank > 0:
			body = append(body, "")
		}
		if len(body) == 0 || body[len(body)-1] != "" {
			line = strings.TrimSpace(line)
		}
		body, blank = append(body, line), 0
		n++
	}
	return body, n - blank
}

// writeItem writes an item at the depth of its marker among the lists that are open.
func (a *asciiDoc) writeItem(p *page, kind, marker, body string) {
	level := -1
	for i, known := range a.lists {
		if known == kind {
			level = i
			break
		}
	}
	if level < 0 {
		level = len(a.lists)
		if level < maxNesting {
			a.lists = append(a.lists, kind)
		}
	}
	a.lists = a.lists[:min(level+1, len(a.lists))]
	if level == 0 {
		p.item(marker, body)
		return
	}
	pad := strings.Repeat("  ", level)
	if strings.TrimSpace(body) != "" {
		p.write("\n" + pad + marker + " " + indented(body, len(pad)+len(marker)+1))
		p.tight = true
	}
}

// paragraph writes a paragraph, or a literal one if it is indented.
func (a *asciiDoc) paragraph(p *page, lines []string) int {
	n := 1
	for n < len(lines) && lines[n] != "" && lines[n] != "+" && delimiter(lines[n]) == "" && !adocStyle().MatchString(lines[n]) {
		n++
	}
	style, language := a.style, a.language
	p.paragraph(a.takeCaption())
	a.forget()
	text := lines[:n]
	switch m := adocAdmonition().FindStringSubmatch(lines[0]); {
	case m != nil:
		said := a.inline(strings.Join(append([]string{m[2]}, text[1:]...), " "))
		p.block(labeled(capitalized(strings.ToLower(m[1])), said))
	case admonitions[style]:
		p.block(labeled(capitalized(strings.ToLower(style)), a.inline(oneLine(strings.Join(text, " ")))))
	case style == "verse":
		for i := range text {
			text[i] = a.inline(text[i])
		}
		p.block(plainStart(strings.Join(text, "\n")))
	case style == "source" || style == "listing" || style == "literal" || lines[0][0] == ' ':
		p.code(strings.Join(dedented(text), "\n"), language)
	default:
		kept := text[:0:0]
		for _, line := range text {
			if !strings.HasPrefix(line, "//") && !adocDirective().MatchString(line) {
				kept = append(kept, strings.TrimSuffix(line, " +"))
			}
		}
		p.paragraph(a.inline(strings.Join(kept, " ")))
	}
	return n
}
