package grounding

import (
	"slices"
	"strconv"
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

// is reports whether the lexeme at an index is one of several.
func (p *parser) is(at int, texts ...string) bool { return slices.Contains(texts, p.get(at).fold) }
