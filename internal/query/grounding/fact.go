package grounding

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// fact is something in a text that can be compared exactly.
type fact struct {
	kind       Kind
	start, end int // bytes of the text
	number     quantity
	date       date
	words      []string // of a name, folded
	code       string   // of an identifier: its runs of letters and of digits, with spaces around each; else empty
	// weak facts prove others and need no proof: the one that is an article, too, and what may be a name.
	weak bool
}

// quantity is a number with its unit.
type quantity struct {
	value   float64
	literal string // as it is written, without scale
	unit    unit   // zero for none
	rounded bool   // it says that it is
	year    bool   // it may be a year
}

// date is a date of which some parts are known; the others are 0.
type date struct {
	year, month, day, weekday int
	// otherWay is set if day and month may be exchanged.
	otherWay bool
}

// parser finds facts. It is not safe for concurrent use.
type parser struct {
	text     string
	language string
	all      []lexeme
	facts    []fact
}

// factsOf returns the facts of a text in a language, in their order.
func factsOf(text, language string) []fact {
	text = withoutMarks(text)
	p := &parser{text: text, language: language, all: lexemesOf(text)}
	for at := 0; at < len(p.all); {
		next := at
		for _, read := range []func(int) int{p.rate, p.date, p.code, p.number, p.numberWord, p.unspacedNumber, p.name} {
			if next = read(at); next > at {
				break
			}
		}
		at = max(next, at+1)
	}
	return p.facts
}

// get returns the lexeme at an index, a zero one outside.
func (p *parser) get(at int) lexeme {
	if at < 0 || at >= len(p.all) {
		return lexeme{Span: Span{-1, -1}, kind: sign}
	}
	return p.all[at]
}

// touches reports whether nothing stands between a lexeme and the next.
func (p *parser) touches(at int) bool {
	return at >= 0 && at+1 < len(p.all) && p.all[at].End == p.all[at+1].Start
}

func (p *parser) put(from, to int, f fact) int {
	f.start, f.end = p.all[from].Start, p.all[to-1].End
	p.facts = append(p.facts, f)
	return to
}

// integer returns the value of digits of at most 9.
func integer(l lexeme) (int, bool) {
	if l.kind != digits || len(l.fold) > 9 {
		return 0, false
	}
	n, err := strconv.Atoi(l.fold)
	return n, err == nil
}

func isDay(n int) bool  { return n >= 1 && n <= 31 }
func isYear(n int) bool { return n >= 1000 && n <= 2199 }

// is reports whether the lexeme at an index is one of several.
func (p *parser) is(at int, texts ...string) bool { return slices.Contains(texts, p.get(at).fold) }

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

// begins reports whether a lexeme begins a sentence, a quotation or an item.
func (p *parser) begins(at int) bool {
	if at == 0 || strings.Contains(p.text[p.all[at-1].End:p.all[at].Start], "\n") {
		return true
	}
	before := p.get(at - 1)
	return before.kind == sign && strings.Contains(`.:!?"“”„«»(*|#>…。！？：「『`, before.text)
}

// chunk returns the index behind the letters and digits that follow each other with at most one joiner between them.
func (p *parser) chunk(at int) int {
	word := func(n int) bool { k := p.get(n).kind; return n < len(p.all) && (k == letters || k == digits) }
	if !word(at) {
		return at
	}
	next := at + 1
	for p.touches(next - 1) {
		switch {
		case word(next):
			next++
		case strings.Contains("-_./@#+:", p.get(next).text) && p.touches(next) && word(next+1):
			next += 2
		default:
			return next
		}
	}
	return next
}

// code reads an identifier, such as RX-500, v2.1.3, getUserById or example.com.
func (p *parser) code(at int) int {
	next := p.chunk(at)
	if next == at || !p.isCode(at, next) {
		return at
	}
	code := " "
	for _, l := range p.all[at:next] {
		if l.kind == letters || l.kind == digits {
			code += l.fold + " "
		}
	}
	return p.put(at, next, fact{kind: Name, code: code})
}

func (p *parser) isCode(at, next int) bool {
	joiners, dots, withDigits, withLetters, small := "", 0, false, false, true
	for _, l := range p.all[at:next] {
		switch l.kind {
		case digits:
			withDigits = true
		case letters:
			withLetters = true
			small = small && !l.capital()
			if l.mixed() {
				return true
			}
		default:
			joiners += l.text
			if l.text == "." {
				dots++
			}
		}
	}
	first := p.get(at)
	switch {
	case withLetters && strings.ContainsAny(joiners, "_@"), withLetters && strings.Count(joiners, "/") > 1:
		return true
	case !withLetters:
		return dots > 1 && dots == len(joiners) && !p.grouped(at, next)
	case withDigits && first.kind == letters:
		return (!strings.HasPrefix(joiners, "-") || first.capital() || p.get(at+1).text != "-" || utf8.RuneCountInString(first.text) <= 2) && !strings.Contains(joiners, ":")
	case withDigits: // digits first: 5kg and 3rd are numbers
		for n := at + 1; n < next; n++ {
			if p.all[n].kind == letters && p.get(n+1).kind == digits && n+1 < next && p.touches(n) {
				return true
			}
		}
		return false
	}
	return dots > 0 && dots == len(joiners) && small && !slices.ContainsFunc(p.all[at:next], func(l lexeme) bool { return l.kind == letters && len(l.text) < 2 })
}

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

// name reads a name: words with capitals where no sentence begins, words in capitals, runs of Katakana.
func (p *parser) name(at int) int {
	l := p.get(at)
	if l.kind == katakana && utf8.RuneCountInString(l.text) > 2 {
		return p.put(at, at+1, fact{kind: Name, words: []string{l.fold}})
	}
	if !l.capital() || stopName(l, p.language) {
		return at
	}
	next := at + 1
	words := []string{l.fold}
	for p.follows(next) {
		if p.get(next).kind == letters {
			words = append(words, p.get(next).fold)
		}
		next++
	}
	sure := len(words) > 1 || !p.begins(at) || l.shouted()
	if p.language == "german" {
		sure = p.germanName(at, next, len(words))
	}
	for _, word := range p.all[at:next] {
		sure = sure || word.shouted()
	}
	return p.put(at, next, fact{kind: Name, words: words, weak: !sure})
}

// follows reports whether a lexeme goes on with a name.
func (p *parser) follows(at int) bool {
	l := p.get(at)
	gap := at > 0 && at < len(p.all) && strings.Trim(p.text[p.all[at-1].End:p.all[at].Start], " \u00a0") == ""
	if l.capital() {
		return gap && months[l.fold] == 0 && weekdays[l.fold] == 0 && !l.mixed() && (!p.touches(at) || p.get(at+1).kind != digits)
	}
	return l.text == "-" && p.touches(at-1) && p.touches(at) && p.get(at+1).capital()
}

// stopName reports whether a word with a capital is none of a name.
func stopName(l lexeme, language string) bool {
	if utf8.RuneCountInString(l.text) == 1 || l.fold == "ok" || determiners[l.fold] {
		return true
	}
	return months[l.fold] > 0 && !unsureMonths[l.fold] || weekdays[l.fold] > 0 || stopWord(language)(strings.ToLower(l.text)) && !l.shouted()
}

// germanName reports whether German words with capitals are a name, and not nouns: several in a row, after a title, after a
// preposition without an article, or at the beginning of a sentence before a verb in the singular.
func (p *parser) germanName(at, next, words int) bool {
	before, first := p.get(at-1), p.get(at)
	switch {
	case titles[before.fold] || first.shouted():
		return true
	case p.begins(at):
		behind := p.get(next)
		if words > 1 {
			return !strings.HasSuffix(first.fold, "e") && !strings.HasSuffix(first.fold, "en") && !strings.HasSuffix(first.fold, "es")
		}
		return !strings.HasPrefix(first.fold, "ge") && !strings.HasSuffix(first.fold, "iert") && behind.kind == letters && (sentenceVerbs[behind.fold] || strings.HasSuffix(behind.fold, "te") && !behind.capital())
	case before.kind == letters && germanPlaces[before.fold]:
		return !strings.HasSuffix(first.fold, "ung") && !strings.HasSuffix(first.fold, "en") && !strings.HasSuffix(first.fold, "heit") && !strings.HasSuffix(first.fold, "keit")
	}
	return words > 1
}
