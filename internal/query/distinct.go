package query

import (
	"context"
	"slices"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/query/distinct"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	// MaxPlaces bounds the other places of a passage that an answer names.
	MaxPlaces = 20
	// Passages of fewer bytes say the same only under the same title.
	shortPassage = 120
	// fewCompared is the size in bytes of texts up to which they are compared without a slot of the
	// processor: some milliseconds of work.
	fewCompared = 256 << 10
)

// Place is where a passage stands that is near-identical with a source.
type Place struct {
	ID         string
	DocumentID string
	URI        string
	Title      string
	Ordinal    int
	StartByte  int
	EndByte    int
	IndexName  string // if several indexes were asked
}

// distinct searches as search does, and makes one source of near-identical passages. It fetches half as many
// again as are wanted; if that leaves too few it searches again for more.
func (s *Service) distinct(ctx context.Context, id tenant.ID, h *data.Handle, i index.Index, p prepared, watch *Stopwatch) (a answer, err error) {
	if !p.distinct || p.plain || p.lists() {
		return s.boosted(ctx, id, h, i, p, watch)
	}
	wanted, most := p.fetch(), maxCandidates
	if p.page != nil {
		most = 2 * MaxPaged
	}
	for p.further = (p.topK + 1) / 2; ; p.further = min(2*p.fetch(), most) - wanted {
		if a, err = s.boosted(ctx, id, h, i, p, watch); err != nil {
			return a, err
		}
		found := a.sources
		kept, err := s.Distinct(ctx, id, found)
		if err != nil {
			return a, err
		}
		a.sources, a.explain.Repeated = folded(found, kept), len(found)-len(kept)
		if a.explain.Repeated > 0 {
			watch.Lap("distinct", len(a.sources))
		}
		all := len(found) < p.fetch() || len(above(p.minScore, found)) < len(found)
		if all || len(a.sources) >= p.topK || p.fetch() >= most {
			a.sources = a.sources[:min(wanted, len(a.sources))]
			return a, nil
		}
	}
}

// Distinct returns the numbers of the sources that repeat none before them, each with those of the sources
// that repeat it. Errors: those of limit.Processor.Run.
func (s *Service) Distinct(ctx context.Context, id tenant.ID, sources []Source) (kept []Repeats, err error) {
	texts, bytes := make([]string, len(sources)), 0
	for n, source := range sources {
		texts[n] = source.Text
		if len(source.Text) < shortPassage {
			texts[n] = source.Title + "\n" + source.Text
		}
		bytes += len(texts[n])
	}
	var firsts []int
	err = s.processor.RunLong(ctx, string(id), bytes > fewCompared, func(ctx context.Context) error {
		firsts, err = distinct.Repeated(ctx, texts)
		return err
	})
	if err != nil {
		return nil, err
	}
	at := make([]int, len(sources)) // in kept
	for n, first := range firsts {
		if first == n {
			at[n] = len(kept)
			kept = append(kept, Repeats{Source: n})
			continue
		}
		repeats := &kept[at[first]]
		repeats.By = append(repeats.By, n)
	}
	return kept, nil
}

// Repeats are the numbers of a source and of those that repeat it.
type Repeats struct {
	Source int
	By     []int
}

// AlsoIn returns the source with the places of those that repeat it, and the places that these have already.
func (r Repeats) AlsoIn(sources []Source) Source {
	source := sources[r.Source]
	if len(r.By) == 0 {
		return source
	}
	source.AlsoIn = slices.Clone(source.AlsoIn)
	for _, n := range r.By {
		o := sources[n]
		source.AlsoInCount += 1 + o.AlsoInCount
		source.AlsoIn = append(append(source.AlsoIn, Place{o.ID, o.DocumentID, o.URI, o.Title, o.Ordinal, o.StartByte, o.EndByte, o.IndexName}), o.AlsoIn...)
		source.AlsoIn = source.AlsoIn[:min(MaxPlaces, len(source.AlsoIn))]
	}
	return source
}

// folded returns the sources that repeat none, with the places of the others.
func folded(sources []Source, kept []Repeats) []Source {
	if len(kept) == len(sources) {
		return sources
	}
	out := make([]Source, len(kept))
	for n, r := range kept {
		out[n] = r.AlsoIn(sources)
	}
	return out
}
