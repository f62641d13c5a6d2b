package chunk

import (
	"context"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// Part is the part Text[Start:End] of a text that shares no chunk with the text around it, such as
// a table of contents. It is one chunk unless it has more than MaxSize UTF-16 code units: then it is
// cut between lines. With the MaxSize 0 it is cut as any text.
type Part struct {
	Start, End, MaxSize int

	// lead returns what a chunk that begins at a position begins with, in room code units; nil for nothing.
	lead func(at int) string
	room int
}

// SplitApart is Split for a text with parts, which are in order and do not overlap. No chunk
// reaches over the begin or the end of one, nor does an overlap.
func SplitApart(ctx context.Context, text string, opts Options, parts []Part) ([]Chunk, error) {
	if len(parts) == 0 {
		return Split(ctx, text, opts)
	}
	var chunks []Chunk
	counted, before := 0, 0 // code units before a position
	add := func(start, end int, opts Options, lead func(at int) string) error {
		found, err := Split(ctx, text[start:end], opts)
		if err != nil {
			return err
		}
		if opts.AddStartIndex {
			before += textspan.Units(text[counted:start])
			counted = start
		}
		for i := range found {
			found[i].StartByte += start
			found[i].EndByte += start
			if lead != nil {
				found[i].Text = lead(found[i].StartByte) + found[i].Text
			}
			if at, ok := found[i].Metadata[startIndexKey].(int); ok {
				found[i].Metadata[startIndexKey] = at + before
			}
		}
		if len(chunks)+len(found) > MaxChunks {
			return tooManyChunks()
		}
		chunks = append(chunks, found...)
		return nil
	}
	at := 0
	for _, p := range parts {
		if err := add(at, p.Start, opts, nil); err != nil {
			return nil, err
		}
		within := opts
		if p.MaxSize > 0 {
			within = opts.whole(p.MaxSize)
		}
		if p.lead != nil {
			within.MaxSize -= p.room
			within.Overlap = min(within.Overlap, within.MaxSize/2)
		}
		if err := add(p.Start, p.End, within, p.lead); err != nil {
			return nil, err
		}
		at = p.End
	}
	return chunks, add(at, len(text), opts, nil)
}

// whole returns options for a text that is one chunk of up to maxSize units, or cut between lines.
func (o Options) whole(maxSize int) Options {
	return Options{
		Strategy: Recursive, MaxSize: maxSize, Separators: []string{"\n", " ", ""}, SeparatorPosition: o.SeparatorPosition,
		StripWhitespace: o.StripWhitespace, AddStartIndex: o.AddStartIndex,
	}
}
