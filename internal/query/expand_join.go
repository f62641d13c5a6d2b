package query

import (
	"cmp"
	"slices"
	"strings"
)

// piece is a chunk of a window.
type piece struct {
	Window     int // its number, from 1
	ChunkID    string
	DocumentID string
	Ordinal    int
	Text       string
	StartByte  int
	EndByte    int
}

// run is the text of adjacent pieces of a window.
type run struct {
	last  piece
	text  strings.Builder
	start int // as of a source
	end   int
}

// Hit is a chunk that a search found and that is part of a source.
type Hit struct {
	ID        string
	Ordinal   int
	Score     float64
	StartByte int // position in the document, as of a source
	EndByte   int
	Span      Span // in the text of the source
}

// maxGap is the longest white space that is put between two pieces, in bytes: a blank line.
const maxGap = 2

// found is where a chunk is: the number of its run and its part of the text of that.
type found struct {
	run  int
	span Span
}

// widen replaces the text of each source by that of the run of adjacent pieces that it is in. Sources of
// one run become one, the first, with the hits of all. A source without a piece of its id stays as it is.
func widen(sources []Source, pieces []piece) []Source {
	runs, at := joined(pieces)
	first := map[int]int{} // the source of a run, in out
	out := sources[:0:0]
	for _, s := range sources {
		where, ok := at[s.ID]
		if !ok {
			out = append(out, s)
			continue
		}
		hit := Hit{s.ID, s.Ordinal, s.Score, s.StartByte, s.EndByte, where.span}
		if n, ok := first[where.run]; ok {
			out[n].Hits = append(out[n].Hits, hit)
			continue
		}
		first[where.run] = len(out)
		r := runs[where.run]
		s.Text, s.StartByte, s.EndByte, s.Chunk, s.Hits = r.text.String(), r.start, r.end, &where.span, []Hit{hit}
		out = append(out, s)
	}
	return out
}

// joined returns the runs of the pieces, and where each piece is by its chunk.
func joined(pieces []piece) (runs []*run, at map[string]found) {
	slices.SortFunc(pieces, func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.Window, b.Window), cmp.Compare(a.Ordinal, b.Ordinal))
	})
	at = make(map[string]found, len(pieces))
	for _, p := range pieces {
		if n := len(runs); n == 0 || runs[n-1].last.Window != p.Window || runs[n-1].last.Ordinal+1 != p.Ordinal {
			runs = append(runs, &run{start: p.StartByte})
		}
		at[p.ChunkID] = found{len(runs) - 1, runs[len(runs)-1].add(p)}
	}
	return runs, at
}

// add appends the next piece and returns where it is. A verbatim section of the document may overlap the
// end of what is before it: the overlap is left out. Other pieces go on a new line, or after a blank one.
func (r *run) add(p piece) Span {
	text := r.text.String()
	repeated := r.end - p.StartByte
	verbatim := len(p.Text) == p.EndByte-p.StartByte && p.StartByte >= r.start
	defer func() { r.last, r.end = p, max(r.end, p.EndByte) }()
	switch {
	case text == "":
		r.text.WriteString(p.Text)
		return Span{0, len(p.Text)}
	case verbatim && repeated >= len(p.Text):
		if from := len(text) - repeated; from >= 0 && strings.HasPrefix(text[from:], p.Text) {
			return Span{from, from + len(p.Text)}
		}
	case verbatim && repeated >= 0 && strings.HasSuffix(text, p.Text[:repeated]):
		r.text.WriteString(p.Text[repeated:])
		return Span{len(text) - repeated, len(text) - repeated + len(p.Text)}
	}
	// Between chunks white space was dropped: as much of it as keeps the offsets those of the document.
	gap := strings.Repeat("\n", min(max(1, -repeated), maxGap))
	r.text.WriteString(gap + p.Text)
	return Span{len(text) + len(gap), len(text) + len(gap) + len(p.Text)}
}
