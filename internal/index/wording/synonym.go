// Package wording holds what a tenant says about the words of questions to an index: synonyms, which are searched for beside what was
// typed, and curations, which say what a question finds first or never. It validates them and finds those of a question.
package wording

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ragdhq/ragd/internal/index/analyzer"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Limits of the synonyms of an index.
const (
	MaxSynonyms = 1000
	MaxTerms    = 20 // and targets, of an entry
	MaxWords    = 6  // of a term
	MaxBytes    = 100
	MaxSetBytes = 256 << 10 // of all entries as JSON
	// MaxUsed bounds the synonyms of one question, in the order of its words.
	MaxUsed = 32
)

// Synonym is an entry of the synonyms of an index.
type Synonym struct {
	ID       string   `json:"id"`
	Terms    []string `json:"terms"`              // as typed
	Targets  []string `json:"targets,omitempty"`  // searched for too; empty: the terms stand for each other
	Language string   `json:"language,omitempty"` // in which the entry is read; empty: all languages of the index
}

var idPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Check validates an entry and fills in its id. field names the entry in errors. Errors: Invalid.
func (s *Synonym) Check(field string) error {
	least := 2
	if len(s.Targets) > 0 {
		least = 1
	}
	switch {
	case len(s.Terms) < least && least == 2:
		return fault.Field(field+".terms", "must have at least 2 terms that stand for each other, or targets")
	case len(s.Terms) < least:
		return fault.Field(field+".terms", "must have a term")
	case s.Language != "" && (!analyzer.Knows(s.Language) || s.Language == analyzer.Auto):
		return fault.Field(field+".language", "unknown language %q: give one of the text languages of an index, such as german, or leave it out", s.Language)
	}
	for _, list := range []struct {
		name  string
		terms []string
	}{{"terms", s.Terms}, {"targets", s.Targets}} {
		if len(list.terms) > MaxTerms {
			return fault.Field(field+"."+list.name, "has %d entries, over the limit of %d: make several entries", len(list.terms), MaxTerms)
		}
		for n, term := range list.terms {
			if err := checkTerm(fmt.Sprintf("%s.%s[%d]", field, list.name, n), term, MaxWords, MaxBytes); err != nil {
				return err
			}
		}
	}
	if s.ID == "" {
		s.ID = idOf(s)
	}
	return checkID(field+".synonymId", s.ID)
}

func checkID(field, id string) error {
	if !idPattern.MatchString(id) {
		return fault.Field(field, "must be 1 to 64 letters, digits, - and _")
	}
	return nil
}

// checkTerm checks a text that questions are compared with. Errors: Invalid.
func checkTerm(field, text string, words, bytes int) error {
	if len(text) > bytes {
		return fault.Field(field, "has %d bytes, over the limit of %d: give a shorter one", len(text), bytes)
	}
	switch found := len(analyzer.Sequence(text, []string{analyzer.Simple})); {
	case found == 0:
		return fault.Field(field, "must have a word")
	case found > words:
		return fault.Field(field, "has %d words, over the limit of %d: give a shorter one", found, words)
	}
	return nil
}

// idOf returns an id that is made of a value, which has none.
func idOf(value any) string {
	encoded, _ := json.Marshal(value) // strings alone
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:8])
}

// CheckSize checks the number and size of all entries of an index. what names them, such as synonyms. Errors: Exhausted.
func CheckSize[T any](what string, entries []T, most int) error {
	if len(entries) > most {
		return fault.New(fault.Exhausted, "the index would have %d %s, over the limit of %d: delete some first", len(entries), what, most)
	}
	encoded, err := json.Marshal(entries)
	if err == nil && len(encoded) > MaxSetBytes {
		return fault.New(fault.Exhausted, "the %s of the index would have %d bytes as JSON, over the limit of %d: delete some first", what, len(encoded), MaxSetBytes)
	}
	return err
}

// Put returns entries with others added: one with the id of another takes its place. They are in the order of their ids.
func Put[T any](entries, added []T, id func(T) string) []T {
	all := map[string]T{}
	for _, list := range [][]T{entries, added} {
		for _, entry := range list {
			all[id(entry)] = entry
		}
	}
	out := make([]T, 0, len(all))
	for _, entry := range all {
		out = append(out, entry)
	}
	slices.SortFunc(out, func(x, y T) int { return strings.Compare(id(x), id(y)) })
	return out
}

// Synonyms are the synonyms of an index. Safe for concurrent use. The zero value has none.
type Synonyms struct {
	entries []Synonym

	reading  sync.Mutex
	compiled phrases[spelling] // of entries for languages
}

// NewSynonyms returns the synonyms of entries, which must not be changed.
func NewSynonyms(entries []Synonym) *Synonyms { return &Synonyms{entries: entries} }

// Entries returns the entries in the order of their ids. They must not be changed. A nil receiver has none.
func (s *Synonyms) Entries() []Synonym {
	if s == nil {
		return nil
	}
	return s.entries
}

// spelling is a term of an entry and the others of the entry.
type spelling struct {
	term     string
	others   []string
	language string
}

// Use is a synonym of a term of a question.
type Use struct {
	Term      string   // of the question, as the entry has it
	Terms     []string // of keyword search, of all words of Term
	Synonym   string   // as the entry has it
	Languages []string // in which the synonym is read
}

// Of returns the synonyms of a question to texts in any of the languages, at most MaxUsed. A nil receiver has none.
func (s *Synonyms) Of(question string, languages []string) (uses []Use) {
	if s == nil || len(s.entries) == 0 {
		return nil
	}
	s.reading.Lock()
	if s.compiled.first == nil || !slices.Equal(s.compiled.languages, languages) {
		s.compiled = s.compile(languages)
	}
	compiled := s.compiled
	s.reading.Unlock()
	type pair struct{ term, synonym string }
	known := map[pair]bool{}
	compiled.in(analyzer.Sequence(question, languages), func(_ int, p phrase[spelling]) {
		for _, other := range p.of.others {
			as := pair{p.of.term, other}
			if known[as] || len(uses) == MaxUsed {
				continue
			}
			known[as] = true
			read := languages
			if p.of.language != "" {
				read = []string{p.of.language}
			}
			use := Use{Term: p.of.term, Synonym: other, Languages: read}
			for _, asked := range analyzer.Question(p.of.term, read) {
				use.Terms = append(use.Terms, asked.Terms...)
			}
			uses = append(uses, use)
		}
	})
	return uses
}

// compile returns the terms of all entries that count for texts in some of the languages.
func (s *Synonyms) compile(languages []string) phrases[spelling] {
	made := phrases[spelling]{first: map[string][]phrase[spelling]{}, languages: languages}
	for _, entry := range s.entries {
		read := languages
		if entry.Language != "" {
			if !slices.Contains(languages, entry.Language) {
				continue
			}
			read = []string{entry.Language}
		}
		for n, term := range entry.Terms {
			others := entry.Targets
			if len(others) == 0 {
				others = slices.Concat(entry.Terms[:n:n], entry.Terms[n+1:])
			}
			made.add(analyzer.Sequence(term, read), spelling{term, others, entry.Language})
		}
	}
	return made
}

// phrases finds sequences of words in questions, by the terms of their first word.
type phrases[T any] struct {
	first     map[string][]phrase[T]
	languages []string
}

// phrase is a sequence of words, each with its terms.
type phrase[T any] struct {
	words [][]string
	of    T
}

func (p phrases[T]) add(words [][]string, of T) {
	if len(words) == 0 {
		return
	}
	for _, term := range words[0] {
		p.first[term] = append(p.first[term], phrase[T]{words, of})
	}
}

// in calls each for all phrases in a sequence of words, with the number of their first word.
func (p phrases[T]) in(words [][]string, each func(at int, found phrase[T])) {
	for at := range words {
		var here []phrase[T]
		for _, term := range words[at] {
			here = append(here, p.first[term]...)
		}
		slices.SortStableFunc(here, func(x, y phrase[T]) int { return cmp.Compare(len(y.words), len(x.words)) })
		for _, candidate := range here {
			if begins(words[at:], candidate.words) {
				each(at, candidate)
			}
		}
	}
}

// begins reports whether a sequence of words begins with another one: each word has a term in common.
func begins(words, with [][]string) bool {
	if len(with) > len(words) {
		return false
	}
	for n, terms := range with {
		if !slices.ContainsFunc(terms, func(term string) bool { return slices.Contains(words[n], term) }) {
			return false
		}
	}
	return true
}
