package query

import (
	"context"
	"math"

	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/tenant"
)

// arrange chooses topK of the sources: at most maxPerDocument of each document, and
// by diversity if that was asked for. Errors: those of limit.Processor.Run.
func (s *Service) arrange(ctx context.Context, id tenant.ID, p prepared, sources []Source) ([]Source, error) {
	if p.maxPerDocument > 0 {
		sources = perDocument(sources, p.maxPerDocument)
	}
	if p.diversity > 0 {
		var err error
		if sources, err = s.diverse(ctx, id, sources, p.topK, p.diversity); err != nil {
			return nil, err
		}
		if !p.includeVectors {
			for n := range sources {
				sources[n].Vector = nil
			}
		}
	}
	if p.group != nil {
		return sources, nil
	}
	return sources[:min(p.topK, len(sources))], nil
}

// fewProducts is the number of products of two numbers up to which the diversity of sources
// is computed without a slot of the processor: about a millisecond of work.
const fewProducts = 1 << 20

// diverse chooses k sources by maximal marginal relevance.
func (s *Service) diverse(ctx context.Context, id tenant.ID, sources []Source, k int, diversity float64) (chosen []Source, err error) {
	long := len(sources) > 0 && min(k, len(sources))*len(sources)*len(sources[0].Vector) > fewProducts
	err = s.processor.RunLong(ctx, string(id), long, func(ctx context.Context) error {
		chosen, err = diverse(ctx, sources, k, diversity)
		return err
	})
	return chosen, err
}

// perDocument returns the sources without those after the first most of each
// document. A ready-made vector is a document of its own.
func perDocument(sources []Source, most int) []Source {
	kept := sources[:0:0]
	counts := map[string]int{}
	for _, s := range sources {
		if s.DocumentID != "" {
			if counts[s.DocumentID] == most {
				continue
			}
			counts[s.DocumentID]++
		}
		kept = append(kept, s)
	}
	return kept
}

// diverse chooses k sources by maximal marginal relevance (Carbonell and
// Goldstein, SIGIR 1998). Each next source has the highest
//
//	(1-diversity) * relevance - diversity * greatest similarity to a chosen source
//
// where relevance is the score scaled to [0,1], and similarity the cosine of the
// embeddings. Ties go to the better score. Errors: that of ctx.
func diverse(ctx context.Context, sources []Source, k int, diversity float64) ([]Source, error) {
	if len(sources) == 0 {
		return sources, nil
	}
	best, worst := sources[0].Score, sources[len(sources)-1].Score
	left := make([]Source, len(sources))
	copy(left, sources)
	similar := make([]float64, len(sources)) // to the most similar chosen source
	chosen := make([]Source, 0, min(k, len(sources)))
	for len(chosen) < k && len(left) > 0 {
		if err := limit.Yield(ctx); err != nil {
			return nil, err
		}
		next, highest := 0, math.Inf(-1)
		for n, s := range left {
			relevance := 1.0
			if best > worst {
				relevance = (s.Score - worst) / (best - worst)
			}
			if value := (1-diversity)*relevance - diversity*similar[n]; value > highest {
				next, highest = n, value
			}
		}
		chosen = append(chosen, left[next])
		vector := left[next].Vector
		left = append(left[:next], left[next+1:]...)
		similar = append(similar[:next], similar[next+1:]...)
		for n, s := range left {
			if c := cosine(s.Vector, vector); len(chosen) == 1 || c > similar[n] {
				similar[n] = c
			}
		}
	}
	return chosen, nil
}

// cosine returns the cosine of two vectors of the same length, 0 if one of them is
// zero.
func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}
