package filter

import (
	"strings"
	"testing"
	"time"
)

func TestInstantReadsISO8601(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-02-28T23:30:00-05:00":         "2026-03-01T04:30:00Z",
		"2026-02-28T23:30:00-0500":          "2026-03-01T04:30:00Z",
		"2026-02-28 23:30-05":               "2026-03-01T04:30:00Z",
		"2026-03-01":                        "2026-03-01T00:00:00Z",
		"2026-03-01T04:30":                  "2026-03-01T04:30:00Z",
		"2026-03-01t04:30:00.1234567z":      "2026-03-01T04:30:00.123457Z",
		"2024-02-29T23:59:59.9999999+00:00": "2024-03-01T00:00:00Z",
		"2026-02-29":                        "",
		"2026-03":                           "",
		"0000-01-01":                        "",
		"2026-03-01T24:00":                  "",
		"2026-03-01T04:30.5":                "",
		"2026-03-01T04:30+16":               "",
		"2026-03-01Z":                       "",
		"2026-03-01 ":                       "",
		"20260301":                          "",
		"now":                               "",
	} {
		got := ""
		if at, ok := Instant(text); ok {
			got = time.UnixMicro(at).UTC().Format(time.RFC3339Nano)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestRelativeTimes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 31, 13, 45, 30, 0, time.UTC) // a Tuesday
	for text, want := range map[string]string{
		"now":        "2026-03-31T13:45:30Z",
		"now-30d":    "2026-03-01T13:45:30Z",
		"now-1M":     "2026-02-28T13:45:30Z",
		"now+1y-1M":  "2027-02-28T13:45:30Z",
		"now/d":      "2026-03-31T00:00:00Z",
		"now-1w/w":   "2026-03-23T00:00:00Z",
		"now/w":      "2026-03-30T00:00:00Z",
		"now-1M/M":   "2026-02-01T00:00:00Z",
		"now/y":      "2026-01-01T00:00:00Z",
		"now-90m/h":  "2026-03-31T12:00:00Z",
		"now-30s/m":  "2026-03-31T13:45:00Z",
		"now -1d":    "",
		"now-d":      "",
		"now-30D":    "",
		"now-1d/d/d": "",
		"yesterday":  "",
	} {
		got := ""
		if at, ok := relative(text, now); ok {
			got = time.UnixMicro(at).UTC().Format(time.RFC3339Nano)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestTimesAreComparedByInstant(t *testing.T) {
	t.Parallel()
	hour := func(ago int) string {
		return time.Now().Add(-time.Duration(ago) * time.Hour).Format(time.RFC3339)
	}
	when := "2026-02-28T23:30:00-05:00"
	for _, tc := range []struct {
		filter, when string
		want         bool
	}{
		{`{"when": {"$gte": "2026-03-01T00:00:00Z"}}`, when, true},
		{`{"when": {"$gte": "2026-03-01"}}`, when, true},
		{`{"when": {"$lt": {"$date": "2026-03-01"}}}`, when, false},
		{`{"when": {"$gte": {"$date": 1772339400000}}}`, when, true},
		{`{"when": {"$gte": {"$date": {"$numberLong": "1772339400001"}}}}`, when, false},
		{`{"when": "2026-03-01T04:30:00Z"}`, when, true},
		{`{"when": {"$date": "2026-03-01T04:30:00Z"}}`, when, true},
		{`{"when": {"$ne": "2026-03-01T04:30Z"}}`, when, false},
		{`{"when": {"$in": ["x", "2026-03-01T06:30:00+02:00"]}}`, when, true},
		{`{"when": {"$nin": ["x", {"$date": "2026-03-01T06:30:00+02:00"}]}}`, when, false},
		{`{"when": {"$gte": "2026-03-01"}}`, "z, no time", false},
		{`{"when": {"$not": {"$gte": "2026-03-01"}}}`, "z, no time", false},
		{`{"when": {"$ne": "2026-03-01"}}`, "z, no time", true},
		{`{"when": {"$gte": "now-3h"}}`, hour(2), true},
		{`{"when": {"$gte": {"$date": "now-3h"}}}`, hour(4), false},
		{`{"when": "now"}`, "now", true},
	} {
		f, err := Parse(tc.filter)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Match(map[string]any{"when": tc.when}); got != tc.want {
			t.Errorf("%s on %s: %v", tc.filter, tc.when, got)
		}
		if f.Match(map[string]any{}) {
			t.Errorf("%s selects what has no such field", tc.filter)
		}
	}
}

func TestRelativeTimesAreThoseOfTheRequest(t *testing.T) {
	t.Parallel()
	f, err := Parse(`{"when": {"$lt": "now"}}`)
	if err != nil {
		t.Fatal(err)
	}
	later := func() string { return time.Now().UTC().Format(time.RFC3339Nano) }
	first := later()
	for until := time.Now().Add(time.Millisecond); time.Now().Before(until); { // microseconds pass
		first = later()
	}
	resolved, err := And(f).Resolve(func(string) (any, bool) { return nil, false })
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string]any{"when": first}
	if f.Match(stored) || !resolved.Match(stored) {
		t.Errorf("parsed: %v, resolved: %v", f.Match(stored), resolved.Match(stored))
	}
	if f.Identity() == resolved.Identity() || f.String() != resolved.String() {
		t.Errorf("identity %q, resolved %q", f.Identity(), resolved.Identity())
	}
}

func TestDateRefusesWhatIsNoTime(t *testing.T) {
	t.Parallel()
	const want = `must be a time such as "2026-03-01", "2026-03-01T09:30:00+02:00" or "now-30d", or milliseconds since 1970`
	for filter, want := range map[string]string{
		`{"a": {"$gte": {"$date": "2026-02-30"}}}`: "filter.a.$gte: " + want,
		`{"a": {"$date": true}}`:                   "filter.a: " + want,
		`{"a": {"$in": ["x", {"$date": "x"}]}}`:    "filter.a.$in[1]: " + want,
		`{"a": {"$date": 1.5}}`:                    "filter.a: must be a whole number of milliseconds since 1970, at most 253402300799999",
		`{"a": {"$date": "now", "$gt": 1}}`:        "filter.a.$date: stands for a value, so it must be the only key of an object, where a value may be",
		`{"a": {"$regex": {"$date": "now"}}}`:      "filter.a.$regex: ",
	} {
		if _, err := Parse(filter); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", filter, err, want)
		}
	}
}
