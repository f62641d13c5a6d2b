package query

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/pgvector/pgvector-go"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	// maxListed is the largest number of chunks of a scope that are listed, maxCoded that of those
	// with codes.
	maxListed = 5_000
	maxCoded  = 16_384
	// ListBytes limits the memory of all lists, unless a Service is told otherwise.
	ListBytes = 96 << 20
	// minScanCost is the cost of reading a whole table, in microseconds, from which a list
	// saves enough.
	minScanCost = 1_000
)

// list has the chunks of a scope that no Postgres index finds, so that only the first search
// of it reads the whole table, or of one that is searched often. It is immutable.
//
// It is only a hint: a search tests the whole condition again on the listed chunks, and its
// result counts if the contents of the index have the version of the list afterwards. The
// result is then complete, as the version changes with every chunk that is written.
type list struct {
	tids    []pgtype.TID
	codes   *codes // of their embeddings; nil for none
	version version
}

// version identifies the contents of a chunk table. While Written and File are unchanged no chunk is added,
// changed or moved; while Chunks is too, none was deleted.
type version struct {
	Written int64 // chunks ever
	File    int64 // of the table; another one after VACUUM FULL or TRUNCATE
	Chunks  int64
}

// versionSQL returns the version of the chunks of index $1.
const versionSQL = `
	SELECT coalesce(sum(n.written), 0)::bigint AS written, pg_relation_filenode('tenant.chunk')::bigint AS file,
		coalesce(sum(n.chunks), 0)::bigint AS chunks
	FROM tenant.index_counts AS n WHERE n.index_id = $1`

// read returns a function for Batch.Query that scans a version.
func (v *version) read(rows pgx.Rows) (err error) {
	*v, err = pgx.CollectOneRow(rows, pgx.RowToStructByPos[version])
	return err
}

// lists caches lists by scope. Safe for concurrent use.
type lists struct {
	known       *cache.Cache[scopeKey, *list]
	made, coded atomic.Int64
}

// newLists returns lists of so many bytes of memory, nil for less than 0: then none is made.
func newLists(most int64) *lists {
	if most < 0 {
		return nil
	}
	return &lists{known: cache.New(cache.Config[scopeKey, *list]{
		Bytes: most, Weigh: func(_ scopeKey, l *list) int { return len(scopeKey{}) + 8*len(l.tids) + l.codes.bytes() },
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

// codesPay reports whether codes of the embeddings of a scope cost less than the searches of it so far would have saved
// with them. A search usually costs so much.
func (e estimate) codesPay(i index.Index, c costs, usual float64, wanted int) bool {
	if e.matching > float64(mostCodes(i)) || e.scans.unlisted() {
		return false
	}
	saved := usual - e.matching*c.code - codeFactor*float64(wanted)*(c.fetch+c.compare)
	return saved > 0 && float64(e.scans.searched())*saved > e.matching*c.encode
}

// codeFactor is about how many chunks for each wanted one codes leave to be compared.
const codeFactor = 4

// useList sets the list of the scope, if one helps, and the exact plan with it.
func (s *search) useList(ctx context.Context, h *data.Handle, known *lists, key scopeKey) error {
	if known == nil || s.request.mode != Vector {
		return nil
	}
	wanted, width := s.effort()
	c := costsOf(s.index)
	s.estimate.scans.asked()
	found, ok := known.known.Get(key)
	usual := s.estimate.exactCost(c)
	switch {
	case ok:
		usual = s.estimate.matching * (c.fetch + c.compare)
	case s.plan == indexScan:
		usual = s.estimate.scanCost(c, wanted, width)
	}
	listed := !ok && s.estimate.listPays(c, s.plan, wanted, width)
	coded := !listed && (!ok || found.codes == nil) && s.codable() && s.estimate.codesPay(s.index, c, usual, wanted) && s.estimate.scans.encode()
	switch {
	case coded:
		made, err := makeList(ctx, h, s.index, s.request.scope, true)
		s.estimate.scans.encoded()
		known.coded.Add(1)
		if err != nil {
			return err
		}
		if made.codes == nil {
			s.estimate.scans.unlist()
			return nil
		}
		known.known.Put(key, made)
		found = made
	case listed:
		made, err := makeList(ctx, h, s.index, s.request.scope, false)
		known.made.Add(1)
		if err != nil {
			return err
		}
		if len(made.tids) > maxListed {
			s.estimate.scans.unlist()
			return nil
		}
		known.known.Put(key, made)
		found = made
	case !ok || s.plan == indexScan && !s.codable():
		return nil
	}
	s.plan, s.list = exact, found
	s.dropList = func() {
		known.known.Remove(key)
		s.estimate.scans.unlist()
	}
	return nil
}

// codable reports whether codes may answer the search: a caller who names a search width wants an index scan.
func (s search) codable() bool {
	return codable(s.index) && (s.plan == exact || s.request.ef == 0 && s.request.probes == 0)
}

// makeList reads which chunks are in a scope, up to one more than maxListed, or their codes too, unless
// they are more than mostCodes.
func makeList(ctx context.Context, h *data.Handle, i index.Index, s scope, coded bool) (*list, error) {
	l := &list{}
	args := filter.NewArgs()
	b := h.Batch()
	b.Set("statement_timeout", searchTimeout)
	b.Set("plan_cache_mode", "force_custom_plan")
	b.Query(l.version.read, versionSQL, i.ID) // before: a chunk that is written in between makes it outdated
	chunks := " FROM tenant.chunk AS c WHERE " + s.sql(i, args) + " "
	if coded {
		b.Query(l.readCoded(i), "SELECT c.ctid, "+i.EmbeddingSQL("c.embedding")+" AS embedding"+chunks+limitTo(mostCodes(i)+1), args.Values()...)
	} else {
		b.Query(data.Column(&l.tids), "SELECT c.ctid"+chunks+limitTo(maxListed+1), args.Values()...)
	}
	return l, b.Run(ctx)
}

// readCoded returns a function for Batch.Query that scans chunks with their embeddings. It makes no codes if a
// chunk has no embedding.
func (l *list) readCoded(i index.Index) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var tid pgtype.TID
		var embedding *pgvector.Vector
		var values []float32
		whole := true
		l.tids = nil // of a run that failed
		_, err := pgx.ForEachRow(rows, []any{&tid, &embedding}, func() error {
			l.tids = append(l.tids, tid)
			if whole = whole && embedding != nil && len(embedding.Slice()) == i.Dimension; whole {
				values = append(values, embedding.Slice()...)
			}
			return nil
		})
		if err == nil && whole && len(l.tids) <= mostCodes(i) {
			l.codes = newCodes(i, values)
		}
		return err
	}
}

// among returns the chunks of the list that can be among the sources of a search.
func (l *list) among(s search) []pgtype.TID {
	if !s.byCodes() {
		return l.tids
	}
	places := l.codes.nearest(s.request.vector, s.request.fetch())
	tids := make([]pgtype.TID, len(places))
	for n, at := range places {
		tids[n] = l.tids[at]
	}
	return tids
}

// byCodes reports whether a search compares only those chunks of its list that are nearest by their codes. Where it leaves
// chunks of its scope out, they could take the place of others.
func (s search) byCodes() bool {
	p := s.request
	return s.list.codes != nil && !s.spread && len(p.examples.chunks)+len(p.examples.documents)+len(p.curated.hides) == 0
}

// holds reports whether the list has all chunks of its scope by a version of the contents that was read after a search.
func (s search) holds(now version) bool {
	if !s.byCodes() {
		now.Chunks = s.list.version.Chunks // deleted chunks take no place
	}
	return now == s.list.version
}
