package index

import (
	"context"

	"github.com/ragdhq/ragd/internal/tenant/data"
)

// The chunks of deleted documents that can be restored are in the table kept of the generation of chunks that they are of. It goes with
// that generation, as their embeddings are of no use to the next.

// ChunkColumns are the columns of chunks.
const ChunkColumns = `document_id, ordinal, start_byte, end_byte, token_count, embedding, term_weights, namespace, chunk_id, metadata, sparse, content_keys, title, text, terms`

// makeKept creates the table of kept chunks. Rows are written once and rarely read: they stay in one piece if they can.
var makeKept = []string{
	`CREATE TABLE tenant.kept (LIKE tenant.chunk INCLUDING DEFAULTS INCLUDING STORAGE INCLUDING COMPRESSION, PRIMARY KEY (document_id, ordinal))`,
	`ALTER TABLE tenant.kept SET (toast_tuple_target = 8160)`,
}

// MakeKept creates the table of kept chunks of an index unless it exists. Errors: NotFound.
func MakeKept(ctx context.Context, h *data.Handle, i Index) error {
	return makeOnce(ctx, h, i, "kept", makeKept)
}

// HasKept reports whether an index has a table of kept chunks.
func HasKept(ctx context.Context, q data.Queryer) (bool, error) {
	return data.Value[bool](ctx, q, `SELECT to_regclass('tenant.kept') IS NOT NULL`)
}

// TermsVersion returns the version of the analyzer that made the terms of all chunks; 0 if PostgreSQL's parser made those of some.
func (i Index) TermsVersion() int {
	if i.analysis == nil {
		return 0
	}
	return *i.analysis
}
