package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ragdhq/ragd/internal/ingest/backlog"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

const (
	maintenanceTimeout = 6 * time.Hour
	// loadPause is how long an index is watched before a build, and loadLook the interval
	// between two looks. If loadRate chunks arrive in that time, the index is being loaded
	// and the build waits: with an HNSW index some 1,000 chunks a second can be written,
	// without one 50 times as many. A slower load is not limited by the HNSW index.
	loadPause = time.Second
	loadLook  = loadPause / 20
	loadRate  = 200
	// batchPauses multiplies loadPause for an index with waiting documents.
	batchPauses = 5
	// chunkBytes is about the size of a chunk. A build waits for arriving documents if
	// their chunks are at least 1/arrivingFraction of those of the index.
	chunkBytes       = 512
	arrivingFraction = 8

	// dropWait is how long a deletion waits for users of the tables of the index, and
	// dropPause is the time until maintenance tries to drop them again.
	dropWait  = 5 * time.Second
	dropPause = 10 * time.Second

	busyPause = 2 * time.Second // until a job that found its index busy tries again
)

// MaintainIfDue queues the maintenance of an index in a transaction that has written to
// it, if it is due and not queued already. The scale of a small index is measured at once, so that
// its scores do not depend on when a job runs.
func MaintainIfDue(ctx context.Context, queue *job.Queue, tx *data.Tx, indexID int64) error {
	s, err := readState(ctx, tx, indexID)
	if err == nil && s.topicsDue() {
		err = queue.Start(ctx, tx, job.Topics, indexID)
	}
	if err == nil && s.scaleDue() && s.Chunks <= trustedChunks {
		if err = scale(ctx, tx, tx.OfIndex, indexID, s); err == nil {
			s.ScaledChunks = s.Chunks
		}
	}
	if err != nil || !s.countDue() && !s.buildDue() && !s.measureDue() && !s.scaleDue() && !s.wordsDue() && !s.renewalDue() {
		return err
	}
	return queue.Enqueue(ctx, tx, job.Maintain, indexID, "")
}

// Maintainer does maintenance jobs. Safe for concurrent use.
type Maintainer struct {
	db      *data.DB
	queue   *job.Queue
	backlog *backlog.Backlog
	text    TextFunc
	log     *slog.Logger
}

// NewMaintainer returns a Maintainer. The backlog says whether an index is being loaded, and text what the terms of
// chunks are made from.
func NewMaintainer(db *data.DB, queue *job.Queue, backlog *backlog.Backlog, text TextFunc, log *slog.Logger) *Maintainer {
	return &Maintainer{db: db, queue: queue, backlog: backlog, text: text, log: log}
}

var errDeleted = fault.New(fault.NotFound, "the index was deleted")

// run does the maintenance that is due on an index, or drops the tables of one that was
// deleted.
func (m *Maintainer) run(ctx context.Context, a job.Attempt) error {
	h := m.db.Handle(a.Tenant)
	err := alone(ctx, h, a.IndexID, func(s *data.Session) error {
		i, _, err := byID(ctx, s, a.IndexID)
		if err != nil {
			return err
		}
		if err := removeOrphans(ctx, h, s.OfIndex(i.ID, i.Generation), i); err != nil {
			return err
		}
		return m.maintain(ctx, h.OfIndex(i.ID, i.Generation), s.OfIndex(i.ID, i.Generation), a.Task)
	})
	switch {
	case err == nil, job.Snoozed(err):
		return err
	case ctx.Err() == nil && fault.KindOf(err) == fault.NotFound:
		return dropDeleted(ctx, h, a.IndexID, err)
	}
	m.log.WarnContext(ctx, "index maintenance failed", "tenant", a.Tenant, "index", a.IndexID, "attempt", a.Number, "err", err)
	return errors.Join(err, recordFailure(ctx, h, a.IndexID, fault.Public(err), a.Last))
}

// dropDeleted drops the tables that are left of a deleted index, and returns the result of
// the attempt, whose error was deleted. While a table is in use by something else than the
// service, such as a backup, it snoozes the job.
func dropDeleted(ctx context.Context, h *data.Handle, indexID int64, deleted error) error {
	err := dropTables(ctx, h, indexID)
	switch {
	case err == nil || fault.KindOf(err) == fault.NotFound: // NotFound: so was the tenant
		return job.Stop(deleted)
	case fault.KindOf(err) == fault.Deadline && ctx.Err() == nil:
		return job.Snooze(dropPause)
	}
	return err
}

// alone calls do with a session that holds the lock on the maintenance of the index, or
// snoozes the job if another session holds it.
func alone(ctx context.Context, h *data.Handle, indexID int64, do func(s *data.Session) error) error {
	return h.Session(ctx, func(s *data.Session) error {
		free, err := s.Lock(ctx, fmt.Sprintf("index/%d", indexID))
		if err != nil {
			return err
		}
		if !free {
			return job.Snooze(busyPause)
		}
		return do(s)
	})
}

// removeOrphans drops what interrupted work left: an unfinished Postgres index over the
// embeddings, and Postgres indexes on metadata that do not match the settings, of which it
// creates the missing ones. The session has the lock on the maintenance of the index, so no
// build is running.
func removeOrphans(ctx context.Context, h *data.Handle, s *data.Session, i Index) error {
	unfinished, err := data.Value[bool](ctx, s, `SELECT to_regclass('tenant.`+i.unfinishedName()+`') IS NOT NULL`)
	if err != nil {
		return err
	}
	if unfinished {
		if err := dropUnfinished(ctx, s, i); err != nil {
			return err
		}
	}
	existing, err := metadataIndexesOf(ctx, s)
	if err != nil || i.matches(existing) {
		return err
	}
	return h.Tx(ctx, func(tx *data.Tx) error {
		locked, err := byNameLocked(ctx, tx, i.Name)
		if err != nil || locked.ID != i.ID {
			return err
		}
		return matchMetadataIndexes(ctx, tx.OfIndex(locked.ID, locked.Generation), locked)
	})
}

// matches reports whether existing Postgres indexes on metadata are those of the settings.
func (i Index) matches(existing []metadataIndex) bool {
	wanted := i.metadataIndexes()
	for _, e := range existing {
		if _, ok := wanted[e.Name]; !ok || !e.Valid {
			return false
		}
	}
	return len(existing) == len(wanted)
}

// maintain does all maintenance that is due. It repeats until nothing is due, because more
// may be written meanwhile.
func (m *Maintainer) maintain(ctx context.Context, h *data.Handle, s *data.Session, task job.Task) error {
	words, err := hasWords(ctx, s)
	if err != nil {
		return err
	}
	for {
		now, err := readState(ctx, s, task.IndexID)
		if err != nil {
			return err
		}
		switch {
		case now.BuildJobID != nil:
			err = m.build(ctx, h, s, task)
		case now.countOverdue():
			err = count(ctx, h, s, task.IndexID, now)
		case now.countDue():
			err = m.unlessLoading(ctx, s, task, now, func(now state) error { return count(ctx, h, s, task.IndexID, now) })
		case now.buildDue():
			err = m.unlessLoading(ctx, s, task, now, func(state) error { return m.build(ctx, h, s, task) })
		case now.measureDue():
			err = measure(ctx, h, s, task.IndexID)
		case now.scaleDue():
			err = m.unlessLoading(ctx, s, task, now, func(now state) error { return scale(ctx, h, h.OfIndex, task.IndexID, now) })
		case !words:
			words = true
			err = m.unlessLoading(ctx, s, task, now, func(state) error {
				i, err := ByID(ctx, h, task.IndexID)
				if err != nil {
					return err
				}
				return findWords(ctx, h, i)
			})
		case now.wordsDue():
			err = m.unlessLoading(ctx, s, task, now, func(now state) error { return forgetWords(ctx, h, task.IndexID, now) })
		case now.renewalDue():
			err = m.unlessLoading(ctx, s, task, now, func(state) error { return m.renew(ctx, h, s, task.IndexID) })
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// count updates the search width and the counts of terms that queries use.
func count(ctx context.Context, h *data.Handle, s *data.Session, indexID int64, state state) error {
	if state.Built {
		if err := measure(ctx, h, s, indexID); err != nil {
			return err
		}
	}
	i, err := ByID(ctx, h, indexID)
	if err != nil {
		return err
	}
	if err := countTerms(ctx, h, i, state); err != nil {
		return err
	}
	return measureScale(ctx, h, i, state)
}

// scale measures the scale of the scores that queries use. of returns q for the tables of an index.
func scale[Q measurer](ctx context.Context, q Q, of func(index int64, generation int) Q, indexID int64, state state) error {
	i, err := ByID(ctx, q, indexID)
	if err != nil {
		return err
	}
	return measureScale(ctx, of(i.ID, i.Generation), i, state)
}

// unlessLoading calls do, which would slow a load down. While the index is being loaded it
// snoozes the job instead: while chunks arrive, or documents that will be a large fraction
// of the index. A build that a caller requests does not wait.
func (m *Maintainer) unlessLoading(ctx context.Context, s *data.Session, task job.Task, before state, do func(now state) error) error {
	now := before
	start := time.Now()
	for time.Since(start) < now.watch() && now.Written-before.Written < loadRate && now.BuildJobID == nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(loadLook):
		}
		var err error
		if now, err = readState(ctx, s, task.IndexID); err != nil {
			return err
		}
	}
	if now.BuildJobID != nil {
		return do(now)
	}
	arriving, err := m.backlog.Arriving(ctx, task.Tenant, task.IndexID)
	if err != nil {
		return err
	}
	if now.Written-before.Written >= loadRate || arriving/chunkBytes*arrivingFraction >= now.Chunks {
		return job.Snooze(loadPause)
	}
	return do(now)
}

// CommonChunks is the number of chunks from which the count of a term is stored. Queries
// count rarer terms themselves, in a fraction of a millisecond, so that terms that are new
// since the last count are counted too.
const CommonChunks = 100

// makeTerms is the statement that makes the table of common terms.
const makeTerms = `CREATE TABLE tenant.term (lexeme text COLLATE "C" PRIMARY KEY, chunks bigint NOT NULL)`

// noTerms stands for the table of common terms of an index that has none yet.
const noTerms = `(SELECT NULL::text COLLATE "C" AS lexeme, NULL::bigint AS chunks WHERE false)`

// Terms returns a handle for reading the counts of common terms. An index that is small or
// new has none; a cached index may have none when there are some already, which costs its
// queries time.
func (i Index) Terms(h *data.Handle) *data.Handle {
	if i.termsCounted {
		return h
	}
	return h.Without("term", noTerms)
}

// countTerms counts how many chunks have each common term. Queries read the
// old counts until the new ones are complete.
func countTerms(ctx context.Context, h *data.Handle, i Index, s state) error {
	if !i.termsCounted {
		if err := makeOnce(ctx, h, i, "term", []string{makeTerms}); err != nil {
			return err
		}
	}
	words, err := HasWords(ctx, h)
	if err != nil {
		return err
	}
	b := h.Batch()
	b.Exec(`DELETE FROM tenant.term`)
	if words {
		b.Exec(onceEach)
		b.Exec(`WITH counted AS MATERIALIZED (`+countedTerms+`), common AS (
			INSERT INTO tenant.term (lexeme, chunks) SELECT c.word, c.ndoc FROM counted AS c WHERE c.ndoc >= $1
		)`+countWords, CommonChunks)
		b.Exec(`ANALYZE tenant.word`)
	} else {
		b.Exec(`INSERT INTO tenant.term (lexeme, chunks) SELECT c.word, c.ndoc FROM (`+countedTerms+`) AS c WHERE c.ndoc >= $1`, CommonChunks)
	}
	b.Exec(`UPDATE tenant.indexes SET counted_chunks = $2, counted_written = $3 WHERE index_id = $1`, i.ID, s.Chunks, s.Written)
	FlushTerms(b)
	b.Exec(`ANALYZE tenant.chunk, tenant.term`)
	return b.Run(ctx)
}

// FlushTerms adds to a batch the statement that moves newly written terms from the
// pending list of the GIN index, which every search reads through, into the index.
func FlushTerms(b *data.Batch) {
	b.Exec(`SELECT gin_clean_pending_list(x.indexrelid) FROM pg_catalog.pg_index AS x
		JOIN pg_catalog.pg_class AS c ON c.oid = x.indexrelid JOIN pg_catalog.pg_am AS a ON a.oid = c.relam
		WHERE a.amname = 'gin' AND x.indrelid = 'tenant.chunk'::regclass`)
}
