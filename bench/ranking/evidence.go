package main

import (
	"context"
	"encoding/json"
	"io"
	"math"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/dataset"
)

// deepest is how many sources of a question the evidence of both legs is written of.
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
	r := &ragdv1.VectorQueryRequest{IndexName: name, QueryText: q.Text, SearchMode: "hybrid", TopK: &topK, Hybrid: &ragdv1.Hybrid{VectorWeight: &all, KeywordWeight: &none}}
	vectors, err := a.queries.VectorQuery(ctx, r)
	if err != nil {
		return of, err
	}
	r.Hybrid = nil
	both, err := a.queries.VectorQuery(ctx, r)
	if err != nil {
		return of, err
	}
	vector := map[string]float64{}
	for _, source := range vectors.Sources {
		vector[source.Id] = logOdds(source.Score)
		one := evidenceOfOne{Document: source.Uri, Relevant: relevant[source.Uri], Vector: vector[source.Id]}
		if source.KeywordScore != nil {
			k := logOdds(*source.KeywordScore)
			one.Keyword = &k
		}
		of.Sources = append(of.Sources, one)
	}
	for _, source := range both.Sources {
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

func logOdds(p float64) float64 {
	const least = 1e-15
	p = min(max(p, least), 1-least)
	return math.Log(p / (1 - p))
}
