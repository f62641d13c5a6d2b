package query

import (
	"context"
	"math"

	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Scorer scores chunks as a search did that has ended. The zero value scores nothing.
type Scorer struct{ search search }

// Score sets the Similarity and the KeywordScore of chunks of the index that the search did
// not return. tables is the handle of the index's tables.
func (s Scorer) Score(ctx context.Context, tables *data.Handle, sources []Source) error {
	of := s.search
	if len(sources) == 0 || of.index.ID == 0 || of.request.lists() {
		return nil
	}
	ids := make([]string, len(sources))
	for n, source := range sources {
		ids[n] = source.ID
	}
	q := &statement{args: filter.NewArgs(ids, of.request.scope.namespace)}
	distance, keyword, adjacent := "NULL::float8", "0::float8", "0::float8"
	if of.request.compares() {
		distance = of.distance(q)
	}
	if of.keywords != nil && of.request.access.IsZero() { // see Candidates
		keyword, adjacent = of.keywordScore(of.weight(q)), of.adjacent(q)
	}
	type score struct {
		ChunkID string
		rawScores
	}
	var scores []score
	b := tables.Batch()
	b.Set("statement_timeout", searchTimeout)
	b.Query(data.Rows(&scores), `SELECT c.chunk_id, `+distance+` AS distance, `+keyword+` AS keyword, `+adjacent+` AS adjacent
		FROM tenant.chunk AS c WHERE c.chunk_id = ANY ($1) AND c.namespace = $2`, q.args.Values()...)
	if err := b.Run(ctx); err != nil {
		return err
	}
	found := map[string]score{}
	for _, row := range scores {
		found[row.ChunkID] = row
	}
	for n := range sources {
		row := found[sources[n].ID]
		sources[n].Similarity, sources[n].KeywordScore = of.scoresOf(row.rawScores)
	}
	return nil
}

// rawScores are the columns of which the scores of a chunk are made.
type rawScores struct {
	Keyword  float64  // BM25
	Adjacent float64  // what adjacent words add to it
	Distance *float64 // from the question; nil without its embedding
}

// scoresOf returns the similarity and the keyword score of a row, nil where there is none.
func (s search) scoresOf(r rawScores) (similarity, keyword *float64) {
	if r.Distance != nil && !math.IsNaN(*r.Distance) {
		similarity = new(s.index.Score(*r.Distance))
	}
	if r.Keyword > 0 {
		keyword = new(s.evidence().keywordScore(r.Keyword + r.Adjacent))
	}
	return similarity, keyword
}
