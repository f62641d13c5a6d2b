package index

import (
	"encoding/binary"

	"github.com/ragdhq/ragd/internal/index/analyzer"
)

// FieldWeights say how often a text counts as having the terms of a field, for each time that it has them there. With 1 for all
// fields, terms weigh what TermsOf computes.
type FieldWeights struct{ Title, Headings, Text float64 }

// Reweigher computes what the BM25 score of a text would be with other weights of its fields. Not safe for concurrent use.
type Reweigher struct {
	fields   FieldWeights
	asked    map[string]float64 // weights of the terms of a question
	analyzer *analyzer.Analyzer // counts words
	title    string             // whose length was computed last
	length   uint16             // positions of title
}

// Reweigher returns a Reweigher for a question whose terms have these weights. It is nil for an index with terms of PostgreSQL's
// parser, which are weighed in another way.
func (i Index) Reweigher(fields FieldWeights, asked map[string]float64) *Reweigher {
	if i.Parsed() {
		return nil
	}
	return &Reweigher{fields: fields, asked: asked, analyzer: analyzer.New(analyzer.Simple)}
}

// Factor returns what the BM25 score of a text is to be multiplied with: 1 if it has no term of the question. terms is the Terms.Terms
// of the text, and title the title of its document.
func (r *Reweigher) Factor(title string, terms []byte) (float64, error) {
	type occurrences struct {
		termOccurrences
		asked float64 // weight of the term in the question
	}
	var found []occurrences
	words, length := uint16(0), r.positions(title)
	err := eachTerm(terms, func(encoded []byte, end int) {
		positions := encoded[min(len(encoded), end+3):]
		if n := len(positions); n >= 2 {
			words = max(words, binary.BigEndian.Uint16(positions[n-2:])&maxPosition)
		}
		weight, ok := r.asked[string(encoded[:end])]
		if !ok {
			return
		}
		o := occurrences{asked: weight}
		for ; len(positions) >= 2; positions = positions[2:] {
			switch position := binary.BigEndian.Uint16(positions); {
			case position&labelA != labelA:
				o.count++
			case position&maxPosition <= length:
				o.title = true
			default:
				o.heading = true
			}
		}
		found = append(found, o)
	})
	before, after := 0.0, 0.0
	for _, o := range found {
		before += o.asked * float64(o.weight(int(words)))
		after += o.asked * float64(o.weightAs(r.fields, int(words)))
	}
	if err != nil || before == 0 {
		return 1, err
	}
	return after / before, nil
}

// positions returns the number of positions of a title, which come first in the terms of a text.
func (r *Reweigher) positions(title string) uint16 {
	if title != r.title {
		r.title, r.length = title, 0
		r.analyzer.Terms(title, func(t analyzer.Term) { r.length = max(r.length, uint16(min(t.Position+1, maxPosition))) })
	}
	return r.length
}
