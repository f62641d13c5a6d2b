package wording

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/index/analyzer"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Limits of the curations of an index.
const (
	MaxCurations     = 1000
	MaxPins          = 20 // of a curation, and of all that hold for a question
	MaxHides         = 100
	MaxQuestionWords = 32
	MaxQuestionBytes = 500
	maxNameBytes     = 2048 // of an id or uri
)

// Match is how a curation compares questions with its own.
type Match string

// How questions are compared.
const (
	Exact    Match = "exact"
	Contains Match = "contains"
)

// Curation says what a question finds first, and what it never finds.
type Curation struct {
	ID        string    `json:"id"`
	Question  string    `json:"question"`
	Match     Match     `json:"match"`
	Pins      []Curated `json:"pins,omitempty"`
	Hides     []Curated `json:"hides,omitempty"`
	Namespace string    `json:"namespace"`
}

// Curated is a chunk or a document, by one of the fields.
type Curated struct {
	ID         string `json:"id,omitempty"` // of a chunk
	DocumentID string `json:"documentId,omitempty"`
	URI        string `json:"uri,omitempty"`
}

// Check validates a curation, whose namespace is valid, and fills in defaults. field names it in errors. Errors: Invalid.
func (c *Curation) Check(field string) error {
	c.Match = cmp.Or(c.Match, Exact)
	if c.Match != Exact && c.Match != Contains {
		return fault.Field(field+".match", "unknown value %q; known are exact and contains", string(c.Match))
	}
	if err := checkTerm(field+".question", c.Question, MaxQuestionWords, MaxQuestionBytes); err != nil {
		return err
	}
	if len(c.Pins)+len(c.Hides) == 0 {
		return fault.Field(field, "must have pins or hides")
	}
	for _, list := range []struct {
		name  string
		items []Curated
		most  int
	}{{"pins", c.Pins, MaxPins}, {"hides", c.Hides, MaxHides}} {
		if len(list.items) > list.most {
			return fault.Field(field+"."+list.name, "has %d entries, over the limit of %d", len(list.items), list.most)
		}
		for n, item := range list.items {
			if err := item.check(fmt.Sprintf("%s.%s[%d]", field, list.name, n)); err != nil {
				return err
			}
		}
	}
	if c.ID == "" {
		c.ID = idOf(c)
	}
	return checkID(field+".curationId", c.ID)
}

func (c Curated) check(field string) error {
	given := 0
	for _, value := range []string{c.ID, c.DocumentID, c.URI} {
		if value != "" {
			given++
		}
		if len(value) > maxNameBytes {
			return fault.Field(field, "has %d bytes, over the limit of %d", len(value), maxNameBytes)
		}
	}
	if given != 1 {
		return fault.Field(field, "must have exactly one of id, documentId and uri")
	}
	if _, err := uuid.Parse(c.DocumentID); c.DocumentID != "" && err != nil {
		return fault.Field(field+".documentId", "is no id of a document, which is a UUID; a name of a file is its uri")
	}
	return nil
}

// Curations are the curations of an index. Safe for concurrent use.
type Curations struct {
	entries []Curation

	reading  sync.Mutex
	compiled phrases[*Curation] // for languages
}

// NewCurations returns the curations of entries, which must not be changed.
func NewCurations(entries []Curation) *Curations { return &Curations{entries: entries} }

// Entries returns the curations in the order of their ids. They must not be changed. A nil receiver has none.
func (c *Curations) Entries() []Curation {
	if c == nil {
		return nil
	}
	return c.entries
}

// Of returns the curations that hold for a question to texts in any of the languages: those of the same words first, then those of most
// words. A nil receiver has none.
func (c *Curations) Of(question, namespace string, languages []string) []*Curation {
	if c == nil || len(c.entries) == 0 {
		return nil
	}
	c.reading.Lock()
	if c.compiled.first == nil || !slices.Equal(c.compiled.languages, languages) {
		c.compiled = phrases[*Curation]{first: map[string][]phrase[*Curation]{}, languages: languages}
		for n := range c.entries {
			c.compiled.add(analyzer.Sequence(c.entries[n].Question, languages), &c.entries[n])
		}
	}
	compiled := c.compiled
	c.reading.Unlock()
	words := analyzer.Sequence(question, languages)
	var held []phrase[*Curation]
	compiled.in(words, func(at int, p phrase[*Curation]) {
		whole := at == 0 && len(p.words) == len(words)
		known := slices.ContainsFunc(held, func(h phrase[*Curation]) bool { return h.of == p.of })
		if (whole || p.of.Match == Contains) && p.of.Namespace == namespace && !known {
			held = append(held, p)
		}
	})
	slices.SortStableFunc(held, func(x, y phrase[*Curation]) int {
		return cmp.Or(cmp.Compare(len(y.words), len(x.words)), exactFirst(x.of.Match, y.of.Match), cmp.Compare(x.of.ID, y.of.ID))
	})
	out := make([]*Curation, len(held))
	for n, h := range held {
		out[n] = h.of
	}
	return out
}

func exactFirst(x, y Match) int {
	if x == y {
		return 0
	}
	if x == Exact {
		return -1
	}
	return 1
}
