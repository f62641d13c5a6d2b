package grounding

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// grouped reports whether dots separate groups of three digits.
func (p *parser) grouped(at, next int) bool {
	for n := at; n < next; n += 2 {
		if size := len(p.all[n].fold); n == at && size > 3 || n > at && size != 3 {
			return false
		}
	}
	return true
}

// number reads a number in digits, with its unit.
func (p *parser) number(at int) int {
	if p.get(at).kind != digits {
		return at
	}
	if next := p.clock(at); next > at {
		return next
	}
	written, next := p.get(at).fold, at+1
	for next < len(p.all) {
		switch separator := p.get(next); {
		case p.touches(next-1) && p.touches(next) && separator.kind == sign && strings.Contains(".,'’，．", separator.text) && p.get(next+1).kind == digits:
			written += strings.Map(narrow, strings.ReplaceAll(separator.text, "’", "'")) + p.get(next+1).fold
			next += 2
			continue
		case separator.kind == digits && len(separator.fold) == 3 && p.spaced(next-1) && (strings.Contains(written, " ") || !strings.ContainsAny(written, ".,'")) && len(written)%4 <= 3 && len(firstGroup(written)) <= 3:
			written += " " + separator.fold
			next++
			continue
		}
		break
	}
	value, ok := valueOf(written, p.language)
	if !ok {
		return p.put(at, next, fact{kind: Name, code: " " + strings.Map(func(r rune) rune {
			if r < '0' || r > '9' {
				return ' '
			}
			return r
		}, written) + " "})
	}
	q := quantity{value: value, literal: written, year: p.yearAt(at) > 0 && next == at+1}
	from := at
	if before := p.get(at - 1); (before.text == "-" || before.text == "−") && p.touches(at-1) && (at <= 1 || !p.touches(at-2)) {
		q.value, q.literal = -q.value, "-"+q.literal
		from = at - 1
	}
	return p.measured(from, next, q)
}

func firstGroup(written string) string {
	group, _, _ := strings.Cut(written, " ")
	return group
}

// spaced reports whether the space behind a lexeme may separate groups of digits.
func (p *parser) spaced(at int) bool {
	if at+1 >= len(p.all) {
		return false
	}
	switch p.text[p.all[at].End:p.all[at+1].Start] {
	case "\u00a0", "\u202f", "\u2009":
		return true
	case " ":
		return p.language != "english"
	}
	return false
}

// clock reads 14:30 and 2:30 pm.
func (p *parser) clock(at int) int {
	hour, ok := integer(p.get(at))
	minute, ok2 := integer(p.get(at + 2))
	if !ok || !ok2 || !p.is(at+1, ":", "：") || !p.touches(at) || !p.touches(at+1) || hour > 24 || minute > 59 || len(p.get(at+2).fold) != 2 {
		return at
	}
	next := at + 3
	if p.is(next, "pm") && hour < 12 {
		hour += 12
		next++
	} else if p.is(next, "am") {
		next++
	}
	text := strconv.Itoa(hour) + ":" + p.get(at+2).fold
	return p.put(at, next, fact{kind: Number, number: quantity{value: math.NaN(), literal: text}})
}

// valueOf returns the value of digits with separators. ok is false for what is no number, such as a version.
func valueOf(written, language string) (value float64, ok bool) {
	plain := strings.NewReplacer("'", "", " ", "").Replace(written)
	dots, commas := strings.Count(plain, "."), strings.Count(plain, ",")
	decimal := ""
	switch {
	case dots > 0 && commas > 0:
		decimal = "."
		if strings.LastIndex(plain, ",") > strings.LastIndex(plain, ".") {
			decimal = ","
		}
		if strings.Count(plain, decimal) > 1 {
			return 0, false
		}
	case dots+commas > 1:
		separator := "."
		if commas > 0 {
			separator = ","
		}
		for n, group := range strings.Split(plain, separator) {
			if n > 0 && len(group) != 3 || n == 0 && len(group) > 3 {
				return 0, false
			}
		}
	case dots+commas == 1:
		at := strings.IndexAny(plain, ".,")
		grouping := byte(',')
		if commaDecimal(language) {
			grouping = '.'
		}
		if decimal = plain[at : at+1]; plain[at] == grouping && len(plain)-at == 4 && at >= 1 && at <= 3 && plain[0] != '0' {
			decimal = ""
		}
	}
	var b strings.Builder
	for _, r := range plain {
		switch {
		case r >= '0' && r <= '9':
			b.WriteRune(r)
		case string(r) == decimal:
			b.WriteByte('.')
		}
	}
	value, err := strconv.ParseFloat(b.String(), 64)
	return value, err == nil
}

// commaDecimal reports whether a comma is before the fractions of numbers in a language.
func commaDecimal(language string) bool {
	return !slices.Contains([]string{"english", "irish", "tamil", "arabic", "", "simple"}, language)
}

// measured completes a number with what stands around it: scale, unit and currency.
func (p *parser) measured(from, next int, q quantity) int {
	for n := 0; n < 2; n++ {
		l := p.get(next)
		factor, ok := scaleOf(l.fold, p.language)
		if l.kind == letters && l.fold == "k" && p.touches(next-1) {
			factor, ok = 1e3, true
		}
		if !ok || l.kind == letters && l.fold == "mil" && p.language == "english" {
			break
		}
		q.value *= factor
		q.year = false
		next++
	}
	if l := p.get(next); l.kind == letters && ordinals[l.fold] && p.touches(next-1) {
		if _, isUnit := units[l.text]; !isUnit {
			next++
		}
	}
	behind := next
	switch l := p.get(next); {
	case l.text == "°" && p.get(next+1).kind == letters:
		if u, ok := units["°"+p.get(next+1).fold]; ok {
			q.unit, next = u, next+2
		}
	case (p.is(next, "per", "pour") && p.is(next+1, "cent", "cento")) || p.is(next, "por") && p.is(next+1, "ciento", "cento"):
		q.unit, next = units["%"], next+2
	case l.kind == unspaced:
		for size := 3; size > 0; size-- {
			if next+size > len(p.all) {
				continue
			}
			if u, ok := units[p.text[l.Start:p.all[next+size-1].End]]; ok {
				q.unit, next = u, next+size
				break
			}
		}
	case l.Start >= 0:
		if l.text == "-" && p.touches(next-1) && p.get(next+1).kind == letters { // a 5-year plan
			l, behind = p.get(next+1), next+1
		}
		if u, ok := units[l.fold]; ok {
			q.unit, next = u, behind+1
			p.composed(&next, &q)
		}
	}
	if q.unit.dimension != "" {
		q.year = false
	} else if u, ok := units[p.get(from-1).fold]; ok && from > 0 && isCurrency(u) {
		q.unit, from = u, from-1
		q.year = false
	}
	q.rounded = approximate[p.get(from-1).fold] || p.get(from-1).text == "~"
	return p.put(from, next, fact{kind: kindOfNumber(q), number: q, weak: q.value == 1 && q.unit.dimension == "" && !isDigits(q.literal)})
}

func isDigits(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

func kindOfNumber(q quantity) Kind {
	if q.year {
		return Date
	}
	return Number
}

func isCurrency(u unit) bool {
	return slices.Contains([]string{"eur", "usd", "gbp", "jpy", "cny", "chf", "rub"}, u.dimension)
}

// composed reads the rest of units such as km/h and m².
func (p *parser) composed(next *int, q *quantity) {
	switch l := p.get(*next); {
	case l.text == "/" && p.touches(*next-1) && p.touches(*next), rates[l.fold]:
		if u, ok := units[p.get(*next+1).fold]; ok {
			q.unit = unit{q.unit.dimension + "/" + u.dimension, q.unit.factor / u.factor}
			*next += 2
		}
	case (l.text == "²" || l.text == "³") && p.touches(*next-1):
		power := 2.0
		if l.text == "³" {
			power = 3
		}
		q.unit.dimension += l.text
		q.unit.factor = math.Pow(q.unit.factor, power)
		*next++
	}
}

// rate reads per minute and, weakly, a minute: what a number before it is for.
func (p *parser) rate(at int) int {
	l := p.get(at)
	u, ok := units[p.get(at+1).fold]
	if !ok || !rates[l.fold] && !weakRates[l.fold] && l.text != "/" || !slices.Contains([]string{"s", "day", "mon"}, u.dimension) || p.get(at+1).kind == unspaced {
		return at
	}
	return p.put(at, at+2, fact{kind: Number, number: quantity{value: math.NaN(), literal: "/" + u.dimension + format(u.factor)}, weak: !rates[l.fold]})
}

// numberWord reads a number in words.
func (p *parser) numberWord(at int) int {
	l := p.get(at)
	words := numberWords[p.language]
	value, ok := words[l.fold]
	for _, language := range common { // the language of a short text is not sure
		if ok || len(l.fold) < 4 || severalMeanings[l.fold] {
			break
		}
		words = numberWords[language]
		value, ok = words[l.fold]
	}
	if l.kind != letters || !ok {
		return at
	}
	next := at + 1
	if value >= 20 { // twenty-five
		behind := next
		if p.is(behind, "-") {
			behind++
		}
		if more, ok := words[p.get(behind).fold]; ok && more < 10 {
			value += more
			next = behind + 1
		}
	}
	return p.measured(at, next, quantity{value: float64(value), literal: l.fold})
}

const (
	hanDigits = "〇一二三四五六七八九"
	hanScales = "十百千万億"
)

// unspacedNumber reads a number in Chinese characters: one of several, or one before a counter.
func (p *parser) unspacedNumber(at int) int {
	if p.get(at).kind != unspaced {
		return at
	}
	value, part, digit := 0.0, 0.0, -1.0
	next := at
	for ; next < len(p.all) && p.all[next].kind == unspaced && (next == at || p.touches(next-1)); next++ {
		text := strings.NewReplacer("两", "二", "兩", "二", "萬", "万", "亿", "億", "零", "〇").Replace(p.all[next].text)
		if n := strings.Index(hanDigits, text); n >= 0 {
			if digit >= 0 { // written digit by digit
				digit = 10*digit + float64(n/3)
				continue
			}
			digit = float64(n / 3)
			continue
		}
		n := strings.Index(hanScales, text)
		if n < 0 {
			break
		}
		factor := []float64{10, 100, 1000, 1e4, 1e8}[n/3]
		if factor >= 1e4 {
			if next == at {
				return at
			}
			value, part, digit = value+(part+max(0, digit))*factor, 0, -1
			continue
		}
		if digit < 0 {
			digit = 1
		}
		part, digit = part+digit*factor, -1
	}
	value += part + max(0, digit)
	behind := p.get(next).text
	counted := behind != "" && strings.Contains(counters, behind)
	if next == at || next == at+1 && (!counted || value < 2) || next == at+2 && !counted && value < 11 {
		return at
	}
	return p.measured(at, next, quantity{value: value, literal: p.text[p.all[at].Start:p.all[next-1].End]})
}
