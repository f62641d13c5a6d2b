package query

import (
	"cmp"
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// Boost prefers chunks by a field of their metadata or by a condition. A score above 0 is multiplied with
//
//	1 - weight + weight * decay(distance)
//
// where the distance is that of the value of the field from Origin, and the decay is 1 at distance 0 and 1/2 at the half
// distance. A chunk without a value is infinitely far away. With a Filter the decay is 1 for a chunk that it selects, else 0.
type Boost struct {
	Field    string   `json:"field,omitempty"`    // named as in filters
	HalfLife string   `json:"halfLife,omitempty"` // such as 30d, for a field with times
	Weight   *float64 `json:"weight,omitempty"`   // above 0, to 1; DefaultBoostWeight if nil
	Decay    Decay    `json:"decay,omitempty"`    // Exponential if empty
	// Origin is a time, a number or a point {lat, lon}. Nil: now, and what is to come has the distance 0.
	Origin any `json:"origin,omitempty"`
	// HalfDistance takes the place of HalfLife for a field with numbers or, in meters, with points.
	HalfDistance *float64 `json:"halfDistance,omitempty"`
	// Offset is the distance from which on the decay begins: a text such as 7d for times, else a number.
	Offset any `json:"offset,omitempty"`
	// Filter is a condition instead of Field: the JSON object of a filter.
	Filter any `json:"filter,omitempty"`
	// Popularity goes by the feedback on passages of the document instead of Field: the decay is its popularity, from 0 to 1, of which
	// the judgements count half as much after each HalfLife.
	Popularity bool `json:"popularity,omitempty"`
}

// Decay is how a boost falls with the distance from its origin. Each is 1/2 at the half distance.
type Decay string

// The decays, of the distance d in half distances.
const (
	Exponential Decay = "exponential" // 2^-d
	Gauss       Decay = "gauss"       // 2^-(d*d)
	Linear      Decay = "linear"      // 1 - d/2, at least 0
)

// at returns the decay at a distance in half distances.
func (d Decay) at(distance float64) float64 {
	switch d {
	case Gauss:
		return math.Exp2(-distance * distance)
	case Linear:
		return max(0, 1-distance/2)
	}
	return math.Exp2(-distance)
}

// within returns the distance in half distances from which on the decay is less than value; without end for 0.
func (d Decay) within(value float64) float64 {
	switch {
	case value <= 0:
		return math.Inf(1)
	case d == Gauss:
		return math.Sqrt(-math.Log2(min(1, value)))
	case d == Linear:
		return 2 * (1 - min(1, value))
	}
	return -math.Log2(min(1, value))
}

// Limits of boosts.
const (
	// DefaultBoostWeight is the part of a score that depends on a boost.
	DefaultBoostWeight = 0.5
	// MaxBoosts bounds the boosts of one query.
	MaxBoosts = 8
	// maxHalfLife is the longest half-life, and the longest offset.
	maxHalfLife = 1000 * 365.25 * 24 * float64(time.Hour)
)

var halfLifePattern = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)([smhdwy])$`)

var halfLifeUnits = map[string]float64{
	"s": float64(time.Second), "m": float64(time.Minute), "h": float64(time.Hour), "d": 24 * float64(time.Hour),
	"w": 7 * 24 * float64(time.Hour), "y": 365.25 * 24 * float64(time.Hour),
}

// span reads a length of time such as 30d, in nanoseconds; NaN for another text.
func span(text string) float64 {
	part := halfLifePattern.FindStringSubmatch(text)
	if part == nil {
		return math.NaN()
	}
	n, _ := strconv.ParseFloat(part[1], 64)
	return n * halfLifeUnits[part[2]]
}

// Boosters are boosts that were checked, at the time of a request.
type Boosters []booster

// booster is a boost that was checked: by a condition, by popularity, or by the distance from an origin.
type booster struct {
	weight     float64
	condition  filter.Filter // not zero for a boost by a condition
	popularity bool          // half is the half-life of judgements
	popular    popular       // once it is loaded
	decay      Decay
	half       float64 // distance; of times in nanoseconds
	offset     float64 // as half
	field      measuredField
}

// measuredField measures how far the values of a field are from an origin.
type measuredField interface {
	// distance returns that of the value in the metadata. at is the value of a time.
	distance(metadata map[string]any) (distance float64, at time.Time, ok bool)
	// within returns the conditions on the field for values that are no farther away, as in a filter; nil for none.
	within(distance float64) map[string]any
	// name is that of the field.
	name() string
}

// Boosters returns the boosts of a question, checked. Errors: Invalid.
func (q Question) Boosters() (Boosters, error) {
	boosts, at := q.Boosts, func(n int) string { return "boosts[" + strconv.Itoa(n) + "]" }
	if q.Boost != nil {
		if len(boosts) > 0 {
			return nil, fault.Field("boosts", "and boost are mutually exclusive: put all into boosts")
		}
		boosts, at = []Boost{*q.Boost}, func(int) string { return "boost" }
	}
	if len(boosts) > MaxBoosts {
		return nil, fault.Field("boosts", "must be at most %d, got %d", MaxBoosts, len(boosts))
	}
	all := make(Boosters, len(boosts))
	for n, b := range boosts {
		var err error
		if all[n], err = b.check(at(n), q.resolve); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// check returns the boost in a field `at` of a request. resolve replaces references of a filter; nil keeps them. Errors: Invalid.
func (b Boost) check(at string, resolve func(filter.Filter) (filter.Filter, error)) (out booster, err error) {
	out = booster{weight: valueOr(b.Weight, DefaultBoostWeight), decay: cmp.Or(b.Decay, Exponential)}
	if !(out.weight > 0 && out.weight <= 1) {
		return out, fault.Field(at+".weight", "must be above 0 and at most 1, got %g", out.weight)
	}
	if b.Popularity {
		return out, b.checkPopularity(at, &out)
	}
	if b.Filter != nil {
		return out, b.checkFilter(at, resolve, &out)
	}
	switch {
	case b.Field == "":
		return out, fault.Field(at+".field", "is required: name a metadata field, such as published, or give a filter instead")
	case strings.HasPrefix(b.Field, "$"):
		return out, fault.Field(at+".field", "must be a metadata field, got %q; write a backslash in front of a dollar sign that is part of the name", b.Field)
	case out.decay != Exponential && out.decay != Gauss && out.decay != Linear:
		return out, fault.Field(at+".decay", "unknown decay %q; known are exponential, gauss and linear", b.Decay)
	}
	if err := filter.CheckField(at+".field", b.Field); err != nil {
		return out, err
	}
	b.Origin, b.Offset = numberOr(b.Origin, b.HalfDistance), numberOr(b.Offset, b.HalfDistance)
	if _, isObject := b.Origin.(map[string]any); isObject {
		return out, b.checkPoint(at, &out)
	}
	if _, isNumber := b.Origin.(float64); isNumber || b.HalfDistance != nil {
		return out, b.checkNumber(at, &out)
	}
	return out, b.checkTime(at, &out)
}

// numberOr returns the number that a text is, as tools send it beside a half distance; other values unchanged.
func numberOr(v any, half *float64) any {
	if text, ok := v.(string); ok && half != nil {
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return n
		}
	}
	return v
}

// checkPopularity fills a boost by popularity.
func (b Boost) checkPopularity(at string, out *booster) error {
	if b.Field != "" || b.Decay != "" || b.Origin != nil || b.HalfDistance != nil || b.Offset != nil || b.Filter != nil {
		return fault.Field(at+".popularity", "stands beside weight and halfLife alone: leave out field, filter, halfDistance, origin, offset and decay, or put them into a boost of their own")
	}
	out.popularity = true
	return out.setHalfLife(at, cmp.Or(b.HalfLife, defaultPopularHalfLife))
}

// setHalfLife sets the half distance to a length of time. Errors: Invalid.
func (b *booster) setHalfLife(at, text string) error {
	if b.half = span(text); !(b.half > 0 && b.half <= maxHalfLife) {
		return fault.Field(at+".halfLife", "must be a number with a unit (s, m, h, d, w or y), such as 30d, above 0 and at most 1000y, got %q; for a field with numbers give halfDistance", text)
	}
	return nil
}

// checkFilter fills a boost by a condition.
func (b Boost) checkFilter(at string, resolve func(filter.Filter) (filter.Filter, error), out *booster) error {
	if b.Field != "" || b.HalfLife != "" || b.Decay != "" || b.Origin != nil || b.HalfDistance != nil || b.Offset != nil {
		return fault.Field(at+".filter", "stands beside weight alone: leave out field, halfLife, halfDistance, origin, offset and decay, or put them into a boost of their own")
	}
	f, err := filter.Parse(b.Filter)
	if err == nil && resolve != nil {
		f, err = resolve(f)
	}
	switch {
	case err != nil:
		return fault.Under(at, err)
	case f.IsZero():
		return fault.Field(at+".filter", "must state a condition: what selects all chunks prefers none")
	case f.HasURI():
		return fault.Field(at+".filter", "must not test $uri, only metadata")
	}
	out.condition = f
	return nil
}

// checkTime fills a boost by a time.
func (b Boost) checkTime(at string, out *booster) error {
	from := times{field: b.Field, origin: time.Now(), past: b.Origin == nil}
	if b.Origin != nil {
		text, _ := b.Origin.(string)
		micros, ok := filter.InstantAt(text, from.origin)
		if !ok {
			return fault.Field(at+".origin", `must be a time such as "2026-03-01" or "now-30d", or a number or a point {"lat": 52.52, "lon": 13.4} with halfDistance`)
		}
		from.origin = time.UnixMicro(micros).UTC()
	}
	if err := out.setHalfLife(at, b.HalfLife); err != nil {
		return err
	}
	if b.Offset != nil {
		text, _ := b.Offset.(string)
		if out.offset = span(text); !(out.offset >= 0 && out.offset <= maxHalfLife) {
			return fault.Field(at+".offset", "must be a number with a unit (s, m, h, d, w or y), such as 7d, and at most 1000y")
		}
	}
	out.field = from
	return nil
}

// checkNumber fills a boost by a number.
func (b Boost) checkNumber(at string, out *booster) error {
	origin, isNumber := b.Origin.(float64)
	switch {
	case !isNumber || !finite(origin):
		return fault.Field(at+".origin", "must be a number or a point: halfDistance is for a field with numbers or points")
	case b.HalfLife != "":
		return fault.Field(at+".halfLife", "is for a field with times: for one with numbers give halfDistance")
	}
	out.field = numbers{b.Field, origin}
	return b.checkDistances(at, out)
}

// checkPoint fills a boost by a point.
func (b Boost) checkPoint(at string, out *booster) error {
	origin, ok := filter.ParsePoint(b.Origin)
	switch {
	case !ok:
		return fault.Field(at+".origin", `must be a point such as {"lat": 52.52, "lon": 13.4}, with lat from -90 to 90 and lon from -180 to 180 degrees`)
	case b.HalfLife != "":
		return fault.Field(at+".halfLife", "is for a field with times: for one with points give halfDistance, in meters")
	}
	out.field = points{b.Field, origin}
	return b.checkDistances(at, out)
}

// checkDistances fills the half distance and the offset of a boost that is not by a time.
func (b Boost) checkDistances(at string, out *booster) error {
	if out.half = valueOr(b.HalfDistance, 0); !(out.half > 0 && finite(out.half)) {
		return fault.Field(at+".halfDistance", "must be a number above 0: the distance from origin at which half of the weight is left")
	}
	if b.Offset != nil {
		offset, isNumber := b.Offset.(float64)
		if !isNumber || !(offset >= 0 && finite(offset)) {
			return fault.Field(at+".offset", "must be a number that is not negative: the distance from origin up to which nothing is lost")
		}
		out.offset = offset
	}
	return nil
}

// factor returns what a score of a chunk with this metadata, of the document with this uri, is multiplied with.
func (b booster) factor(uri string, metadata map[string]any) (factor float64, at time.Time) {
	factor = 1 - b.weight
	if b.popularity {
		return factor + b.weight*b.popular[uri], at
	}
	if !b.condition.IsZero() {
		if b.condition.Match(metadata) {
			factor = 1
		}
		return factor, at
	}
	distance, at, ok := b.field.distance(metadata)
	if ok {
		factor += b.weight * b.decay.at(max(0, distance-b.offset)/b.half)
	}
	return factor, at
}

// reaching returns a filter for all chunks whose factor is at least this, and perhaps a few others; the zero Filter selects all.
func (b booster) reaching(factor float64) (filter.Filter, error) {
	if factor <= 1-b.weight {
		return filter.Filter{}, nil
	}
	if !b.condition.IsZero() {
		return b.condition, nil
	}
	if b.popularity {
		return b.popular.least((factor - (1 - b.weight)) / b.weight)
	}
	conditions := b.field.within(b.decay.within((factor-(1-b.weight))/b.weight)*b.half + b.offset)
	if conditions == nil {
		return filter.Filter{}, nil
	}
	return filter.Parse(map[string]any{b.field.name(): conditions})
}

// reaching returns a filter for all chunks whose score is multiplied with at least this.
func (all Boosters) reaching(factor float64) (filter.Filter, error) {
	filters := make([]filter.Filter, len(all))
	for n, b := range all {
		var err error
		if filters[n], err = b.reaching(factor); err != nil {
			return filter.Filter{}, err
		}
	}
	return filter.And(filters...), nil
}

// Recency is what boosts did to the score of a source.
type Recency struct {
	Score   float64   // before
	Factor  float64   // with which it was multiplied if it is above 0
	Factors []float64 // of each boost, if there are several
	Time    time.Time // of the first boost by a time; zero for a chunk without one
}

// Apply multiplies the score of a source by the factors of all boosts, and sets its Recency.
func (all Boosters) Apply(source *Source) {
	r := Recency{Score: source.Score, Factor: 1}
	var metadata map[string]any
	if json.Unmarshal([]byte(source.Metadata), &metadata) != nil {
		metadata = nil
	}
	for _, b := range all {
		factor, at := b.factor(source.URI, metadata)
		r.Factor *= factor
		if r.Time.IsZero() {
			r.Time = at
		}
		if len(all) > 1 {
			r.Factors = append(r.Factors, factor)
		}
	}
	if source.Score > 0 {
		source.Score *= r.Factor
	}
	source.Recency = &r
}
