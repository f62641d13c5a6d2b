package budget

import (
	"strings"
	"unicode"

	"github.com/clipperhouse/uax29/v2/words"

	"github.com/ragdhq/ragd/internal/chunk/sentence"
)

// enders end sentences in every script.
var enders = sentence.Default()

// Ends returns the positions after from where a text may be cut, in order: ends of sentences, list items
// and rows of tables, and of lines of code. The last is the end of the text. A heading never ends a part, because
// what it announces is missing then.
func Ends(text string, from int) []int {
	s := scan{text: text}
	for at := from; at < len(text); {
		next := len(text)
		if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
			next = at + n + 1
		}
		s.line(at, next)
		at = next
	}
	s.endParagraph()
	if n := len(s.ends); n == 0 || s.ends[n-1] < len(text) {
		s.ends = append(s.ends, len(text))
	}
	return s.ends
}

// scan collects the ends of a text, line by line.
type scan struct {
	text      string
	ends      []int
	paragraph int // where it begins, plus one; 0 for none
	last      int // end of its last line
	fence     string
}

// line reads the line text[at:next], which ends with a line feed unless it is the last one.
func (s *scan) line(at, next int) {
	raw := strings.TrimRight(s.text[at:next], " \t\r\n")
	line, end := strings.TrimLeft(raw, " \t"), at+len(raw)
	if s.fence != "" {
		if strings.HasPrefix(line, s.fence) && strings.Trim(line, s.fence[:1]) == "" {
			s.fence = ""
		}
		s.add(end)
		return
	}
	switch {
	case line == "":
		s.endParagraph()
	case strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~"):
		s.endParagraph()
		s.fence = line[:len(line)-len(strings.TrimLeft(line, line[:1]))]
	case strings.HasPrefix(line, "#"):
		s.endParagraph()
	case strings.HasPrefix(line, "|"):
		s.endParagraph()
		if !isDelimiter(line) && !isDelimiter(s.text[next:]) {
			s.add(end)
		}
	case s.paragraph == 0 && !isItem(line) && isCode(raw):
		s.endParagraph()
		s.add(end)
	default:
		if isItem(line) {
			s.endParagraph()
		}
		if s.paragraph == 0 {
			s.paragraph = at + 1
		}
		s.last = end
	}
}

// endParagraph adds the ends of the sentences of the paragraph so far.
func (s *scan) endParagraph() {
	if s.paragraph == 0 {
		return
	}
	start := s.paragraph - 1
	for start >= 0 && start < s.last {
		end, next := enders.Next(s.text, start, s.last)
		if next < 0 {
			break
		}
		s.add(end)
		start = next
	}
	s.add(s.last)
	s.paragraph = 0
}

func (s *scan) add(end int) {
	if n := len(s.ends); end > 0 && (n == 0 || s.ends[n-1] < end) {
		s.ends = append(s.ends, end)
	}
}

// isDelimiter reports whether a text begins with the line between the head and the body of a table.
func isDelimiter(text string) bool {
	line, _, _ := strings.Cut(text, "\n")
	line = strings.TrimSpace(line)
	return strings.Contains(line, "-") && strings.HasPrefix(line, "|") && strings.Trim(line, "|-: \t") == ""
}

// isCode reports whether a line that goes on no paragraph is one of code, or has values with tabs
// between.
func isCode(line string) bool {
	return strings.HasPrefix(line, "    ") || strings.Contains(line, "\t") || strings.HasSuffix(line, ");") ||
		strings.HasSuffix(line, "{") || strings.HasSuffix(line, "}")
}

// isItem reports whether a line begins an item of a list.
func isItem(line string) bool {
	rest := strings.TrimLeft(line, "0123456789")
	if len(rest) < len(line) {
		return strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") ")
	}
	return len(line) > 1 && strings.ContainsRune("-*+•", rune(line[0])) && line[1] == ' ' || strings.HasPrefix(line, "• ")
}

// WordEnd returns the end of the last word in text[:most], as Unicode annex 29 finds words; 0 if not even one
// ends there.
func WordEnd(text string, most int) (end int) {
	for w := words.FromString(text[:min(len(text), most+longestWord)]); w.Next() && w.End() <= most; {
		end = w.End()
	}
	return len(strings.TrimRightFunc(text[:end], unicode.IsSpace))
}

// longestWord is how much of a text after a position is read to know whether a word ends there.
const longestWord = 256

// SectionEnd returns the largest position in ends that is before a heading of Markdown, or -1.
func SectionEnd(text string, ends []int) int {
	for n := len(ends) - 1; n >= 0; n-- {
		rest := strings.TrimLeft(text[ends[n]:], " \t\r")
		if trimmed := strings.TrimLeft(rest, "\n \t\r"); strings.HasPrefix(rest, "\n") && strings.HasPrefix(trimmed, "#") {
			return ends[n]
		}
	}
	return -1
}
