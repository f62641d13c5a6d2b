package facet

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// bounds are those of a range, of times in microseconds since 1970.
type bounds struct {
	shown     Range
	from, to  float64 // infinite for an open side
	times     bool
	inclusive bool // to is in the range
}

// bounds checks a range of the request.
func (r Range) bounds(at string, now time.Time) (b bounds, err error) {
	if r.From == nil && r.To == nil {
		return b, fault.Field(at, "must have from, to or both: numbers, or times such as \"2026-03-01\"")
	}
	b = bounds{from: math.Inf(-1), to: math.Inf(1)}
	kinds := 0
	for _, side := range []struct {
		name  string
		given any
		into  *float64
		shown *any
	}{{"from", r.From, &b.from, &b.shown.From}, {"to", r.To, &b.to, &b.shown.To}} {
		switch v := side.given.(type) {
		case nil:
			continue
		case float64:
			*side.into, *side.shown = v, v
			kinds |= 1
		case string:
			t, ok := filter.InstantAt(v, now)
			if !ok {
				return b, fault.Field(at+"."+side.name, "%q must be a number, or a time such as \"2026-03-01\", \"2026-03-01T09:30:00+02:00\" or \"now-30d\"", v)
			}
			*side.into, *side.shown, b.times = float64(t), v, true
			if _, absolute := filter.Instant(v); !absolute {
				*side.shown = shownTime(time.UnixMicro(t).UTC())
			}
			kinds |= 2
		default:
			return b, fault.Field(at+"."+side.name, "must be a number, or a time such as \"2026-03-01\"")
		}
	}
	switch {
	case kinds == 3:
		return b, fault.Field(at, "must have two numbers or two times")
	case !(b.from < b.to):
		return b, fault.Field(at, "must begin before it ends: from is part of the range, and to is not")
	}
	return b, nil
}

// has reports whether a value is in the range.
func (b *bounds) has(v *value) bool {
	n := v.number
	switch {
	case b.times && v.is(aTime):
		n = float64(v.instant)
	case b.times || !v.is(aNumber):
		return false
	}
	return n >= b.from && (n < b.to || b.inclusive && n == b.to)
}

// inBounds counts the chunks with a value in each of the ranges.
func (t tally) inBounds(all []bounds) []RangeCount {
	out := make([]RangeCount, len(all))
	for n, b := range all {
		out[n].Range = b.shown
	}
	for entry, chunks := range t.chunks {
		if chunks == 0 {
			continue
		}
		values := t.of(entry)
		for n := range all {
			for _, v := range values {
				if all[n].has(&t.Dictionary.values[v]) {
					out[n].Chunks += chunks
					break
				}
			}
		}
	}
	return out
}

// madeBounds returns at most n ranges of equal width with round bounds over the numbers among the values; none if there are none.
func (t tally) madeBounds(n int) []bounds {
	least, greatest := math.Inf(1), math.Inf(-1)
	for v, chunks := range t.values {
		if value := &t.Dictionary.values[v]; chunks > 0 && value.is(aNumber) {
			least, greatest = min(least, value.number), max(greatest, value.number)
		}
	}
	if least > greatest {
		return nil
	}
	one := []bounds{{shown: Range{least, greatest}, from: least, to: greatest, inclusive: true}}
	step := roundUp((greatest - least) / float64(n))
	if !(step > 0) || math.IsInf(step, 0) { // no width, or none that a number can hold
		return one
	}
	for {
		first, last := math.Floor(least/step), math.Ceil(greatest/step)
		if count := int(last - first); count <= n {
			return even(first, step, count, one)
		}
		step = roundUp(step * 1.01)
	}
}

// even returns count ranges from the multiple first of step on; otherwise if numbers are too large for steps so small.
func even(first, step float64, count int, otherwise []bounds) []bounds {
	out := make([]bounds, count)
	for i := range out {
		from, to := rounded((first+float64(i))*step, step), rounded((first+float64(i+1))*step, step)
		if !(from < to) {
			return otherwise
		}
		out[i] = bounds{shown: Range{from, to}, from: from, to: to, inclusive: i == count-1}
	}
	if count == 0 || otherwise[0].from < out[0].from || otherwise[0].to > out[count-1].to {
		return otherwise
	}
	return out
}

// roundUp returns the next of 1, 2, 2.5 and 5 times a power of 10.
func roundUp(width float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(width)))
	for _, factor := range []float64{1, 2, 2.5, 5} {
		if width <= factor*power {
			return factor * power
		}
	}
	return 10 * power
}

// rounded returns a multiple of step without what floating point adds to it.
func rounded(v, step float64) float64 {
	digits := max(0, 2-int(math.Floor(math.Log10(step))))
	if out, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', digits, 64), 64); err == nil {
		return out
	}
	return v
}

func shownTime(t time.Time) string { return t.Format("2006-01-02T15:04:05.999999Z07:00") }

// Number returns a number of a value or range as float64.
func Number(v any) (n float64, ok bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case json.Number:
		n, err := v.Float64()
		return n, err == nil
	}
	return 0, false
}
