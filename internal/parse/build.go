package parse

import "strings"

// textBuilder collects the text of a document and its spans. The text is storable: valid
// UTF-8 without null characters. Text over MaxText bytes is dropped, and full is set.
type textBuilder struct {
	strings.Builder
	spans []Span
	full  bool
}

// write appends text.
func (b *textBuilder) write(text string) {
	if b.Len()+len(text) > MaxText {
		b.full = true
	}
	if !b.full {
		_, _ = b.WriteString(storable(text)) // it never fails
	}
}

// block appends a paragraph, heading or table after a blank line.
func (b *textBuilder) block(text string) {
	text = strings.Trim(text, "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	if b.Len() > 0 {
		b.write("\n\n")
	}
	b.write(text)
}

// span adds a span over the text that fill appends, unless it appends nothing.
func (b *textBuilder) span(s Span, fill func() error) error {
	start := b.Len()
	if err := fill(); err != nil {
		return err
	}
	// The blank line before the first paragraph is not part of the span.
	for start < b.Len() && b.String()[start] == '\n' {
		start++
	}
	if start < b.Len() {
		s.Start, s.End = start, b.Len()
		b.spans = append(b.spans, s)
	}
	return nil
}

// storable returns text as valid UTF-8 without null characters.
func storable(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "")
	}
	return text
}
