// Package facet counts chunks by the values of a metadata field: the most frequent values, ranges of numbers and of times,
// and intervals of the calendar. It takes what the values of the field are and how many chunks have each; it does no I/O.
package facet

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// Limits of a facet.
const (
	Max           = 20 // facets of a request
	DefaultValues = 10 // of a facet
	MaxValues     = 1000
	MaxRanges     = 100
	MaxIntervals  = 1000
	MaxBytes      = 2000 // of a value that is counted
	maxZoneBytes  = 64
)

// Facet asks how many chunks have each value of a metadata field.
type Facet struct {
	Field      string
	Limit      *int    // values to return; nil: DefaultValues, or none with ranges
	Ranges     []Range // at most one of these three
	RangeCount int
	Interval   Interval
	TimeZone   string // of the Interval; UTC if empty
	// WithoutOwnFilter says that the conditions of the request's filter on this field do not count.
	WithoutOwnFilter bool
}

// Range is from a value on, and below another: numbers, or texts that state times. nil is open.
type Range struct{ From, To any }

// Counts are the counts of a facet.
type Counts struct {
	Field   string
	Chunks  int64 // that are counted
	Missing int64 // of these, without the field or with null
	Values  int64 // different ones
	Top     []ValueCount
	Ranges  []RangeCount
}

// ValueCount is a value, a string, json.Number or bool, and the chunks that have it.
type ValueCount struct {
	Value  any
	Chunks int64
}

// RangeCount is a range and the chunks that have a value in it.
type RangeCount struct {
	Range
	Chunks int64
}

// Group is a value of the field, as JSON, and how many chunks have it. An empty value stands for a missing field.
type Group struct {
	Value  string
	Chunks int64
}

// Plan is a valid facet.
type Plan struct {
	Facet
	at     string // of the facet in the request
	limit  int
	bounds []bounds // of Ranges
	zone   *time.Location
}

// Check returns the plans of facets. Errors: Invalid naming the field of the request, such as facets[0].field.
func Check(facets []Facet, now time.Time) ([]Plan, error) {
	if len(facets) > Max {
		return nil, fault.Field("facets", "must be at most %d, got %d", Max, len(facets))
	}
	plans := make([]Plan, len(facets))
	for n, f := range facets {
		p, err := f.plan("facets["+strconv.Itoa(n)+"]", now)
		if err != nil {
			return nil, err
		}
		plans[n] = p
	}
	return plans, nil
}

func (f Facet) plan(at string, now time.Time) (p Plan, err error) {
	p = Plan{Facet: f, at: at, limit: DefaultValues}
	if err := filter.CheckField(at+".field", f.Field); err != nil {
		return p, err
	}
	kinds := 0
	for _, given := range []bool{len(f.Ranges) > 0, f.RangeCount != 0, f.Interval != ""} {
		if given {
			kinds++
			p.limit = 0
		}
	}
	if f.Limit != nil {
		p.limit = *f.Limit
	}
	switch {
	case kinds > 1:
		return p, fault.Field(at, "has more than one of ranges, rangeCount and interval: give one, and another facet for each other")
	case p.limit < 0 || p.limit > MaxValues:
		return p, fault.Field(at+".limit", "must be between 0 and %d, got %d", MaxValues, p.limit)
	case len(f.Ranges) > MaxRanges:
		return p, fault.Field(at+".ranges", "must be at most %d, got %d", MaxRanges, len(f.Ranges))
	case f.RangeCount < 0 || f.RangeCount > MaxRanges:
		return p, fault.Field(at+".rangeCount", "must be between 1 and %d, got %d", MaxRanges, f.RangeCount)
	case f.TimeZone != "" && f.Interval == "":
		return p, fault.Field(at+".timeZone", "is the time zone of interval: give an interval, or leave it out")
	}
	for n, r := range f.Ranges {
		b, err := r.bounds(at+".ranges["+strconv.Itoa(n)+"]", now)
		if err != nil {
			return p, err
		}
		p.bounds = append(p.bounds, b)
	}
	if f.Interval == "" {
		return p, nil
	}
	if err := f.Interval.check(at + ".interval"); err != nil {
		return p, err
	}
	p.zone, err = zoneOf(at+".timeZone", f.TimeZone)
	return p, err
}

// Count counts by the groups of the field, which are all different. Errors: Exhausted for an interval that makes too many ranges.
func (p Plan) Count(groups []Group) (Counts, error) {
	d := NewDictionary()
	var chunks []int64
	for _, g := range groups {
		n := int(d.Number(g.Value))
		if n == len(chunks) {
			chunks = append(chunks, 0)
		}
		chunks[n] += g.Chunks
	}
	return p.CountIn(d, chunks)
}

// CountIn counts by the entries of a dictionary of the field, each of which so many chunks have. Errors: as for Count.
func (p Plan) CountIn(d *Dictionary, chunks []int64) (Counts, error) {
	c := Counts{Field: p.Field}
	all := tally{d, chunks, make([]int64, len(d.values))}
	for n, of := range chunks {
		if of == 0 {
			continue
		}
		c.Chunks += of
		if d.entries[n].missing {
			c.Missing += of
		}
		for _, v := range d.of(n) {
			if all.values[v] == 0 {
				c.Values++
			}
			all.values[v] += of
		}
	}
	c.Top = all.top(p.limit)
	var err error
	switch {
	case len(p.bounds) > 0:
		c.Ranges = all.inBounds(p.bounds)
	case p.RangeCount > 0:
		c.Ranges = all.inBounds(all.madeBounds(p.RangeCount))
	case p.Interval != "":
		c.Ranges, err = p.intervals(all)
	}
	return c, err
}

// tally is how many chunks have each entry and each value of a dictionary.
type tally struct {
	*Dictionary
	chunks []int64 // of each entry
	values []int64 // of each value
}

// top returns the most frequent values, ties by value.
func (t tally) top(limit int) []ValueCount {
	if limit == 0 {
		return nil
	}
	before := func(a, b int) int {
		return cmp.Or(cmp.Compare(t.values[b], t.values[a]), t.Dictionary.values[a].compare(t.Dictionary.values[b]))
	}
	best := make([]int, 0, limit+1)
	for v, chunks := range t.values {
		if chunks == 0 || len(best) == limit && before(v, best[limit-1]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, v, before)
		best = slices.Insert(best, at, v)
		best = best[:min(limit, len(best))]
	}
	out := make([]ValueCount, len(best))
	for n, v := range best {
		out[n] = ValueCount{t.Dictionary.values[v].decode(), t.values[v]}
	}
	return out
}
