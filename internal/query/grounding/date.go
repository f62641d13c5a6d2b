package grounding

import (
	"slices"
	"strings"
	"unicode/utf8"
)

func isDay(n int) bool  { return n >= 1 && n <= 31 }
func isYear(n int) bool { return n >= 1000 && n <= 2199 }

// yearAt returns the year in four digits at an index.
func (p *parser) yearAt(at int) int {
	if n, ok := integer(p.get(at)); ok && len(p.get(at).fold) == 4 && isYear(n) {
		return n
	}
	return 0
}

// date reads a date and returns the index behind it, at if there is none.
func (p *parser) date(at int) int {
	l := p.get(at)
	switch l.kind {
	case digits:
		if next := p.numericDate(at); next > at {
			return next
		}
		return p.dayFirst(at)
	case letters:
		if n := weekdays[l.fold]; n > 0 && (l.fold != "martes" || p.language != "english") {
			return p.put(at, at+1, fact{kind: Date, date: date{weekday: n}})
		}
		return p.monthFirst(at)
	case unspaced:
		if (l.text == "星" && p.is(at+1, "期") || l.text == "礼" && p.is(at+1, "拜")) && p.get(at+2).text != "" && strings.Contains("一二三四五六日天", p.get(at+2).text) {
			return p.put(at, at+3, fact{kind: Date, date: date{weekday: min(7, 1+strings.Index("一二三四五六日天", p.get(at+2).text)/3)}})
		}
		if n := strings.Index("月火水木金土日", l.text); n >= 0 && p.is(at+1, "曜") {
			return p.put(at, at+2, fact{kind: Date, date: date{weekday: 1 + n/3}})
		}
	}
	return at
}

// numericDate reads 2024-03-05, 5.3.2024, 3/5/2024, 2024年3月5日 and parts of the last.
func (p *parser) numericDate(at int) int {
	first, ok := integer(p.get(at))
	if !ok {
		return at
	}
	var d date
	next := at
	for _, part := range []struct {
		mark []string
		to   *int
	}{{[]string{"年", "년"}, &d.year}, {[]string{"月", "월"}, &d.month}, {[]string{"日", "일"}, &d.day}} {
		if n, ok := integer(p.get(next)); ok && p.get(next+1).text != "" && slices.Contains(part.mark, firstRune(p.get(next+1).text)) && (part.to == &d.year) == (n > 31) {
			*part.to = n
			next += 2
		}
	}
	if next > at {
		if d.month > 12 || d.day > 31 || d.day > 0 && d.month == 0 {
			return at
		}
		return p.put(at, next, fact{kind: Date, date: d})
	}
	separator := p.get(at + 1).text
	second, ok2 := integer(p.get(at + 2))
	third, ok3 := integer(p.get(at + 4))
	if !ok2 || !ok3 || !p.touches(at) || !p.touches(at+1) || !p.touches(at+2) || !p.touches(at+3) || !strings.Contains("-./", separator) || p.get(at+3).text != separator {
		return at
	}
	switch {
	case p.yearAt(at) > 0 && second >= 1 && second <= 12 && isDay(third):
		d = date{year: first, month: second, day: third}
	case p.yearAt(at+4) > 0 && isDay(first) && isDay(second) && (first <= 12 || second <= 12):
		d = date{year: third, month: second, day: first}
		if second > 12 {
			d.month, d.day = first, second
		}
		d.otherWay = separator == "/" && first <= 12 && second <= 12
	default:
		return at
	}
	next = at + 5
	if p.is(next, "t") && p.touches(next-1) && p.get(next+1).kind == digits { // the time of an ISO date is read by itself
		next++
	}
	return p.put(at, next, fact{kind: Date, date: d})
}

func firstRune(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return s[:n]
}

// between skips what may stand between the parts of a date.
func (p *parser) between(at int) int {
	for n := 0; n < 2 && p.is(at, ".", ",", "of", "de", "del", "di", "the", "st", "nd", "rd", "th", "er", "º", "г"); n++ {
		at++
	}
	return at
}

// dayFirst reads 5 March 2024 and 5 March.
func (p *parser) dayFirst(at int) int {
	day, ok := integer(p.get(at))
	month := p.between(at + 1)
	if !ok || !isDay(day) || p.get(month).kind != letters || months[p.get(month).fold] == 0 || p.touches(month) && p.get(month+1).kind == letters {
		return at
	}
	if unsure := p.get(month); unsure.fold == "may" && !unsure.capital() {
		return at
	}
	d := date{day: day, month: months[p.get(month).fold]}
	next := month + 1
	if year := p.between(next); p.yearAt(year) > 0 {
		d.year = p.yearAt(year)
		next = year + 1
	}
	return p.put(at, next, fact{kind: Date, date: d})
}

// monthFirst reads March 5, 2024, March 2024, March 5 and March.
func (p *parser) monthFirst(at int) int {
	l := p.get(at)
	month := months[l.fold]
	if month == 0 || l.fold == "may" && !l.capital() || l.fold == "march" && !l.capital() {
		return at
	}
	d, next := date{month: month}, at+1
	behind := p.between(next)
	if n, ok := integer(p.get(behind)); ok && isDay(n) && len(p.get(behind).fold) <= 2 && p.language == "english" {
		d.day, next = n, behind+1
		behind = p.between(next)
	}
	if p.yearAt(behind) > 0 {
		d.year, next = p.yearAt(behind), behind+1
	}
	if d.day == 0 && d.year == 0 {
		named := p.language == "english" || p.language == "german" || p.language == "dutch"
		if unsureMonths[l.fold] && (!named || !l.capital() || p.begins(at) || len(l.fold) == 3 && l.fold != "may" && l.fold != "mai") || named && !l.capital() {
			return at
		}
	}
	return p.put(at, next, fact{kind: Date, date: d})
}
