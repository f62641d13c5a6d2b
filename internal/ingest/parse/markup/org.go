package markup

import (
	"regexp"
	"strings"
)

// Org reads Org, the markup of Emacs' Org mode.
func Org(source string) Text {
	o := &org{}
	var p page
	o.blocks(&p, linesOf(source), 0)
	return Text{Markdown: p.String(), Title: o.title}
}

// org reads one document.
type org struct {
	title  string
	hidden int // the level of the heading that is a comment with all below it, 0 for none

	unclosed int // drawers and blocks so far
}

var (
	orgHeading  = lazy(`^(\*+)\s+(.*?)(?:\s+:[\w@#%:]+:)?$`)
	orgPriority = lazy(`^((?:[A-Z]{3,12} )?)\[#\w\] `)
	orgKeyword  = lazy(`^\s*#\+([A-Za-z_]+(?:\[[^\]]*\])?):\s*(.*)$`)
	orgBegin    = lazy(`(?i)^\s*#\+begin_(\w+)(?:\s+(\S+))?.*$`)
	orgItem     = lazy(`^(\s*)([-+]|\d{1,4}[.)]|[a-zA-Z][.)])(?:\s+(.*))?$`)
	orgStar     = lazy(`^(\s+)(\*)\s+(.*)$`)
	orgDrawer   = lazy(`^\s*:[A-Za-z][\w-]*:\s*$`)
	orgTerm     = lazy(`^(.*?)\s+::(?:\s+(.*))?$`)

	orgLink     = lazy(`\[\[([^\]]+)\](?:\[([^\]]*)\])?\]`)
	orgFootnote = lazy(`\[fn:([\w-]*)(?::([^\]]*))?\]`)
	orgTarget   = lazy(`<<<?[^<>\n]{1,200}>>>?`)
	orgInline   = lazy(`\bsrc_(\w+)(?:\[[^\]]*\])?\{([^}]*)\}|@@\w+:[^@]*@@|\{\{\{[^{}]*\}\}\}`)
)

// orgVerbatim and orgEmphasis are the marks around words, one kind at a time: what ends a text of one kind ends all that
// were begun before it, so that marks that are not closed cost one pass over the text.
var (
	orgVerbatim = orgMarks("=", "~")
	orgEmphasis = orgMarks("*", "/", "_", "+")
)

// orgMarks returns the patterns of text between two of a mark, for each mark.
func orgMarks(marks ...string) (patterns []func() *regexp.Regexp) {
	for _, mark := range marks {
		m := regexp.QuoteMeta(mark)
		patterns = append(patterns, lazy(`(^|[\s("'{\[-])`+m+`([^\s`+m+`](?:[^`+m+`]*[^\s`+m+`])?)`+m+`($|[\s.,;:!?)"'}\]-])`))
	}
	return patterns
}

func (o *org) blocks(p *page, lines []string, depth int) {
	if depth > maxNesting {
		p.paragraph(o.inline(strings.Join(lines, " ")))
		return
	}
	for len(lines) > 0 {
		if depth == 0 && o.hidden > 0 && orgHeading().FindString(lines[0]) == "" {
			lines = lines[1:]
			continue
		}
		lines = lines[max(1, o.next(p, lines, depth)):]
	}
}

func (o *org) inner(lines []string, depth int) string {
	var in page
	o.blocks(&in, lines, depth+1)
	return in.String()
}

// next writes the block at the start of lines and returns the number of its lines.
func (o *org) next(p *page, lines []string, depth int) int {
	line := lines[0]
	trimmed := strings.TrimSpace(line)
	if m := orgHeading().FindStringSubmatch(line); m != nil && depth == 0 {
		o.heading(p, len(m[1]), m[2])
		return 1
	}
	switch {
	case trimmed == "", trimmed == "#", strings.HasPrefix(trimmed, "# "), len(trimmed) >= 5 && strings.Trim(trimmed, "-") == "":
		return 1
	case strings.HasPrefix(trimmed, "|"):
		return o.table(p, lines)
	case trimmed == ":", strings.HasPrefix(trimmed, ": "):
		var code []string
		for _, line := range lines {
			t := strings.TrimSpace(line)
			if t != ":" && !strings.HasPrefix(t, ": ") {
				break
			}
			code = append(code, strings.TrimPrefix(strings.TrimPrefix(t, ":"), " "))
		}
		p.code(strings.Join(code, "\n"), "")
		return len(code)
	}
	if m := orgBegin().FindStringSubmatch(line); m != nil {
		return o.block(p, strings.ToLower(m[1]), m[2], lines, depth)
	}
	if m := orgKeyword().FindStringSubmatch(line); m != nil {
		o.keyword(p, strings.ToUpper(m[1]), m[2])
		return 1
	}
	if orgDrawer().MatchString(line) {
		if o.unclosed == maxUnclosed {
			return 1
		}
		for i, line := range lines[1:] {
			if strings.EqualFold(strings.TrimSpace(line), ":end:") {
				return i + 2
			}
			if orgHeading().MatchString(line) || i > 200 {
				break
			}
		}
		o.unclosed++
		return 1
	}
	if n := o.item(p, lines, depth); n > 0 {
		return n
	}
	return o.paragraph(p, lines)
}

func (o *org) heading(p *page, level int, title string) {
	if o.hidden > 0 && level > o.hidden {
		return
	}
	o.hidden = 0
	if title == "COMMENT" || strings.HasPrefix(title, "COMMENT ") {
		o.hidden = level
		return
	}
	if o.title != "" {
		level++
	}
	p.heading(level, o.inline(orgPriority().ReplaceAllString(title, "$1")))
}

func (o *org) keyword(p *page, name, value string) {
	switch name {
	case "TITLE":
		value = o.inline(value)
		if o.title == "" && value != "" {
			o.title = value
			if p.Len() == 0 {
				p.heading(1, value)
			}
		}
	case "CAPTION", "SUBTITLE", "DESCRIPTION":
		p.paragraph(o.inline(value))
	}
}

// maxUnclosed is how many drawers and blocks of a file may lack their end before no more ends are looked
// for, so that the time to read a file grows with its length and not with the square of it.
const maxUnclosed = 100

// block writes what stands between #+begin_ and #+end_.
func (o *org) block(p *page, kind, language string, lines []string, depth int) int {
	end := len(lines)
	content := lines[1:]
	if o.unclosed == maxUnclosed {
		return 1
	}
	for i, line := range content {
		if t := strings.TrimSpace(line); len(t) >= 6 && strings.EqualFold(t, "#+end_"+kind) {
			content, end = content[:i], i+2
			break
		}
		if depth == 0 && strings.HasPrefix(line, "* ") { // the block is not closed
			o.unclosed++
			return 1
		}
	}
	switch kind {
	case "src", "example":
		if kind == "example" || strings.HasPrefix(language, "-") || strings.HasPrefix(language, ":") {
			language = ""
		}
		code := dedented(content)
		for i, line := range code { // a comma hides what would be a heading
			if strings.HasPrefix(line, ",*") || strings.HasPrefix(line, ",#+") {
				code[i] = line[1:]
			}
		}
		p.code(strings.Join(code, "\n"), language)
	case "comment", "export", "html", "latex":
	case "verse":
		p.block(plainStart(o.inline(strings.Join(dedented(content), "\n"))))
	case "note", "tip", "warning", "important", "caution", "info", "danger":
		p.block(labeled(capitalized(kind), o.inner(dedented(content), depth)))
	default:
		p.block(o.inner(dedented(content), depth))
	}
	return end
}

func (o *org) table(p *page, lines []string) int {
	var rows [][]string
	n := 0
	for n < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[n]), "|") {
		row := strings.TrimSpace(lines[n])
		n++
		if strings.HasPrefix(row, "|-") {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(row[1:], "|"), "|")
		for i := range cells {
			cells[i] = o.inline(strings.ReplaceAll(cells[i], `\vert`, `\|`))
		}
		rows = append(rows, cells)
	}
	p.table(rows)
	return n
}

// item writes an item of a list and returns the number of its lines, 0 for another block.
func (o *org) item(p *page, lines []string, depth int) int {
	m := orgItem().FindStringSubmatch(lines[0])
	if m == nil {
		m = orgStar().FindStringSubmatch(lines[0])
	}
	if m == nil {
		return 0
	}
	block := indentedBlock(lines[1:], len(m[1])+1)
	marker, first := "-", m[3]
	if c := m[2][0]; c != '-' && c != '+' && c != '*' {
		marker = m[2][:len(m[2])-1] + "."
	}
	term := ""
	if said := orgTerm().FindStringSubmatch(first); said != nil && marker == "-" {
		term, first = o.inline(said[1]), said[2]
	}
	body := o.inner(append([]string{strings.TrimSpace(first)}, dedented(block)...), depth)
	if term != "" {
		body = labeled(term, body)
	}
	p.item(marker, body)
	return 1 + len(block)
}

func (o *org) paragraph(p *page, lines []string) int {
	n := 1
	for n < len(lines) {
		line := lines[n]
		t := strings.TrimSpace(line)
		if t == "" || t[0] == '|' || strings.HasPrefix(t, "# ") || strings.HasPrefix(t, "#+") || strings.HasPrefix(t, ": ") || orgItem().MatchString(line) || orgStar().MatchString(line) || orgHeading().MatchString(line) || orgDrawer().MatchString(line) {
			break
		}
		n++
	}
	text := make([]string, n)
	for i, line := range lines[:n] {
		text[i] = strings.TrimSuffix(line, `\\`)
	}
	p.paragraph(o.inline(strings.Join(text, " ")))
	return n
}

// inline returns a text without the marks of Org.
func (o *org) inline(text string) string {
	if !strings.ContainsAny(text, "[*/_=~+<@{") {
		return text
	}
	text = strings.ReplaceAll(text, "\x02", "")
	var literals []string
	keep := func(text string) string {
		literals = append(literals, text)
		return "\x02"
	}
	text = replaceGroups(orgInline(), text, func(m []string) string { return m[2] })
	text = replaceGroups(orgFootnote(), text, func(m []string) string {
		if m[2] != "" {
			return " (" + m[2] + ")"
		}
		return "[" + m[1] + "]"
	})
	text = orgTarget().ReplaceAllString(text, "")
	text = replaceGroups(orgLink(), text, func(m []string) string {
		if m[2] == "" && !isAddress(m[1]) {
			_, name, ok := strings.Cut(m[1], ":")
			if ok && strings.HasPrefix(m[1], "file:") {
				return name
			}
			return strings.TrimLeft(m[1], "*#")
		}
		return link(m[2], m[1])
	})
	for _, marks := range orgVerbatim {
		for range 2 { // neighbours share the space between them
			text = marks().ReplaceAllString(text, "$1`$2`$3")
		}
	}
	text = replaceGroups(orgCode(), text, func(m []string) string { return keep(m[0]) })
	for _, marks := range orgEmphasis {
		for range 2 {
			text = marks().ReplaceAllString(text, "$1$2$3")
		}
	}
	parts := strings.Split(text, "\x02")
	var out strings.Builder
	for i, part := range parts {
		out.WriteString(part)
		if i < len(literals) {
			out.WriteString(literals[i])
		}
	}
	return out.String()
}

// orgCode matches code and links, in which there is no emphasis.
var orgCode = lazy("`[^`]*`|\\]\\([^)]*\\)|\\bhttps?://\\S+")
