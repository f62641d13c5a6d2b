package index

import (
	"context"

	"github.com/ragdhq/ragd/internal/tenant/data"
)

// stopBuild cancels the build of a Postgres index on the chunk table of the handle, if one
// is running. A statement that drops or empties the table would wait for the build to end.
func stopBuild(ctx context.Context, h *data.Handle) error {
	var stopped []bool
	return h.QueryAsService(ctx, data.Column(&stopped), `
		SELECT pg_cancel_backend(pid) FROM pg_catalog.pg_stat_progress_create_index
		WHERE relid = to_regclass($1)`, h.ChunkTable().Sanitize())
}

// builtRows returns the number of rows that the running build of a Postgres index on the
// chunk table of the handle has read; 0 when none is running.
func builtRows(ctx context.Context, h *data.Handle) (int64, error) {
	var rows []int64
	err := h.QueryAsService(ctx, data.Column(&rows), `
		SELECT coalesce(max(tuples_done), 0) FROM pg_catalog.pg_stat_progress_create_index
		WHERE relid = to_regclass($1)`, h.ChunkTable().Sanitize())
	if err != nil {
		return 0, err
	}
	return rows[0], nil
}
