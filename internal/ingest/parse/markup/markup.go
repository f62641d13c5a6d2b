// Package markup turns texts in the markup languages of documentation into Markdown, and XML into lines that
// name each value's place.
//
//	text := markup.RST(source)
//	text.Markdown // "# Tides\n\nHigh water twice a day."
//
// Sections become headings, code becomes fenced blocks, lists, tables, notes and links what they are in
// Markdown. Comments, includes, tables of contents and anchors are left out. No file but the given text is
// read, and nothing is run.
//
// Every reader takes any text, takes time in proportion to its length, and bounds how deep blocks may stand
// in each other: what is deeper is read as plain text. Readers keep no state and are safe for concurrent use.
package markup

import (
	"strings"
	"unicode/utf8"
)

// Text is what was read.
type Text struct {
	Markdown string // "" if there is no text
	Title    string // that the source gives itself, "" for none
	Lines    []int  // the line of the source, from 1, of each line of Markdown; nil if they are not known
}

// maxMarkdown is the length in bytes beyond which the values of XML, whose paths may be many times as long as
// the source, are not written any further. It is more than a caller stores.
const maxMarkdown = 64 << 20

// maxNesting bounds how deep lists, notes and the like may stand in each other.
const maxNesting = 12

// page collects blocks of Markdown, separated by blank lines.
type page struct {
	strings.Builder

	tight bool // the next block follows without a blank line if it is an item
}

func (p *page) write(text string) { _, _ = p.WriteString(text) } // it never fails

// block appends a block of Markdown unless it is blank.
func (p *page) block(text string) {
	text = strings.Trim(text, "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	if p.Len() > 0 {
		p.write("\n\n")
	}
	p.write(text)
	p.tight = false
}

// item appends an item of a list: a marker such as "-" or "1.", and blocks that are indented below it.
func (p *page) item(marker, body string) {
	body = strings.Trim(body, "\n")
	if strings.TrimSpace(body) == "" {
		return
	}
	if p.Len() > 0 {
		p.write("\n")
		if !p.tight {
			p.write("\n")
		}
	}
	p.write(marker + " ")
	p.write(indented(body, len(marker)+1))
	p.tight = !strings.Contains(body, "\n\n")
}

// heading appends a heading.
func (p *page) heading(level int, text string) {
	if text = oneLine(text); text != "" {
		p.block(strings.Repeat("#", min(max(level, 1), 6)) + " " + text)
	}
}

// paragraph appends a text that a reader of Markdown takes for nothing else.
func (p *page) paragraph(text string) { p.block(plainStart(oneLine(text))) }

// plainStart escapes what would make a paragraph a heading or a code block.
func plainStart(text string) string {
	if strings.HasPrefix(text, "#") || strings.HasPrefix(text, "```") || strings.HasPrefix(text, "~~~") {
		return `\` + text
	}
	return text
}

// code appends a code block.
func (p *page) code(text, language string) { p.block(fenced(text, language)) }

// fenced returns a code block in a language as a file names it, "" for a blank text.
func fenced(text, language string) string { return Fenced(text, languageName(language)) }

// Fenced returns text as a code block of Markdown, with info behind the fence; "" for a blank text.
func Fenced(text, info string) string {
	text = strings.Trim(text, "\n")
	if strings.TrimSpace(text) == "" {
		return ""
	}
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", max(3, longest+1))
	return fence + info + "\n" + text + "\n" + fence
}

// languageName returns the name of a language as it stands after a fence.
func languageName(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	if strings.ContainsAny(name, " \t\n`{}") || len(name) > 32 {
		return ""
	}
	switch name {
	case "none", "default", "text/plain":
		return ""
	case "ipython", "ipython3", "pycon", "python3", "pycon3":
		return "python"
	}
	return name
}

// maxColumns bounds the columns of a table that is written as one.
const maxColumns = 64

// maxFilling bounds the blank cells that rows are filled up with, in number for each cell that the table has.
const maxFilling = 4

// table appends a table, whose first row is the head. Rows are filled up to one width unless most of the table would be
// blank: then the head is. A table of one column becomes lines.
func (p *page) table(rows [][]string) {
	width, cells := 0, 0
	for _, row := range rows {
		width = max(width, min(len(row), maxColumns))
		cells += len(row)
	}
	fill := width*(len(rows)-1) <= maxFilling*cells
	var out strings.Builder
	first := true
	for _, row := range rows {
		row = row[:min(len(row), maxColumns)]
		if strings.TrimSpace(strings.Join(row, "")) == "" {
			continue
		}
		if width == 1 {
			p.paragraph(row[0])
			continue
		}
		for _, cell := range row {
			out.WriteString("| " + cellText(cell) + " ")
		}
		if missing := width - len(row); first || fill {
			out.WriteString(strings.Repeat("|  ", missing))
		}
		out.WriteString("|\n")
		if first {
			out.WriteString(strings.Repeat("| --- ", width) + "|\n")
			first = false
		}
	}
	p.block(out.String())
}

// cellText returns the text of a cell of a table: one line, in which the sign between columns is escaped.
func cellText(text string) string {
	text = oneLine(text)
	if !strings.Contains(text, "|") {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, `\|`, "|"), "|", `\|`)
}

// labeled returns blocks under a label, such as that of a note.
func labeled(label, body string) string {
	body = strings.Trim(body, "\n")
	switch {
	case body == "":
		return label
	case strings.HasPrefix(body, "```"), strings.HasPrefix(body, "- "), strings.HasPrefix(body, "|"):
		return "**" + label + ":**\n\n" + body
	}
	return "**" + label + ":** " + body
}

// capitalized returns a word with a capital at its start.
func capitalized(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// link returns a Markdown link, or the text alone if the address is not one of the web or of email or says the
// same.
func link(text, address string) string {
	text, address = oneLine(text), strings.TrimSpace(address)
	if text == "" {
		text = address
	}
	if strings.TrimPrefix(address, "mailto:") == text || !isAddress(address) {
		return text
	}
	return "[" + text + "](" + address + ")"
}

// isAddress reports whether an address is one of the web or of email that fits into a link.
func isAddress(address string) bool {
	scheme, rest, _ := strings.Cut(address, ":")
	switch strings.ToLower(scheme) {
	case "http", "https", "mailto", "ftp":
		return rest != "" && len(address) <= 2048 && !strings.ContainsAny(address, " \t\n<>()")
	}
	return false
}

// indented returns a text whose lines but the first are indented by n spaces. Blank lines stay empty.
func indented(text string, n int) string {
	if !strings.Contains(text, "\n") {
		return text
	}
	pad := strings.Repeat(" ", n)
	var out strings.Builder
	first := true
	for line := range strings.SplitSeq(text, "\n") {
		if !first {
			out.WriteByte('\n')
			if line != "" {
				out.WriteString(pad)
			}
		}
		first = false
		out.WriteString(line)
	}
	return out.String()
}

// oneLine returns a text with every run of white space as one space.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// linesOf returns the lines of a text without their ends, and with tabs as spaces up to the next of the columns
// that are multiples of 8.
func linesOf(text string) []string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	lines := strings.Split(strings.ReplaceAll(text, "\r", "\n"), "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, " \t\f\v")
		if strings.Contains(line, "\t") {
			line = expanded(line)
		}
		lines[i] = line
	}
	return lines
}

// expanded returns a line with spaces for tabs.
func expanded(line string) string {
	const width = 8
	var out strings.Builder
	column := 0
	for _, r := range line {
		if r == '\t' {
			n := width - column%width
			out.WriteString(strings.Repeat(" ", n))
			column += n
			continue
		}
		out.WriteRune(r)
		column++
	}
	return out.String()
}

// indentOf returns the number of spaces at the start of a line.
func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// dedented returns lines without the indentation that all of them have but blank ones.
func dedented(lines []string) []string {
	least := -1
	for _, line := range lines {
		if line != "" && (least < 0 || indentOf(line) < least) {
			least = indentOf(line)
		}
	}
	if least <= 0 {
		return lines
	}
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = line[min(least, len(line)):]
	}
	return out
}

// trimmedBlank returns lines without the blank ones at both ends.
func trimmedBlank(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// isWordByte reports whether a byte is a letter, a digit or part of a character outside of ASCII.
func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}
