package data

import "context"

// Admit returns an error if the tenant may not store about so many bytes more, because the
// database's disk is almost full or the tenant has reached its quota. Everything that adds
// data asks it first; what reads or deletes does not. Errors: Exhausted, with the time to
// wait.
func (h *Handle) Admit(ctx context.Context, bytes int64) error {
	return h.storage.Admit(ctx, string(h.id), bytes, h.storedBytes)
}

// Disk returns an error if the database's disk is almost full. Errors: Exhausted.
func (h *Handle) Disk() error { return h.storage.Disk() }

// countTimeout bounds the wait for a table that is being dropped or replaced.
const countTimeout = "2000" // ms

// storedBytes returns the size of the tenant's tables with their indexes, and of its files.
func (h *Handle) storedBytes(ctx context.Context) (bytes int64, err error) {
	b := h.Batch()
	b.Set("statement_timeout", countTimeout)
	var sizes []int64
	b.Query(Column(&sizes), `
		SELECT coalesce(sum(ragd_shared.total_relation_bytes(c.oid)), 0)::bigint + ragd_shared.file_bytes() FROM pg_catalog.pg_class AS c
		JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relkind = 'r'`, h.id.Schema())
	if err := b.Run(ctx); err != nil {
		return 0, err
	}
	return sizes[0], nil
}
