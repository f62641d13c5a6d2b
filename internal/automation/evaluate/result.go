package evaluate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/ragdhq/ragd/internal/automation/evaluate/measure"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Result is what one question of an evaluation got.
type Result struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	// Version differs for questions of the same id with another text or judgement.
	Version string `json:"version"`
	measure.Result
	Missing []string    `json:"missing,omitempty"` // the first relevant items that were not found or cited
	Hits    []StoredHit `json:"hits,omitempty"`    // the first ones, or what an agent cites
	// Tried is the nDCG with each value of a tuning; nil for other evaluations, and for questions that do not count in it.
	Tried  []float64 `json:"tried,omitempty"`
	Answer *Answer   `json:"answer,omitempty"` // of an agent; Result has no measures then
}

// StoredHit is a hit without its text.
type StoredHit struct {
	URI      string  `json:"uri"`
	Span     Span    `json:"span"`
	Score    float64 `json:"score"`
	Relevant bool    `json:"relevant,omitempty"`
}

// Limits of a stored result.
const (
	maxHits    = 10
	maxMissing = 20
)

// version returns a text that changes when the text or the judgements of the question do.
func (q Question) version() string {
	q.Drafted = false
	encoded, err := json.Marshal(q)
	if err != nil {
		panic(err) // strings and finite numbers
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:8])
}

// resultOf measures the hits of a question.
func resultOf(q Question, hits []Hit, latency time.Duration, s Settings) Result {
	ranking, relevant := q.Rank(hits)
	judged := q.Judgements()
	r := Result{ID: q.ID, Text: q.Text, Version: q.version(), Result: measure.Of(measure.Answer{Judged: judged, Ranking: ranking, Latency: latency}, s.Ks)}
	r.Missing = measure.Missing(ranking, judged, s.Ks[len(s.Ks)-1])
	r.Missing = r.Missing[:min(maxMissing, len(r.Missing))]
	for i, hit := range hits {
		if i == 0 {
			r.TopScore = &hit.Score
		}
		if s.MinScore != nil && hit.Score > *s.MinScore {
			r.Above++
			if relevant[i] {
				r.Right++
			}
		}
		if i < maxHits {
			r.Hits = append(r.Hits, StoredHit{hit.URI, hit.Span, hit.Score, relevant[i]})
		}
	}
	return r
}

// resultPosition is the sort key of a list of results: the batch and the index in it.
type resultPosition struct {
	Batch int `json:"b"`
	Index int `json:"i"`
}

// resultRow is a result with its sort key.
type resultRow struct {
	Result
	at resultPosition
}

// Results returns a page of the results of an evaluation in the order of the questions' ids.
// Errors: NotFound.
func (s *Service) Results(ctx context.Context, id string, pageSize int32, pageToken string) ([]Result, string, error) {
	c, err := s.caller(ctx, access.Read)
	if err != nil {
		return nil, "", err
	}
	e, err := getEvaluation(ctx, c.handle, c.access, id)
	if err != nil {
		return nil, "", err
	}
	key := func(r resultRow) resultPosition { return r.at }
	page, next, err := pagination.List(access.Pages(ctx, "evaluation results", e.ID), pageSize, pageToken, resultPosition{0, -1}, key,
		func(after resultPosition, most int) ([]resultRow, error) {
			return resultsAfter(ctx, c.handle, e.ID, after, most)
		})
	results := make([]Result, len(page))
	for i, r := range page {
		results[i] = r.Result
	}
	return results, next, err
}
