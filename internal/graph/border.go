package graph

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/ragdhq/ragd/internal/graph/names"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Limits and weights of names that lead from one index to another. docs/explanation/graph.md has the measurements.
const (
	// namingCount is the number of best passages of all indexes in whose texts names of the others are looked up, and
	// maxNamingBytes bounds what is read of each.
	namingCount    = 10
	maxNamingBytes = 4 << 10
	// crossingWeight is the weight of the seeds of an index that the best passage of the others names. A seed counts as
	// crossingScore times as good as the passage that names it.
	crossingWeight = 4
	crossingScore  = 0.5
)

// naming is a passage that walks through one of several indexes have found.
type naming struct {
	index, title, text string
	score              float64 // comparable with those of other indexes
	phrases            []names.Phrase
	references         []names.Key
}

// crossing is what passages of other indexes name in an index.
type crossing struct {
	seeds []seed
	best  float64      // how good the best of them is, as the score of a passage
	found *query.Found // what the search of the first walk found; nil: search again
}

// cross follows names from the best passages of each index into the others: an index where they name chunks is walked again,
// from these too. Where that fails the first walk stands, with a warning. Errors: those of the service alone.
func (s *Service) cross(ctx context.Context, id tenant.ID, req Request, parts []part) error {
	if len(parts) < 2 || req.Options.Candidates > 0 {
		return nil
	}
	passages := namingIn(parts)
	byName := make(map[string]*part, len(parts))
	indexes := make([]string, len(parts))
	for n := range parts {
		indexes[n] = parts[n].name
		byName[parts[n].name] = &parts[n]
	}
	failed := query.Each(indexes, func(name string) error {
		one := byName[name]
		others := slices.DeleteFunc(slices.Clone(passages), func(p naming) bool { return p.index == name })
		if one.err != nil || len(others) == 0 {
			return nil
		}
		err := query.WithinIndex(query.Apart(ctx), func(ctx context.Context) error { return s.crossInto(ctx, id, req, one, others) })
		if err != nil && !query.IsOurs(err) {
			one.response.Warnings = append(one.response.Warnings, "names in passages of other indexes were not followed: "+fault.Public(err))
			return nil
		}
		return err
	})
	return cmp.Or(failed...)
}

// namingIn returns the best passages of all parts with what they may name.
func namingIn(parts []part) (passages []naming) {
	for _, one := range parts {
		scale := one.response.scale()
		for _, source := range one.response.Sources[:min(namingCount, len(one.response.Sources))] {
			if score := source.walked() * scale; one.err == nil && score > 0 {
				passages = append(passages, naming{index: one.name, title: cmp.Or(source.Title, source.URI, "a chunk"), text: source.Text, score: score})
			}
		}
	}
	slices.SortStableFunc(passages, func(a, b naming) int { return cmp.Compare(b.score, a.score) })
	passages = passages[:min(namingCount, len(passages))]
	for n := range passages {
		text := textlimit.Cut(passages[n].text, maxNamingBytes)
		passages[n].phrases, passages[n].references = names.Phrases(text), names.References(text)
	}
	return passages
}

// crossInto walks the graph of the index of a part again if the passages of others name chunks of it.
func (s *Service) crossInto(ctx context.Context, id tenant.ID, req Request, one *part, passages []naming) error {
	return s.indexes.Use(ctx, id, one.name, func(i index.Index, tables *data.Handle) error {
		p, err := req.plan(i)
		if err != nil || !slices.Contains(p.types, Mention) {
			return err
		}
		h := tables.Reading(req.Freshness)
		counts, err := countsOf(ctx, h, i.ID)
		if err != nil {
			return fmt.Errorf("read the version of the graph: %w", err)
		}
		again := req
		if again.crossing, err = crossingFrom(ctx, counts.reader(h), p, passages); err != nil || len(again.crossing.seeds) == 0 {
			return err
		}
		if i.ID == one.index.ID && i.Generation == one.index.Generation {
			again.crossing.found = &one.response.found
		}
		response, err := s.walkWith(ctx, id, i, h, again)
		if err == nil {
			one.index, one.response = i, response
		}
		return err
	})
}

// crossingFrom returns the chunks that passages of other indexes name. A name that many chunks have or mention weighs little, as on an edge.
func crossingFrom(ctx context.Context, h *data.Handle, p walkPlan, passages []naming) (c crossing, err error) {
	namespace := namespaceOf(p.request.Namespace)
	var phrases []names.Phrase
	for _, passage := range passages {
		phrases = append(phrases, namespace.Phrases(slices.Clone(passage.phrases))...)
	}
	known, err := namesAmong(ctx, h, phrases)
	if err != nil {
		return c, fmt.Errorf("find what passages of other indexes name: %w", err)
	}
	mentioned := make([][]names.Key, len(passages))
	for n, passage := range passages {
		keys := names.Mentioned(namespace.Keys(names.Keys(passage.phrases)), func(key names.Key) bool { return known[key] })
		mentioned[n] = distinct(slices.Concat(keys[:min(maxMentioned, len(keys))], namespace.Keys(slices.Clone(passage.references))))
	}
	found, err := followedNames(ctx, h, distinct(slices.Concat(mentioned...)), p.request.Filter, loadTimeout)
	if err != nil {
		return c, fmt.Errorf("find what passages of other indexes name: %w", err)
	}
	best := slices.MaxFunc(passages, func(a, b naming) int { return cmp.Compare(a.score, b.score) }).score
	for n, passage := range passages {
		var seeds []seed
		sum := 0.0
		for _, key := range mentioned[n] {
			name := found[key]
			if name == nil {
				continue
			}
			for _, to := range name.chunks {
				weight := mentionWeight(name.definitions, name.mentions)
				sum += weight
				seeds = append(seeds, seed{ChunkRef{to.DocumentID, to.Ordinal}, weight, "named " + strconv.Quote(to.Name) + " by " + passage.title + " of index " + passage.index})
			}
		}
		for _, one := range seeds {
			one.weight *= crossingWeight * passage.score / best / max(sum, leastWeight)
			c.seeds = append(c.seeds, one)
			c.best = max(c.best, crossingScore*passage.score)
		}
	}
	return c, nil
}

// walked returns the score of a source in its walk, before boosts.
func (s Source) walked() float64 {
	if s.Recency != nil {
		return s.Recency.Score
	}
	return s.Score
}
