package filter

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// dateKey is the only key of an object that stands for a time, such as {"$date": "2026-03-01"}.
const dateKey = "$date"

// instantPattern matches the texts that may state a time. The SQL function ragd_shared.instant knows the same.
var instantPattern = regexp.MustCompile(
	`^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[Tt ]([0-9]{2}:[0-9]{2})(:[0-9]{2})?([.][0-9]{1,9})?([Zz]|[+-](?:0[0-9]|1[0-5])(?::?[0-5][0-9])?)?)?$`)

// Instant returns the time that a text states in the form of ISO 8601, in microseconds since 1970-01-01 UTC: a date, or a
// date with a time and perhaps an offset. Without an offset it is in UTC.
func Instant(text string) (microseconds int64, ok bool) {
	if len(text) < len(time.DateOnly) || text[4] != '-' || text[7] != '-' { // most texts
		return 0, false
	}
	part := instantPattern.FindStringSubmatch(text)
	if part == nil || part[4] != "" && part[3] == "" || strings.HasPrefix(text, "0000") {
		return 0, false
	}
	clock := part[2] + part[3]
	if len(clock) < len("15:04:05") {
		clock = (clock + "00:00:00"[len(clock):])
	}
	at, err := time.Parse(time.DateTime, part[1]+" "+clock)
	if err != nil {
		return 0, false
	}
	microseconds = at.UnixMicro()
	if part[4] != "" { // rounded as PostgreSQL does
		fraction, _ := strconv.ParseFloat("0"+part[4], 64)
		microseconds += int64(math.RoundToEven(fraction * 1e6))
	}
	if zone := strings.Replace(part[5], ":", "", 1); len(zone) > 1 {
		hours, _ := strconv.ParseInt(zone[1:3], 10, 64)
		minutes, _ := strconv.ParseInt("0"+zone[3:], 10, 64)
		offset := (hours*60 + minutes) * int64(time.Minute/time.Microsecond)
		if zone[0] == '-' {
			offset = -offset
		}
		microseconds -= offset
	}
	return microseconds, true
}

// relativePattern matches a time relative to that of the request, such as now-30d or now-1M/d.
var relativePattern = regexp.MustCompile(`^now((?:[+-][0-9]{1,6}[smhdwMy])*)(?:/([smhdwMy]))?$`)

var relativeTerm = regexp.MustCompile(`[+-][0-9]+[smhdwMy]`)

// relative returns the time that a text such as now-30d states at the time now, which is in UTC.
func relative(text string, now time.Time) (microseconds int64, ok bool) {
	part := relativePattern.FindStringSubmatch(text)
	if part == nil {
		return 0, false
	}
	for _, term := range relativeTerm.FindAllString(part[1], -1) {
		n, _ := strconv.Atoi(term[:len(term)-1])
		switch term[len(term)-1] {
		case 's':
			now = now.Add(time.Duration(n) * time.Second)
		case 'm':
			now = now.Add(time.Duration(n) * time.Minute)
		case 'h':
			now = now.Add(time.Duration(n) * time.Hour)
		case 'd':
			now = now.AddDate(0, 0, n)
		case 'w':
			now = now.AddDate(0, 0, 7*n)
		case 'M':
			now = addMonths(now, n)
		case 'y':
			now = addMonths(now, 12*n)
		}
	}
	return startOf(part[2], now).UnixMicro(), true
}

// addMonths returns the same day n months later, or the last day of that month if it is shorter.
func addMonths(t time.Time, n int) time.Time {
	first := time.Date(t.Year(), t.Month()+time.Month(n), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1)
}

// startOf returns the beginning of the unit of time around t; a week begins on Monday.
func startOf(unit string, t time.Time) time.Time {
	switch unit {
	case "s":
		return t.Truncate(time.Second)
	case "m":
		return t.Truncate(time.Minute)
	case "h":
		return t.Truncate(time.Hour)
	case "d":
		return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	case "w":
		return time.Date(t.Year(), t.Month(), t.Day()-(int(t.Weekday())+6)%7, 0, 0, 0, 0, time.UTC)
	case "M":
		return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	case "y":
		return time.Date(t.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return t
}

// dateLiteral returns the operand of {"$date": v}.
func dateLiteral(v any) (operand any, ok bool) {
	object, isObject := v.(map[string]any)
	if !isObject || len(object) != 1 {
		return nil, false
	}
	operand, ok = object[dateKey]
	return operand, ok
}

// date reads a $date or its operand: a text in the form of ISO 8601, one relative to now, or milliseconds since 1970.
func (p *parser) date(v any, at location) (int64, error) {
	if operand, ok := dateLiteral(v); ok {
		v = operand
	}
	if object, ok := v.(map[string]any); ok && len(object) == 1 { // as MongoDB writes 64-bit integers
		if long, ok := object["$numberLong"].(string); ok {
			return p.milliseconds(long, at)
		}
	}
	if text, ok := v.(string); ok {
		if err := p.text(text, at); err != nil {
			return 0, err
		}
		if instant, ok := p.instant(text); ok {
			return instant, nil
		}
	} else if literal, ok := numberLiteral(v); ok {
		return p.milliseconds(literal, at)
	}
	return 0, at.refuse(`must be a time such as "2026-03-01", "2026-03-01T09:30:00+02:00" or "now-30d", or milliseconds since 1970`)
}

func (p *parser) milliseconds(literal string, at location) (int64, error) {
	text, _ := canonicalNumber(literal)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > maxMilliseconds || n < -maxMilliseconds {
		return 0, at.refuse("must be a whole number of milliseconds since 1970, at most %d", int64(maxMilliseconds))
	}
	return n * 1000, nil
}

const maxMilliseconds = 253402300799999 // the end of the year 9999

// instant returns the time that a text states, which may be relative to the time of the request.
func (p *parser) instant(text string) (int64, bool) {
	if at, ok := Instant(text); ok {
		return at, true
	}
	at, ok := relative(text, p.now)
	p.relative = p.relative || ok
	return at, ok
}

// InstantOf returns the time that a field of the metadata states, which is named as in filters.
func InstantOf(metadata map[string]any, field string) (microseconds int64, ok bool) {
	text, _ := parsePath(field).find(metadata).(string)
	return Instant(text)
}

// isInstant reports whether equality with v compares times. A text relative to now is a time only below $date.
func isInstant(v any) bool {
	text, ok := v.(string)
	if !ok {
		_, ok = dateLiteral(v)
		return ok
	}
	_, ok = Instant(text)
	return ok
}

// instants separates the values of a list that are compared as times from its other values.
func (p *parser) instants(list []any, at location) (times []int64, others []any, err error) {
	if !slices.ContainsFunc(list, isInstant) {
		return nil, list, nil
	}
	if len(list) > MaxList {
		return nil, nil, at.refuse("lists %d values; %d are allowed", len(list), MaxList)
	}
	if err := p.nest(at, len(list)); err != nil {
		return nil, nil, err
	}
	for i, v := range list {
		if !isInstant(v) {
			others = append(others, v)
			continue
		}
		instant, err := p.date(v, at.element(i))
		if err != nil {
			return nil, nil, err
		}
		times = append(times, instant)
	}
	slices.Sort(times)
	return slices.Compact(times), others, nil
}

// atInstant is true for a text that states one of the times, and for an array with such a text if members is set.
type atInstant struct {
	path    path
	times   []int64 // sorted and distinct; not empty
	members bool
}

func (n atInstant) truth(v any) truth {
	v = n.path.find(v)
	if isNull(v) {
		return unknown
	}
	if array, ok := v.([]any); ok && n.members {
		return truthOf(slices.ContainsFunc(array, n.lists))
	}
	return truthOf(n.lists(v))
}

func (n atInstant) lists(v any) bool {
	text, ok := v.(string)
	if !ok {
		return false
	}
	at, ok := Instant(text)
	_, found := slices.BinarySearch(n.times, at)
	return ok && found
}

func (n atInstant) sql(c *compiler, at string, want bool) string {
	text := c.text(at, n.path)
	test := func(text string) string {
		if len(n.times) == 1 {
			return instantExpression(text) + " = " + c.instant(n.times[0])
		}
		texts := make([]string, len(n.times))
		for i, t := range n.times {
			texts[i] = strconv.FormatInt(t, 10)
		}
		return instantExpression(text) + " = ANY (" + c.args.Add(texts) + "::text[]::bigint[])"
	}
	if !n.members {
		if want {
			return test(text)
		}
		return "(" + text + " IS NOT NULL AND (" + test(text) + ") IS NOT TRUE)"
	}
	element := c.element()
	value := c.json(at, n.path)
	isArray := "jsonb_typeof(" + value + ") = 'array'"
	found := "EXISTS (SELECT FROM jsonb_array_elements_text(" + value + ") AS " + element + "(v) WHERE " + test(element+".v") + ")"
	if want {
		// An array is not a time itself: the first test, which a Postgres index serves, is then NULL.
		return "(" + test(text) + " OR CASE WHEN " + isArray + " THEN " + found + " END)"
	}
	return "CASE WHEN " + isArray + " THEN NOT " + found + " ELSE " + text + " IS NOT NULL AND (" + test(text) + ") IS NOT TRUE END"
}

func (atInstant) needs(bool) [][]string   { return nil }
func (n atInstant) walk(visit func(path)) { visit(n.path) }

// orderInstant is one of $gt, $gte, $lt and $lte with a time: unknown for all but texts that state one.
type orderInstant struct {
	path     path
	operator comparison
	time     int64
}

func (n orderInstant) truth(v any) truth {
	text, ok := n.path.find(v).(string)
	if !ok {
		return unknown
	}
	at, ok := Instant(text)
	if !ok {
		return unknown
	}
	switch {
	case at < n.time:
		return truthOf(n.operator.holds(-1))
	case at > n.time:
		return truthOf(n.operator.holds(1))
	}
	return truthOf(n.operator.holds(0))
}

func (n orderInstant) sql(c *compiler, at string, want bool) string {
	operator := n.operator
	if !want {
		operator = operator.opposite()
	}
	return instantExpression(c.text(at, n.path)) + " " + string(operator) + " " + c.instant(n.time)
}

func (orderInstant) needs(bool) [][]string   { return nil }
func (n orderInstant) walk(visit func(path)) { visit(n.path) }

// instant binds a time.
func (c *compiler) instant(t int64) string {
	return c.args.Add(strconv.FormatInt(t, 10)) + "::bigint"
}

// instantExpression returns SQL for the time that a text states, NULL for every other text.
func instantExpression(text string) string { return "ragd_shared.instant(" + text + ")" }

// InstantIndex returns an SQL expression for CREATE INDEX ... (expression). The index serves comparisons with times on the
// field. The arguments are those of TextIndex.
func InstantIndex(column, field string) string {
	return instantExpression(literalAccess(column, parsePath(field), "->>", "#>>"))
}
