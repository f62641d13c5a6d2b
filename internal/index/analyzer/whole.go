package analyzer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// emit yields the words of the segments and the wholes that they form. sign follows the last of them, and a
// dot comes before the first if they are dotted.
func (s *scanner) emit(sign string, dotted bool) {
	s.leaveOut()
	kept := s.segments[:0]
	for _, g := range s.segments {
		if !g.left {
			kept = append(kept, g)
		}
	}
	s.segments = kept
	if len(kept) == 0 {
		return
	}
	first := s.position
	for _, g := range kept {
		s.yield(token{kind: word, text: g.text, position: s.position, start: g.start, end: g.end, part: len(kept) > 1 || sign != "" || dotted})
		s.position++
	}
	if sign != "" {
		last := len(kept) - 1
		s.yield(token{kind: whole, text: kept[last].text + sign, position: s.position - 1, start: kept[last].start, end: kept[last].end + len(sign)})
	}
	if dotted {
		s.yield(token{kind: whole, text: "." + kept[0].text, position: first, start: kept[0].start - 1, end: kept[0].end})
	}
	if len(kept) > 1 {
		s.wholes(first, 0, len(kept))
	}
}

// leaveOut marks what an apostrophe leaves of a short word: the s of "it's", the l of "l'homme".
func (s *scanner) leaveOut() {
	for n := 1; n < len(s.segments); n++ {
		if g := &s.segments[n]; g.joiner == '\'' || g.joiner == '’' {
			if len(g.text) <= 2 && (n+1 == len(s.segments) || s.segments[n+1].joiner != 0) {
				g.left = true
			} else if before := &s.segments[n-1]; len(before.text) <= 2 && unicode.IsLower(firstRune(s.text[before.start:])) {
				before.left, g.joiner = true, 0
				if n == 1 {
					continue
				}
				g.joiner = before.joiner
			}
		}
	}
}

func firstRune(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

// wholes yields the wholes of segments [from, to): of each run without joiners, of each name and of
// the path, each if it has more words than what it is made of.
func (s *scanner) wholes(first, from, to int) {
	run, name := from, from
	names, runs := 1, 1
	for n := from + 1; n <= to; n++ {
		path := false
		if n < to {
			if s.segments[n].joiner == 0 {
				continue
			}
			_, path = joins(s.segments[n].joiner)
		}
		if n-run > 1 {
			s.whole(first, run, n)
		}
		run = n
		if n == to || path {
			if runs > 1 {
				s.whole(first, name, n)
				s.unversioned(first, name, n)
			}
			name, runs = n, 1
			if n < to {
				names++
			}
		} else {
			runs++
		}
	}
	if names > 1 {
		s.whole(first, from, to)
	}
}

// unversioned yields the whole of segments [from, to) without the letters in front: 1.2.3 of v1.2.3.
func (s *scanner) unversioned(first, from, to int) {
	if to-from > 2 && !s.segments[from].digits && s.segments[from+1].digits && s.segments[from+1].joiner == 0 {
		s.whole(first, from+1, to)
	}
}

// whole yields segments [from, to) as one token. Digits that a sign parts stay apart, by a dot: 10.1.2
// is not 10.12. Where the sign is a hyphen or a slash they are often written together, so that form is
// yielded too: 2024-01-15 and 20240115.
func (s *scanner) whole(first, from, to int) {
	if to-from > maxWholeWords {
		return
	}
	t := token{kind: whole, position: first + from, start: s.segments[from].start, end: s.segments[to-1].end}
	apart, together := false, true
	s.joined = s.joined[:0]
	for n := from; n < to; n++ {
		g := s.segments[n]
		if n > from && g.digits && g.joiner != 0 && isDigit(s.joined[len(s.joined)-1]) {
			s.joined = append(s.joined, '.')
			apart = true
			together = together && (g.joiner == '-' || g.joiner == '/')
		}
		if s.joined = append(s.joined, g.text...); len(s.joined) > maxToken {
			return
		}
	}
	t.text = string(s.joined)
	s.yield(t)
	if apart && together {
		t.text = strings.ReplaceAll(t.text, ".", "")
		s.yield(t)
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// groupRun is a run of short groups with digits and one space between them, as account numbers are
// written.
type groupRun struct {
	text       []byte
	groups     int
	position   int
	start, end int
}

const (
	maxGroup      = 5 // bytes of a group
	minGroups     = 3
	minGrouped    = 8 // bytes of all groups together
	maxGroupBytes = 40
)

// add adds the compound [start, end), which has just been yielded, or ends the run before it.
func (g *groupRun) add(s *scanner, start, end int) {
	text := s.text[start:end]
	short := len(s.segments) > 0 && len(text) <= maxGroup && len(text) > 1 && strings.ContainsAny(text, "0123456789") && isASCIIWord(text)
	if follows := short && start == g.end+1 && s.text[g.end] == ' '; !follows || len(g.text)+len(text) > maxGroupBytes {
		g.finish(s)
	}
	if !short {
		return
	}
	if g.groups == 0 {
		g.position, g.start = s.position-len(s.segments), start
	}
	g.text = append(g.text, lowered(text)...)
	g.groups, g.end = g.groups+1, end
}

func isASCIIWord(text string) bool {
	for n := 0; n < len(text); n++ {
		if c := text[n]; c >= utf8.RuneSelf || !wordRune(rune(c)) {
			return false
		}
	}
	return true
}

// finish yields the run as one token, if it is long enough.
func (g *groupRun) finish(s *scanner) {
	if g.groups >= minGroups && len(g.text) >= minGrouped {
		s.yield(token{kind: whole, text: string(g.text), position: g.position, start: g.start, end: g.end})
	}
	g.text, g.groups = g.text[:0], 0
}
