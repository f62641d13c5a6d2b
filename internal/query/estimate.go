package query

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// estimate is a guess at the size of a scope, in chunks.
type estimate struct {
	matching float64 // in the scope
	total    float64 // in the index
	indexed  bool    // a Postgres index finds the matching chunks
	// constants: the Postgres index is found only by a planner that sees the parameters.
	constants bool
	scans     *scans             // of the scope; nil means none
	landmarks func() []*landmark // of the scope, found when they are first needed; nil means none
}

// scans counts the index scans of a scope, and those of them that found too few chunks. Safe
// for concurrent use.
type scans struct {
	all, dry atomic.Int64
	searches atomic.Int64 // by embedding, of any plan
	noList   atomic.Bool  // its chunks are too many to list, or change too often
	encoding atomic.Bool  // a search makes codes
}

// Index scans of a scope are given up when minScans have been made and 1/dryFraction of all
// found too few chunks.
const (
	minScans    = 4
	dryFraction = 4
)

// ended counts an index scan.
func (s *scans) ended(dry bool) {
	if s == nil {
		return
	}
	s.all.Add(1)
	if dry {
		s.dry.Add(1)
	}
}

// made returns the number of index scans.
func (s *scans) made() int64 {
	if s == nil {
		return 0
	}
	return s.all.Load()
}

// asked counts a search by embedding.
func (s *scans) asked() {
	if s != nil {
		s.searches.Add(1)
	}
}

// searched returns the number of searches by embedding.
func (s *scans) searched() int64 {
	if s == nil {
		return 0
	}
	return s.searches.Load()
}

// encode reports whether the caller is to make the codes of the scope, and to call encoded then: nobody else does.
func (s *scans) encode() bool { return s != nil && s.encoding.CompareAndSwap(false, true) }

// encoded says that the codes are made, or could not be.
func (s *scans) encoded() { s.encoding.Store(false) }

// unlist gives up listing the chunks of the scope.
func (s *scans) unlist() {
	if s != nil {
		s.noList.Store(true)
	}
}

// unlisted reports whether the chunks of the scope are not to be listed.
func (s *scans) unlisted() bool { return s != nil && s.noList.Load() }

// runDry reports whether many scans found too few chunks: the scope is far from the
// questions.
func (s *scans) runDry() bool {
	if s == nil {
		return false
	}
	all := s.all.Load()
	return all >= minScans && s.dry.Load()*dryFraction > all
}

// estimator estimates the sizes of scopes from samples of indexes and PostgreSQL's
// statistics, and caches the answers for estimateTTL. Safe for concurrent use.
type estimator struct {
	known   *cache.Cache[scopeKey, estimate]
	samples *samples
}

// scopeKey identifies a scope of an index, by a hash, as filters can be long.
type scopeKey [sha256.Size]byte

func keyOf(id tenant.ID, i index.Index, s scope) scopeKey {
	return sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d/%s", id, i.ID, i.Generation, s))
}

const (
	estimatorSize = 10_000
	estimateTTL   = 30 * time.Second
)

func newEstimator() *estimator {
	return &estimator{
		known:   cache.New(cache.Config[scopeKey, estimate]{Entries: estimatorSize, TTL: estimateTTL}),
		samples: newSamples(),
	}
}

// of returns the estimate of a scope.
func (e *estimator) of(ctx context.Context, id tenant.ID, h *data.Handle, i index.Index, s scope) (estimate, error) {
	key := keyOf(id, i, s)
	if found, ok := e.known.Get(key); ok {
		return found, nil
	}
	asked := time.Now()
	made, err := e.make(ctx, id, h, i, s)
	if err == nil {
		e.known.PutLoaded(key, made, asked)
	}
	return made, err
}

// make estimates a scope. The sample says how many chunks match, unless too few do for a
// sample to see: then the planner's guess counts, within the bounds of the sample.
func (e *estimator) make(ctx context.Context, id tenant.ID, h *data.Handle, i index.Index, s scope) (estimate, error) {
	sampled, err := e.samples.of(ctx, id, h, i)
	if err != nil {
		return estimate{}, err
	}
	planned, contents, err := askPlanner(ctx, h, i, s, sampled)
	if err != nil {
		return estimate{}, err
	}
	e.samples.changed(id, i, contents)
	made, seen := planned.estimate, planned.seen
	if !s.needsDatabase() {
		seen = sampled.count(s)
	}
	made.scans = &scans{}
	made.landmarks = sync.OnceValue(func() []*landmark { return sampled.landmarks(s) })
	if seen.of > 0 && made.total > 0 {
		made.matching = made.total * seen.share(made.matching/made.total)
	}
	return made, nil
}

// seen is how many chunks of a sample match a scope.
type seen struct{ matching, of int }

// enoughSeen is the number of matching chunks from which their share in a sample is a good
// estimate.
const enoughSeen = 4

// share returns the estimated fraction of all chunks that match, given a guess for the case
// that the sample has too few of them.
func (s seen) share(guess float64) float64 {
	k, n := float64(s.matching), float64(s.of)
	if s.matching >= enoughSeen {
		return k / n
	}
	// The bounds of 95 % confidence for a Poisson distributed count.
	deviation := 2 * math.Sqrt(k)
	return min(max(guess, (k-deviation)/n), (k+deviation+3)/n)
}

// plannerNode is a node of the plan that EXPLAIN prints.
type plannerNode struct {
	Type  string        `json:"Node Type"`
	Rows  float64       `json:"Plan Rows"`
	Index string        `json:"Index Name"`
	Plans []plannerNode `json:"Plans"`

	// Distributed has the plans of the workers if Citus sends the statement on.
	Distributed struct {
		Job struct {
			Tasks []struct {
				Plans [][]explained `json:"Remote Plan"`
			} `json:"Tasks"`
		} `json:"Job"`
	} `json:"Distributed Query"`
}

// explained is a statement in the output of EXPLAIN.
type explained struct {
	Plan plannerNode `json:"Plan"`
}

// local returns the plan of the node that has the table: of the worker, if the table is distributed.
// Then the names of indexes end with the number of the shard.
func (n plannerNode) local() plannerNode {
	for _, task := range n.Distributed.Job.Tasks {
		for _, statements := range task.Plans {
			if len(statements) > 0 {
				return statements[0].Plan
			}
		}
	}
	return n
}

// indexes calls visit with the name of each Postgres index of the plan.
func (n plannerNode) indexes(visit func(name string)) {
	if n.Index != "" {
		visit(n.Index)
	}
	for _, child := range n.Plans {
		child.indexes(visit)
	}
}

// planned is what PostgreSQL says about a scope.
type planned struct {
	estimate
	seen seen // in the sample, of a scope that needsDatabase
}

// askPlanner estimates a scope by EXPLAIN, without running it. It also returns the counts of
// the index, which tell how much it has changed since a sample was taken.
func askPlanner(ctx context.Context, h *data.Handle, i index.Index, s scope, sampled *sample) (p planned, c contents, err error) {
	args := filter.NewArgs()
	b := h.Batch()
	b.Set("statement_timeout", searchTimeout) // the planner runs regular expressions on samples
	b.Set("enable_seqscan", "off")            // the question is whether an index can be used
	where := s.sql(i, args)
	b.Query(func(rows pgx.Rows) error {
		raw, err := pgx.CollectOneRow(rows, pgx.RowTo[[]byte])
		if err != nil {
			return err
		}
		p.estimate, err = readPlan(raw)
		return err
	}, `EXPLAIN (FORMAT JSON) SELECT FROM tenant.chunk AS c WHERE `+where, args.Values()...)
	b.Query(func(rows pgx.Rows) (err error) {
		c, err = pgx.CollectOneRow(rows, pgx.RowToStructByPos[contents])
		return err
	}, contentsSQL, i.ID)
	if s.needsDatabase() && len(sampled.tids) > 0 {
		args := filter.NewArgs(sampled.tids)
		b.Query(func(rows pgx.Rows) error {
			_, err := pgx.ForEachRow(rows, []any{&p.seen.matching, &p.seen.of}, func() error { return nil })
			return err
		}, `SELECT count(*) FILTER (WHERE `+s.sql(i, args)+`) AS matching, count(*) AS chunks
			FROM tenant.chunk AS c WHERE c.ctid = ANY($1::tid[])`, args.Values()...)
	}
	err = b.Run(ctx)
	p.total = float64(c.Chunks)
	p.matching = min(p.matching, p.total)
	return p, c, err
}

// primaryKey matches the names of the Postgres indexes of primary keys.
var primaryKey = regexp.MustCompile(`_pkey(_\d+)?$`)

// readPlan reads the output of EXPLAIN for the chunks of a scope. The primary key finds
// the chunks of a namespace only, so it does not count as an index that finds the scope.
func readPlan(raw []byte) (e estimate, err error) {
	var plans []explained
	if err := json.Unmarshal(raw, &plans); err != nil {
		return e, err
	}
	plan := plans[0].Plan.local()
	e.matching = plan.Rows
	plan.indexes(func(name string) {
		if !primaryKey.MatchString(name) {
			e.indexed = true
		}
		if index.OnMetadataField(name) {
			e.constants = true
		}
	})
	return e, nil
}
