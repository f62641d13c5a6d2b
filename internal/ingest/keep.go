package ingest

import (
	"context"
	"strconv"
	"time"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// DefaultRetention is how long deleted documents can be restored, unless the service or a tenant has another setting.
const DefaultRetention = 7 * 24 * time.Hour

// Keeping says how deleted documents are kept.
type Keeping struct {
	Queue *job.Queue // of the tasks that erase them
	// Retention is how long they are kept, unless the settings of their tenant say it; 0 for not at all.
	Retention time.Duration
}

// keeper keeps the documents of an index that are deleted. Nil erases them.
type keeper struct {
	queue *job.Queue
	by    string // subject of the credential that deletes them
}

// keeper returns what becomes of documents that the request deletes: nil if they are erased, because their retention is 0, or
// because their schema is a migration behind or distributed.
func (s *Service) keeper(ctx context.Context, t target) (*keeper, error) {
	if s.Keeping.Queue == nil || t.request.Quotas.Kept(s.Keeping.Retention) == 0 {
		return nil, nil //nolint:nilnil // see above
	}
	if distributed, err := t.handle.Distributed(ctx); err != nil || distributed {
		return nil, err
	}
	type state struct{ Made, Able bool }
	now, err := data.Get[state](ctx, t.handle, `
		SELECT to_regclass('tenant.kept') IS NOT NULL AS made,
			EXISTS (SELECT FROM pg_catalog.pg_trigger AS g WHERE g.tgrelid = 'tenant.documents'::regclass AND g.tgname = 'erased') AS able`)
	if err != nil || !now.Able {
		return nil, err
	}
	if !now.Made {
		if err := index.MakeKept(ctx, t.handle, t.index); err != nil {
			return nil, err
		}
	}
	return &keeper{s.Keeping.Queue, t.request.Principal.Subject}, nil
}

// keptLock returns the name of the lock that deletions from an index share, and that the task takes which ends because nothing is
// kept any more.
func keptLock(indexID int64) string { return "deletions from " + strconv.FormatInt(indexID, 10) }

// keep keeps documents whose rows the caller has locked and deletes next, with their chunks. It returns how many bytes the index
// stores less.
func (k *keeper) keep(ctx context.Context, tx *data.Tx, from index.Index, ids []string) (int64, error) {
	tables := tx.OfIndex(from.ID, from.Generation)
	if err := moveChunks(ctx, tables, "chunk", "kept", ids); err != nil {
		return 0, err
	}
	if err := tx.LockShared(ctx, keptLock(from.ID)); err != nil {
		return 0, err
	}
	// Where something is kept already, the task that erases it is there. The trigger of the deletion then leaves the contents.
	others, err := data.Value[bool](ctx, tx, `
		WITH kept AS (
			INSERT INTO ragd_shared.deleted_documents (document_id, index_id, generation, text_analysis, document, deleted_by)
			SELECT d.document_id, d.index_id, $3, $4, to_jsonb(d), $5 FROM tenant.documents AS d WHERE d.document_id = ANY($2::uuid[])
		)
		SELECT EXISTS (SELECT FROM ragd_shared.deleted_documents AS k WHERE k.index_id = $1) FROM set_config('ragd.keeps', 'on', true)`,
		from.ID, ids, from.Generation, from.TermsVersion(), k.by)
	if err != nil {
		return 0, err
	}
	if !others {
		if err := k.queue.Enqueue(ctx, tx, job.Erase, from.ID, ""); err != nil {
			return 0, err
		}
	}
	return cellBytes(ctx, tables, ids)
}

// moveChunks moves the chunks of documents from a table of an index to another. It locks them in the order in which the writers of
// edges do, so that it cannot deadlock with them.
func moveChunks(ctx context.Context, tx *data.Tx, from, to string, documentIDs []string) error {
	_, err := tx.Exec(ctx, `
		WITH locked AS MATERIALIZED (
			SELECT c.ctid FROM tenant.`+from+` AS c WHERE c.document_id = ANY($1::uuid[])
			ORDER BY c.document_id, c.ordinal FOR UPDATE
		), moved AS (
			DELETE FROM tenant.`+from+` WHERE ctid = ANY(ARRAY(SELECT ctid FROM locked)) RETURNING `+index.ChunkColumns+`
		)
		INSERT INTO tenant.`+to+` (`+index.ChunkColumns+`) SELECT `+index.ChunkColumns+` FROM moved`, documentIDs)
	return err
}

// cellBytes returns how many bytes the tables of documents have.
func cellBytes(ctx context.Context, tx *data.Tx, documentIDs []string) (int64, error) {
	made, err := index.HasCells(ctx, tx)
	if err != nil || !made {
		return 0, err
	}
	return data.Value[int64](ctx, tx, `
		SELECT coalesce(sum(c.bytes), 0)::bigint FROM tenant.cells AS c WHERE c.document_id = ANY($1::uuid[])`, documentIDs)
}
