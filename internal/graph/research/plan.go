package research

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/index/analyzer"
	"github.com/ragdhq/ragd/internal/query"
)

// part is a part of a question that is answered by itself.
type part struct {
	text  string
	names []span // in text
	// carried are names that the part only refers to, by a pronoun.
	carried []string
	listed  bool // it is for one item of a list
}

// span is a name in a question.
type span struct {
	query.Span

	name string
}

// openers begin a clause that asks something.
const openers = `who|whom|whose|what|which|where|when|why|how|is|are|was|were|did|do|does|has|have|can`

var (
	// joint is where a question goes on with another: "..., and in which town ...".
	joint = regexp.MustCompile(`(?i)(?:[,;]\s*(?:and|but)?|\s(?:and|as well as))\s+((?:(?:in|on|at|by|from|for|to|of|with|under|near|after|since|until)\s+)?(?:who|whom|whose|what|which|where|when|why|how)\b)`)
	// asking tells a clause that asks something by itself from one that only ends a list.
	asking = regexp.MustCompile(`(?i)(?:^|[\s,(])(?:` + openers + `)\b`)
	// between is what stands between the items of a list.
	between = regexp.MustCompile(`(?i)^(?:\s|,|;|or|and|nor|vs\.?|versus|than|the|a|an|both)*$`)
	// separated has at least one word or mark that separates two items.
	separated = regexp.MustCompile(`(?i),|;|\b(?:or|and|nor|vs|versus|than)\b`)
	pronoun   = regexp.MustCompile(`(?i)\b(?:it|its|he|him|his|she|her|hers|they|them|their|theirs|this|that one)\b`)
	year      = regexp.MustCompile(`\b(1[0-9]{3}|20[0-9]{2})(?:-(0[1-9]|1[0-2])(?:-(0[1-9]|[12][0-9]|3[01]))?)?\b`)
)

// clauses returns the clauses of a question that ask something by themselves.
func clauses(question string) (all []string) {
	for _, sentence := range strings.SplitAfter(question, "?") {
		rest := strings.TrimSpace(sentence)
		for rest != "" {
			cut := -1
			for _, at := range joint.FindAllStringSubmatchIndex(rest, -1) {
				if asking.MatchString(rest[:at[0]]) && len(strings.Fields(rest[:at[0]])) > 2 && len(strings.Fields(rest[at[2]:])) > 2 && !relative(rest, at) {
					cut = at[0]
					all = append(all, strings.TrimSpace(rest[:cut]))
					rest = strings.TrimSpace(rest[at[2]:])
					break
				}
			}
			if cut < 0 {
				all = append(all, rest)
				rest = ""
			}
		}
	}
	return all
}

// relative reports whether what a joint begins describes the noun before it: "the yard, which ...". A joint with a conjunction never does.
func relative(text string, at []int) bool {
	joining := strings.ToLower(text[at[0]:at[2]])
	return !strings.Contains(joining, "and") && !strings.Contains(joining, "as well as") && !strings.Contains(joining, "but") && !strings.Contains(joining, ";")
}

// parts returns the parts of a clause whose names are given: one for each item of a list of names, else the clause.
func parts(clause string, names []span) []part {
	for first := range names {
		last := first
		for last+1 < len(names) {
			gap := clause[names[last].End:names[last+1].Start]
			if !between.MatchString(gap) || !separated.MatchString(gap) {
				break
			}
			last++
		}
		if last == first {
			continue
		}
		var all []part
		before, after := clause[:names[first].Start], clause[names[last].End:]
		for _, item := range names[first : last+1] {
			p := part{text: before + clause[item.Start:item.End] + after, listed: true}
			p.names = append(p.names, names[:first]...)
			p.names = append(p.names, span{query.Span{Start: len(before), End: len(before) + item.End - item.Start}, item.name})
			shift := len(before) + item.End - item.Start - names[last].End
			for _, other := range names[last+1:] {
				p.names = append(p.names, span{query.Span{Start: other.Start + shift, End: other.End + shift}, other.name})
			}
			all = append(all, p)
		}
		return all
	}
	return []part{{text: clause, names: names}}
}

// carry gives parts that name nothing, and refer to something by a pronoun, the names of the part before.
func carry(all []part) {
	for n := 1; n < len(all); n++ {
		if len(all[n].names) > 0 || !pronoun.MatchString(all[n].text) {
			continue
		}
		for _, before := range all[n-1].names {
			all[n].carried = append(all[n].carried, before.name)
		}
		all[n].carried = append(all[n].carried, all[n-1].carried...)
	}
}

// spansOf returns where names stand in a text, in its order. Of names that overlap the longest counts.
func spansOf(text string, names []string) (spans []span) {
	words := wordsOf(text)
	for _, name := range names {
		wanted := wordsOf(name)
		if len(wanted) == 0 {
			continue
		}
		for at := 0; at+len(wanted) <= len(words); at++ {
			if slices.EqualFunc(words[at:at+len(wanted)], wanted, sameWord) {
				spans = append(spans, span{query.Span{Start: words[at].Start, End: words[at+len(wanted)-1].End}, name})
			}
		}
	}
	slices.SortStableFunc(spans, func(a, b span) int { return b.End - b.Start - (a.End - a.Start) })
	var kept []span
	for _, s := range spans {
		if !slices.ContainsFunc(kept, func(k span) bool { return s.Start < k.End && k.Start < s.End }) {
			kept = append(kept, s)
		}
	}
	slices.SortFunc(kept, func(a, b span) int { return a.Start - b.Start })
	return kept
}

// word is a word of a text, in lower case, and where it stands.
type word struct {
	query.Span

	text string
}

// sameWord reports whether two words are the same but for a light ending.
func sameWord(a, b word) bool {
	return strings.TrimSuffix(a.text, "s") == strings.TrimSuffix(b.text, "s")
}

// wordsOf returns the runs of letters and digits of a text.
func wordsOf(text string) (words []word) {
	begin := -1
	add := func(end int) {
		if begin >= 0 {
			words = append(words, word{query.Span{Start: begin, End: end}, strings.ToLower(text[begin:end])})
			begin = -1
		}
	}
	for at, r := range text {
		switch {
		case unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
			if begin < 0 {
				begin = at
			}
		default:
			add(at)
		}
	}
	add(len(text))
	if n := len(words); n > 1 {
		words = slices.DeleteFunc(words, func(w word) bool {
			return w.text == "s" && w.Start > 0 && strings.HasSuffix(strings.TrimRight(text[:w.Start], "’'"), "") && isApostrophe(text, w.Start)
		})
	}
	return words
}

// isApostrophe reports whether an apostrophe stands before a position.
func isApostrophe(text string, at int) bool {
	r, _ := utf8.DecodeLastRuneInString(text[:at])
	return r == '\'' || r == '’'
}

// quoted matches a name in quotation marks.
var quoted = regexp.MustCompile(`["“„«]([^"”“»]{2,80})["”“»]`)

// written returns what a text writes as names: in quotation marks, or with capitals but for the first word of a sentence.
func written(text string) (names []string) {
	for _, found := range quoted.FindAllStringSubmatch(text, -1) {
		names = append(names, found[1])
	}
	words := wordsOf(text)
	for at := 0; at < len(words); {
		end := at
		for end < len(words) && capital(text, words[end]) && (end == at || text[words[end-1].End:words[end].Start] == " ") {
			end++
		}
		if end == at {
			at++
			continue
		}
		if startsSentence(text, words[at].Start) && (end == at+1 || common(words[at].text)) {
			at++ // a capital by its position alone
			continue
		}
		if name := text[words[at].Start:words[end-1].End]; strings.ContainsFunc(name, unicode.IsLetter) {
			names = append(names, name)
		}
		at = end
	}
	return names
}

// common reports whether a word is so common in English that it begins a sentence rather than a name.
func common(word string) bool { return asking.MatchString(word) || stop(word) }

var stop = analyzer.StopWords([]string{analyzer.English})

func capital(text string, w word) bool {
	r, _ := utf8.DecodeRuneInString(text[w.Start:])
	return unicode.IsUpper(r) || unicode.IsDigit(r)
}

// startsSentence reports whether a position is the first of its text or follows the end of a sentence.
func startsSentence(text string, at int) bool {
	before := strings.TrimRightFunc(text[:at], unicode.IsSpace)
	return before == "" || strings.HasSuffix(before, ".") || strings.HasSuffix(before, "?") || strings.HasSuffix(before, "!") || strings.HasSuffix(before, ":")
}
