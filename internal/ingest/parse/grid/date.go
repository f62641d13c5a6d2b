package grid

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// layouts are the forms of dates that say which number is the day.
var layouts = []string{
	time.DateOnly, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04", time.RFC3339Nano, "2006-01-02 15:04:05Z07:00",
	"2006/01/02", "2006/01/02 15:04:05", "2006/01/02 15:04", "2.1.2006", "2.1.2006 15:04", "2.1.2006 15:04:05", "2 Jan 2006", "2 January 2006", "2-Jan-2006", "2-Jan-06", "Jan 2, 2006", "January 2, 2006", "02 Jan 2006 15:04",
}

// slashed matches dates such as 03/04/2026, whose first number may be the day or the month.
var slashed = regexp.MustCompile(`^(\d{1,2})[/-](\d{1,2})[/-](\d{4})(?: (\d{2}:\d{2})(:\d{2})?)?$`)

// dates returns a column of dates if all cells are, else one of texts, with a note if it is not known which of
// their numbers is the day.
func dates(cells []Cell) (column, bool) {
	texts := column{kind: Text}
	c := column{kind: Date}
	ambiguous, known := false, false
	for _, cell := range cells {
		m := slashed.FindStringSubmatch(cell.Text)
		if _, ok := storedDate(cell); ok {
			continue
		}
		if m == nil {
			if _, ok := date(cell, false); !ok {
				return texts, false
			}
			continue
		}
		first, _ := strconv.Atoi(m[1])
		second, _ := strconv.Atoi(m[2])
		switch {
		case first > 12 && second > 12 || known && (first > 12 && !c.dayFirst || second > 12 && c.dayFirst):
			return texts, false
		case first > 12:
			c.dayFirst, known = true, true
		case second > 12:
			c.dayFirst, known = false, true
		case first != second:
			ambiguous = true
		}
	}
	if ambiguous && !known {
		texts.note = "has dates whose day and month cannot be told apart: they are texts"
		return texts, false
	}
	for _, cell := range cells {
		if _, ok := date(cell, c.dayFirst); !ok {
			return texts, false
		}
	}
	return c, true
}

// date returns a date in the form 2026-03-01, or with a time 2026-03-01T12:00:00, in UTC.
func date(cell Cell, dayFirst bool) (string, bool) {
	if value, ok := storedDate(cell); ok {
		return value, true
	}
	text := cell.Text
	if len(text) < len("1.1.2026") || len(text) > 40 {
		return "", false
	}
	if m := slashed.FindStringSubmatch(text); m != nil {
		layout := "1/2/2006"
		if dayFirst {
			layout = "2/1/2006"
		}
		text = strings.Join(m[1:4], "/")
		if m[4] != "" {
			layout, text = layout+" 15:04:05", text+" "+m[4]+map[bool]string{true: m[5], false: ":00"}[m[5] != ""]
		}
		return formatted(time.Parse(layout, text))
	}
	for _, layout := range layouts {
		if value, ok := formatted(time.Parse(layout, text)); ok {
			return value, true
		}
	}
	return "", false
}

// storedDate returns the date of a cell as a spreadsheet stores it.
func storedDate(cell Cell) (string, bool) {
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04:05"} {
		if value, ok := formatted(time.Parse(layout, cell.Raw)); ok {
			return value, true
		}
	}
	return "", false
}

func formatted(t time.Time, err error) (string, bool) {
	if err != nil || t.Year() < 1 || t.Year() > 9999 {
		return "", false
	}
	if t = t.UTC(); t.Equal(t.Truncate(24 * time.Hour)) {
		return t.Format(time.DateOnly), true
	}
	return t.Format("2006-01-02T15:04:05.999999"), true
}
