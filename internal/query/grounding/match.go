package grounding

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/ragdhq/ragd/internal/index/analyzer"
)

// matcher tells which facts a text has. It is not safe for concurrent use.
type matcher struct {
	text    string
	numbers map[string][]quantity   // by values and by what is written
	exact   []quantity              // that do not say that they are rounded
	rounded map[int]map[string]bool // keys of exact, rounded to so many digits; made when they are needed
	dates   []date
	years   map[int]bool
	words   map[string]bool // folded; made when a name is looked for
	small   map[string]bool // those in small letters; the same
	runs    string          // of letters and of digits, with spaces around each; the same
}

func newMatcher(text string) matcher {
	return matcher{text: text, numbers: map[string][]quantity{}, years: map[int]bool{}}
}

// add adds facts of the text.
func (m *matcher) add(facts []fact) {
	for _, f := range facts {
		switch {
		case f.code != "" || f.words != nil:
		case f.date != date{}:
			m.dates = append(m.dates, f.date)
			m.years[f.date.year] = true
		default:
			for _, key := range f.number.keys() {
				if !slices.Contains(m.numbers[key], f.number) {
					m.numbers[key] = append(m.numbers[key], f.number)
				}
			}
			if !f.number.rounded && !math.IsNaN(f.number.value) {
				m.exact = append(m.exact, f.number)
			}
		}
	}
}

// keys returns what numbers that may be equal have in common: one of their values, or how they are written.
func (q quantity) keys() []string {
	keys := []string{q.literal}
	if !math.IsNaN(q.value) {
		keys = append(keys, "="+format(q.value))
		if q.unit.factor != 0 && q.unit.factor != 1 {
			keys = append(keys, "="+format(q.value*q.unit.factor))
		}
	}
	return keys
}

// format returns a value with the digits in which equal ones agree.
func format(value float64) string { return strconv.FormatFloat(value, 'g', 9, 64) }

// equal reports whether two numbers are the same. A number without a unit has that of the other.
func (q quantity) equal(other quantity) bool {
	if q.unit.dimension != "" && other.unit.dimension != "" {
		return q.unit.dimension == other.unit.dimension && format(q.value*q.unit.factor) == format(other.value*other.unit.factor)
	}
	return q.literal == other.literal && (q.value == other.value || math.IsNaN(q.value) || hasSeparator(q.literal)) || format(q.value) == format(other.value)
}

func hasSeparator(literal string) bool { return strings.ContainsAny(literal, ".,") }

// significant returns how many digits of a value, from the first to the last that is not 0, tell something.
func significant(value float64) int {
	mantissa, _, _ := strings.Cut(strconv.FormatFloat(math.Abs(value), 'e', -1, 64), "e")
	return len(strings.Replace(mantissa, ".", "", 1))
}

// roundedKey returns what numbers with a unit have in common that are equal when they are rounded to some digits.
func roundedKey(value float64, digits int, u unit) string {
	return strconv.FormatFloat(value, 'e', digits-1, 64) + " " + u.dimension + " " + format(u.factor)
}

// roundsTo reports whether rounding a number of the text gives one with fewer digits. A number without a unit has that of the other.
func (m *matcher) roundsTo(q quantity) bool {
	digits := significant(q.value)
	known := m.rounded[digits]
	if known == nil {
		known = map[string]bool{}
		for _, other := range m.exact {
			if significant(other.value) > digits {
				known[roundedKey(other.value, digits, other.unit)] = true
				known[roundedKey(other.value, digits, unit{})+"any"] = true
			}
		}
		if m.rounded == nil {
			m.rounded = map[int]map[string]bool{}
		}
		m.rounded[digits] = known
	}
	if q.unit == (unit{}) {
		return known[roundedKey(q.value, digits, unit{})+"any"]
	}
	return known[roundedKey(q.value, digits, q.unit)] || known[roundedKey(q.value, digits, unit{})]
}

// has reports whether the text has a fact.
func (m *matcher) has(f fact) bool {
	switch {
	case f.code != "":
		m.read()
		return strings.Contains(m.runs, f.code)
	case f.words != nil:
		m.read()
		for _, word := range f.words {
			if !m.hasWord(word) {
				return false
			}
		}
		return true
	case f.date != date{}:
		return m.hasDate(f.date)
	}
	return m.hasNumber(f.number)
}

func (m *matcher) hasNumber(q quantity) bool {
	if q.year && m.years[int(q.value)] {
		return true
	}
	for _, key := range q.keys() {
		for _, other := range m.numbers[key] {
			if q.equal(other) {
				return true
			}
		}
	}
	return q.rounded && !math.IsNaN(q.value) && m.roundsTo(q)
}

// hasDate reports whether the text has a date, or its day and elsewhere its year.
func (m *matcher) hasDate(d date) bool {
	day := d
	day.year = 0
	for _, other := range m.dates {
		switch {
		case d.within(other):
			return true
		case d.month > 0 && d.year > 0 && other.year == 0 && day.within(other) && (m.years[d.year] || m.numbers[strconv.Itoa(d.year)] != nil):
			return true
		}
	}
	return false
}

// within reports whether another date has all that a date says.
func (d date) within(other date) bool {
	same := func(a, b int) bool { return a == 0 || a == b }
	if same(d.year, other.year) && same(d.month, other.month) && same(d.day, other.day) && same(d.weekday, other.weekday) {
		return true
	}
	if d.otherWay || other.otherWay {
		return same(d.year, other.year) && d.month == other.day && d.day == other.month
	}
	return false
}

// hasWord reports whether the text has a word of a name, in the genitive, too, and with the endings of Russian.
func (m *matcher) hasWord(word string) bool {
	if m.words[word] || m.words[word+"s"] {
		return true
	}
	if short, ok := strings.CutSuffix(word, "s"); ok && m.words[short] {
		return true
	}
	if stem := cyrillicStem(word); stem != "" {
		return m.words[stem]
	}
	return false
}

// hasSmall reports whether the text has a word in small letters.
func (m *matcher) hasSmall(word string) bool {
	m.read()
	return m.small[word]
}

// read reads the words of the text.
func (m *matcher) read() {
	if m.words != nil {
		return
	}
	m.words, m.small = map[string]bool{}, map[string]bool{}
	var runs strings.Builder
	runs.WriteByte(' ')
	for _, l := range lexemesOf(m.text) {
		switch l.kind {
		case letters:
			m.words[l.fold] = true
			if !l.capital() {
				m.small[l.fold] = true
			}
			if stem := cyrillicStem(l.fold); stem != "" {
				m.words[stem] = true
			}
		case katakana:
			m.words[l.fold] = true
		}
		if l.kind == letters || l.kind == digits {
			runs.WriteString(l.fold + " ")
		}
	}
	m.runs = runs.String()
}

// cyrillicStem returns a mark with the stem of a Cyrillic word; empty for other words.
func cyrillicStem(word string) (stem string) {
	for _, r := range word {
		if !unicode.Is(unicode.Cyrillic, r) {
			return ""
		}
	}
	if word == "" {
		return ""
	}
	analyzer.New("russian").Terms(word, func(t analyzer.Term) { stem = "~" + t.Text })
	return stem
}

// stopWords are the functions of analyzer.StopWords, by language.
var stopWords sync.Map

// stopWord returns a function that reports whether a word in lower case says little in a language.
func stopWord(language string) func(word string) bool {
	if known, ok := stopWords.Load(language); ok {
		return known.(func(string) bool)
	}
	made := analyzer.StopWords([]string{language})
	stopWords.Store(language, made)
	return made
}
