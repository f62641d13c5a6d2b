package query

import (
	"math"
	"strconv"
	"time"

	"github.com/ragdhq/ragd/internal/query/filter"
)

// times measures in nanoseconds how far the times of a field are from a time.
type times struct {
	field  string
	origin time.Time
	past   bool // what is later than origin has the distance 0
}

func (f times) name() string { return f.field }

func (f times) distance(metadata map[string]any) (float64, time.Time, bool) {
	micros, ok := filter.InstantOf(metadata, f.field)
	if !ok {
		return 0, time.Time{}, false
	}
	at := time.UnixMicro(micros).UTC()
	// A Duration ends after 292 years.
	distance := float64(f.origin.Unix()-at.Unix())*float64(time.Second) + float64(f.origin.Nanosecond()-at.Nanosecond())
	if f.past {
		return max(0, distance), at, true
	}
	return math.Abs(distance), at, true
}

func (f times) within(distance float64) map[string]any {
	conditions := map[string]any{"$gte": f.away(-distance, "0001-01-01")}
	if !f.past {
		conditions["$lte"] = f.away(distance, "9999-12-31T23:59:59Z")
	}
	return conditions
}

// away returns the time at a distance in nanoseconds from the origin, and one second more, or otherwise where times end.
func (f times) away(distance float64, otherwise string) map[string]any {
	at := otherwise
	if seconds := distance / float64(time.Second); math.Abs(seconds) < 9000*365.25*24*3600 {
		seconds += math.Copysign(1, seconds)
		if t := f.origin.AddDate(0, 0, int(seconds/(24*3600))).Add(time.Duration(math.Mod(seconds, 24*3600) * float64(time.Second))).UTC(); t.Year() > 0 && t.Year() < 9999 {
			at = t.Format(time.RFC3339)
		}
	}
	return map[string]any{"$date": at}
}

// numbers measures how far the numbers of a field are from a number.
type numbers struct {
	field  string
	origin float64
}

func (f numbers) name() string { return f.field }

func (f numbers) distance(metadata map[string]any) (float64, time.Time, bool) {
	value, _ := filter.FieldOf(metadata, f.field)
	n, ok := value.(float64)
	return math.Abs(n - f.origin), time.Time{}, ok
}

func (f numbers) within(distance float64) map[string]any {
	distance += 1e-9 * (distance + math.Abs(f.origin))
	low, high := f.origin-distance, f.origin+distance
	if !finite(low) || !finite(high) {
		return nil
	}
	return map[string]any{"$gte": decimal(low), "$lte": decimal(high)}
}

// decimal returns a number as a text without exponent, which filters compare as a number.
func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// points measures in meters how far the points of a field are from a point.
type points struct {
	field  string
	origin filter.Point
}

func (f points) name() string { return f.field }

func (f points) distance(metadata map[string]any) (float64, time.Time, bool) {
	point, ok := filter.PointOf(metadata, f.field)
	return f.origin.Distance(point), time.Time{}, ok
}

func (f points) within(distance float64) map[string]any {
	if !finite(distance) {
		return nil
	}
	return map[string]any{"$geoRadius": map[string]any{
		"center": map[string]any{"lat": f.origin.Lat, "lon": f.origin.Lon}, "radius": distance*(1+1e-9) + 0.1,
	}}
}
