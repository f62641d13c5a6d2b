package manifest

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The kinds of Paginator.
const (
	ByCursor = "CursorPagination"
	ByOffset = "OffsetIncrement"
	ByPage   = "PageIncrement"
)

// Paginator is how the pages of a list follow each other.
type Paginator struct {
	Kind        string
	TokenOption *Option // where the token of a page goes
	SizeOption  *Option // where the size of pages goes
	Size        int     // 0: as the server says
	Cursor      Template
	Stop        Template
	Start       int // number of the first page
	First       bool
}

func (p *parser) paginator(n node) *Paginator {
	if n.kind("DefaultPaginator", "NoPagination") == "NoPagination" {
		n.close()
		return nil
	}
	out := &Paginator{TokenOption: p.option(n, "page_token_option"), SizeOption: p.option(n, "page_size_option")}
	s, ok := n.object("pagination_strategy")
	if !ok {
		n.fail("pagination_strategy", "is missing")
		return out
	}
	out.Kind, out.Size = s.kind(ByCursor, ByOffset, ByPage), s.integer("page_size", 0, maxPageSize)
	switch out.Kind {
	case ByCursor:
		out.Cursor, out.Stop = s.template("cursor_value"), s.template("stop_condition")
		if !s.has("cursor_value") {
			s.fail("cursor_value", "is missing")
		}
	case ByPage:
		out.Start, out.First = s.integer("start_from_page", 0, maxPageSize), s.flag("inject_on_first_request")
	case ByOffset:
		out.First = s.flag("inject_on_first_request")
	}
	s.close()
	n.close()
	if out.TokenOption == nil {
		n.fail("page_token_option", "is missing")
	}
	if out.Kind != ByCursor && out.TokenOption != nil && out.TokenOption.Into == InPath {
		n.fail("page_token_option", "must be a RequestOption")
	}
	return out
}

// Cursor is by which field a run asks for the records that changed since the last one.
type Cursor struct {
	Field      []string // path in a record
	Format     string   // of requests
	Formats    []string // of records, tried in turn
	Start      Template
	StartsIn   string // format of Start
	Lookback   time.Duration
	Step       time.Duration // 0: one interval
	Precision  time.Duration // between the end of an interval and the start of the next
	StartInto  *Option
	EndInto    *Option
	StartField string // in stream_interval
	EndField   string
	ClientSide bool // the server does not filter
	DataFeed   bool // newest first: the pages end with the first older record
}

func (p *parser) cursor(n node) *Cursor {
	n.kind("DatetimeBasedCursor")
	n.ignore("end_datetime", "global_substream_cursor", "is_compare_strictly")
	c := &Cursor{
		Field: strings.Split(n.text("cursor_field"), "."), Format: n.text("datetime_format"), Formats: n.texts("cursor_datetime_formats"),
		StartInto: p.option(n, "start_time_option"), EndInto: p.option(n, "end_time_option"),
		StartField: n.text("partition_field_start"), EndField: n.text("partition_field_end"),
		ClientSide: n.flag("is_client_side_incremental"), DataFeed: n.flag("is_data_feed"),
	}
	if !n.has("cursor_field") || !n.has("datetime_format") || !n.has("start_datetime") {
		n.fail("", "must have cursor_field, datetime_format and start_datetime")
	}
	c.Formats = append(c.Formats, c.Format)
	for _, format := range c.Formats {
		if _, err := layout(format); err != nil {
			n.fail("datetime_format", "%s", err)
		}
	}
	c.StartsIn = c.Format
	if _, ok := n.value("start_datetime").(map[string]any); ok {
		start, _ := n.object("start_datetime")
		start.kind("MinMaxDatetime")
		c.Start = start.template("datetime")
		if format := start.text("datetime_format"); format != "" {
			c.StartsIn = format
		}
		start.close()
	} else {
		c.Start = n.template("start_datetime")
	}
	for name, into := range map[string]*time.Duration{"lookback_window": &c.Lookback, "step": &c.Step, "cursor_granularity": &c.Precision} {
		if text := n.text(name); text != "" {
			d, err := parseDuration(text)
			if err != nil {
				n.fail(name, "must be a duration such as P1D or PT1H")
			}
			*into = d
		}
	}
	if c.StartField == "" {
		c.StartField = "start_time"
	}
	if c.EndField == "" {
		c.EndField = "end_time"
	}
	n.close()
	return c
}

// duration is a duration of ISO 8601.
var duration = regexp.MustCompile(`^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$`)

const day = 24 * time.Hour

// parseDuration returns a duration of ISO 8601, in which a month has 30 days and a year 365.
func parseDuration(text string) (total time.Duration, err error) {
	found := duration.FindStringSubmatch(text)
	if found == nil || strings.HasSuffix(text, "P") || strings.HasSuffix(text, "T") {
		return 0, errors.New("no duration")
	}
	for i, unit := range []time.Duration{365 * day, 30 * day, 7 * day, day, time.Hour, time.Minute, time.Second} {
		if found[i+1] == "" {
			continue
		}
		number, err := strconv.ParseFloat(found[i+1], 64)
		if err != nil || number*unit.Hours() > 24*365*100 {
			return 0, errors.New("the duration is too long")
		}
		total += time.Duration(number * float64(unit))
	}
	return total, nil
}

// directives are those of formats of times, with the layouts of Go.
var directives = map[byte]string{
	'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'M': "04", 'S': "05", 'f': "999999", 'z': "-0700", 'Z': "MST",
	'y': "06", 'b': "Jan", 'B': "January", 'I': "03", 'p': "PM", '%': "%",
}

// The formats of times as numbers.
const (
	unixSeconds      = "%s"
	unixMilliseconds = "%ms"
	unixFraction     = "%s_as_float"
)

// layout returns a format such as %Y-%m-%dT%H:%M:%SZ as a layout of Go, empty for a number. Errors: one that
// names a directive that is not supported.
func layout(format string) (string, error) {
	switch format {
	case unixSeconds, unixMilliseconds, unixFraction:
		return "", nil
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		i++
		if i < len(format)-1 && format[i] == '_' && format[i+1] == 'm' {
			return "", errors.New("has %_ms, which is not supported: %f reads fractions of seconds")
		}
		if i == len(format) || directives[format[i]] == "" {
			return "", fmt.Errorf("%q has a directive that is not supported", format)
		}
		b.WriteString(directives[format[i]])
	}
	return b.String(), nil
}

// FormatTime returns a time as a text of a format.
func FormatTime(format string, at time.Time) string {
	at = at.UTC()
	switch format {
	case unixSeconds:
		return strconv.FormatInt(at.Unix(), 10)
	case unixMilliseconds:
		return strconv.FormatInt(at.UnixMilli(), 10)
	case unixFraction:
		return strconv.FormatFloat(float64(at.UnixMicro())/1e6, 'f', 6, 64)
	}
	in, err := layout(format)
	if err != nil {
		return ""
	}
	// Fractions are written in full, as six digits.
	return at.Format(strings.ReplaceAll(in, ".999999", ".000000"))
}

// ParseTime returns the time in a text of one of the formats, or of RFC 3339; ok is false for any other text.
func ParseTime(formats []string, text string) (at time.Time, ok bool) {
	for _, format := range formats {
		switch format {
		case unixSeconds, unixFraction, unixMilliseconds:
			number, err := strconv.ParseFloat(text, 64)
			if err != nil || number < 0 || number > 1e14 {
				continue
			}
			if format == unixMilliseconds {
				number /= 1000
			}
			return time.UnixMicro(int64(number * 1e6)).UTC(), true
		}
		in, err := layout(format)
		if err != nil {
			continue
		}
		if at, err := time.Parse(in, text); err == nil {
			return at.UTC(), true
		}
	}
	for _, in := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999-0700", "2006-01-02T15:04:05", time.DateOnly} {
		if at, err := time.Parse(in, text); err == nil {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}
