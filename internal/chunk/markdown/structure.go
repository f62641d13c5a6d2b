package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"github.com/ragdhq/ragd/internal/chunk/frontmatter"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/operate/limit"
)

// Heading is a heading of a Markdown text that stands outside of lists and quotations.
type Heading struct {
	// Start and End are the bounds of its lines, without the last line feed. An underlined heading
	// has two lines or more.
	Start, End int
	Level      int    // 1 to 6
	Title      string // on one line, without closing number signs; "" for an empty heading
}

// Structure is what CommonMark finds in a Markdown text, in order.
type Structure struct {
	Headings []Heading
	// Fences are fenced code and front matter, from the line feed before the first line to the
	// one after the last line. A fence that is never closed ends with the text.
	Fences []textspan.Span
	// Opaque are Fences, indented code, HTML and the underlines of headings: lines in them that
	// look like headings or rules are none.
	Opaque []textspan.Span
}

// Read returns the structure of a Markdown text as CommonMark 0.31 defines it; front matter at
// the beginning is neither a heading nor a rule. It is empty when steps end, which may be nil.
// Containers nested deeper than 100 are text.
func Read(source string, steps *limit.Steps) Structure {
	return read(source, steps, windowSize)
}

// read is Read with windows of a size.
func read(text string, steps *limit.Steps, window int) Structure {
	r := reader{text: text}
	if !mayHaveStructure(text) {
		return r.found
	}
	at := 0
	if front, _ := frontmatter.Read(text); front.Body > 0 { // what is not front matter is text
		end := len(strings.TrimRight(text[:front.Body], "\r\n"))
		r.fence(textspan.Span{End: end})
		at = front.Body
	}
	for size := window; at < len(text); {
		end := windowEnd(text, at, size)
		if steps != nil && !steps.Next(readSteps*(end-at)) {
			return Structure{}
		}
		next := r.window(at, end)
		if next == at { // one block fills the window
			size *= 2
			continue
		}
		at, size = next, window
	}
	return r.found
}

const (
	// windowSize bounds the memory of a parse. Blocks that are longer are parsed again in a window
	// of twice the size.
	windowSize = 64 << 10
	readSteps  = 8 // for each byte
)

// windowEnd returns the end of the line at at+size.
func windowEnd(text string, at, size int) int {
	if at+size >= len(text) {
		return len(text)
	}
	end := strings.IndexByte(text[at+size:], '\n')
	if end < 0 {
		return len(text)
	}
	return at + size + end + 1
}

// mayHaveStructure reports whether a line of the text could be a heading, the underline of one,
// a rule or a fence, also in a list or a quotation. Most plain text has none, and is not parsed.
func mayHaveStructure(text string) bool {
	for at := 0; at < len(text); {
		end := len(text)
		if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
			end = at + n
		}
		if isCandidate(text[at:end]) {
			return true
		}
		at = end + 1
	}
	return false
}

func isCandidate(line string) bool {
	rule := len(strings.TrimRight(line, "- \t\r")) // what follows may be a rule
	for i := range len(line) {
		switch c := line[i]; {
		case c == '#' || c == '=' || c == '_' || c == '`' || c == '~' || c == '-' && i >= rule:
			return true
		case c == ' ' || c == '\t' || c == '>' || c == '-' || c == '*' || c == '+' || c == '.' || c == ')' || '0' <= c && c <= '9':
		default:
			return false
		}
	}
	return strings.Contains(line, "*") // a rule of asterisks
}

// reader collects the structure of a text.
type reader struct {
	text  string
	found Structure
}

// window parses the blocks of text[at:end] and returns where the last one begins, which may go on
// after end. At the end of the text it reads that one too and returns the end.
func (r *reader) window(at, end int) int {
	source := []byte(r.text[at:end])
	joinBlankLines(source)
	blocks := parseBlocks(source)
	next := end
	if end < len(r.text) {
		if list := blocks.FirstChild(); list != nil && list.NextSibling() == nil && list.Kind() == ast.KindList {
			blocks = list // an item begins a list as well
		}
		next = at
		if last := lastBlock(blocks); last != nil {
			next = at + lineStart(source, last.Pos())
		}
	}
	for block := blocks.FirstChild(); block != nil; block = block.NextSibling() {
		if at+lineStart(source, block.Pos()) >= next {
			break
		}
		if heading, ok := block.(*ast.Heading); ok {
			r.heading(source, at, heading)
			continue
		}
		r.opaque(source, at, block)
	}
	return next
}

// joinBlankLines makes one blank line of several by writing spaces over their line feeds: the
// parser compares each with all lists that enclose it, and none of them ends.
func joinBlankLines(source []byte) {
	blank := -1 // the line feed of the line before, if that is blank
	for at := 0; at < len(source); {
		end := lineEnd(source, at)
		if len(bytes.TrimSpace(source[at:end])) > 0 || end == len(source) {
			blank = -1
		} else {
			if blank >= 0 {
				source[blank] = ' '
			}
			blank = end
		}
		at = end + 1
	}
}

// lastBlock returns the last block that does not begin in the middle of a paragraph: definitions
// of links are cut off from the front of one.
func lastBlock(blocks ast.Node) ast.Node {
	last := blocks.LastChild()
	for last != nil && last.PreviousSibling() != nil && last.PreviousSibling().Kind() == ast.KindLinkReferenceDefinition {
		last = last.PreviousSibling()
	}
	return last
}

// heading adds a heading, whose window begins at base.
func (r *reader) heading(source []byte, base int, heading *ast.Heading) {
	start := lineStart(source, heading.Pos())
	end := lineEnd(source, heading.Pos())
	h := Heading{Start: base + start, Level: heading.Level}
	if opensHeading(source[heading.Pos():end]) {
		if lines := heading.Lines(); lines.Len() > 0 {
			line := lines.At(0)
			h.Title = oneLine(string(source[line.Start:line.Stop]))
		}
	} else {
		for end < len(source) && !isUnderline(source[end+1:lineEnd(source, end+1)]) {
			end = lineEnd(source, end+1)
		}
		h.Title = oneLine(string(source[start:end]))
		underline := end
		end = lineEnd(source, end+1)
		r.add(textspan.Span{Start: base + underline, End: base + end})
	}
	h.End = base + end
	r.found.Headings = append(r.found.Headings, h)
}

// opensHeading reports whether a line begins with number signs that make it a heading.
func opensHeading(line []byte) bool {
	rest := bytes.TrimLeft(line, "#")
	return len(line)-len(rest) > 0 && len(line)-len(rest) <= 6 && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r"), rest[0]) >= 0)
}

// oneLine joins the lines of a title with spaces and drops the white space around them.
func oneLine(title string) string {
	start, end := textspan.Trim(title, 0, len(title))
	title = title[start:end]
	if !strings.Contains(title, "\n") {
		return title
	}
	lines := strings.Split(title, "\n")
	for i, line := range lines {
		start, end := textspan.Trim(line, 0, len(line))
		lines[i] = line[start:end]
	}
	return strings.Join(lines, " ")
}

// isUnderline reports whether a line underlines the heading above it (CommonMark 0.31, section
// 4.3).
func isUnderline(line []byte) bool {
	line = bytes.TrimRight(line, " \t\r")
	bar := bytes.TrimLeft(line, " ")
	return len(line)-len(bar) <= 3 && len(bar) > 0 && (len(bytes.Trim(bar, "=")) == 0 || len(bytes.Trim(bar, "-")) == 0)
}

// opaque adds the code and the HTML in a block.
func (r *reader) opaque(source []byte, base int, block ast.Node) {
	_ = ast.Walk(block, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering || n.Type() == ast.TypeInline {
			return ast.WalkSkipChildren, nil
		}
		switch n := n.(type) {
		case *ast.FencedCodeBlock:
			r.fence(fenceSpan(source, base, n))
		case *ast.CodeBlock:
			r.lines(source, base, n)
		case *ast.HTMLBlock:
			r.lines(source, base, n)
		}
		return ast.WalkContinue, nil
	})
}

// fence adds a span of fenced code. It cuts the span before at its start.
func (r *reader) fence(span textspan.Span) {
	if n := len(r.found.Fences) - 1; n >= 0 {
		r.found.Fences[n].End = min(r.found.Fences[n].End, span.Start)
	}
	r.add(span)
	r.found.Fences = append(r.found.Fences, span)
}

func (r *reader) add(span textspan.Span) {
	if n := len(r.found.Opaque) - 1; n >= 0 {
		r.found.Opaque[n].End = min(r.found.Opaque[n].End, span.Start)
	}
	r.found.Opaque = append(r.found.Opaque, span)
}

// fenceSpan returns the span of fenced code, with the fence that closes it.
func fenceSpan(source []byte, base int, n *ast.FencedCodeBlock) textspan.Span {
	at := min(n.Pos(), len(source)) // after a tab in a list some bytes too far, but in the fence
	start, end := lineStart(source, at), lineEnd(source, at)
	opening := source[start:end]
	if lines := n.Lines(); lines.Len() > 0 {
		end = max(end, contentEnd(source, lines))
	}
	if end < len(source) && closes(source[end+1:lineEnd(source, end+1)], opening) {
		end = lineEnd(source, end+1)
	}
	return textspan.Span{Start: max(base+start-1, 0), End: base + end}
}

// contentEnd returns the end of the last of the lines, without its line feed.
func contentEnd(source []byte, lines *text.Segments) int {
	end := lines.At(lines.Len() - 1).Stop
	if end > 0 && source[end-1] == '\n' {
		end--
	}
	return end
}

// closes reports whether a line closes the fence that opened code. Both may be in a list or a
// quotation.
func closes(line, opening []byte) bool {
	open := opening[max(bytes.IndexAny(opening, "`~"), 0):]
	size := 0
	for size < len(open) && open[size] == open[0] {
		size++
	}
	fence := bytes.TrimSpace(bytes.TrimLeft(line, " \t>"))
	return size >= 3 && len(fence) >= size && len(bytes.Trim(fence, string(open[0]))) == 0
}

// lines adds the lines of a block.
func (r *reader) lines(source []byte, base int, n ast.Node) {
	lines := n.Lines()
	if lines.Len() == 0 {
		return
	}
	end := contentEnd(source, lines)
	if html, ok := n.(*ast.HTMLBlock); ok && html.HasClosure() {
		end = lineEnd(source, html.ClosureLine.Start)
	}
	start := lineStart(source, min(lines.At(0).Start, end))
	r.add(textspan.Span{Start: max(base+start-1, 0), End: base + end})
}

// lineStart returns the start of the line of a position.
func lineStart(source []byte, at int) int { return bytes.LastIndexByte(source[:at], '\n') + 1 }

// lineEnd returns the position of the line feed after a position, or the end.
func lineEnd(source []byte, at int) int {
	if at >= len(source) {
		return len(source)
	}
	if n := bytes.IndexByte(source[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(source)
}

// within reports whether the line that starts at a position is in one of the spans, which are in
// order.
func within(spans []textspan.Span, line int) bool {
	i := textspan.After(spans, line)
	return i < len(spans) && (spans[i].Start < line || line == 0 && spans[i].Start == 0)
}
