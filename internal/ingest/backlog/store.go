package backlog

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Enqueue adds documents of the transaction's tenant. Older versions of the same
// documents are replaced. The caller calls Wake when it has committed.
func (b *Backlog) Enqueue(ctx context.Context, tx *data.Tx, documents ...Document) error {
	c := columnsOf(documents)
	return tx.AsService(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO ragd.backlog (tenant_id, document_id, version, index_id, job_id, bytes)
			SELECT * FROM unnest($1::text[], $2::uuid[], $3::int[], $4::bigint[], $5::uuid[], $6::bigint[]) AS given (tenant_id, document_id)
			ORDER BY given.tenant_id, given.document_id
			ON CONFLICT (tenant_id, document_id) DO UPDATE SET
				version = excluded.version, index_id = excluded.index_id, job_id = excluded.job_id, bytes = excluded.bytes,
				attempt = 0, lost = 0, due_at = now(), claimed_by = NULL`,
			c.tenants, c.documents, c.versions, c.indexes, c.jobs, c.bytes)
		return err
	})
}

// columns holds documents by column, as parameters of a statement.
type columns struct {
	tenants, documents, jobs []string
	versions                 []int
	indexes, bytes           []int64
}

func columnsOf(documents []Document) (c columns) {
	for _, d := range documents {
		c.tenants, c.documents, c.jobs = append(c.tenants, string(d.Tenant)), append(c.documents, d.DocumentID), append(c.jobs, d.JobID)
		c.versions, c.indexes, c.bytes = append(c.versions, d.Version), append(c.indexes, d.IndexID), append(c.bytes, d.Bytes)
	}
	return c
}

// Limits of a batch. Small documents cost far less in a batch than one by one; a large
// document is claimed alone.
const (
	batchDocuments = 256
	batchBytes     = 512 << 10
	// linger is how long new documents wait to fill a batch, if other workers are busy
	// with the same tenant.
	linger = 200 * time.Millisecond
	// lostAlone is how many instances must have died with a document before it is claimed
	// alone, to find the one that kills them.
	lostAlone = 3
)

// claim claims a batch of documents of one index: the oldest that are due, of the first
// tenant after the given one, in the order of ids, that is not full. Documents of
// busy tenants wait for linger first. No claims mean that no later tenant has any due.
func (b *Backlog) claim(ctx context.Context, after tenant.ID, full, busy []string) ([]Claim, error) {
	rows, err := b.control.Query(ctx, `
		WITH next AS MATERIALIZED (
			SELECT b.tenant_id FROM ragd.backlog AS b
			WHERE b.claimed_by IS NULL AND b.due_at <= now() AND b.tenant_id > $1 AND b.tenant_id <> ALL($2)
				AND (b.tenant_id <> ALL($6) OR b.due_at <= now() - $7::interval)
			ORDER BY b.tenant_id LIMIT 1
		), oldest AS (
			SELECT b.document_id, b.index_id, b.bytes, b.due_at, b.lost FROM ragd.backlog AS b
			WHERE b.tenant_id = (SELECT next.tenant_id FROM next) AND b.claimed_by IS NULL AND b.due_at <= now()
			ORDER BY b.due_at LIMIT $3 FOR UPDATE SKIP LOCKED
		), batch AS (
			SELECT o.document_id, o.index_id = first_value(o.index_id) OVER w AS same,
				sum(o.bytes) OVER w <= $4 AND max(o.lost) OVER w < $8 OR row_number() OVER w = 1 AS fits
			FROM oldest AS o WINDOW w AS (ORDER BY o.due_at, o.document_id ROWS UNBOUNDED PRECEDING)
		)
		UPDATE ragd.backlog AS b SET claimed_by = $5, attempt = b.attempt + 1
		FROM batch WHERE batch.same AND batch.fits
			AND b.tenant_id = (SELECT next.tenant_id FROM next) AND b.document_id = batch.document_id
		RETURNING b.tenant_id AS tenant, b.job_id::text, b.index_id, b.document_id::text, b.version, b.bytes, b.attempt, b.lost`,
		after, full, batchDocuments, batchBytes, b.instance, busy, linger, lostAlone)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[Claim])
}

// executor runs statements with the rights of the service: a transaction or a pool.
type executor interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Done removes processed documents. A newer version of a document stays.
func (b *Backlog) Done(ctx context.Context, tx *data.Tx, documents ...Document) error {
	return tx.AsService(ctx, func(tx pgx.Tx) error { return remove(ctx, tx, documents) })
}

// Remove removes processed documents of one tenant as Done does, without a transaction of the
// tenant, which may no longer exist.
func (b *Backlog) Remove(ctx context.Context, documents ...Document) error {
	if len(documents) == 0 {
		return nil
	}
	control, err := b.of(ctx, documents[0].Tenant)
	if err != nil {
		return err
	}
	return remove(ctx, control, documents)
}

// Refuse removes documents of one tenant that this backlog must not have, because the tenant does not
// live in its database.
func (b *Backlog) Refuse(ctx context.Context, id tenant.ID) error {
	_, err := b.control.Exec(ctx, `DELETE FROM ragd.backlog WHERE tenant_id = $1`, id)
	return postgres.Fault(err)
}

func remove(ctx context.Context, on executor, documents []Document) error {
	c := columnsOf(documents)
	_, err := on.Exec(ctx, `
		DELETE FROM ragd.backlog AS b
		USING unnest($1::text[], $2::uuid[], $3::int[]) AS done (tenant_id, document_id, version)
		WHERE b.tenant_id = done.tenant_id AND b.document_id = done.document_id AND b.version = done.version`,
		c.tenants, c.documents, c.versions)
	return err
}

// Postpone releases a claimed document, which is due again after the wait.
func (b *Backlog) Postpone(ctx context.Context, tx *data.Tx, d Document, wait time.Duration) error {
	return tx.AsService(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			UPDATE ragd.backlog SET claimed_by = NULL, due_at = now() + $4::interval
			WHERE tenant_id = $1 AND document_id = $2 AND version = $3`, d.Tenant, d.DocumentID, d.Version, wait)
		return err
	})
}

// Leave removes documents of the transaction's tenant that were cancelled or deleted.
// Documents whose rows are locked stay, because an instance is claiming or removing them;
// their worker finds the jobs ended.
func Leave(ctx context.Context, tx *data.Tx, documentIDs []string) error {
	if len(documentIDs) == 0 {
		return nil
	}
	id := tx.Tenant()
	return tx.AsService(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			DELETE FROM ragd.backlog WHERE tenant_id = $1 AND document_id IN (
				SELECT b.document_id FROM ragd.backlog AS b
				WHERE b.tenant_id = $1 AND b.document_id = ANY($2::uuid[]) FOR UPDATE SKIP LOCKED)`, id, documentIDs)
		return err
	})
}

// DeleteTenant removes all documents of a tenant that is being deleted. There is no foreign
// key to do it, because every enqueued document would then lock the tenant's row.
func DeleteTenant(ctx context.Context, tx pgx.Tx, id tenant.ID) error {
	_, err := tx.Exec(ctx, `DELETE FROM ragd.backlog WHERE tenant_id = $1`, id)
	return err
}

// Arriving returns how many bytes of documents are in work or due for an index. Those
// that are postponed do not count.
func (b *Backlog) Arriving(ctx context.Context, id tenant.ID, indexID int64) (bytes int64, err error) {
	control, err := b.of(ctx, id)
	if err != nil {
		return 0, err
	}
	rows, err := control.Query(ctx, `
		SELECT coalesce(sum(b.bytes), 0)::bigint FROM ragd.backlog AS b
		WHERE b.tenant_id = $1 AND b.index_id = $2 AND (b.claimed_by IS NOT NULL OR b.due_at <= now())`, id, indexID)
	if err == nil {
		bytes, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
	}
	return bytes, postgres.Fault(err)
}
