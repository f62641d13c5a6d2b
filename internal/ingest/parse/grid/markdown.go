package grid

import (
	"regexp"
	"strings"
)

var (
	delimiterRow = regexp.MustCompile(`^\s{0,3}\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$`)
	heading      = regexp.MustCompile(`^#{1,6}\s+(.+?)\s*#*$`)
	linked       = regexp.MustCompile(`!?\[([^\[\]]*)\]\([^()\s]*(?:\s+"[^"]*")?\)`)
	marks        = strings.NewReplacer("**", "", "__", "", "`", "", `\|`, "|", `\*`, "*", `\_`, "_", `\#`, "#", "<br>", " ", "<br/>", " ")
)

// maxCaption is the longest line that can be the caption of a table, in bytes.
const maxCaption = 120

// Markdown adds the tables of a text in Markdown. A table is named by the line above it if that is short and
// names it, else by the heading above.
func (b *Builder) Markdown(text string, body int) {
	section, caption, fence := "", "", ""
	var head string // the line before, if it can be the head of a table
	inTable, number, start := false, 0, 0
	for at := body; at < len(text); {
		end := strings.IndexByte(text[at:], '\n')
		next := len(text)
		if end >= 0 {
			next = at + end + 1
		}
		line := strings.TrimRight(text[at:next], "\r\n")
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			fence, head = trimmed[:3], ""
			b.endMarkdown(&inTable)
		case inTable && strings.Contains(line, "|"):
			number++
			b.Row(number, cellsOf(line))
			b.place.EndByte = next
		case head != "" && delimiterRow.MatchString(line) && strings.Contains(line, "-") && len(split(line)) == len(split(head)):
			name := section
			if caption != "" {
				name = caption
			}
			b.Begin(Place{Name: name, Unit: TableRow, StartByte: start, EndByte: next}, titlesOf(head))
			inTable, number, head = true, 0, ""
		default:
			b.endMarkdown(&inTable)
			if m := heading.FindStringSubmatch(trimmed); m != nil {
				section, caption, head = plain(m[1]), "", ""
				break
			}
			if strings.Contains(line, "|") {
				head, start = line, at
				break
			}
			head = ""
			if trimmed != "" {
				caption = ""
				if isCaption(trimmed) {
					caption = strings.TrimSuffix(plain(trimmed), ":")
				}
			}
		}
		at = next
	}
	b.endMarkdown(&inTable)
}

func (b *Builder) endMarkdown(inTable *bool) {
	if *inTable {
		b.End()
	}
	*inTable = false
}

// isCaption reports whether a line names the table below it.
func isCaption(line string) bool {
	lower := strings.ToLower(plain(line))
	return len(line) <= maxCaption && (strings.HasPrefix(lower, "table ") || strings.HasPrefix(lower, "tabelle ") || strings.HasPrefix(lower, "tableau ") || strings.HasSuffix(line, ":"))
}

func titlesOf(line string) []string {
	titles := split(line)
	for i := range titles {
		titles[i] = plain(titles[i])
	}
	return titles
}

func cellsOf(line string) []Cell {
	parts := split(line)
	cells := make([]Cell, len(parts))
	for i := range parts {
		cells[i].Text = plain(parts[i])
	}
	return cells
}

// plain returns a text without the marks of Markdown.
func plain(text string) string {
	return strings.TrimSpace(marks.Replace(linked.ReplaceAllString(text, "$1")))
}

// split returns the cells of a row.
func split(line string) (cells []string) {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	var cell strings.Builder
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line):
			cell.WriteString(line[i : i+2])
			i++
		case line[i] == '|':
			cells = append(cells, cell.String())
			cell.Reset()
		default:
			cell.WriteByte(line[i])
		}
	}
	if rest := cell.String(); strings.TrimSpace(rest) != "" || len(cells) == 0 {
		cells = append(cells, rest)
	}
	return cells
}
