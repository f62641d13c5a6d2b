package main

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"slices"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/dataset"
)

// deepest is how many sources of each leg the evidence of both is written of.
const deepest = 200

// evidence is what a hybrid search knows of the sources of a question. Ways to combine it are compared without
// asking anew.
type evidence struct {
	Set      string          `json:"set"`
	Model    string          `json:"model"`
	ID       string          `json:"id"`
	Question string          `json:"question"`
	Relevant int             `json:"relevant"` // documents
	Weight   float64         `json:"weight"`   // that the service gives the vectors; 0 if no source tells
	Sources  []evidenceOfOne `json:"sources"`
}

// evidenceOfOne is the evidence of a source, as log-odds.
type evidenceOfOne struct {
	Document string   `json:"document"`
	Relevant bool     `json:"relevant"`
	Vector   float64  `json:"vector"`
	Keyword  *float64 `json:"keyword"` // absent if it has no term
}

// writeEvidence writes a line of JSON for each question of a set.
func (a *arena) writeEvidence(ctx context.Context, w io.Writer, s labelled, name, model string) error {
	out := json.NewEncoder(w)
	for _, q := range s.Questions {
		one, err := a.evidence(ctx, s.Set, name, q)
		if err != nil {
			return err
		}
		one.Set, one.Model = s.name, model
		if err := out.Encode(one); err != nil {
			return err
		}
	}
	return nil
}

func (a *arena) evidence(ctx context.Context, s *dataset.Set, name string, q dataset.Question) (evidence, error) {
	of := evidence{ID: q.ID, Question: q.Text, Relevant: len(q.Relevant)}
	relevant := map[string]bool{}
	for i := range q.Relevant {
		relevant[s.Documents[i].ID] = true
	}
	topK, all, none := int32(deepest), 1.0, 0.0
	ask := func(weights *ragdv1.Hybrid) ([]*ragdv1.Source, error) {
		answer, err := a.queries.VectorQuery(ctx, &ragdv1.VectorQueryRequest{IndexName: name, QueryText: q.Text, SearchMode: "hybrid", TopK: &topK, Hybrid: weights})
		return answer.GetSources(), err
	}
	vectors, err := ask(&ragdv1.Hybrid{VectorWeight: &all, KeywordWeight: &none})
	if err != nil {
		return of, err
	}
	keywords, err := ask(&ragdv1.Hybrid{VectorWeight: &none, KeywordWeight: &all})
	if err != nil {
		return of, err
	}
	both, err := ask(nil)
	if err != nil {
		return of, err
	}
	of.Sources = legs(vectors, keywords, relevant)
	vector := map[string]float64{}
	for _, source := range vectors {
		vector[source.Id] = logOdds(source.Score)
	}
	for _, source := range both {
		v, ok := vector[source.Id]
		if !ok || source.KeywordScore == nil {
			continue
		}
		if k := logOdds(*source.KeywordScore); math.Abs(v-k) > 0.1 {
			of.Weight = (logOdds(source.Score) - k) / (v - k)
			break
		}
	}
	return of, nil
}

// legs returns the evidence of the sources that either leg finds. The log-odds of the vector leg grow evenly with
// the inverse hyperbolic tangent of the similarity, so those of a source that only the keyword leg finds follow
// from those of the first and the last that the vector leg finds.
func legs(vectors, keywords []*ragdv1.Source, relevant map[string]bool) (found []evidenceOfOne) {
	if len(vectors) == 0 {
		return nil
	}
	stretched := func(s *ragdv1.Source) float64 { return math.Atanh(min(s.GetSimilarity(), 0.999)) }
	first, last := vectors[0], vectors[len(vectors)-1]
	least, slope := logOdds(last.Score), 0.0
	if difference := stretched(first) - stretched(last); difference > 0 {
		slope = (logOdds(first.Score) - least) / difference
	}
	known := map[string]bool{}
	for _, source := range slices.Concat(vectors, keywords) {
		if known[source.Id] {
			continue
		}
		known[source.Id] = true
		one := evidenceOfOne{Document: source.Uri, Relevant: relevant[source.Uri], Vector: least + slope*(stretched(source)-stretched(last))}
		if source.KeywordScore != nil {
			one.Keyword = new(logOdds(*source.KeywordScore))
		}
		found = append(found, one)
	}
	return found
}

func logOdds(p float64) float64 {
	const least = 1e-15
	p = min(max(p, least), 1-least)
	return math.Log(p / (1 - p))
}
