package index

import (
	"context"

	"github.com/ragdhq/ragd/internal/tenant/data"
)

// The cells of an index are the rows of the tables in its documents, in segments. The first segment of a table has its
// description and name too. The rows of a document are replaced with its chunks, and deleted before it.

// noCells stands for the table of cells of an index that has none.
const noCells = `(SELECT NULL::uuid AS document_id, NULL::int AS ordinal, NULL::int AS segment, NULL::text COLLATE "C" AS name, NULL::jsonb AS description,
		NULL::text COLLATE "C" AS stamp, NULL::int AS bytes, NULL::jsonb AS cells WHERE false)`

// indexCells makes the Postgres index by which tables are found by name.
const indexCells = `CREATE INDEX ON tenant.cells (name) WHERE segment = 0`

// makeBareCells returns the statement that creates the table of cells, without the Postgres index of indexCells.
func makeBareCells() []string {
	return []string{`CREATE TABLE tenant.cells (
		document_id uuid NOT NULL,
		ordinal     int NOT NULL, -- of the table in its document, from 1
		segment     int NOT NULL, -- from 0
		name        text COLLATE "C", -- of the table; null but in segment 0
		description jsonb, -- grid.Description; null but in segment 0
		stamp       text COLLATE "C", -- hash of the description and the rows; null but in segment 0
		bytes       int NOT NULL, -- of the rows, as they were made
		cells       jsonb NOT NULL, -- the rows, as grid.Table has them
		PRIMARY KEY (document_id, ordinal, segment)
	)`}
}

// MakeCells creates the table of cells of an index unless it exists. Errors: NotFound.
func MakeCells(ctx context.Context, h *data.Handle, i Index) error {
	made, err := HasCells(ctx, h)
	if err != nil || made {
		return err
	}
	return makeOnce(ctx, h, i, "cells", append(makeBareCells(), indexCells))
}

// HasCells reports whether an index has a table of cells: that of one without tables is not made.
func HasCells(ctx context.Context, q data.Queryer) (bool, error) {
	return data.Value[bool](ctx, q, `SELECT to_regclass('tenant.cells') IS NOT NULL`)
}

// WithoutCells returns a handle for reading the cells of an index whose table of cells does not exist yet.
func WithoutCells(h *data.Handle) *data.Handle { return h.Without("cells", noCells) }

// CountBytes adds to the bytes that an index is counted to store. Call it after all that changes documents.
func CountBytes(ctx context.Context, tx *data.Tx, indexID, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO tenant.index_counts AS c (index_id, slot, bytes)
		SELECT i.index_id, pg_backend_pid() % 16, $2::bigint FROM tenant.indexes AS i WHERE i.index_id = $1
		ON CONFLICT (index_id, slot) DO UPDATE SET bytes = c.bytes + excluded.bytes`, indexID, bytes)
	return err
}
