package chunk

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/chunk/sentence"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/operate/pattern"
)

// separator finds the positions at which a text may be cut.
type separator interface {
	// find returns the bounds of the first occurrence in text[from:to], or -1, -1.
	// An occurrence is not empty, or begins after from, except for anywhere and betweenWords.
	find(text string, from, to int) (start, end int)
}

// anywhere is the empty separator: it allows a cut between any two characters.
type anywhere struct{}

func (anywhere) find(_ string, from, _ int) (int, int) { return from, from }

// betweenWords allows a cut between any two words.
type betweenWords struct{}

func (betweenWords) find(_ string, from, _ int) (int, int) { return from, from }

// wide is a separator of scripts that need no white space between sentences or words. A text in
// Latin, Greek or Cyrillic letters has none.
type wide interface{ onlyWide() }

// sentenceEnd matches the white space between two sentences, also if there is none.
type sentenceEnd struct{ *sentence.Enders }

func (s sentenceEnd) find(text string, from, to int) (int, int) { return s.Next(text, from, to) }

// wideSentenceEnd is a sentenceEnd of scripts that need no white space between sentences.
type wideSentenceEnd struct{ sentenceEnd }

func (wideSentenceEnd) onlyWide() {}

// wrappedSentence is a sentenceEnd in paragraphs whose line breaks are those of a typesetter or an editor.
type wrappedSentence struct{ sentenceEnd }

var (
	everySentence = sentenceEnd{sentence.Default()}
	wideSentence  = wideSentenceEnd{sentenceEnd{sentence.Wide()}}
)

// wideClause matches the end of a clause, by the marks that end one.
type wideClause string

func (wideClause) onlyWide() {}

func (marks wideClause) find(text string, from, to int) (int, int) {
	end := sentence.NextClause(text, string(marks), from, to)
	return end, end
}

// afterMark matches the end of a mark that may stand between words of scripts without spaces.
type afterMark string

func (afterMark) onlyWide() {}

func (mark afterMark) find(text string, from, to int) (int, int) {
	_, end := literal(mark).find(text, from, to)
	if end == to {
		return -1, -1
	}
	return end, end
}

// literal matches its own text.
type literal string

func (l literal) find(text string, from, to int) (int, int) {
	i := strings.Index(text[from:to], string(l))
	if i < 0 {
		return -1, -1
	}
	return from + i, from + i + len(l)
}

// matcher matches prefix and what match accepts; it is faster than a regular
// expression. text[at:] starts with prefix; match returns the end of the
// occurrence, or -1 if there is none at this position.
type matcher struct {
	prefix string
	match  func(text string, at, to int) int
}

func (p matcher) find(text string, from, to int) (int, int) {
	for {
		i := strings.Index(text[from:to], p.prefix)
		if i < 0 {
			return -1, -1
		}
		if end := p.match(text, from+i, to); end >= 0 {
			return from + i, end
		}
		from += i + len(p.prefix)
	}
}

// outside ignores the occurrences of a separator that start in one of the spans,
// which are in order and do not overlap.
type outside struct {
	separator
	spans []textspan.Span
}

func (o outside) find(text string, from, to int) (int, int) {
	for {
		start, end := o.separator.find(text, from, to)
		if start < 0 {
			return -1, -1
		}
		i := textspan.After(o.spans, start)
		if i == len(o.spans) || start < o.spans[i].Start {
			return start, end
		}
		from = min(o.spans[i].End, to)
	}
}

// expression is a caller's regular expression. One search takes linear time, but
// repeated searches take quadratic time if the expression reads far ahead and
// matches little. The steps of the split therefore count each character that is read, with the
// states that it may have to be compared to.
type expression struct {
	re    pattern.Pattern
	steps *limit.Steps
	err   error
}

// maxStates bounds the states of all expressions of a split.
const maxStates = pattern.MaxStates

func (e *expression) find(text string, from, to int) (int, int) {
	for from < to && e.err == nil {
		r := meteredReader{text: text[from:to], steps: e.steps, each: matchSteps + stateSteps*e.re.States}
		loc := e.re.FindReaderIndex(&r)
		if e.err = e.steps.Err(); e.err != nil || loc == nil {
			break
		}
		if loc[0] < loc[1] {
			return from + loc[0], from + loc[1]
		}
		// An empty match, such as of \b, is no separator.
		from += loc[0]
		_, n := utf8.DecodeRuneInString(text[from:to])
		from += max(n, 1)
	}
	return -1, -1
}

// meteredReader reads a text rune by rune and counts steps for each. It reports the end of
// the text when the steps end.
type meteredReader struct {
	text  string
	pos   int
	steps *limit.Steps
	each  int
}

// What matching a character against an expression costs, and for each state of the expression.
const (
	matchSteps = 16
	stateSteps = 2
)

func (r *meteredReader) ReadRune() (rune, int, error) {
	if r.pos >= len(r.text) || !r.steps.Next(r.each) {
		return 0, 0, errEndOfText
	}
	c, n := utf8.DecodeRuneInString(r.text[r.pos:])
	r.pos += n
	return c, n, nil
}

var errEndOfText = fmt.Errorf("end of text")

// newSeparators compiles a caller's separators.
func newSeparators(steps *limit.Steps, sources []string, regex bool) ([]separator, error) {
	out, states := make([]separator, len(sources)), 0
	for i, s := range sources {
		switch {
		case s == "":
			out[i] = anywhere{}
		case !regex || regexp.QuoteMeta(s) == s:
			out[i] = literal(s)
		default:
			re, err := pattern.Compile(s, maxStates-states)
			if err != nil {
				return nil, fault.Field("separators", "%q is not a regular expression in RE2 syntax: %v", s, err)
			}
			states += re.States
			out[i] = &expression{re: re, steps: steps}
		}
	}
	return out, nil
}

// eachPiece calls yield with the non-empty pieces of text[start:end] between the
// occurrences of a separator, until yield returns false. The empty separator cuts
// nothing.
func eachPiece(text string, start, end int, sep separator, position SeparatorPosition, yield func(start, end int) bool) {
	from := start
	if _, ok := sep.(anywhere); !ok {
		matchStart, matchEnd := sep.find(text, start, end)
		for matchStart >= 0 {
			to, next := matchStart, matchEnd
			switch position {
			case SeparatorStart:
				next = matchStart
			case SeparatorEnd:
				to = matchEnd
			}
			if from < to && !yield(from, to) {
				return
			}
			from = next
			matchStart, matchEnd = sep.find(text, matchEnd, end)
		}
	}
	if from < end {
		yield(from, end)
	}
}
