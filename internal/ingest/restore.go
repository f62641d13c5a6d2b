package ingest

import (
	"context"

	"github.com/ragdhq/ragd/internal/ingest/backlog"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Restored adds the documents of a restored tenant that wait for ingest to the backlog, after
// job.Restored. Call Wake of the backlog when the transaction has committed.
func (s *Service) Restored(ctx context.Context, tx *data.Tx) error {
	if _, err := tx.Exec(ctx, `UPDATE tenant.documents SET status = 'pending' WHERE status = 'processing'`); err != nil {
		return err
	}
	type row struct {
		JobID      string
		IndexID    int64
		DocumentID string
		Version    int
		Bytes      int64
	}
	found, err := data.Select[row](ctx, tx, `
		SELECT d.job_id::text, d.index_id, d.document_id::text, d.version, d.byte_size AS bytes
		FROM tenant.documents AS d WHERE d.status = 'pending' ORDER BY d.created_at, d.document_id`)
	if err != nil {
		return err
	}
	waiting := make([]backlog.Document, len(found))
	for i, r := range found {
		waiting[i] = backlog.Document{Tenant: tx.Tenant(), JobID: r.JobID, IndexID: r.IndexID, DocumentID: r.DocumentID, Version: r.Version, Bytes: r.Bytes}
	}
	return s.backlog.Enqueue(ctx, tx, waiting...)
}
