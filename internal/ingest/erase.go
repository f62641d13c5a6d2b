package ingest

import (
	"context"
	"time"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/quota"
)

const (
	// eraseRuns is how many batches one run of the task erases.
	eraseRuns = 40
	// erasePause is how long the task waits before it goes on with what it left.
	erasePause = time.Second
	// MaxEraseDelay is how long after the end of its retention a document is erased at most, by a service that runs: the task looks
	// as often, as the retention and the quotas of a tenant change.
	MaxEraseDelay = time.Hour
)

// Erasure says which deleted documents of an index to erase: those that are named, or all.
type Erasure struct {
	IndexName   string
	DocumentIDs []string
	All         bool
	Namespace   string // all namespaces if empty
}

// EraseDeleted erases deleted documents in batches, one transaction each, and returns how many. Errors: Invalid; Denied unless the
// credential has the scope admin.
func (s *Service) EraseDeleted(ctx context.Context, e Erasure) (count int, err error) {
	switch {
	case e.All == (len(e.DocumentIDs) > 0):
		return 0, fault.Field("documentIds", "or all must be given, and not both")
	case len(e.DocumentIDs) > MaxDeletedNamed:
		return 0, fault.Field("documentIds", "are %d, over the limit of %d: divide them", len(e.DocumentIDs), MaxDeletedNamed)
	}
	err = s.onIndex(ctx, access.Admin, e.IndexName, func(t target) error {
		which, err := t.kept(e.Namespace, e.DocumentIDs)
		if err != nil {
			return err
		}
		for {
			n, err := eraseSome(ctx, t.handle, t.index.ID, which)
			count += n
			if err != nil || n < deleteBatch {
				return err
			}
		}
	})
	return count, err
}

// eraseSome erases up to deleteBatch of the kept documents of an index that a condition selects, in the order of their deletion, and
// returns how many.
func eraseSome(ctx context.Context, h *data.Handle, indexID int64, which keptSelection) (count int, err error) {
	err = h.Tx(ctx, func(tx *data.Tx) error {
		args := filter.NewArgs(indexID, deleteBatch)
		ids, err := data.Values[string](ctx, tx, `
			SELECT k.document_id::text FROM `+keptDocuments+`
			WHERE k.index_id = $1 AND `+which(args)+`
			ORDER BY k.deleted_at, k.document_id LIMIT $2 FOR UPDATE OF k`, args.Values()...)
		count = len(ids)
		if err != nil || count == 0 {
			return err
		}
		return erase(ctx, tx, indexID, ids)
	})
	return count, err
}

// erase erases kept documents, whose rows the caller has locked.
func erase(ctx context.Context, tx *data.Tx, indexID int64, ids []string) error {
	i, err := index.ByID(ctx, tx, indexID)
	switch {
	case err == nil:
		if err := eraseFromTables(ctx, tx.OfIndex(i.ID, i.Generation), ids); err != nil {
			return err
		}
	case fault.KindOf(err) != fault.NotFound: // without the index, its tables are dropped
		return err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM tenant.document_contents WHERE document_id = ANY($1::uuid[])`, ids); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `DELETE FROM ragd_shared.deleted_documents WHERE document_id = ANY($1::uuid[])`, ids)
	return err
}

// eraseFromTables erases the chunks and cells of kept documents.
func eraseFromTables(ctx context.Context, tables *data.Tx, ids []string) error {
	made, err := index.HasKept(ctx, tables)
	if err != nil {
		return err
	}
	if made {
		if _, err := tables.Exec(ctx, `DELETE FROM tenant.kept WHERE document_id = ANY($1::uuid[])`, ids); err != nil {
			return err
		}
	}
	_, err = deleteCells(ctx, tables, ids)
	return err
}

// Eraser erases documents at the end of their retention. Safe for concurrent use.
type Eraser struct {
	db       *data.DB
	standard time.Duration
	limits   LimitsFunc
}

// LimitsFunc returns what a tenant may use by its settings and its plan. Errors: NotFound.
type LimitsFunc func(ctx context.Context, id tenant.ID) (quota.Limits, error)

// NewEraser returns an Eraser. standard is the retention of tenants whose limits have none.
func NewEraser(db *data.DB, standard time.Duration, limits LimitsFunc) *Eraser {
	return &Eraser{db, standard, limits}
}

// Runners returns the registry entry of the task.
func (e *Eraser) Runners() job.Registry { return job.Registry{job.Erase: {Run: e.run}} }

// run erases what is due of an index, and looks again when the next is. It ends when nothing is kept.
func (e *Eraser) run(ctx context.Context, a job.Attempt) error {
	h := e.db.Handle(a.Tenant)
	limits, err := e.limits(ctx, a.Tenant)
	if fault.KindOf(err) == fault.NotFound {
		return job.Stop(err)
	}
	if err != nil {
		return err
	}
	due := dueOf(limits, e.standard)
	for range eraseRuns {
		n, err := eraseSome(ctx, h, a.IndexID, due)
		if err != nil {
			return err
		}
		if n == deleteBatch {
			continue
		}
		oldest, err := e.oldest(ctx, h, a.IndexID)
		if err != nil || oldest.IsZero() {
			return err
		}
		return job.Snooze(max(erasePause, min(time.Until(oldest.Add(limits.Kept(e.standard))), MaxEraseDelay)))
	}
	return job.Snooze(erasePause)
}

// dueOf selects what is older than the retention, and the oldest of what is more than the tenant may store: so that deleting is no way
// to store more than that.
func dueOf(limits quota.Limits, standard time.Duration) keptSelection {
	return func(args *filter.Args) string {
		due := `k.deleted_at <= now() - ` + args.Add(limits.Kept(standard)) + `::interval`
		if limits.Bytes == 0 {
			return due
		}
		return `(` + due + ` OR k.document_id IN (
			SELECT o.document_id FROM (
				SELECT a.document_id, sum((a.document->>'byte_size')::bigint) OVER (ORDER BY a.deleted_at DESC, a.document_id DESC) AS bytes
				FROM ragd_shared.deleted_documents AS a) AS o
			WHERE o.bytes > ` + args.Add(limits.Bytes) + `))`
	}
}

// oldest returns when the oldest of the kept documents of an index was deleted, zero if none is kept. What is deleted next then queues
// the task again.
func (e *Eraser) oldest(ctx context.Context, h *data.Handle, indexID int64) (oldest time.Time, err error) {
	err = h.Tx(ctx, func(tx *data.Tx) error {
		if err := tx.Lock(ctx, keptLock(indexID)); err != nil {
			return err
		}
		found, err := data.Value[*time.Time](ctx, tx, `SELECT min(k.deleted_at) FROM ragd_shared.deleted_documents AS k WHERE k.index_id = $1`, indexID)
		if err == nil && found != nil {
			oldest = *found
		}
		return err
	})
	return oldest, err
}
