package chunk

import "github.com/ragdhq/ragd/internal/chunk/textspan"

// source is a text that is measured in UTF-16 code units, or by count if it is set.
type source struct {
	text  string
	ascii bool // text is ASCII: units are bytes
	count func(string) int
}

func newSource(text string) source { return source{text: text, ascii: textspan.IsASCII(text)} }

// size returns the length of text[start:end].
func (s *source) size(start, end int) int {
	if s.count != nil {
		return s.count(s.text[start:end])
	}
	if s.ascii {
		return end - start
	}
	return textspan.Units(s.text[start:end])
}
