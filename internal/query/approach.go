package query

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Bounds of what a caller may ask of the Postgres index over the embeddings.
const (
	maxEf     = 1000
	maxProbes = 32_768
)

// approach is how the nearest embeddings are found.
type approach string

const (
	// exact compares with every chunk of the scope.
	exact approach = "exact"
	// approximate walks the Postgres index over the embeddings, past what the
	// scope leaves out, until there are enough.
	approximate approach = "approximate"
)

// Costs in microseconds, measured over 384 dimensions on a warm cache: to fetch
// a chunk that a Postgres index found and compare it, to read on to the next
// chunk of the table, and for each candidate of a walk in an HNSW graph, which
// compares dozens of links. Their ratios are what matters.
const (
	fetchCost = 1.5
	scanCost  = 0.75
	visitCost = 6.0
)

// margin is how many times as many candidates a filtered walk takes as bring
// enough sources by the filter's share: the furthest of a walk's candidates are
// not all the nearest there are.
const margin = 2

// estimate is about how many chunks are in a scope, and of how many.
type estimate struct {
	matching float64
	total    float64
	indexed  bool // a Postgres index finds the matching ones
}

// candidates is how many chunks a walk looks at to find the nearest wanted of a
// scope, whose chunks are taken to be spread evenly.
func (e estimate) candidates(wanted int) float64 {
	if e.matching == 0 || e.matching >= e.total {
		return float64(wanted)
	}
	return margin * float64(wanted) * e.total / e.matching
}

// choose returns the cheaper approach for the nearest wanted of a scope, where a
// walk takes as many candidates as width at least.
func (e estimate) choose(wanted, width int) approach {
	if e.matching <= float64(wanted) {
		return exact
	}
	search := e.total * scanCost
	if e.indexed {
		search = e.matching * fetchCost
	}
	if search <= max(e.candidates(wanted), float64(width))*visitCost {
		return exact
	}
	return approximate
}

// estimator asks PostgreSQL's statistics how selective scopes are, and remembers
// the answers for a while. Safe for concurrent use.
type estimator struct {
	known *lru.Cache[[sha256.Size]byte, knownEstimate] // by a hash, as filters can be long
}

type knownEstimate struct {
	estimate
	freshUntil time.Time
}

const (
	estimatorSize = 10_000
	estimateTTL   = 30 * time.Second
)

func newEstimator() *estimator {
	known, err := lru.New[[sha256.Size]byte, knownEstimate](estimatorSize)
	if err != nil {
		panic(err) // only for a size that is not positive
	}
	return &estimator{known}
}

func (e *estimator) of(ctx context.Context, id tenant.ID, h *tenant.Handle, i index.Index, s scope) (estimate, error) {
	key := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%s", id, i.ID, s))
	if found, ok := e.known.Get(key); ok && time.Now().Before(found.freshUntil) {
		return found.estimate, nil
	}
	made, err := askPlanner(ctx, h, i, s)
	if err == nil {
		e.known.Add(key, knownEstimate{made, time.Now().Add(estimateTTL)})
	}
	return made, err
}

// plannerNode is what EXPLAIN says of a step.
type plannerNode struct {
	Type string  `json:"Node Type"`
	Rows float64 `json:"Plan Rows"`
}

func askPlanner(ctx context.Context, h *tenant.Handle, i index.Index, s scope) (estimate, error) {
	var e estimate
	args := filter.NewArgs()
	statement := `EXPLAIN (FORMAT JSON) SELECT FROM tenant.chunk AS c WHERE ` + s.sql(i, args)
	b := h.Batch()
	b.Set("statement_timeout", searchTimeout) // estimating a regular expression tries it
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

// width is how many candidates, or lists, a walk of the Postgres index looks at
// before it asks whether that was enough: what the caller says, else what was
// measured, and as many as the scope makes necessary.
func (p plan) width(i index.Index, e estimate) int {
	if i.Config.Type == index.IVFFlat {
		return min(cmp.Or(p.probes, i.SearchWidth()), maxProbes)
	}
	needed := min(e.candidates(p.candidates()), maxEf)
	return min(cmp.Or(p.ef, max(i.SearchWidth(), int(needed))), maxEf)
}
