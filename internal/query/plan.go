package query

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/cache"
	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Bounds of what a caller may ask of the Postgres index over the embeddings.
const (
	maxEf     = 1000
	maxProbes = 32_768
)

// plan is how the nearest embeddings are found.
type plan string

const (
	// exact compares the question with every chunk of the scope.
	exact plan = "exact"
	// indexScan scans the Postgres index over the embeddings, past chunks outside
	// the scope, until it has enough. Callers know it as approximate.
	indexScan plan = "approximate"
)

// Costs in microseconds per chunk, measured over 384 dimensions on a warm cache.
// Only their ratios matter.
const (
	fetchCost = 1.5  // fetch a chunk that a Postgres index found, and compare it
	scanCost  = 0.75 // read the next chunk of the table, and compare it
	visitCost = 6.0  // visit a candidate of an HNSW scan, which compares dozens of links
)

// margin multiplies the candidates of a filtered index scan: the furthest
// candidates of a scan are not all the nearest chunks there are.
const margin = 2

// estimate is the planner's guess at the size of a scope, in chunks.
type estimate struct {
	matching float64 // in the scope
	total    float64 // in the index
	indexed  bool    // a Postgres index finds the matching chunks
}

// candidates returns how many chunks an index scan visits to find the nearest
// wanted ones of a scope whose chunks are spread evenly.
func (e estimate) candidates(wanted int) float64 {
	if e.matching == 0 || e.matching >= e.total {
		return float64(wanted)
	}
	return margin * float64(wanted) * e.total / e.matching
}

// choose returns the cheaper plan for the nearest wanted chunks of a scope. An
// index scan visits at least width candidates.
func (e estimate) choose(wanted, width int) plan {
	if e.matching <= float64(wanted) {
		return exact
	}
	cost := e.total * scanCost
	if e.indexed {
		cost = e.matching * fetchCost
	}
	if cost <= max(e.candidates(wanted), float64(width))*visitCost {
		return exact
	}
	return indexScan
}

// estimator estimates the sizes of scopes from PostgreSQL's statistics and caches
// the answers for estimateTTL. Safe for concurrent use.
type estimator struct {
	known *cache.Cache[[sha256.Size]byte, estimate] // by a hash, as filters can be long
}

const (
	estimatorSize = 10_000
	estimateTTL   = 30 * time.Second
)

func newEstimator() *estimator {
	return &estimator{cache.New(cache.Config[[sha256.Size]byte, estimate]{Entries: estimatorSize, TTL: estimateTTL})}
}

// of returns the estimate of a scope, from the cache or the planner.
func (e *estimator) of(ctx context.Context, id tenant.ID, h *tenant.Handle, i index.Index, s scope) (estimate, error) {
	key := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%s", id, i.ID, s))
	if found, ok := e.known.Get(key); ok {
		return found, nil
	}
	asked := time.Now()
	made, err := askPlanner(ctx, h, i, s)
	if err == nil {
		e.known.PutLoaded(key, made, asked)
	}
	return made, err
}

// plannerNode is a node of the plan that EXPLAIN prints.
type plannerNode struct {
	Type string  `json:"Node Type"`
	Rows float64 `json:"Plan Rows"`
}

// askPlanner estimates a scope by EXPLAIN, without running it.
func askPlanner(ctx context.Context, h *tenant.Handle, i index.Index, s scope) (estimate, error) {
	var e estimate
	args := filter.NewArgs()
	statement := `EXPLAIN (FORMAT JSON) SELECT FROM tenant.chunk AS c WHERE ` + s.sql(i, args)
	b := h.Batch()
	b.Set("statement_timeout", searchTimeout) // the planner runs regular expressions on samples
	b.Query(func(rows pgx.Rows) error {
		raw, err := pgx.CollectOneRow(rows, pgx.RowTo[[]byte])
		if err != nil {
			return err
		}
		var plans []struct {
			Plan plannerNode `json:"Plan"`
		}
		if err := json.Unmarshal(raw, &plans); err != nil {
			return err
		}
		e.matching, e.indexed = plans[0].Plan.Rows, plans[0].Plan.Type != "Seq Scan"
		return nil
	}, statement, args.Values()...)
	b.Query(func(rows pgx.Rows) error {
		total, err := pgx.CollectOneRow(rows, pgx.RowTo[int64])
		e.total = float64(total)
		return err
	}, `SELECT coalesce(sum(chunks), 0)::bigint FROM tenant.index_counts WHERE index_id = $1`, i.ID)
	err := b.Run(ctx)
	e.matching = min(e.matching, e.total)
	return e, err
}

// width returns the search width of an index scan, hnsw.ef_search or ivfflat.probes:
// the caller's, else the index's own, widened as far as the scope makes necessary.
func (p prepared) width(i index.Index, e estimate) int {
	if i.Config.Type == index.IVFFlat {
		return min(cmp.Or(p.probes, i.SearchWidth()), maxProbes)
	}
	needed := min(e.candidates(p.candidates()), maxEf)
	return min(cmp.Or(p.ef, max(i.SearchWidth(), int(needed))), maxEf)
}
