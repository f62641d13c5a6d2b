package vector

import (
	"context"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/pgvector/pgvector-go"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant"
)

// countSQL adds to the index's counts what a statement before it wrote.
const countSQL = `
	INSERT INTO tenant.index_counts AS n (index_id, slot, chunks, written, ready, pending, failed)
	SELECT $1, pg_backend_pid() % 16, $2, $3, 0, 0, 0
	ON CONFLICT (index_id, slot) DO UPDATE SET chunks = n.chunks + excluded.chunks, written = n.written + excluded.written`

func count(ctx context.Context, tx *tenant.Tx, t target, chunks, written int64) error {
	_, err := tx.Exec(ctx, countSQL, t.index.ID, chunks, written)
	return err
}

// written is what an upsert did.
type written struct {
	Rows     int64
	Inserted int64
}

// upsert writes rows in the order of their ids, in which every other writer locks
// them too. Rows that may not be replaced are chunks of documents and what the
// credential does not see.
func upsert(ctx context.Context, tx *tenant.Tx, t target, namespace string, rows []row) error {
	ids, metadata, documents := make([]string, len(rows)), make([]string, len(rows)), make([]string, len(rows))
	values := make([][]float32, len(rows))
	for n, r := range rows {
		ids[n], values[n], metadata[n], documents[n] = r.id, r.values, r.metadata, r.document
	}
	embeddings, arrayType := column(t.index, values)
	args := filter.NewArgs(namespace, ids, embeddings, metadata, documents)
	done, err := tenant.Get[written](ctx, tx, `
		WITH written AS (
			INSERT INTO tenant.chunk AS c (namespace, chunk_id, embedding, metadata, text)
			SELECT $1, e.id, e.embedding, e.metadata::jsonb, e.document
			FROM unnest($2::text[], $3::`+arrayType+`[], $4::text[], $5::text[]) AS e (id, embedding, metadata, document)
			ON CONFLICT (namespace, chunk_id) DO UPDATE SET
				embedding = excluded.embedding, metadata = excluded.metadata, text = excluded.text,
				terms = excluded.terms, term_weights = excluded.term_weights
			WHERE c.document_id IS NULL AND `+t.visible.SQL("c.metadata", args, t.index.MetadataIndexes...)+`
			RETURNING xmax = 0 AS inserted
		)
		SELECT count(*) AS rows, count(*) FILTER (WHERE inserted) AS inserted FROM written`, args.Values()...)
	if err != nil {
		return err
	}
	if done.Rows < int64(len(rows)) {
		return fault.New(fault.Denied, "entries: %d of the ids belong to chunks of documents or to entries that this credential may not change", int64(len(rows))-done.Rows)
	}
	return count(ctx, tx, t, done.Inserted, done.Rows)
}

// column returns embeddings as one parameter, and the type of its elements.
func column(into index.Index, values [][]float32) (parameter any, elementType string) {
	switch into.VectorType {
	case index.HalfVec:
		return typed[pgvector.HalfVector](into, values), "halfvec"
	case index.SparseVec:
		return typed[pgvector.SparseVector](into, values), "sparsevec"
	case index.Bit: // an array of bit would cut each to one bit
		return typed[pgtype.Bits](into, values), "varbit"
	}
	return typed[pgvector.Vector](into, values), "vector"
}

func typed[T any](into index.Index, values [][]float32) []T {
	out := make([]T, len(values))
	for n, v := range values {
		out[n] = into.Column(v).(T)
	}
	return out
}

// where is the condition on the chunks c that a selection is about.
func (s Selection) where(t target, args *filter.Args) string {
	where := "c.document_id IS NULL AND c.namespace = " + args.Add(s.Namespace)
	if len(s.IDs) > 0 {
		where += " AND c.chunk_id = ANY(" + args.Add(s.IDs) + "::text[])"
	}
	return where + " AND " + filter.And(t.visible, s.Filter).SQL("c.metadata", args, t.index.MetadataIndexes...)
}

// lockedSQL is the ids of a selection, locked in their order, so that writers of
// the same rows queue and never wait for each other in a circle.
func lockedSQL(where string) string {
	return `SELECT c.namespace, c.chunk_id FROM tenant.chunk AS c WHERE ` + where + ` ORDER BY c.chunk_id FOR UPDATE`
}

// writeTimeout ends a statement that runs away, such as one whose filter has a
// regular expression that backtracks without end.
const writeTimeout = "SET LOCAL statement_timeout = '20s'"

// remove deletes what is selected.
func remove(ctx context.Context, tx *tenant.Tx, t target, s Selection) (int64, error) {
	if _, err := tx.Exec(ctx, writeTimeout); err != nil {
		return 0, err
	}
	args := filter.NewArgs()
	n, err := tx.Exec(ctx, `
		WITH locked AS (`+lockedSQL(s.where(t, args))+`)
		DELETE FROM tenant.chunk AS c USING locked
		WHERE c.namespace = locked.namespace AND c.chunk_id = locked.chunk_id`, args.Values()...)
	if err != nil || n == 0 {
		return n, err
	}
	return n, count(ctx, tx, t, -n, 0)
}

// change is what an update writes; nil leaves a column as it is.
type change struct {
	embedding any
	metadata  any
}

func update(ctx context.Context, tx *tenant.Tx, t target, s Selection, c change) (int64, error) {
	if _, err := tx.Exec(ctx, writeTimeout); err != nil {
		return 0, err
	}
	args := filter.NewArgs()
	where := s.where(t, args)
	sets := ""
	if c.embedding != nil {
		sets = "embedding = " + args.Add(c.embedding)
	}
	if c.metadata != nil {
		if sets != "" {
			sets += ", "
		}
		sets += "metadata = " + args.Add(c.metadata) + "::text::jsonb"
	}
	return tx.Exec(ctx, `
		WITH locked AS (`+lockedSQL(where)+`)
		UPDATE tenant.chunk AS c SET `+sets+` FROM locked
		WHERE c.namespace = locked.namespace AND c.chunk_id = locked.chunk_id`, args.Values()...)
}
