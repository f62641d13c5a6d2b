package query

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant"
)

// piece is a chunk that may be joined to its neighbours.
type piece struct {
	DocumentID string
	Ordinal    int
	Text       string
	StartByte  int
	EndByte    int
}

// withNeighbours widens each source by the chunks next to it in its document, as
// far as the scope lets them be seen. Sources whose chunks then touch become one,
// in the place of the best of them.
func withNeighbours(ctx context.Context, h *tenant.Handle, i index.Index, p prepared, sources []Source) ([]Source, error) {
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
	pieces, err := tenant.Select[piece](ctx, h, `
		SELECT DISTINCT c.document_id::text, c.ordinal, c.text, c.start_byte, c.end_byte
		FROM unnest($1::text[], $2::int[], $3::int[]) AS w (document, low, high)
		JOIN tenant.chunk AS c ON c.document_id = w.document::uuid AND c.ordinal BETWEEN w.low AND w.high
		WHERE `+p.scope.sql(i, args), args.Values()...)
	if err != nil {
		return nil, err
	}
	return widen(sources, pieces), nil
}

// widen gives each source the run of pieces that it is in.
func widen(sources []Source, pieces []piece) []Source {
	slices.SortFunc(pieces, func(a, b piece) int {
		return cmp.Or(strings.Compare(a.DocumentID, b.DocumentID), cmp.Compare(a.Ordinal, b.Ordinal))
	})
	type place struct {
		document string
		ordinal  int
	}
	runs := map[place]int{} // number of the run that a piece is in
	var joined []piece
	var last place
	for _, c := range pieces {
		if len(joined) > 0 && last == (place{c.DocumentID, c.Ordinal - 1}) {
			joined[len(joined)-1] = join(joined[len(joined)-1], c)
		} else {
			joined = append(joined, c)
		}
		last = place{c.DocumentID, c.Ordinal}
		runs[place{c.DocumentID, c.Ordinal}] = len(joined) - 1
	}
	taken := map[int]bool{}
	out := sources[:0:0]
	for _, s := range sources {
		run, ok := runs[place{s.DocumentID, s.Ordinal}]
		if ok && taken[run] {
			continue
		}
		if ok {
			taken[run] = true
			s.Text, s.StartByte, s.EndByte = joined[run].Text, joined[run].StartByte, joined[run].EndByte
		}
		out = append(out, s)
	}
	return out
}

// join appends the next piece. Pieces that are cut from the document as they are
// may repeat the end of the one before: that part is left out. Others are set
// apart by a line.
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
