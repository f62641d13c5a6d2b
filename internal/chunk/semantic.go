package chunk

import (
	"strings"

	"github.com/ragdhq/ragd/internal/chunk/markdown"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/chunk/tokenizer"
	"github.com/ragdhq/ragd/internal/operate/limit"
)

// splitSemantic cuts a Markdown text at its headings and joins small sections to
// the ones before them, the deepest first. The text of a section is its heading, a
// line feed, and its trimmed content. If maxSize is set, a section of more tokens
// is cut like Markdown without headers.
func splitSemantic(steps *limit.Steps, text string, o *Options) ([]Chunk, error) {
	if err := checkSpecials(text, o); err != nil {
		return nil, err
	}
	enc := tokenizer.Load(o.EncodingName)
	specials := allowedSpecials(o)
	count := func(s string) int { return countTokens(steps, enc, s, specials) }

	b := &builder{steps: steps, src: newSource(text), opts: o}
	r := recursion{
		src:      source{text: text, count: count},
		position: SeparatorStart,
		out:      b,
		merger:   merger{max: o.MaxSize, overlap: o.Overlap, emit: b.add},
	}
	sections, err := markdown.JoinSections(text, o.JoinThreshold, steps, count)
	if err != nil {
		return nil, err
	}
	for _, s := range sections {
		if !b.step(chunkSteps) {
			break
		}
		first := len(b.chunks)
		span := s.Span()
		rebuilt := s.Text(text)
		if o.MaxSize > 0 && count(strings.TrimSpace(rebuilt)) > o.MaxSize {
			if r.seps == nil {
				r.seps = append(markdownSeparators(steps, text), generalSeparators(o.Cuts)...)
			}
			r.split(span.Start, span.End, 0)
		} else if b.add(span.Start, span.End); len(b.chunks) > first {
			b.chunks[first].Text = rebuilt
		}
		for i := first; i < len(b.chunks); i++ {
			c := &b.chunks[i]
			start, end := textspan.Trim(c.Text, 0, len(c.Text))
			c.TokenCount = count(c.Text[start:end])
			if c.Metadata == nil {
				c.Metadata = map[string]any{}
			}
			c.Metadata["tokenCount"] = c.TokenCount
		}
	}
	return b.chunks, b.err
}
