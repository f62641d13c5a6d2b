package markup

import (
	"strings"
)

// Man reads a manual page in roff, with the macros of man or of mdoc. The title is that of the page with its
// section, such as git-log(1).
func Man(source string) Text {
	m := &man{strings: map[string]string{}}
	m.lines = joinedLines(linesOfRoff(source))
	m.mdoc = isMdoc(m.lines)
	for m.at < len(m.lines) {
		line := m.lines[m.at]
		m.at++
		m.line(line)
	}
	m.endCode()
	m.flush()
	return Text{Markdown: m.out.String(), Title: m.title}
}

// Bounds of the strings that a page defines, whose values may refer to each other.
const (
	maxStrings     = 256
	maxStringValue = 256 // bytes
)

// man reads one manual page.
type man struct {
	lines   []string
	at      int // of the next line
	mdoc    bool
	out     page
	title   string
	name    string // that .Nm of mdoc stands for
	strings map[string]string

	words   strings.Builder // of the paragraph that is open, with line feeds where a line ends
	code    []string        // lines of a display; nil outside
	verbose bool            // in a display
	indents int             // how many blocks of indentation are open within items
	opened  []bool          // for each block of indentation, whether it is in an item
	inItem  bool            // the next paragraph belongs to an item
	item    string          // the marker of the item that the open paragraph begins
	term    string          // and its term
	chained bool            // the previous line of text ended with \c
	lists   []mdocList
}

// linesOfRoff returns the lines of a source as they are: tabs separate cells.
func linesOfRoff(source string) []string {
	return strings.Split(strings.ReplaceAll(source, "\r\n", "\n"), "\n")
}

// joinedLines joins the lines that end with a backslash with those after them, and drops comments.
func joinedLines(lines []string) []string {
	var out, parts []string
	open := false
	for _, line := range lines {
		if at := commentAt(line); at >= 0 {
			line = strings.TrimRight(line[:at], " \t")
			if (line == "." || line == "'" || line == "") && !open {
				continue
			}
		}
		whole, more := line, false
		if strings.HasSuffix(line, `\`) && !strings.HasSuffix(line, `\\`) && !strings.HasSuffix(line, `{\`) {
			whole, more = line[:len(line)-1], true
		}
		parts = append(parts, whole)
		if open = more; !open {
			out = append(out, strings.Join(parts, ""))
			parts = parts[:0]
		}
	}
	return append(out, strings.Join(parts, ""))
}

// commentAt returns where a comment begins in a line, -1 for none.
func commentAt(line string) int {
	for i := 0; i+1 < len(line); i++ {
		if line[i] != '\\' {
			continue
		}
		if line[i+1] == '"' || line[i+1] == '#' {
			return i
		}
		i++
	}
	return -1
}

// isMdoc reports whether a page uses the macros of mdoc.
func isMdoc(lines []string) bool {
	for _, line := range lines {
		if strings.HasPrefix(line, ".Dd") || strings.HasPrefix(line, ".Sh ") || strings.HasPrefix(line, ".Dt ") {
			return true
		}
		if strings.HasPrefix(line, ".TH") || strings.HasPrefix(line, ".SH") {
			return false
		}
	}
	return false
}

// control returns the name of a macro or request and the rest of its line.
func control(line string) (name, rest string, ok bool) {
	if line == "" || line[0] != '.' && line[0] != '\'' {
		return "", "", false
	}
	line = strings.TrimLeft(line[1:], " \t")
	end := strings.IndexAny(line, " \t\\")
	if end < 0 {
		return line, "", true
	}
	return line[:end], strings.TrimLeft(line[end:], " \t"), true
}

// arguments returns the arguments of a macro, of which quoted ones may have spaces.
func arguments(rest string) []string {
	var out []string
	for rest = strings.TrimLeft(rest, " \t"); rest != ""; rest = strings.TrimLeft(rest, " \t") {
		var arg strings.Builder
		i := 0
		quoted := rest[0] == '"'
		if quoted {
			i++
		}
		for i < len(rest) {
			c := rest[i]
			if quoted && c == '"' {
				if i+1 < len(rest) && rest[i+1] == '"' {
					arg.WriteByte('"')
					i += 2
					continue
				}
				i++
				break
			}
			if !quoted && (c == ' ' || c == '\t') {
				break
			}
			arg.WriteByte(c)
			i++
			if c == '\\' && i < len(rest) {
				arg.WriteByte(rest[i])
				i++
			}
		}
		out = append(out, arg.String())
		rest = rest[i:]
	}
	return out
}

// line reads a line of the source.
func (m *man) line(line string) {
	name, rest, ok := control(line)
	switch {
	case !ok && m.verbose:
		m.code = append(m.code, m.text(line))
	case !ok && strings.TrimSpace(line) == "":
		m.flush()
	case !ok:
		m.add(m.text(line), strings.HasSuffix(line, `\c`))
	case name == "":
	default:
		m.macro(name, rest)
	}
}

// add appends a text to the open paragraph.
func (m *man) add(text string, chained bool) {
	if m.verbose {
		m.code = append(m.code, text)
		return
	}
	if text != "" && !m.chained && m.words.Len() > 0 {
		m.words.WriteByte(' ')
	}
	m.words.WriteString(text)
	m.chained = chained
}

// taken returns the words of the open paragraph and forgets them.
func (m *man) taken() string {
	text := m.words.String()
	m.words.Reset()
	m.chained = false
	return text
}

// flush ends the open paragraph.
func (m *man) flush() {
	lines := strings.Split(m.taken(), "\n")
	var kept []string
	for _, line := range lines {
		if line = oneLine(line); line != "" {
			kept = append(kept, line)
		}
	}
	m.block(plainStart(strings.Join(kept, "\n")))
}

// block writes a block, with the marker and the term of the item that it begins.
func (m *man) block(text string) {
	if m.term != "" && (text != "" || m.item != "") {
		text = labeled(m.term, text)
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	pad := strings.Repeat("  ", min(m.indents, maxNesting))
	switch {
	case m.item != "":
		text = pad + m.item + " " + indented(text, len(pad)+len(m.item)+1)
	case m.inItem:
		text = pad + "  " + indented(text, len(pad)+2)
	default:
		text = pad + indented(text, len(pad))
	}
	if m.item != "" && m.out.tight {
		m.out.write("\n" + text)
	} else {
		m.out.block(text)
	}
	m.out.tight = m.item != "" && !strings.Contains(text, "\n\n")
	m.item, m.term = "", ""
}

// begin begins an item with a marker and, unless it is empty, a term.
func (m *man) begin(marker, term string) {
	m.flush()
	m.inItem, m.item, m.term = true, marker, oneLine(term)
}

// paragraph begins a paragraph that is in no item.
func (m *man) paragraph() {
	m.endItem()
	m.item, m.term, m.inItem = "", "", false
}

// startCode begins a display, whose lines are kept.
func (m *man) startCode() {
	m.flush()
	if m.term != "" {
		m.block("")
	}
	m.verbose = true
}

func (m *man) endCode() {
	if !m.verbose {
		return
	}
	m.verbose = false
	code := fenced(strings.Join(trimmedBlank(m.code), "\n"), "")
	m.code = nil
	m.block(code)
}

func (m *man) heading(level int, text string) {
	m.endCode()
	m.paragraph()
	m.indents, m.opened, m.lists = 0, nil, nil
	m.out.heading(level, m.text(text))
}

// in begins a block of indentation. Behind a paragraph it holds what is said about it.
func (m *man) in() {
	const most = 200 // bytes of a term
	if n := m.words.Len(); n > 0 && n < most && !m.inItem {
		m.begin("-", m.taken())
	} else {
		m.flush()
	}
	within := m.inItem || m.item != ""
	if within && m.item == "" {
		m.indents++
		m.inItem = false
	}
	m.opened = append(m.opened, within && m.item == "")
	if m.item != "" {
		m.opened[len(m.opened)-1] = false
	}
}

// endItem writes the text that is open, and the term or the marker of an item that has none.
func (m *man) endItem() {
	m.flush()
	if m.item != "" {
		m.block("")
	}
}

// unindent ends a block of indentation.
func (m *man) unindent() {
	m.endItem()
	n := len(m.opened)
	if n == 0 {
		return
	}
	if m.opened[n-1] {
		m.indents--
		m.inItem = true
	} else {
		m.inItem = false
	}
	m.opened = m.opened[:n-1]
}

// skipDefinition passes over a definition up to its end.
func (m *man) skipDefinition(end string) {
	for m.at < len(m.lines) {
		line := m.lines[m.at]
		m.at++
		if name, _, ok := control(line); ok && (line == ".." || name == end && end != "") {
			return
		}
	}
}

// skipBlock passes over what a condition, whose line is rest, holds: a line, or lines in braces.
func (m *man) skipBlock(rest string) {
	depth := strings.Count(rest, `\{`) - strings.Count(rest, `\}`)
	for depth > 0 && m.at < len(m.lines) {
		depth += strings.Count(m.lines[m.at], `\{`) - strings.Count(m.lines[m.at], `\}`)
		m.at++
	}
}

var listNumber = lazy(`^\(?(\d{1,4}|[a-z])[.)]?$`)

// markerOf returns the marker of an item for a tag, "" for a tag that is a term.
func markerOf(tag string) string {
	switch tag {
	case "•", "*", "o", "-", "–", "—", "+", "·":
		return "-"
	}
	if m := listNumber().FindStringSubmatch(tag); m != nil && tag != m[1] {
		return m[1] + "."
	}
	return ""
}
