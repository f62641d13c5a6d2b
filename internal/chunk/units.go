package chunk

import (
	"context"
	"strings"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// Unit is where a function, a type or the like begins in source code. Depth is 1 at the
// outermost level.
type Unit struct{ Start, Depth int }

// SplitUnits is Split for source code whose units are known, in order. A unit that fits into
// a chunk is never cut. Small ones that follow each other share a chunk. Of one that is too
// large, such as a class, the units in it are chunks; one without units is cut like any text
// of the language. Chunks of different units do not overlap.
func SplitUnits(ctx context.Context, text string, opts Options, units []Unit) ([]Chunk, error) {
	s := unitSplitter{text: text, max: opts.MaxSize}
	s.cut(0, len(text), units, 1, 0)
	var chunks []Chunk
	counted, before := 0, 0 // code units before a position
	for _, p := range s.joined() {
		found, err := Split(ctx, text[p.start:p.end], opts)
		if err != nil {
			return nil, err
		}
		if opts.AddStartIndex {
			before += textspan.Units(text[counted:p.start])
			counted = p.start
		}
		for i := range found {
			found[i].StartByte += p.start
			found[i].EndByte += p.start
			if at, ok := found[i].Metadata[startIndexKey].(int); ok {
				found[i].Metadata[startIndexKey] = at + before
			}
		}
		chunks = append(chunks, found...)
	}
	return chunks, nil
}

// unitSplitter cuts source code at its units.
type unitSplitter struct {
	text   string
	max    int
	pieces []unitPiece
	groups int
}

// unitPiece is a piece of source code. Pieces of different groups are not joined: those of a
// large unit are a group.
type unitPiece struct {
	start, end int
	size       int // units
	blank      int // units at the end, which a chunk does not have
	group      int
}

// cut appends the pieces of text[start:end], which begin with its units at a depth.
func (s *unitSplitter) cut(start, end int, units []Unit, depth, group int) {
	var within []Unit // units in the current piece
	finish := func(to int) {
		if to <= start {
			return
		}
		part := s.text[start:to]
		size, blank := textspan.Units(part), len(part)-len(strings.TrimRight(part, " \t\r\n"))
		if size-blank > s.max && len(within) > 0 {
			s.groups++
			s.cut(start, to, within, depth+1, s.groups)
		} else {
			s.pieces = append(s.pieces, unitPiece{start, to, size, blank, group})
		}
		start, within = to, nil
	}
	for _, u := range units {
		if u.Depth > depth {
			within = append(within, u)
			continue
		}
		finish(u.Start)
	}
	finish(end)
}

// joined returns the pieces, those joined that fit into a chunk together.
func (s *unitSplitter) joined() (pieces []unitPiece) {
	for _, p := range s.pieces {
		if n := len(pieces) - 1; n >= 0 && pieces[n].group == p.group && pieces[n].size+p.size-p.blank <= s.max {
			pieces[n].end, pieces[n].size, pieces[n].blank = p.end, pieces[n].size+p.size, p.blank
			continue
		}
		pieces = append(pieces, p)
	}
	return pieces
}
