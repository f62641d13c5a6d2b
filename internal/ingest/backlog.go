package ingest

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ragdhq/ragd/internal/tenant"
)

// Bounds of what a worker takes at once. Many small documents in one go cost a
// fraction of what they cost one by one; what is large goes alone.
const (
	batchDocuments = 256
	batchBytes     = 512 << 10
	// linger is how long documents of a tenant that workers are busy with wait for
	// others to come, before another worker takes them.
	linger = 200 * time.Millisecond
	// A document that instances died with goes alone from the third time on, so that
	// one that kills them is found out, and is given up after maxLost times.
	lostAlone = 3
	maxLost   = 30
)

// ingestArgs are what the backlog knows of a document: which version of it is to be
// brought into its index, by which job. The rest is read when the work begins.
type ingestArgs struct {
	Tenant     tenant.ID
	JobID      string
	IndexID    int64
	DocumentID string
	Version    int
	Bytes      int64
}

// claim is a document in a worker's hands.
type claim struct {
	ingestArgs
	Attempt int // from 1
	Lost    int // how often an instance died with it
}

// enqueue adds documents to the backlog. Their older versions lose their places. The
// caller wakes the queue when it has committed.
func (q *Queue) enqueue(ctx context.Context, on executor, args ...ingestArgs) error {
	columns := columnsOf(args)
	bytes := make([]int64, len(args))
	for i, a := range args {
		bytes[i] = a.Bytes
	}
	_, err := on.Exec(ctx, `
		INSERT INTO ragd.backlog (tenant_id, document_id, version, index_id, job_id, bytes)
		SELECT * FROM unnest($1::text[], $2::uuid[], $3::int[], $4::bigint[], $5::uuid[], $6::bigint[]) AS given (tenant_id, document_id)
		ORDER BY given.tenant_id, given.document_id
		ON CONFLICT (tenant_id, document_id) DO UPDATE SET
			version = excluded.version, index_id = excluded.index_id, job_id = excluded.job_id, bytes = excluded.bytes,
			attempt = 0, lost = 0, due_at = now(), claimed_by = NULL`,
		columns.tenants, columns.documents, columns.versions, columns.indexes, columns.jobs, bytes)
	return err
}

// argColumns are arguments by column, as statements take them.
type argColumns struct {
	tenants, documents, jobs []string
	versions                 []int
	indexes                  []int64
}

func columnsOf(args []ingestArgs) (c argColumns) {
	for _, a := range args {
		c.tenants, c.documents, c.jobs = append(c.tenants, string(a.Tenant)), append(c.documents, a.DocumentID), append(c.jobs, a.JobID)
		c.versions, c.indexes = append(c.versions, a.Version), append(c.indexes, a.IndexID)
	}
	return c
}

// claim takes documents of one index for a worker: of the tenant that comes next in
// the order of names after the given one, leaving out those that are full, as many of
// the oldest that are due as make a batch. None means that nobody after that tenant
// has anything to do.
func (q *Queue) claim(ctx context.Context, after tenant.ID, full, busy []string) ([]claim, error) {
	rows, err := q.control.Query(ctx, `
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
		after, full, batchDocuments, batchBytes, q.instance, busy, linger, lostAlone)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[claim])
}

// executor runs statements with the rights of the service: a transaction or a pool.
type executor interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// drop removes what is done, or comes to nothing, from the backlog.
func (q *Queue) drop(ctx context.Context, on executor, args ...ingestArgs) error {
	columns := columnsOf(args)
	_, err := on.Exec(ctx, `
		DELETE FROM ragd.backlog AS b
		USING unnest($1::text[], $2::uuid[], $3::int[]) AS done (tenant_id, document_id, version)
		WHERE b.tenant_id = done.tenant_id AND b.document_id = done.document_id AND b.version = done.version`,
		columns.tenants, columns.documents, columns.versions)
	return err
}

// postpone gives a document back to the backlog until it is due again.
func (q *Queue) postpone(ctx context.Context, on executor, args ingestArgs, wait time.Duration) error {
	_, err := on.Exec(ctx, `
		UPDATE ragd.backlog SET claimed_by = NULL, due_at = now() + $4::interval
		WHERE tenant_id = $1 AND document_id = $2 AND version = $3`, args.Tenant, args.DocumentID, args.Version, wait)
	return err
}
