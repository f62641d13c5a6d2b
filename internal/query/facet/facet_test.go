package facet

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

var now = time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)

// count counts by one facet of field f.
func count(t *testing.T, f Facet, groups ...Group) Counts {
	t.Helper()
	f.Field = "f"
	plans, err := Check([]Facet{f}, now)
	if err != nil {
		t.Fatal(err)
	}
	c, err := plans[0].Count(groups)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// shown returns ranges as texts.
func shown(ranges []RangeCount) (out []string) {
	for _, r := range ranges {
		out = append(out, fmt.Sprint(r.From, "|", r.To, "|", r.Chunks))
	}
	return out
}

func TestValuesAreCountedOncePerChunk(t *testing.T) {
	t.Parallel()
	c := count(t, Facet{},
		Group{`"red"`, 3}, Group{`["red", "blue", "red"]`, 2}, Group{`10`, 1}, Group{`"10"`, 4}, Group{`[10.0, {"a": 1}, null, ["x"]]`, 1},
		Group{``, 5}, Group{`null`, 1}, Group{`{}`, 7}, Group{`[]`, 2}, Group{`true`, 1}, Group{`"` + strings.Repeat("x", MaxBytes) + `"`, 1})
	want := Counts{Field: "f", Chunks: 28, Missing: 6, Values: 5, Top: []ValueCount{
		{"red", 5}, {"10", 4}, {json.Number("10"), 2}, {"blue", 2}, {true, 1},
	}}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
	if c := count(t, Facet{Limit: new(1)}, Group{`"b"`, 2}, Group{`"a"`, 2}); len(c.Top) != 1 || c.Top[0].Value != "a" || c.Values != 2 {
		t.Errorf("one of two: %v", c)
	}
}

func TestRangesAreCounted(t *testing.T) {
	t.Parallel()
	groups := []Group{{`1`, 1}, {`2`, 2}, {`[2, 3, 50]`, 4}, {`"2"`, 8}, {`"2026-03-01"`, 16}, {`"2026-03-01T00:30:00+01:00"`, 32}, {``, 64}}
	c := count(t, Facet{Ranges: []Range{
		{nil, 2.0}, {2.0, 3.0}, {2.0, nil}, {"2026-03-01", nil}, {"now-14d/d", "now"}, {nil, "2026-03-01"},
	}}, groups...)
	want := []string{
		"<nil>|2|1", "2|3|6", "2|<nil>|6", "2026-03-01|<nil>|16", "2026-03-01T00:00:00Z|2026-03-15T12:00:00Z|16", "<nil>|2026-03-01|32",
	}
	if diff := cmp.Diff(want, shown(c.Ranges)); diff != "" {
		t.Error(diff)
	}
	if c.Top != nil {
		t.Errorf("values beside ranges: %v", c.Top)
	}
}

func TestMadeRangesCoverAllNumbers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		values []string
		n      int
		want   []string
	}{
		"round":              {[]string{"3", "17", "50", "99"}, 5, []string{"0|20|2", "20|40|0", "40|60|1", "60|80|0", "80|100|1"}},
		"the last inclusive": {[]string{"0", "100"}, 4, []string{"0|25|1", "25|50|0", "50|75|0", "75|100|1"}},
		"one number":         {[]string{"7", "7.0"}, 4, []string{"7|7|2"}},
		"fractions":          {[]string{"0.1", "0.3"}, 2, []string{"0.1|0.2|1", "0.2|0.3|1"}},
		"none":               {[]string{`"a"`, `true`}, 4, nil},
		"negative":           {[]string{"-5", "5"}, 1, []string{"-5|5|2"}},
		"huge":               {[]string{"-1e308", "1e308"}, 10, []string{"-1e+308|1e+308|2"}},
		"close":              {[]string{"1000000000000000", "1000000000000000.125"}, 10, nil},
		"tiny":               {[]string{"0", "5e-324"}, 10, nil},
	} {
		var groups []Group
		for _, v := range tc.values {
			groups = append(groups, Group{v, 1})
		}
		c := count(t, Facet{RangeCount: tc.n}, groups...)
		if diff := cmp.Diff(tc.want, shown(c.Ranges)); diff != "" && (tc.want != nil || name == "none") {
			t.Errorf("%s: %s", name, diff)
		}
		var counted int64
		for _, r := range c.Ranges {
			counted += r.Chunks
		}
		if len(c.Ranges) > tc.n || name != "none" && counted != int64(len(groups)) {
			t.Errorf("%s: %v have %d of %d", name, shown(c.Ranges), counted, len(groups))
		}
	}
}

func TestIntervalsFollowTheCalendarOfTheZone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		interval Interval
		zone     string
		times    []string
		want     []string
	}{
		"months with a gap":    {"month", "", []string{"2026-01-31", "2026-03-01"}, []string{"2026-01-01T00:00:00Z|2026-02-01T00:00:00Z|1", "2026-02-01T00:00:00Z|2026-03-01T00:00:00Z|0", "2026-03-01T00:00:00Z|2026-04-01T00:00:00Z|1"}},
		"another day in Paris": {"day", "Europe/Paris", []string{"2026-03-28T23:30:00Z"}, []string{"2026-03-29T00:00:00+01:00|2026-03-30T00:00:00+02:00|1"}},
		"an offset":            {"day", "-05:00", []string{"2026-03-01T03:00:00Z"}, []string{"2026-02-28T00:00:00-05:00|2026-03-01T00:00:00-05:00|1"}},
		"weeks from Monday":    {"week", "", []string{"2026-03-01", "2026-03-02"}, []string{"2026-02-23T00:00:00Z|2026-03-02T00:00:00Z|1", "2026-03-02T00:00:00Z|2026-03-09T00:00:00Z|1"}},
		"quarters":             {"quarter", "", []string{"2026-06-30"}, []string{"2026-04-01T00:00:00Z|2026-07-01T00:00:00Z|1"}},
		"years":                {"year", "", []string{"2026-06-30"}, []string{"2026-01-01T00:00:00Z|2027-01-01T00:00:00Z|1"}},
		"the hour that is twice": {"hour", "Europe/Paris", []string{"2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
			[]string{"2026-10-25T02:00:00+02:00|2026-10-25T02:00:00+01:00|1", "2026-10-25T02:00:00+01:00|2026-10-25T03:00:00+01:00|1"}},
		"half an hour forward": {"hour", "Australia/Lord_Howe", []string{"2026-10-03T14:45:00Z", "2026-10-03T15:45:00Z", "2026-10-03T17:45:00Z"}, nil},
		"no midnight":          {"day", "America/Asuncion", []string{"2023-10-01T05:00:00Z", "2023-10-02T05:00:00Z"}, nil},
		"minutes":              {"minute", "", []string{"2026-06-30T10:10:59.5Z"}, []string{"2026-06-30T10:10:00Z|2026-06-30T10:11:00Z|1"}},
	} {
		var groups []Group
		for _, v := range tc.times {
			groups = append(groups, Group{`"` + v + `"`, 1})
		}
		groups = append(groups, Group{`"spring"`, 9})
		c := count(t, Facet{Interval: tc.interval, TimeZone: tc.zone}, groups...)
		if diff := cmp.Diff(tc.want, shown(c.Ranges)); diff != "" && tc.want != nil {
			t.Errorf("%s: %s", name, diff)
		}
		var counted int64
		for n, r := range c.Ranges {
			if counted += r.Chunks; n > 0 && c.Ranges[n-1].To != r.From {
				t.Errorf("%s: %v", name, shown(c.Ranges))
			}
		}
		if counted != int64(len(tc.times)) {
			t.Errorf("%s: %v", name, shown(c.Ranges))
		}
	}
	c := count(t, Facet{Interval: "day"}, Group{`["2026-03-01T08:00:00Z", "2026-03-01T09:00:00Z"]`, 1})
	if len(c.Ranges) != 1 || c.Ranges[0].Chunks != 1 {
		t.Errorf("two times of a day in one chunk: %v", shown(c.Ranges))
	}

	plans, err := Check([]Facet{{Field: "f", Interval: "minute"}}, now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plans[0].Count([]Group{{`"2020-01-01"`, 1}, {`"2026-01-01"`, 1}}); fault.KindOf(err) != fault.Exhausted {
		t.Errorf("the minutes of six years: %v", err)
	}
}

func TestInvalidFacetsAreRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		facet Facet
		field string
	}{
		"no field":        {Facet{}, "facets[0].field"},
		"the uri":         {Facet{Field: "$uri"}, "facets[0].field"},
		"limit":           {Facet{Field: "f", Limit: new(1001)}, "facets[0].limit"},
		"two kinds":       {Facet{Field: "f", RangeCount: 3, Interval: "day"}, "facets[0]"},
		"empty range":     {Facet{Field: "f", Ranges: []Range{{}}}, "facets[0].ranges[0]"},
		"reversed":        {Facet{Field: "f", Ranges: []Range{{2.0, 1.0}}}, "facets[0].ranges[0]"},
		"mixed":           {Facet{Field: "f", Ranges: []Range{{2.0, "2026-01-01"}}}, "facets[0].ranges[0]"},
		"no time":         {Facet{Field: "f", Ranges: []Range{{"spring", nil}}}, "facets[0].ranges[0].from"},
		"a boolean":       {Facet{Field: "f", Ranges: []Range{{nil, true}}}, "facets[0].ranges[0].to"},
		"range count":     {Facet{Field: "f", RangeCount: 101}, "facets[0].rangeCount"},
		"interval":        {Facet{Field: "f", Interval: "century"}, "facets[0].interval"},
		"zone":            {Facet{Field: "f", Interval: "day", TimeZone: "Mars/Olympus"}, "facets[0].timeZone"},
		"the local zone":  {Facet{Field: "f", Interval: "day", TimeZone: "Local"}, "facets[0].timeZone"},
		"a path":          {Facet{Field: "f", Interval: "day", TimeZone: "../../etc/passwd"}, "facets[0].timeZone"},
		"zone of nothing": {Facet{Field: "f", TimeZone: "UTC"}, "facets[0].timeZone"},
	} {
		_, err := Check([]Facet{tc.facet}, now)
		if fault.KindOf(err) != fault.Invalid || !strings.HasPrefix(err.Error(), tc.field+":") && !strings.HasPrefix(err.Error(), tc.field+" ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Check(make([]Facet, Max+1), now); fault.KindOf(err) != fault.Invalid {
		t.Errorf("too many: %v", err)
	}
}
