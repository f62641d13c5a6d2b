package markdown

import (
	"strings"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// FencedSpans returns the fenced code blocks of a Markdown text in order, from
// the line feed before the opening fence to the one after the closing fence. A
// fence that is never closed ends with the text, as in CommonMark.
func FencedSpans(text string) []textspan.Span {
	// A fenced block has two markers; the exact capacity saves memory for a text of
	// many fences.
	spans := make([]textspan.Span, 0, (strings.Count(text, "```")+strings.Count(text, "~~~")+1)/2)
	var open fence
	start := 0
	for pos := 0; pos < len(text); {
		end := len(text)
		if i := strings.IndexByte(text[pos:], '\n'); i >= 0 {
			end = pos + i
		}
		switch f := fenceOf(text[pos:end]); {
		case open.size == 0 && f.opens:
			open, start = f, max(pos-1, 0)
		case open.size > 0 && f.closes(open):
			spans = append(spans, textspan.Span{Start: start, End: end})
			open = fence{}
		}
		pos = end + 1
	}
	if open.size > 0 {
		spans = append(spans, textspan.Span{Start: start, End: len(text)})
	}
	return spans
}

// fence is a line that may open or close fenced code: char, size times.
type fence struct {
	char  byte
	size  int
	bare  bool // nothing but white space follows
	opens bool
}

func (f fence) closes(open fence) bool {
	return f.bare && f.char == open.char && f.size >= open.size
}

// fenceOf reads a line as a fence; size is 0 if it is none. A fence is indented by at
// most three spaces, and the text after a backtick fence has no backticks
// (CommonMark 0.31, section 4.5).
func fenceOf(line string) fence {
	rest := strings.TrimLeft(line, " ")
	if len(line)-len(rest) > 3 || len(rest) < 3 || rest[0] != '`' && rest[0] != '~' {
		return fence{}
	}
	f := fence{char: rest[0]}
	for f.size < len(rest) && rest[f.size] == f.char {
		f.size++
	}
	if f.size < 3 {
		return fence{}
	}
	info := rest[f.size:]
	f.bare = strings.TrimSpace(info) == ""
	f.opens = f.char == '~' || strings.IndexByte(info, '`') < 0
	return f
}
