package query

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/index/analyzer"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/query/lexical"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	// maxCorrected bounds the words of a question that are corrected.
	maxCorrected = 4
	// maxNear bounds the words that are looked up in place of one, and maxSubstitutes those that are searched for.
	maxNear        = 16
	maxSubstitutes = 3
	// maxExpanded bounds the words that are looked up for a beginning, and maxExpansions those that are searched for,
	// the most common.
	maxExpanded   = 32
	maxExpansions = 16
	// maxBegun bounds the words of a question whose endings are looked up.
	maxBegun = 4
	// minBeginning is the least length of a beginning, in letters. If no word begins with it, up to maxCut letters are left
	// out, as stems are shorter than words: "retrieva" is found by the stem of "retrieval".
	minBeginning = 2
	maxCut       = 3
	minCut       = 4
	// firstMayDiffer is the length from which a word may differ in its first letter: many a short word does that is no slip.
	firstMayDiffer = 6
	// spelledBytes bounds the text that tells how a word is spelled.
	spelledBytes = 20_000
	// nearRows bounds the words that are compared, and nearTimeout the time.
	nearRows    = 20_000
	nearTimeout = "300ms"
)

// How likely the question means a word in place of the one that it has: of 1, one edit away, less likely for a short word;
// two edits away; and beginning with it.
const (
	oneEditCertainty   = 0.5
	shortCertainty     = 0.2
	twoEditsCertainty  = 0.4
	beginningCertainty = 0.7
)

// certaintyOf returns how likely a question with a word means another one so many edits away.
func certaintyOf(word string, edits int) float64 {
	switch {
	case edits > 1:
		return twoEditsCertainty
	case utf8.RuneCountInString(word) < firstMayDiffer:
		return shortCertainty
	}
	return oneEditCertainty
}

// Correction is a word of a question that no chunk has, and the words that were searched for in its place.
type Correction struct {
	Word     string
	Searched []string

	word int // its number
}

// nearWord is a word that is searched for in place of another one, or as an ending of it.
type nearWord struct {
	term     string
	spelling string // of which it is the term
	edits    int
	cost     float64 // the order of words with as many edits
}

// nearTo are the words that may stand for a word of the question.
type nearTo struct {
	word      int // its number
	beginning bool
	words     []nearWord
}

func (n nearTo) terms() []string {
	out := make([]string, len(n.words))
	for i, w := range n.words {
		out[i] = w.term
	}
	return out
}

// askedOf returns the words that a question asks. Those that may be beginnings of words are asked though they say little by
// themselves.
func askedOf(p prepared, languages []string) []analyzer.Asked {
	asked := analyzer.Question(p.text, languages)
	for n := range asked {
		if a := &asked[n]; a.Stop && p.begins(*a) {
			a.Stop, a.Terms = false, nil
		}
	}
	return analyzer.Informative(asked)
}

// nearWords returns the words that may stand for the words of a question: for each word that no chunk has those with the
// fewest edits, and for each that may be a beginning its endings.
func nearWords(ctx context.Context, h *data.Handle, i index.Index, q queryTerms, p prepared, words []analyzer.Asked, languages []string) ([]nearTo, error) {
	missing, begun := p.unknown.of(i, words, q.missing(words)), begunWords(p, words)
	if len(missing) == 0 && len(begun) == 0 {
		return nil, nil
	}
	there, err := index.HasWords(ctx, h)
	if err != nil || !there {
		return nil, err
	}
	found, err := endings(ctx, h, words, begun)
	if err == nil {
		missing = slices.DeleteFunc(missing, func(n int) bool {
			return slices.ContainsFunc(found, func(f nearTo) bool { return f.word == n })
		})
		var near []nearTo
		near, err = corrections(ctx, h, words, missing[:min(len(missing), maxCorrected)], languages)
		found = append(found, near...)
	}
	if fault.KindOf(err) == fault.Deadline && ctx.Err() == nil { // the question goes on without them
		return found, nil
	}
	return found, err
}

// missing returns the numbers of the words that no visible chunk has and that may be misspelt.
func (q queryTerms) missing(words []analyzer.Asked) (missing []int) {
	there := map[int]bool{}
	for _, t := range q.terms {
		there[t.Word] = there[t.Word] || t.Visible && t.Chunks > 0 || t.Substituted
	}
	for n, w := range words {
		if !there[n] && !w.Whole && analyzer.Edits(w.Word) > 0 && !common(w.Word) && (!w.Part || !ofNumber(w.Word, words)) {
			missing = append(missing, n)
		}
	}
	return missing
}

// unknownWords are the words of a question to several indexes that a caller finds in none of them. Which those are is known
// once each index has been searched without corrections; a word that another index has is not misspelt. It is safe for
// concurrent use. Nil stands for a question to one index, where each missing word is unknown.
type unknownWords struct {
	mu      sync.Mutex
	indexes map[int64]bool            // whose words have been looked up
	missing map[string]map[int64]bool // the indexes that lack a word, by the word, folded
	known   bool                      // which words are unknown: all indexes have been searched
}

func newUnknownWords() *unknownWords {
	return &unknownWords{indexes: map[int64]bool{}, missing: map[string]map[int64]bool{}}
}

// of returns those of the missing words of an index that are to be corrected: none while it is not known which are unknown.
func (u *unknownWords) of(i index.Index, words []analyzer.Asked, missing []int) (unknown []int) {
	if u == nil {
		return missing
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.known {
		u.indexes[i.ID] = true
	}
	for _, n := range missing {
		word := analyzer.Fold(words[n].Word)
		switch {
		case u.known && len(u.missing[word]) == len(u.indexes):
			unknown = append(unknown, n)
		case !u.known && u.missing[word] == nil:
			u.missing[word] = map[int64]bool{i.ID: true}
		case !u.known:
			u.missing[word][i.ID] = true
		}
	}
	return unknown
}

// settled reports whether the indexes are searched again, with corrections.
func (u *unknownWords) settled() bool { return u != nil && u.known }

// settle is called when all indexes have been searched, and reports whether there are unknown words.
func (u *unknownWords) settle() bool {
	u.known = true
	for _, lacking := range u.missing {
		if len(lacking) == len(u.indexes) {
			return true
		}
	}
	return false
}

// common reports whether a word is one of the most common English words, which nobody means another one by.
func common(word string) bool {
	for token := range lexical.Tokens(word) {
		return token.Rank() != lexical.Content
	}
	return false
}

// ofNumber reports whether a word is part of an identifier with digits.
func ofNumber(word string, words []analyzer.Asked) bool {
	return slices.ContainsFunc(words, func(w analyzer.Asked) bool {
		return w.Whole && strings.Contains(w.Word, word) && strings.ContainsAny(w.Word, "0123456789")
	})
}

// begins reports whether a word of the question may be the beginning of one: the last one, by itself and with what it is joined
// to, if it is still being typed, and those that the syntax web marks as beginnings.
func (p prepared) begins(w analyzer.Asked) bool {
	return p.prefix && w.Last || w.Word != "" && slices.ContainsFunc(p.conditions, func(c condition) bool {
		return !c.without && slices.ContainsFunc(c.alternatives, func(o operand) bool {
			return o.prefix && analyzer.Fold(o.text) == analyzer.Fold(w.Word)
		})
	})
}

// begunWords returns the numbers of the words that may be beginnings and whose endings can be looked up.
func begunWords(p prepared, words []analyzer.Asked) (begun []int) {
	for n, w := range words {
		if p.begins(w) && utf8.RuneCountInString(w.Word) >= minBeginning && analyzer.Storable(analyzer.Fold(w.Word)) {
			begun = append(begun, n)
		}
	}
	return begun[:min(len(begun), maxBegun)]
}

// lastText sorts behind every text with the same beginning, as SQL.
const lastText = `chr(1114111)`

// endings returns the most common words that begin with words of a question.
func endings(ctx context.Context, h *data.Handle, words []analyzer.Asked, begun []int) (found []nearTo, err error) {
	if len(begun) == 0 {
		return nil, nil
	}
	all := make([][]string, len(begun))
	b := h.Batch()
	b.Set("statement_timeout", nearTimeout)
	for n, number := range begun {
		beginning := analyzer.Fold(words[number].Word)
		var cut []string
		for letters := []rune(beginning); len(letters) > minCut && len(cut) < maxCut; letters = letters[:len(letters)-1] {
			cut = append(cut, string(letters[:len(letters)-1]))
		}
		b.Query(data.Column(&all[n]), `
			WITH ending AS MATERIALIZED (
				SELECT w.word, max(w.chunks) AS chunks FROM (
					SELECT w.word, w.chunks FROM tenant.word AS w
					WHERE w.word >= $1::text COLLATE "C" AND w.word < ($1::text || `+lastText+`) COLLATE "C" LIMIT $2
				) AS w GROUP BY w.word
			)
			(SELECT e.word FROM ending AS e ORDER BY e.chunks DESC, length(e.word), e.word LIMIT $3)
			UNION ALL
			(SELECT DISTINCT w.word FROM tenant.word AS w WHERE w.word = ANY($4::text[]) AND NOT EXISTS (SELECT FROM ending))`,
			beginning, nearRows, maxExpanded, cut)
	}
	if err := b.Run(ctx); err != nil {
		return nil, err
	}
	for n, number := range begun {
		near := nearTo{word: number, beginning: true}
		for _, term := range all[n] {
			if !slices.Contains(words[number].Terms, term) {
				near.words = append(near.words, nearWord{term: term, spelling: term})
			}
		}
		if len(near.words) > 0 {
			found = append(found, near)
		}
	}
	return found, nil
}

// corrections returns the words that are nearest to words that no chunk has: one edit away, else two.
func corrections(ctx context.Context, h *data.Handle, words []analyzer.Asked, missing []int, languages []string) (found []nearTo, err error) {
	if len(missing) == 0 {
		return nil, nil
	}
	near, all := make([]map[string]string, len(missing)), make([][]string, len(missing))
	b := h.Batch()
	b.Set("statement_timeout", nearTimeout)
	for n, number := range missing {
		near[n] = analyzer.Near(words[number].Word, languages)
		terms := slices.Collect(maps.Keys(near[n]))
		b.Query(data.Column(&all[n]), `SELECT DISTINCT w.word FROM tenant.word AS w WHERE w.word = ANY($1::text[])`, terms)
	}
	if err := b.Run(ctx); err != nil {
		return nil, err
	}
	var further []int
	for n, number := range missing {
		to := nearTo{word: number}
		for _, term := range all[n] {
			to.words = append(to.words, nearWord{term: term, spelling: near[n][term], edits: 1})
		}
		if to.order(words[number], languages); len(to.words) > 0 {
			found = append(found, to)
		} else if analyzer.Edits(words[number].Word) > 1 {
			further = append(further, number)
		}
	}
	more, err := twoEdits(ctx, h, words, further, languages)
	return append(found, more...), err
}

// twoEdits returns the words that are two edits away from words: those whose first half has one of the edits at most, else
// those that end as the word does.
func twoEdits(ctx context.Context, h *data.Handle, words []analyzer.Asked, missing []int, languages []string) (found []nearTo, err error) {
	for _, number := range missing {
		asked := words[number]
		first, last := analyzer.Beginnings(asked.Word, languages)
		shortest, longest := utf8.RuneCountInString(asked.Word), utf8.RuneCountInString(asked.Word)+2
		for _, term := range asked.Terms {
			shortest = min(shortest, utf8.RuneCountInString(term))
		}
		for n := range last {
			last[n] = "%" + last[n]
		}
		// The inner limit lets PostgreSQL look each beginning up in the Postgres index, instead of comparing all words with all.
		to, err := withTwoEdits(ctx, h, number, asked, languages, `
			SELECT DISTINCT w.word FROM unnest($1::text[]) AS b (beginning) CROSS JOIN LATERAL (
				SELECT w.word FROM tenant.word AS w
				WHERE w.word >= b.beginning COLLATE "C" AND w.word < (b.beginning || `+lastText+`) COLLATE "C"
					AND length(w.word) BETWEEN $2 AND $3 LIMIT $4
			) AS w LIMIT $4`, first, shortest-2, longest, nearRows)
		if err == nil && len(to.words) == 0 {
			to, err = withTwoEdits(ctx, h, number, asked, languages, `
				SELECT DISTINCT w.word FROM tenant.word AS w
				WHERE length(w.word) BETWEEN $2 AND $3 AND w.word LIKE ANY ($1::text[]) LIMIT $4`, last, shortest-2, longest, nearRows)
		}
		if err != nil {
			return found, err
		}
		if len(to.words) > 0 {
			found = append(found, to)
		}
	}
	return found, nil
}

// withTwoEdits returns those of the words of a query that are two edits away from a word.
func withTwoEdits(ctx context.Context, h *data.Handle, number int, asked analyzer.Asked, languages []string, sql string, args ...any) (nearTo, error) {
	to := nearTo{word: number}
	var all []string
	b := h.Batch()
	b.Set("statement_timeout", nearTimeout)
	b.Query(data.Column(&all), sql, args...)
	if err := b.Run(ctx); err != nil {
		return to, err
	}
	spelled := append([]string{analyzer.Fold(asked.Word)}, asked.Terms...)
	for _, term := range all {
		if slices.ContainsFunc(spelled, func(s string) bool { return analyzer.Distance(s, term) <= 2 }) {
			to.words = append(to.words, nearWord{term: term, spelling: term, edits: 2})
		}
	}
	to.order(asked, languages)
	return to, nil
}

// order keeps the words that are likeliest meant: letters that have changed places or are doubled are slips of the hand, and
// the first letter is rarely wrong. Words that say little are not meant.
func (n *nearTo) order(asked analyzer.Asked, languages []string) {
	word := asked.Word
	letters := []rune(analyzer.Fold(word))
	begins := func(w nearWord) bool { return strings.HasPrefix(analyzer.Fold(w.spelling), string(letters[0])) }
	second := func(w nearWord) bool { return strings.HasPrefix(analyzer.Fold(w.spelling), string(letters[1])) }
	swapped := func(w nearWord) bool { return analyzer.SameLetters(w.spelling, word) }
	stop := analyzer.StopWords(languages)
	short := utf8.RuneCountInString(word) < firstMayDiffer
	n.words = slices.DeleteFunc(n.words, func(w nearWord) bool {
		return strings.ContainsAny(w.term, "0123456789.") || slices.Contains(asked.Terms, w.term) || short && !begins(w) && !swapped(w) ||
			w.edits > 1 && !begins(w) && !second(w) || stop(w.spelling) || stop(w.term)
	})
	for i := range n.words {
		w := &n.words[i]
		w.cost = float64(w.edits)
		if !begins(*w) {
			w.cost += 0.5
		}
		if swapped(*w) || undoubled(w.spelling) == undoubled(word) {
			w.cost -= 0.25
		}
	}
	slices.SortFunc(n.words, func(x, y nearWord) int { return cmp.Or(cmp.Compare(x.cost, y.cost), cmp.Compare(x.term, y.term)) })
	n.words = n.words[:min(len(n.words), maxNear)]
}

// undoubled returns a word with each run of a letter as one.
func undoubled(word string) string { return string(slices.Compact([]rune(word))) }

// choose keeps, of the terms of near words, those that a visible chunk has: of corrections the likeliest, and of those the
// most common, and of endings the most common.
func (q *queryTerms) choose(words []analyzer.Asked, near []nearTo) {
	for _, n := range near {
		of := map[string]nearWord{}
		for _, w := range n.words {
			of[analyzer.Quote(w.term)] = w
		}
		var found []term
		q.terms = slices.DeleteFunc(q.terms, func(t term) bool {
			_, is := of[t.Quoted]
			if is = is && t.Word == n.word; is && t.Visible && t.Chunks > 0 {
				found = append(found, t)
			}
			return is
		})
		most := maxExpansions
		if !n.beginning {
			most = maxSubstitutes
		}
		slices.SortStableFunc(found, func(x, y term) int {
			return cmp.Or(cmp.Compare(of[x.Quoted].cost, of[y.Quoted].cost), cmp.Compare(y.Chunks, x.Chunks), cmp.Compare(x.Quoted, y.Quoted))
		})
		found = found[:min(len(found), most)]
		correction := Correction{Word: words[n.word].Word, word: n.word}
		for i := range found {
			w := of[found[i].Quoted]
			found[i].Corrected, found[i].Certainty = !n.beginning, beginningCertainty
			if !n.beginning {
				found[i].Certainty = certaintyOf(correction.Word, w.edits)
				if w.cost > of[found[0].Quoted].cost {
					found[i].Certainty /= 2
				}
			}
			correction.Searched = append(correction.Searched, w.term)
		}
		q.terms = append(q.terms, found...)
		if !n.beginning && len(found) > 0 {
			q.corrections = append(q.corrections, correction)
		}
	}
	q.sort()
}

// sort puts the rarest terms first.
func (q *queryTerms) sort() {
	slices.SortStableFunc(q.terms, func(x, y term) int { return cmp.Or(cmp.Compare(x.Chunks, y.Chunks), cmp.Compare(x.Quoted, y.Quoted)) })
}

// spell replaces the terms of corrections by words of the index, as a visible chunk spells them, and leaves out those of words
// that are less like the question's than another one is: stems are more alike than words, as those of "separate" and "several".
func (q *queryTerms) spell(ctx context.Context, h *data.Handle, i index.Index, p prepared, languages []string) error {
	type text struct{ Text string }
	var all []*[]text
	b := h.Batch()
	b.Set("statement_timeout", searchTimeout)
	for _, c := range q.corrections {
		for _, term := range c.Searched {
			into := new([]text)
			all = append(all, into)
			args := filter.NewArgs(analyzer.Quote(term), spelledBytes)
			b.Query(data.Rows(into), `
				SELECT left(c.title || E'\n' || coalesce(nullif(c.text, ''), c.metadata->>'text', ''), $2) AS text FROM tenant.chunk AS c
				WHERE c.terms @@ $1::tsquery AND `+p.access.SQL(filter.ChunkMetadata, args, i.MetadataIndexes...)+` LIMIT 1`, args.Values()...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	if err := b.Run(ctx); err != nil {
		return err
	}
	for n := range q.corrections {
		c := &q.corrections[n]
		terms, distances := c.Searched, make([]int, len(c.Searched))
		c.Searched = nil
		spelled := make([]string, len(terms))
		for i, term := range terms {
			spelled[i] = term
			if found := *all[i]; len(found) > 0 {
				spelled[i] = cmp.Or(analyzer.Spelled(found[0].Text, term, languages), term)
			}
			distances[i] = analyzer.Distance(analyzer.Fold(c.Word), analyzer.Fold(spelled[i]))
		}
		all = all[len(terms):]
		for i, distance := range distances {
			if distance == slices.Min(distances) {
				c.Searched = append(c.Searched, spelled[i])
				continue
			}
			q.terms = slices.DeleteFunc(q.terms, func(t term) bool { return t.Word == c.word && t.Quoted == analyzer.Quote(terms[i]) })
		}
	}
	return nil
}

// correctionWarnings says which words were searched for in place of others.
func (q queryTerms) correctionWarnings() (warnings []string) {
	for _, c := range q.corrections {
		warnings = append(warnings, fmt.Sprintf("no chunk has the word %q: %s searched for in its place", c.Word, strings.Join(c.Searched, ", ")+was(len(c.Searched))))
	}
	return warnings
}

func was(n int) string {
	if n == 1 {
		return " was"
	}
	return " were"
}
