package markup

import (
	"strings"
	"unicode/utf8"
)

// RST reads reStructuredText, with the directives and roles of docutils and Sphinx.
func RST(source string) Text {
	r := &rst{substitutions: map[string]string{}, targets: map[string]string{}}
	lines := linesOf(source)
	r.declarations(lines)
	var p page
	r.blocks(&p, lines, 0)
	return Text{Markdown: p.String(), Title: r.title}
}

// rst reads one document.
type rst struct {
	styles        []string // the adornments of sections, the outermost first
	title         string
	noSimple      bool // no simple table follows
	substitutions map[string]string
	targets       map[string]string // addresses by their names in lower case
}

var (
	rstSubstitution = lazy(`^\s*\.\. \|([^|]+)\| (replace|image|unicode|date)::\s*(.*)$`)
	rstTarget       = lazy("^\\s*\\.\\. _(`[^`]+`|[^:]+): +(\\S+)$")
	rstDirective    = lazy(`^\.\. ([A-Za-z][\w:+.-]*)::(?:\s+(.*))?$`)
	rstFootnote     = lazy(`^\.\. \[([^\]]+)\](?:\s+(.*))?$`)
	rstBullet       = lazy(`^([-*+•‣⁃])( +|$)`)
	rstNumber       = lazy(`^(?:\(?(\d{1,4}|#|[a-zA-Z]|[ivxlIVXL]{1,6})[.)])( +)`)
	rstField        = lazy(`^:([^:\s](?:[^:\n]|:\w)*):(?: +(.*))?$`)
	rstOption       = lazy(`^(-{1,2}[A-Za-z?][\w-]*(?:[ =]<?[\w.-]+>?)?(?:, -{1,2}[A-Za-z?][\w-]*(?:[ =]<?[\w.-]+>?)?)*)(?:  +(.*))?$`)
	rstSimpleBorder = lazy(`^=+(?: +=+)+$`)
)

// declarations collects the substitutions and the named addresses.
func (r *rst) declarations(lines []string) {
	for _, line := range lines {
		if !strings.Contains(line, ".. ") {
			continue
		}
		if m := rstSubstitution().FindStringSubmatch(line); m != nil {
			r.substitutions[m[1]] = ""
			if m[2] == "replace" && len(m[3]) <= 256 {
				r.substitutions[m[1]] = m[3]
			}
		} else if m := rstTarget().FindStringSubmatch(line); m != nil {
			r.targets[strings.ToLower(oneLine(strings.Trim(m[1], "`")))] = m[2]
		}
	}
	for name, text := range r.substitutions {
		r.substitutions[name] = r.inline(strings.ReplaceAll(text, "|", ""))
	}
}

// adornment returns the character that a line consists of if it may be under or over a title, else 0.
func adornment(line string) byte {
	if len(line) < 2 || isWordByte(line[0]) || line[0] == ' ' || strings.Trim(line, line[:1]) != "" {
		return 0
	}
	return line[0]
}

// heading returns the title of a section that begins at a line, its style, and the number of its lines; 0
// lines for none.
func rstHeading(lines []string) (title, style string, n int) {
	if len(lines) < 2 {
		return "", "", 0
	}
	if c := adornment(lines[0]); c != 0 {
		if len(lines) > 2 && adornment(lines[2]) == c && strings.TrimSpace(lines[1]) != "" && len(lines[0]) >= 3 {
			return strings.TrimSpace(lines[1]), string([]byte{c, c}), 3
		}
		return "", "", 0
	}
	c := adornment(lines[1])
	width := utf8.RuneCountInString(lines[0])
	if c == 0 || lines[0] == "" || lines[0][0] == ' ' || len(lines[1]) < min(width, 4) || len(lines[1]) < 3 && width > 3 {
		return "", "", 0
	}
	return lines[0], string([]byte{c}), 2
}

// level returns the level of a section by its style.
func (r *rst) level(style string) int {
	for i, known := range r.styles {
		if known == style {
			return i + 1
		}
	}
	r.styles = append(r.styles, style)
	return len(r.styles)
}

// indentedBlock returns the lines from the start that are blank or indented by at least n spaces, and their
// number. Blank lines at the end do not count.
func indentedBlock(lines []string, n int) []string {
	end := 0
	for i, line := range lines {
		if line == "" {
			continue
		}
		if indentOf(line) < n {
			break
		}
		end = i + 1
	}
	return lines[:end]
}

// blocks writes lines that have no common indentation.
func (r *rst) blocks(p *page, lines []string, depth int) {
	if depth > maxNesting {
		p.paragraph(strings.Join(lines, " "))
		return
	}
	for len(lines) > 0 {
		if lines[0] == "" {
			lines = lines[1:]
			continue
		}
		lines = lines[max(1, r.next(p, lines, depth)):]
	}
}

// next writes the block at the start of lines and returns the number of its lines.
func (r *rst) next(p *page, lines []string, depth int) int {
	line := lines[0]
	if title, style, n := rstHeading(lines); n > 0 && depth == 0 {
		title = r.inline(title)
		if r.title == "" {
			r.title = title
		}
		p.heading(r.level(style), title)
		return n
	}
	switch {
	case line[0] == ' ':
		block := indentedBlock(lines, 1)
		r.blocks(p, dedented(block), depth+1)
		return len(block)
	case adornment(line) != 0 && len(line) >= 4 && (len(lines) == 1 || lines[1] == ""):
		if line == "::" {
			break
		}
		return 1
	case strings.HasPrefix(line, "+-") && strings.HasSuffix(line, "+"), strings.HasPrefix(line, "+=") && strings.HasSuffix(line, "+"):
		return r.gridTable(p, lines)
	case !r.noSimple && rstSimpleBorder().MatchString(line):
		return r.simpleTable(p, lines)
	case line == "..", strings.HasPrefix(line, ".. "):
		return r.explicit(p, lines, depth)
	case strings.HasPrefix(line, "__ "):
		return 1
	case strings.HasPrefix(line, ">>> "), line == ">>>":
		n := untilBlank(lines)
		p.code(strings.Join(lines[:n], "\n"), "python")
		return n
	case strings.HasPrefix(line, "| "), line == "|":
		return r.lineBlock(p, lines)
	}
	if n := r.listItem(p, lines, depth); n > 0 {
		return n
	}
	return r.paragraph(p, lines, depth)
}

// untilBlank returns the number of lines before a blank one.
func untilBlank(lines []string) int {
	for i, line := range lines {
		if line == "" {
			return i
		}
	}
	return len(lines)
}

// lineBlock writes lines that begin with "|".
func (r *rst) lineBlock(p *page, lines []string) int {
	n := untilBlank(lines)
	var out []string
	for _, line := range lines[:n] {
		out = append(out, r.inline(strings.TrimSpace(strings.TrimPrefix(line, "|"))))
	}
	p.block(plainStart(strings.Join(out, "\n")))
	return n
}

// listItem writes an item of a list of any kind and returns the number of its lines, 0 for another block.
func (r *rst) listItem(p *page, lines []string, depth int) int {
	line := lines[0]
	if m := rstBullet().FindStringSubmatch(line); m != nil {
		return r.item(p, lines, "-", len(m[0]), depth)
	}
	if m := rstNumber().FindStringSubmatch(line); m != nil && (len(lines) == 1 || lines[1] == "" || lines[1][0] == ' ' || rstNumber().MatchString(lines[1])) {
		marker := m[1] + "."
		if m[1] == "#" {
			marker = "1."
		}
		return r.item(p, lines, marker, len(m[0]), depth)
	}
	if m := rstField().FindStringSubmatch(line); m != nil {
		block := indentedBlock(lines[1:], 1)
		body := r.inner(append([]string{m[2]}, dedented(block)...), depth)
		if depth > 0 || body != "" {
			p.item("-", labeled(r.inline(m[1]), body))
		}
		return 1 + len(block)
	}
	if m := rstOption().FindStringSubmatch(line); m != nil && (m[2] != "" || len(lines) > 1 && strings.HasPrefix(lines[1], " ")) {
		block := indentedBlock(lines[1:], 1)
		p.item("-", labeled("`"+m[1]+"`", r.inner(append([]string{m[2]}, dedented(block)...), depth)))
		return 1 + len(block)
	}
	return 0
}

// item writes an item whose text begins at a column.
func (r *rst) item(p *page, lines []string, marker string, column, depth int) int {
	column = max(column, 2)
	block := indentedBlock(lines[1:], 1)
	body := append([]string{strings.TrimSpace(lines[0][min(column, len(lines[0])):])}, dedented(block)...)
	p.item(marker, r.inner(body, depth))
	return 1 + len(block)
}

// inner returns the Markdown of lines within another block.
func (r *rst) inner(lines []string, depth int) string {
	var in page
	r.blocks(&in, lines, depth+1)
	return in.String()
}

// paragraph writes a paragraph, a term with its definition, and the literal block that may follow.
func (r *rst) paragraph(p *page, lines []string, depth int) int {
	if len(lines) > 1 && strings.HasPrefix(lines[1], " ") && !strings.HasSuffix(lines[0], "::") {
		block := indentedBlock(lines[1:], 1)
		p.item("-", labeled(r.inline(lines[0]), r.inner(dedented(block), depth)))
		return 1 + len(block)
	}
	n := 1
	for n < len(lines) && lines[n] != "" && (lines[n][0] != ' ' || !strings.HasSuffix(lines[n-1], "::")) {
		n++
	}
	text := strings.Join(lines[:n], " ")
	text, literal := strings.CutSuffix(text, "::")
	if !literal {
		p.paragraph(r.inline(text))
		return n
	}
	if trimmed := strings.TrimRight(text, " "); trimmed == text && text != "" {
		text += ":"
	}
	p.paragraph(r.inline(text))
	block := indentedBlock(lines[n:], 1)
	if len(block) == 0 && n+1 < len(lines) && lines[n] == "" && strings.IndexByte(">|$+", (lines[n+1] + " ")[0]) >= 0 { // a literal block that is quoted
		block = lines[n : n+1+untilBlank(lines[n+1:])]
	}
	p.code(strings.Join(trimmedBlank(dedented(block)), "\n"), "")
	return n + len(block)
}

// explicit writes what begins with "..": a directive or a footnote. Comments, addresses and substitutions are
// left out.
func (r *rst) explicit(p *page, lines []string, depth int) int {
	if lines[0] == ".." && (len(lines) == 1 || lines[1] == "") { // an empty comment ends what is before, and has no content
		return 1
	}
	block := indentedBlock(lines[1:], 1)
	n := 1 + len(block)
	if m := rstFootnote().FindStringSubmatch(lines[0]); m != nil {
		p.paragraph("[" + strings.TrimPrefix(m[1], "#") + "] " + r.inner(append([]string{m[2]}, dedented(block)...), depth))
		return n
	}
	if m := rstDirective().FindStringSubmatch(lines[0]); m != nil {
		r.directive(p, strings.ToLower(m[1]), strings.TrimSpace(m[2]), dedented(block), depth)
	}
	return n
}
