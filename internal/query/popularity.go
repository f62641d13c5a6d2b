package query

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	// MaxPopular bounds the documents of an index that have a popularity: those with the most.
	MaxPopular = 1000
	// MaxSetNameBytes bounds the name of a question set.
	MaxSetNameBytes = 63
	// popularHalf is how many judgements make half of the greatest popularity.
	popularHalf = 5
	// defaultPopularHalfLife is that of judgements.
	defaultPopularHalfLife = "90d"
	// popularTTL is how old a popularity may be.
	popularTTL = time.Minute
	// popularBytes bounds the popularity of documents in memory.
	popularBytes = 16 << 20
)

// popular maps the uris of documents to their popularity, in (0, 1). Others have 0.
type popular map[string]float64

func newPopular() *cache.Cache[scopeKey, popular] {
	return cache.New(cache.Config[scopeKey, popular]{Bytes: popularBytes, TTL: popularTTL, Weigh: func(_ scopeKey, p popular) int {
		const overhead = 48 // bytes of an entry of a map
		size := 0
		for uri := range p {
			size += len(uri) + overhead
		}
		return size
	}})
}

// FeedbackSet returns the name of the question set of the feedback on answers of an index and a namespace, empty for the default, to
// credentials with a mandatory filter, of which this is the JSON.
func FeedbackSet(indexName, namespace, access string) string {
	name := "feedback-" + indexName
	if namespace == "" && access == "{}" && len(name) <= MaxSetNameBytes {
		return name
	}
	const hashed = 8 // bytes, as hex
	sum := sha256.Sum256([]byte(indexName + "\x00" + namespace + "\x00" + access))
	suffix := "-" + hex.EncodeToString(sum[:])[:hashed]
	return textlimit.Cut(name, MaxSetNameBytes-len(suffix)) + suffix
}

// Popular returns the boosts with the popularity of the documents of an index, for those that go by it. namespace is empty for the default.
// access is the credential's mandatory filter: only feedback of callers with the same one counts, so that nothing of what others
// found shows.
func (s *Service) Popular(ctx context.Context, id tenant.ID, h *data.Handle, i index.Index, namespace string, access filter.Filter, boosts Boosters) (Boosters, error) {
	if !slices.ContainsFunc(boosts, func(b booster) bool { return b.popularity }) {
		return boosts, nil
	}
	if namespace == index.DefaultNamespace {
		namespace = ""
	}
	set := FeedbackSet(i.Name, namespace, access.String())
	out := slices.Clone(boosts)
	for n, b := range out {
		if !b.popularity {
			continue
		}
		key := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%s/%g", id, i.ID, set, b.half))
		found, ok := s.popular.Get(key)
		if !ok {
			var err error
			if found, err = loadPopular(ctx, h, set, time.Duration(b.half)); err != nil {
				return nil, err
			}
			s.popular.Put(key, found)
		}
		out[n].popular = found
	}
	return out, nil
}

// loadPopular counts the feedback of a set by document: a question of a caller counts 1 for a document of which more passages helped
// than did not, -1 for the opposite, and half as much after each half-life.
func loadPopular(ctx context.Context, h *data.Handle, set string, halfLife time.Duration) (popular, error) {
	type row struct {
		URI   string
		Votes float64
	}
	var rows []row
	b := h.Batch()
	b.Set("statement_timeout", searchTimeout)
	b.Query(data.Rows(&rows), `
		SELECT v.uri, sum(v.vote * power(0.5, v.age / $2)) AS votes
		FROM (
			SELECT f.uri, sign(sum(CASE WHEN f.helpful THEN 1 ELSE -1 END))::float8 AS vote, least(greatest(extract(epoch FROM now() - max(f.created_at)), 0)::float8, 100 * $2) AS age
			FROM ragd_shared.feedback AS f
			WHERE f.set_name = $1
			GROUP BY f.uri, f.question_id, f.caller_hash
		) AS v
		GROUP BY v.uri HAVING sum(v.vote * power(0.5, v.age / $2)) > 0
		ORDER BY votes DESC, v.uri LIMIT $3`, set, halfLife.Seconds(), MaxPopular)
	if err := b.Run(ctx); err != nil {
		return nil, err
	}
	found := make(popular, len(rows))
	for _, r := range rows {
		found[r.URI] = r.Votes / (r.Votes + popularHalf)
	}
	return found, nil
}

// least returns a filter for the documents that are at least so popular.
func (p popular) least(value float64) (filter.Filter, error) {
	uris := []any{}
	for uri, of := range p {
		if of >= value-1e-9 {
			uris = append(uris, uri)
		}
	}
	return filter.Parse(map[string]any{"$uri": map[string]any{"$in": uris}})
}
