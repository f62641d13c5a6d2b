// Package budget fits the passages of an answer into a number of tokens: the best ones, the last of
// them cut at the end of a sentence.
package budget

import (
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/chunk/tokenizer"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Limits of a budget, in tokens.
const (
	Min = 512
	Max = 1_000_000
)

// MaxNamed is how many passages that were left out are named at most.
const MaxNamed = 20

// Budget is a largest number of tokens. Safe for concurrent use.
type Budget struct {
	Max      int
	Encoding string // that counts them, one of tokenizer.Names

	encoding *tokenizer.Encoding
}

// New returns the budget of a request, nil if it names none. An empty encoding is
// tokenizer.Default. Errors: Invalid naming maxTokens or encodingName.
func New(maxTokens *int, encoding string) (*Budget, error) {
	switch {
	case encoding != "" && !slices.Contains(tokenizer.Names, encoding):
		return nil, fault.Field("encodingName", "unknown encoding %q; known are %s", encoding, strings.Join(tokenizer.Names, ", "))
	case maxTokens == nil && encoding != "":
		return nil, fault.Field("encodingName", "says how maxTokens is counted: give maxTokens, too")
	case maxTokens == nil:
		return nil, nil
	case *maxTokens < Min || *maxTokens > Max:
		return nil, fault.Field("maxTokens", "must be between %d and %d, got %d; leave it out for no limit", Min, Max, *maxTokens)
	}
	if encoding == "" {
		encoding = tokenizer.Default
	}
	return &Budget{*maxTokens, encoding, tokenizer.Load(encoding)}, nil
}

// Count returns the number of tokens of a text. Special tokens are ordinary text.
func (b *Budget) Count(text string) int { return b.encoding.Count(text, nil) }

// Prefix returns the number of bytes of a text that its first tokens have; less than len(text) if there
// are more tokens than that.
func (b *Budget) Prefix(text string, tokens int) (bytes int) {
	b.encoding.Each(text, 0, len(text), nil, func(end int) bool {
		if tokens--; tokens >= 0 {
			bytes = end
		}
		return tokens >= 0
	})
	return bytes
}

// Passage is a passage that competes for a place in an answer.
type Passage struct {
	Text string
	// From is where a passage that does not fit may begin instead: at the chunk itself, if others
	// stand before it.
	From int
}

// Part is the part of a passage that is in the answer: Text[Start:End].
type Part struct{ Passage, Start, End int }

// Choice is what fits.
type Choice struct {
	// Parts are in the order of the passages. All but the last are whole.
	Parts []Part
	// Tokens are what each passage would take as a whole, those that are left out included. What comes
	// after the last of the parts is estimated by its bytes.
	Tokens []int
	// Cut is whether the last part is less than its passage.
	Cut bool
	// LeftOut are the tokens of what is not in the answer.
	LeftOut int

	counted []bool // which of the Tokens are not estimated
}

// Fit chooses the first passages that fit into room tokens, as far as cost tells: the tokens that a
// passage takes in the answer with a part of its text. The first that does not fit is cut at the end
// of a sentence, and the rest are left out. Passages that come before all that fit are passed over.
func (b *Budget) Fit(passages []Passage, room int, cost func(passage int, text string) int) Choice {
	return Choice{Tokens: make([]int, len(passages)), counted: make([]bool, len(passages))}.Refit(passages, room, cost)
}

// Refit is Fit with another room. It counts no passage again that is whole.
func (c Choice) Refit(passages []Passage, room int, cost func(passage int, text string) int) Choice {
	next := Choice{Tokens: c.Tokens, counted: c.counted}
	kept := 0
	for i, p := range passages {
		if !c.counted[i] {
			c.Tokens[i], c.counted[i] = cost(i, p.Text), true
		}
		if c.Tokens[i] <= room {
			next.Parts = append(next.Parts, Part{i, 0, len(p.Text)})
			room, kept = room-c.Tokens[i], kept+c.Tokens[i]
			continue
		}
		if part, used := cut(i, p, room, cost); used > 0 {
			next.Parts, next.Cut, kept = append(next.Parts, part), true, kept+used
		}
		if len(next.Parts) > 0 {
			break
		}
	}
	next.estimate(passages)
	for _, tokens := range next.Tokens {
		next.LeftOut += tokens
	}
	next.LeftOut = max(next.LeftOut-kept, 0)
	return next
}

// estimate sets the Tokens that were not counted, with as many bytes each as those that were.
func (c *Choice) estimate(passages []Passage) {
	tokens, bytes := 0, 0
	for i, p := range passages {
		if c.counted[i] {
			tokens, bytes = tokens+c.Tokens[i], bytes+len(p.Text)
		}
	}
	for i, p := range passages {
		if !c.counted[i] {
			c.Tokens[i] = max(1, len(p.Text)*tokens/max(bytes, 1))
		}
	}
}

// cut returns the longest part of a passage that ends with a sentence and fits, and its tokens; 0 if
// not even one sentence fits.
func cut(i int, p Passage, room int, cost func(passage int, text string) int) (part Part, tokens int) {
	if cost(i, "") >= room {
		return part, 0
	}
	ends := Ends(p.Text, p.From)
	if p.From == 0 {
		ends = ends[:len(ends)-1] // the whole does not fit
	}
	low, high := 0, len(ends)
	for low < high {
		middle := (low + high) / 2
		if used := cost(i, p.Text[p.From:ends[middle]]); used <= room {
			part, tokens = Part{i, p.From, ends[middle]}, used
			low = middle + 1
		} else {
			high = middle
		}
	}
	return part, tokens
}

// Report tells what an answer takes of its budget, and what was left out for it.
type Report struct {
	MaxTokens, UsedTokens int
	Encoding              string
	CutID                 string // of the passage that was cut; empty for none
	OmittedCount          int
	OmittedTokens         int       // of the passages that were left out, and of what was cut off
	Omitted               []Omitted // the best of those that were left out, at most MaxNamed
}

// Omitted is a passage that was left out.
type Omitted struct {
	ID, DocumentID, URI, Title string
	IndexName                  string // if several were asked
	Score                      float64
	Tokens                     int
}

// Report returns the report on a choice. name describes a passage; its Tokens are set here.
func (c Choice) Report(b *Budget, used int, name func(passage int) Omitted) *Report {
	r := &Report{MaxTokens: b.Max, UsedTokens: used, Encoding: b.Encoding, OmittedTokens: c.LeftOut, OmittedCount: len(c.Tokens) - len(c.Parts)}
	if c.Cut {
		r.CutID = name(c.Parts[len(c.Parts)-1].Passage).ID
	}
	next := 0
	for i, tokens := range c.Tokens {
		if next < len(c.Parts) && c.Parts[next].Passage == i {
			next++
			continue
		}
		if len(r.Omitted) == MaxNamed {
			break
		}
		omitted := name(i)
		omitted.Tokens = tokens
		r.Omitted = append(r.Omitted, omitted)
	}
	return r
}
