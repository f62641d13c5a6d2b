package query

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Boost prefers chunks whose time, in a field of their metadata, is recent. A score above 0 is multiplied with
//
//	1 - weight + weight * 2^(-age / halfLife)
//
// where the age is at least 0, and without end for a chunk whose field is missing or states no time.
type Boost struct {
	Field    string   // named as in filters
	HalfLife string   // such as 30d
	Weight   *float64 // above 0, to 1; DefaultBoostWeight if nil
}

// DefaultBoostWeight is the part of a score that depends on the age.
const DefaultBoostWeight = 0.5

// maxHalfLife is the longest half-life.
const maxHalfLife = 1000 * 365.25 * 24 * float64(time.Hour)

var halfLifePattern = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)([smhdwy])$`)

var halfLifeUnits = map[string]float64{
	"s": float64(time.Second), "m": float64(time.Minute), "h": float64(time.Hour), "d": 24 * float64(time.Hour),
	"w": 7 * 24 * float64(time.Hour), "y": 365.25 * 24 * float64(time.Hour),
}

// Booster is a Boost that was checked, at the time of a request.
type Booster struct {
	field    string
	halfLife float64 // nanoseconds
	weight   float64
	now      time.Time
}

// Booster returns a checked Boost; nil for none. Errors: Invalid.
func (b *Boost) Booster() (*Booster, error) { return b.check(Fusion{}) }

// check returns the boost of a request with this fusion. Errors: Invalid.
func (b *Boost) check(fusion Fusion) (*Booster, error) {
	if b == nil {
		return nil, nil //nolint:nilnil // no boost
	}
	out := &Booster{field: b.Field, weight: valueOr(b.Weight, DefaultBoostWeight), now: time.Now()}
	part := halfLifePattern.FindStringSubmatch(b.HalfLife)
	if part != nil {
		n, _ := strconv.ParseFloat(part[1], 64)
		out.halfLife = n * halfLifeUnits[part[2]]
	}
	switch {
	case b.Field == "":
		return nil, fault.Field("boost.field", "is required: name the metadata field with the time of a document, such as published")
	case strings.HasPrefix(b.Field, "$"):
		return nil, fault.Field("boost.field", "must be a metadata field, got %q; write a backslash in front of a dollar sign that is part of the name", b.Field)
	case !(out.halfLife > 0 && out.halfLife <= maxHalfLife):
		return nil, fault.Field("boost.halfLife", "must be a number with a unit (s, m, h, d, w or y), such as 30d, above 0 and at most 1000y, got %q", b.HalfLife)
	case !(out.weight > 0 && out.weight <= 1):
		return nil, fault.Field("boost.weight", "must be above 0 and at most 1, got %g", out.weight)
	case fusion.Method == RRF:
		return nil, fault.Field("boost", "needs scores that do not depend on ranks: leave out hybrid.fusion rrf")
	}
	if _, err := out.since(0); err != nil {
		return nil, fault.Field("boost.field", "is not the name of a metadata field: %s", fault.Public(err))
	}
	return out, nil
}

// Recency is what a Boost did to the score of a source.
type Recency struct {
	Score  float64   // before
	Factor float64   // with which it was multiplied if it is above 0
	Time   time.Time // zero for a chunk without one
}

// Apply multiplies the score of a source by the factor of its time, and sets its Recency.
func (b Booster) Apply(source *Source) {
	r := Recency{Score: source.Score, Factor: 1 - b.weight}
	var metadata map[string]any
	if json.Unmarshal([]byte(source.Metadata), &metadata) == nil {
		if at, ok := filter.InstantOf(metadata, b.field); ok {
			r.Time = time.UnixMicro(at).UTC()
			r.Factor += b.weight * math.Exp2(-max(0, b.now.Sub(r.Time).Seconds()*float64(time.Second))/b.halfLife)
		}
	}
	if source.Score > 0 {
		source.Score *= r.Factor
	}
	source.Recency = &r
}

// age returns the age in nanoseconds at which the factor is this; without end for the least factor.
func (b Booster) age(factor float64) float64 {
	return -math.Log2((factor-(1-b.weight))/b.weight) * b.halfLife
}

// since returns a filter for the chunks that are younger than an age in nanoseconds.
func (b Booster) since(age float64) (filter.Filter, error) {
	oldest := "0001-01-01"
	if seconds := age / float64(time.Second); seconds < 2000*365.25*24*3600 && !math.IsNaN(seconds) {
		from := b.now.AddDate(0, 0, -int(seconds/(24*3600))).Add(-time.Duration(math.Mod(seconds, 24*3600) * float64(time.Second))).Add(-time.Second)
		if from.Year() > 0 {
			oldest = from.UTC().Format(time.RFC3339)
		}
	}
	return filter.Parse(map[string]any{b.field: map[string]any{"$gte": map[string]any{"$date": oldest}}})
}

// boostRounds limits the searches for recent chunks.
const boostRounds = 8

// boosted searches as search does, and orders by boosted scores, if the request has a boost. A factor is at most 1. So a chunk
// that the search left out, which scores no more than its last source, can only be among the best if its factor is
// large enough to reach the last that is wanted: it is younger than some age. Chunks of that age are searched
// again, until no chunk that is left out can be among the best.
func (s *Service) boosted(ctx context.Context, id tenant.ID, h *data.Handle, i index.Index, p prepared, watch *Stopwatch) (a answer, err error) {
	if p.like != nil && p.like.Combine == Best {
		return s.searchLike(ctx, id, h, i, p, watch)
	}
	if p.boost == nil || p.lists() {
		return s.search(ctx, id, h, i, p, watch)
	}
	wanted := p.fetch()
	deep := p
	deep.further += max(0, p.plenty()-wanted)
	seen := map[string]bool{}
	var found []Source
	young, sure := math.Inf(1), false
	for round := range boostRounds {
		part, err := s.search(ctx, id, h, i, deep, watch)
		if err != nil {
			return a, err
		}
		if round == 0 {
			a = part
		} else if len(part.warnings) > len(a.warnings) { // it found no chunk with the phrases of the question
			part.sources = nil
		}
		all, last := len(part.sources) < deep.fetch(), 0.0
		if n := len(part.sources); n > 0 {
			last = part.sources[n-1].Score
		}
		for _, source := range part.sources {
			if !seen[source.ID] {
				seen[source.ID] = true
				p.boost.Apply(&source)
				found = append(found, source)
			}
		}
		slices.SortFunc(found, func(a, b Source) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID)) })
		if all || last <= 0 || len(found) >= wanted && found[wanted-1].Score >= last {
			sure = true
			break
		}
		age := p.boost.age(found[wanted-1].Score / last)
		switch {
		case round == 0 || age < young:
			young = age
			recent, err := p.boost.since(young)
			if err != nil {
				return a, err
			}
			deep.scope.filter = filter.And(p.scope.filter, recent)
		default: // many score the same
			deep.further += max(0, min(deep.fetch(), maxCandidates-deep.fetch()))
		}
	}
	watch.Lap("boost", len(found))
	a.sources = found[:min(wanted, len(found))]
	a.explain.Exact = a.explain.Exact && sure
	return a, nil
}
