package facet

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // the names of time zones, on machines without them too

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Interval is a unit of the calendar.
type Interval string

// Intervals are the known units.
var Intervals = []Interval{"minute", "hour", "day", "week", "month", "quarter", "year"}

func (i Interval) check(at string) error {
	if slices.Contains(Intervals, i) {
		return nil
	}
	names := make([]string, len(Intervals))
	for n, known := range Intervals {
		names[n] = string(known)
	}
	return fault.Field(at, "must be one of %s, got %q", strings.Join(names, ", "), string(i))
}

var zoneOffset = regexp.MustCompile(`^([+-])([01][0-9]):?([0-5][0-9])$`)

// zoneOf returns a time zone by its name in the IANA database, or by its offset from UTC.
func zoneOf(at, name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	if part := zoneOffset.FindStringSubmatch(name); part != nil {
		hours, _ := strconv.Atoi(part[2])
		minutes, _ := strconv.Atoi(part[3])
		seconds := hours*3600 + minutes*60
		if part[1] == "-" {
			seconds = -seconds
		}
		return time.FixedZone("", seconds), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" || len(name) > maxZoneBytes {
		return nil, fault.Field(at, "must be a name such as Europe/Paris, or an offset such as +02:00")
	}
	return zone, nil
}

// start returns the beginning of the unit around t. Of days and longer units it is the date, in UTC: a zone may have no such moment.
func (i Interval) start(t time.Time) time.Time {
	y, m, d := t.Date()
	switch i {
	case "minute":
		return t.Add(-time.Duration(t.Second())*time.Second - time.Duration(t.Nanosecond()))
	case "hour":
		return t.Add(-time.Duration(t.Minute())*time.Minute - time.Duration(t.Second())*time.Second - time.Duration(t.Nanosecond()))
	case "week":
		d -= (int(t.Weekday()) + 6) % 7
	case "month":
		d = 1
	case "quarter":
		m, d = m-(m-1)%3, 1
	case "year":
		m, d = time.January, 1
	}
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// next returns the beginning of the unit after that which begins at start.
func (i Interval) next(start time.Time) time.Time {
	switch i {
	case "minute":
		return start.Add(time.Minute)
	case "hour":
		return start.Add(time.Hour)
	case "week":
		return start.AddDate(0, 0, 7)
	case "month":
		return start.AddDate(0, 1, 0)
	case "quarter":
		return start.AddDate(0, 3, 0)
	case "year":
		return start.AddDate(1, 0, 0)
	}
	return start.AddDate(0, 0, 1)
}

// shown returns the moment at which a unit begins, as text.
func (i Interval) shown(start time.Time, zone *time.Location) string {
	if i == "minute" || i == "hour" {
		return shownTime(start.In(zone))
	}
	y, m, d := start.Date()
	t := time.Date(y, m, d, 0, 0, 0, 0, zone)
	for t.Day() != d { // the clock was put forward at midnight
		t = t.Add(time.Hour)
	}
	return shownTime(t)
}

// intervals counts the chunks with a time in each unit of the calendar between the first and the last.
func (p Plan) intervals(all tally) ([]RangeCount, error) {
	counts := map[int64]int64{} // by the beginning of the unit, in seconds
	begins := make([]int64, len(all.values))
	for v, chunks := range all.values {
		if value := &all.Dictionary.values[v]; chunks > 0 && value.is(aTime) {
			begins[v] = p.Interval.start(time.UnixMicro(value.instant).In(p.zone)).Unix()
		}
	}
	var starts []int64 // of an entry
	for n, chunks := range all.chunks {
		if chunks == 0 {
			continue
		}
		starts = starts[:0]
		for _, v := range all.of(n) {
			if all.Dictionary.values[v].is(aTime) && !slices.Contains(starts, begins[v]) {
				starts = append(starts, begins[v])
			}
		}
		for _, start := range starts {
			counts[start] += chunks
		}
	}
	if len(counts) == 0 {
		return nil, nil
	}
	seconds := slices.Sorted(maps.Keys(counts))
	order := make([]time.Time, len(seconds))
	for n, at := range seconds {
		order[n] = time.Unix(at, 0).UTC()
	}
	last := order[len(order)-1]
	var out []RangeCount
	for start, following := order[0], order[1:]; !start.After(last); {
		if len(out) == MaxIntervals {
			return nil, fault.New(fault.Exhausted, "%s.interval: %s makes more than %d ranges from %s to %s: take a longer one, or filter for a shorter time",
				p.at, p.Interval, MaxIntervals, order[0].Format(time.DateOnly), last.Format(time.DateOnly))
		}
		next := p.Interval.next(start)
		if len(following) > 0 && !next.Before(following[0]) { // earlier where a clock was put forward by half an hour
			next, following = following[0], following[1:]
		}
		out = append(out, RangeCount{Range{p.Interval.shown(start, p.zone), p.Interval.shown(next, p.zone)}, counts[start.Unix()]})
		start = next
	}
	return out, nil
}
