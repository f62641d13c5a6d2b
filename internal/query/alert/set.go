package alert

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/index/analyzer"
	"github.com/ragdhq/ragd/internal/model/localmodel/kernel"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Set is the alerts of an index, made ready to be compared with passages. It is immutable and safe for concurrent use.
// A nil Set has no alerts.
type Set struct {
	of     index.Index
	all    []watched
	byTerm map[string][]use
	vector []int           // the alerts of the mode Vector
	packed *kernel.Weights // a column for each of all; nil if none has an embedding
	norms  []float64       // of the embeddings of all; 0 without one
}

// watched is an alert of a Set.
type watched struct {
	row
	filter    filter.Filter // of the alert
	mandatory filter.Filter // of the credential, trusted
	access    access.Delegation
	terms     uint64 // a bit for each word of the question
}

// use says that a term stands for a word of the question of an alert.
type use struct{ alert, word int }

// compile returns the set of the rows, whose embeddings are those of the index.
func compile(ctx context.Context, q data.Queryer, of index.Index, rows []row) (*Set, error) {
	s := &Set{of: of, byTerm: map[string][]use{}, norms: make([]float64, len(rows))}
	questions := make([]string, len(rows))
	for n, r := range rows {
		questions[n] = r.Question
	}
	words, err := wordsOf(ctx, q, of, questions)
	if err != nil {
		return nil, err
	}
	for n, r := range rows {
		w := watched{row: r}
		if err := w.parse(); err != nil { // it matches nothing, and the others go on
			w.Embedding = nil
			s.all = append(s.all, w)
			continue
		}
		if r.Mode == Vector {
			s.vector = append(s.vector, n)
		} else {
			for number, terms := range words[n] {
				w.terms |= 1 << number
				for _, term := range terms {
					s.byTerm[term] = append(s.byTerm[term], use{n, number})
				}
			}
		}
		s.all = append(s.all, w)
	}
	s.pack()
	return s, nil
}

// parse reads what a row keeps as JSON.
func (w *watched) parse() error {
	if err := json.Unmarshal(w.Access, &w.access); err != nil {
		return err
	}
	own, err := w.ownFilter()
	if err != nil {
		return err
	}
	w.filter = own
	if len(w.access.MandatoryFilter) > 0 {
		mandatory, err := filter.Parse([]byte(w.access.MandatoryFilter))
		if err != nil {
			return err
		}
		w.mandatory = mandatory.Trusted()
	}
	return nil
}

// wordsOf returns the words of questions, each with the terms that stand for it, at most maxTerms of each question.
func wordsOf(ctx context.Context, q data.Queryer, of index.Index, questions []string) ([][][]string, error) {
	words := make([][][]string, len(questions))
	if !of.MakesTerms() {
		texts := make([]index.Text, len(questions))
		for n, question := range questions {
			texts[n].Body = question
		}
		made, err := of.TermsOf(ctx, q, texts)
		if err != nil {
			return nil, err
		}
		for n, terms := range made {
			for term := range terms.All() {
				words[n] = append(words[n], []string{string(term)})
			}
			words[n] = words[n][:min(len(words[n]), maxTerms)]
		}
		return words, nil
	}
	languages := of.AskedLanguages(of.Languages)
	for n, question := range questions {
		for _, asked := range analyzer.Informative(analyzer.Question(question, languages)) {
			if !asked.Part && len(words[n]) < maxTerms {
				words[n] = append(words[n], asked.Terms)
			}
		}
	}
	return words, nil
}

// pack packs the embeddings into one matrix, those of the metric cosine with unit length.
func (s *Set) pack() {
	if !slices.ContainsFunc(s.all, func(w watched) bool { return w.Embedding != nil }) {
		return
	}
	matrix := make([]float32, len(s.all)*s.of.Dimension)
	for n, w := range s.all {
		if w.Embedding == nil {
			continue
		}
		s.norms[n] = norm(w.Embedding)
		column := matrix[n*s.of.Dimension:][:s.of.Dimension]
		copy(column, w.Embedding)
		if s.of.Metric == index.Cosine && s.norms[n] > 0 {
			for i := range column {
				column[i] /= float32(s.norms[n])
			}
		}
		s.all[n].Embedding = nil // the matrix has it
	}
	s.packed = kernel.Pack(matrix, len(s.all), s.of.Dimension, nil)
}

func norm(vector []float32) float64 {
	sum := 0.0
	for _, x := range vector {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// bytes returns about how much memory the set takes.
func (s *Set) bytes() int {
	n := 64 * len(s.byTerm)
	if s.packed != nil {
		n += s.packed.Bytes()
	}
	for _, w := range s.all {
		n += 512 + len(w.Question) + len(w.Access) + 2*len(w.Filter)
	}
	return n
}

// Passage is a chunk that is being stored.
type Passage struct {
	DocumentID string
	Namespace  string
	ChunkID    string
	URI        string
	Title      string
	Text       string
	Metadata   map[string]any
	FromFile   []string // the keys of Metadata that were read from the content
	StartByte  int
	EndByte    int
	Terms      index.Terms
	Embedding  []float32 // nil for none
}

// Match is a pair of an alert and a passage.
type Match struct {
	alert   *watched
	passage Passage
	score   float64 // 0 with Keyword
}

// blockRows is how many passages are multiplied with the questions at once: their scores stay in the processor's cache.
const blockRows = 16

// Match appends the matches of passages to those that were found before.
func (s *Set) Match(found []Match, passages []Passage) ([]Match, error) {
	if s == nil {
		return found, nil
	}
	masks := make([]uint64, len(s.all))
	var scores, block []float32
	stride := 0
	if s.packed != nil {
		stride = kernel.Stride(len(s.all))
		scores, block = make([]float32, blockRows*stride), make([]float32, blockRows*s.of.Dimension)
	}
	for len(passages) > 0 {
		rows := passages[:min(blockRows, len(passages))]
		passages = passages[len(rows):]
		if s.packed != nil {
			clear(block)
			for n, p := range rows {
				copy(block[n*s.of.Dimension:], p.Embedding)
			}
			kernel.Best().Multiply(scores, stride, block, s.of.Dimension, len(rows), s.packed)
		}
		for n := range rows {
			var products []float32
			if s.packed != nil && len(rows[n].Embedding) == s.of.Dimension {
				products = scores[n*stride:][:len(s.all)]
			}
			var err error
			if found, err = s.matchOne(found, &rows[n], products, masks); err != nil {
				return found, err
			}
		}
	}
	return found, nil
}

// matchOne appends the matches of a passage. products has its inner product with each question, nil for none; masks
// is zero before and after.
func (s *Set) matchOne(found []Match, p *Passage, products []float32, masks []uint64) ([]Match, error) {
	var touched []int
	for term := range p.Terms.All() {
		for _, u := range s.byTerm[string(term)] {
			if masks[u.alert] == 0 {
				touched = append(touched, u.alert)
			}
			masks[u.alert] |= 1 << u.word
		}
	}
	length := 0.0
	if products != nil {
		length = norm(p.Embedding)
	}
	var metadata map[string]any
	consider := func(n int) error {
		w := &s.all[n]
		if w.Namespace != p.Namespace || w.Mode == Keyword && masks[n] != w.terms {
			return nil
		}
		score := 0.0
		if w.Mode != Keyword {
			if products == nil {
				return nil
			}
			if score = s.score(n, float64(products[n]), length); !(score >= w.MinScore) || math.IsInf(score, 0) {
				return nil
			}
		}
		if metadata == nil {
			var err error
			if metadata, err = decoded(p.Metadata); err != nil {
				return err
			}
		}
		if w.filter.MatchChunk(metadata, p.FromFile) && w.mandatory.MatchChunk(metadata, p.FromFile) {
			found = append(found, Match{w, *p, score})
		}
		return nil
	}
	for _, n := range touched {
		if err := consider(n); err != nil {
			return found, err
		}
	}
	for _, n := range touched {
		masks[n] = 0
	}
	if products == nil {
		return found, nil
	}
	for _, n := range s.vector {
		if err := consider(n); err != nil {
			return found, err
		}
	}
	return found, nil
}

// score returns the similarity of a passage, whose embedding has a length, and a question, as index.Index.Score returns
// it; NaN if it is not defined.
func (s *Set) score(alert int, product, length float64) float64 {
	switch s.of.Metric {
	case index.Euclidean:
		return s.of.Score(math.Sqrt(max(0, length*length+s.norms[alert]*s.norms[alert]-2*product)))
	case index.DotProduct:
		return product
	}
	if length == 0 || s.norms[alert] == 0 {
		return math.NaN()
	}
	return min(1, max(-1, product/length))
}

// decoded returns metadata as filters read it: decoded from its JSON.
func decoded(metadata map[string]any) (map[string]any, error) {
	raw, err := json.Marshal(metadata)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	object := map[string]any{}
	return object, decoder.Decode(&object)
}
