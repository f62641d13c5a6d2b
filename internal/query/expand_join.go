package query

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// piece is a chunk that may be joined with its neighbours.
type piece struct {
	DocumentID string
	Ordinal    int
	Text       string
	StartByte  int
	EndByte    int
}

// withNeighbours adds to each source the chunks before and after it in its document
// that are in the scope. Sources whose chunks then touch become one source, with the
// rank of the best of them.
func withNeighbours(ctx context.Context, h *data.Handle, i index.Index, p prepared, sources []Source) ([]Source, error) {
	var documents []string
	var from, to []int32
	for _, s := range sources {
		if s.DocumentID != "" {
			documents = append(documents, s.DocumentID)
			from, to = append(from, int32(s.Ordinal-p.neighbours)), append(to, int32(s.Ordinal+p.neighbours))
		}
	}
	if len(documents) == 0 {
		return sources, nil
	}
	args := filter.NewArgs(documents, from, to)
	pieces, err := data.Select[piece](ctx, h, `
		SELECT DISTINCT c.document_id::text, c.ordinal, c.text, c.start_byte, c.end_byte
		FROM unnest($1::text[], $2::int[], $3::int[]) AS w (document, low, high)
		JOIN tenant.chunk AS c ON c.document_id = w.document::uuid AND c.ordinal BETWEEN w.low AND w.high
		WHERE `+p.scope.sql(i, args), args.Values()...)
	if err != nil {
		return nil, err
	}
	return widen(sources, pieces), nil
}

// widen replaces the text of each source by that of the run of adjacent pieces that
// it is in.
func widen(sources []Source, pieces []piece) []Source {
	slices.SortFunc(pieces, func(a, b piece) int {
		return cmp.Or(strings.Compare(a.DocumentID, b.DocumentID), cmp.Compare(a.Ordinal, b.Ordinal))
	})
	type key struct {
		document string
		ordinal  int
	}
	runs := map[key]int{} // the number of the run that a piece is in
	var joined []piece
	var last key
	for _, c := range pieces {
		if len(joined) > 0 && last == (key{c.DocumentID, c.Ordinal - 1}) {
			joined[len(joined)-1] = join(joined[len(joined)-1], c)
		} else {
			joined = append(joined, c)
		}
		last = key{c.DocumentID, c.Ordinal}
		runs[key{c.DocumentID, c.Ordinal}] = len(joined) - 1
	}
	taken := map[int]bool{}
	out := sources[:0:0]
	for _, s := range sources {
		run, ok := runs[key{s.DocumentID, s.Ordinal}]
		if ok && taken[run] {
			continue
		}
		if ok {
			taken[run] = true
			own := s.Text
			s.Text, s.StartByte, s.EndByte = joined[run].Text, joined[run].StartByte, joined[run].EndByte
			if at := strings.Index(s.Text, own); at >= 0 {
				s.Chunk = &Span{at, at + len(own)}
			}
		}
		out = append(out, s)
	}
	return out
}

// join appends the next piece. A verbatim section of the document may overlap the end
// of the piece before: the overlap is left out. Other pieces go on a new line.
func join(a, next piece) piece {
	repeated := a.EndByte - next.StartByte
	verbatim := len(next.Text) == next.EndByte-next.StartByte && next.StartByte >= a.StartByte
	switch {
	case verbatim && repeated >= len(next.Text):
		return a
	case verbatim && repeated > 0 && strings.HasSuffix(a.Text, next.Text[:repeated]):
		a.Text += next.Text[repeated:]
	default:
		a.Text += "\n" + next.Text
	}
	a.EndByte = max(a.EndByte, next.EndByte)
	return a
}
