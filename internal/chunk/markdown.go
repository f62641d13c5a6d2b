package chunk

import (
	"sort"

	"github.com/ragdhq/ragd/internal/chunk/markdown"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/operate/limit"
)

// splitMarkdownHeaders makes a chunk of the text under each heading and stores the
// enclosing headings in the metadata; see markdown.Split. If o.MaxSize is set, the
// recursive strategy cuts longer chunks.
//
// StartByte and EndByte reach from the start of the first line of the text to
// the end of the last one, without its line feed. They include blank lines and,
// if two sections were joined, the heading between them. If a chunk was cut
// further, or is a single line, they are the bounds of its own text.
func splitMarkdownHeaders(steps *limit.Steps, text string, o *Options) ([]Chunk, error) {
	out := newRebuilder(steps, text, o)
	options := markdown.Options{StripHeaders: o.StripHeaders, ReturnEachLine: o.ReturnEachLine, Track: out.tracks(), Steps: steps}
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

// markdownSeparators returns headings, the ends of fenced code, and rules, as CommonMark finds
// them; the preset of the recursive strategy compares lines. A closing fence stays with its code.
func markdownSeparators(steps *limit.Steps, text string) []separator {
	found := markdown.Read(text, steps)
	return []separator{
		startOf(found.Headings),
		endOf(found.Fences),
		outside{ruleLine('*', 3), found.Opaque},
		outside{ruleLine('-', 3), found.Opaque},
		outside{ruleLine('_', 3), found.Opaque},
	}
}

// startOf matches the line feed before each of the headings, which are in order.
type startOf []markdown.Heading

func (headings startOf) find(_ string, from, to int) (int, int) {
	i := sort.Search(len(headings), func(i int) bool { return headings[i].Start > from })
	if i == len(headings) || headings[i].Start >= to {
		return -1, -1
	}
	return headings[i].Start - 1, headings[i].Start
}

// heading matches the start of an ATX heading, with the line feed before it, for the language
// preset.
var heading = matcher{prefix: "\n#", match: headingMarker}

// endOf matches the line feed after each of the spans, which are in order.
type endOf []textspan.Span

func (spans endOf) find(_ string, from, to int) (int, int) {
	i := textspan.After(spans, from-1)
	if i == len(spans) || spans[i].End >= to {
		return -1, -1
	}
	return spans[i].End, spans[i].End + 1
}

// headingMarker matches a line feed, one to six number signs and a space at
// text[at]. It returns the end of the match, or -1.
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
