package query

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	// maxListed is the largest number of chunks of a scope that are listed, and listsBytes
	// limits the memory of all lists.
	maxListed  = 5_000
	listsBytes = 32 << 20
	// minScanCost is the cost of reading a whole table, in microseconds, from which a list
	// saves enough.
	minScanCost = 1_000
)

// list has the chunks of a scope that no Postgres index finds, so that only the first search
// of it reads the whole table. It is immutable.
//
// It is only a hint: a search tests the whole condition again on the listed chunks, and its
// result counts if the contents of the index have the version of the list afterwards. The
// result is then complete, as the version changes with every chunk that is written.
type list struct {
	tids    []pgtype.TID
	version version
}

// version identifies the contents of a chunk table. While it is unchanged no chunk is added,
// changed or moved; chunks may have been deleted.
type version struct {
	Written int64 // chunks ever
	File    int64 // of the table; another one after VACUUM FULL or TRUNCATE
}

// versionSQL returns the version of the chunks of index $1.
const versionSQL = `
	SELECT coalesce(sum(n.written), 0)::bigint AS written, pg_relation_filenode('tenant.chunk')::bigint AS file
	FROM tenant.index_counts AS n WHERE n.index_id = $1`

// read returns a function for Batch.Query that scans a version.
func (v *version) read(rows pgx.Rows) (err error) {
	*v, err = pgx.CollectOneRow(rows, pgx.RowToStructByPos[version])
	return err
}

// lists caches lists by scope. Safe for concurrent use.
type lists struct {
	known *cache.Cache[scopeKey, *list]
	made  atomic.Int64
}

func newLists() *lists {
	return &lists{known: cache.New(cache.Config[scopeKey, *list]{
		Bytes: listsBytes, Weigh: func(_ scopeKey, l *list) int { return len(scopeKey{}) + 8*len(l.tids) },
	})}
}

// listPays reports whether fetching the chunks of a list costs less than another plan, and
// reading the whole table once pays.
func (e estimate) listPays(c costs, p plan, wanted, width int) bool {
	fetched := e.matching * (c.fetch + c.compare)
	switch {
	case e.indexed || e.matching > maxListed || e.total*c.scan < minScanCost || e.scans.unlisted():
		return false
	case p == exact:
		return true // the table is read anyway
	}
	// An index scan: reading the table pays when as much has been lost already.
	lost := e.scanCost(c, wanted, width) - fetched
	return lost > 0 && float64(e.scans.made())*lost > e.total*c.scan
}

// useList sets the list of the scope, if one helps, and the exact plan with it.
func (s *search) useList(ctx context.Context, h *data.Handle, known *lists, key scopeKey) error {
	if s.request.mode != Vector {
		return nil
	}
	wanted, width := s.effort()
	c := costsOf(s.index)
	found, ok := known.known.Get(key)
	if !ok {
		if !s.estimate.listPays(c, s.plan, wanted, width) {
			return nil
		}
		known.made.Add(1)
		made, err := makeList(ctx, h, s.index, s.request.scope)
		if err != nil {
			return err
		}
		if len(made.tids) > maxListed {
			s.estimate.scans.unlist()
			return nil
		}
		known.known.Put(key, made)
		found = made
	}
	s.plan, s.list = exact, found
	s.dropList = func() {
		known.known.Remove(key)
		s.estimate.scans.unlist()
	}
	return nil
}

// makeList reads which chunks are in a scope, up to one more than maxListed.
func makeList(ctx context.Context, h *data.Handle, i index.Index, s scope) (*list, error) {
	l := &list{}
	args := filter.NewArgs()
	b := h.Batch()
	b.Set("statement_timeout", searchTimeout)
	b.Set("plan_cache_mode", "force_custom_plan")
	b.Query(l.version.read, versionSQL, i.ID) // before: a chunk that is written in between makes it outdated
	b.Query(data.Column(&l.tids), `SELECT c.ctid FROM tenant.chunk AS c WHERE `+s.sql(i, args)+" "+limitTo(maxListed+1), args.Values()...)
	return l, b.Run(ctx)
}
