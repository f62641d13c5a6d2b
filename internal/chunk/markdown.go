package chunk

import (
	"github.com/ragdhq/ragd/internal/chunk/markdown"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// splitMarkdownHeaders makes a chunk of the text under each heading and stores the
// headings that enclose it in the metadata, as markdown.Split says. Where o.MaxSize
// is set, longer chunks are cut further by the recursive strategy.
//
// StartByte and EndByte reach from the start of the first line of the text to
// the end of the last one, without its line feed; blank lines, and for two
// sections made one the heading between them, lie inside. Where a chunk was cut
// further, or is a line, the bounds are those of its own text.
func splitMarkdownHeaders(text string, o *Options) ([]Chunk, error) {
	out := newRebuilder(text, o)
	options := markdown.Options{StripHeaders: o.StripHeaders, ReturnEachLine: o.ReturnEachLine, Track: out.tracks()}
	for _, h := range o.Headers {
		options.Headers = append(options.Headers, markdown.Header(h))
	}
	err := markdown.Split(text, options, func(s markdown.Section) error {
		out.addAssembly(s.Body, s.Fields)
		return out.err
	})
	if err != nil {
		return nil, err
	}
	return out.chunks, nil
}

// markdownSeparators are headings, the ends of fenced code and rules. Other
// than the preset of the recursive strategy they know what is code: a line in
// a fence that looks like a heading or a rule is neither, and a closing fence
// stays with its code.
func markdownSeparators(text string) []separator {
	fences := markdown.FencedSpans(text)
	return []separator{
		outside{heading, fences},
		endOf(fences),
		outside{ruleLine('*', 3), fences},
		outside{ruleLine('-', 3), fences},
		outside{ruleLine('_', 3), fences},
	}
}

// heading is the start of an ATX heading with the line feed before it.
var heading = pattern{prefix: "\n#", match: headingMarker}

// endOf is the line feed after each of the spans, which are in order.
type endOf []textspan.Span

func (spans endOf) find(_ string, from, to int) (int, int) {
	i := textspan.After(spans, from-1)
	if i == len(spans) || spans[i].End >= to {
		return -1, -1
	}
	return spans[i].End, spans[i].End + 1
}

// headingMarker matches a line feed, one to six number signs and a space.
func headingMarker(text string, at, to int) int {
	i := at + 1
	for i < to && text[i] == '#' {
		i++
	}
	if i-at-1 > 6 || i == to || text[i] != ' ' {
		return -1
	}
	return i + 1
}
