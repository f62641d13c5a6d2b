package vector

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/pgvector/pgvector-go"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// count adds the change in the number of chunks, and the number written, to the counts
// of the index, and has the change recorded if the index is watched. ids are of the chunks, which are of a namespace.
func count(ctx context.Context, tx *data.Tx, t target, chunks, written int64, namespace string, ids []string) error {
	if len(ids) > listedIDs {
		ids = nil
	}
	args, recorded := []any{t.index.ID, chunks, written}, ""
	if !tx.Distributed() {
		args, recorded = append(args, namespace, ids), " FROM ragd_shared.record_chunks($1, $2, $3, NULL, $4, $5)"
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO tenant.index_counts AS n (index_id, slot, chunks, written, ready, pending, failed)
		SELECT $1, pg_backend_pid() % 16, $2, $3, 0, 0, 0`+recorded+`
		ON CONFLICT (index_id, slot) DO UPDATE SET chunks = n.chunks + excluded.chunks, written = n.written + excluded.written`, args...)
	return err
}

// listedIDs is how many ids of changed chunks are recorded. Of more it is only known that there are.
const listedIDs = 5000

// written counts the rows of an upsert.
type written struct {
	Rows     int64 // inserted or updated
	Inserted int64
}

// upsert writes rows in the order of their ids, in which all writers lock them. Errors:
// Denied if an id belongs to a chunk of a document, or to an entry that the credential
// does not see.
func upsert(ctx context.Context, tx *data.Tx, t target, namespace string, rows []row) error {
	ids, metadata, documents := make([]string, len(rows)), make([]string, len(rows)), make([]string, len(rows))
	values, sparse := make([][]float32, len(rows)), make([]*pgvector.SparseVector, len(rows))
	for n, r := range rows {
		ids[n], values[n], sparse[n], metadata[n], documents[n] = r.id, r.values, r.sparse, r.metadata, r.document
	}
	texts := make([]string, len(rows))
	for n, r := range rows {
		texts[n] = r.searched
	}
	made, err := termsOf(ctx, tx, t.index, texts)
	if err != nil {
		return err
	}
	terms, weights := make(pgtype.FlatArray[postgres.Binary], len(rows)), make(pgtype.FlatArray[postgres.Binary], len(rows))
	for n, m := range made {
		terms[n], weights[n] = m.Terms, m.Weights
	}
	embeddings, arrayType := column(t.index, values)
	args := filter.NewArgs(namespace, ids, embeddings, metadata, documents, sparse, terms, weights)
	if tx.Distributed() {
		args.Constants()
	}
	result, err := data.Get[written](ctx, tx, `
		WITH written AS (
			INSERT INTO tenant.chunk AS c (namespace, chunk_id, embedding, metadata, text, sparse, terms, term_weights)
			SELECT $1, e.id, e.embedding, e.metadata::jsonb, e.document, e.sparse, e.terms, e.term_weights
			FROM unnest($2::text[], $3::`+arrayType+`[], $4::text[], $5::text[], $6::sparsevec[], $7::tsvector[], $8::sparsevec[])
				AS e (id, embedding, metadata, document, sparse, terms, term_weights)
			ON CONFLICT (namespace, chunk_id) DO UPDATE SET
				embedding = excluded.embedding, metadata = excluded.metadata, text = excluded.text, sparse = excluded.sparse,
				terms = excluded.terms, term_weights = excluded.term_weights
			WHERE c.document_id IS NULL AND `+t.visible.SQL(filter.ChunkMetadata, args, t.index.MetadataIndexes...)+`
			RETURNING xmax = 0 AS inserted
		)
		SELECT count(*) AS rows, count(*) FILTER (WHERE inserted) AS inserted FROM written`, args.Values()...)
	if err != nil {
		return err
	}
	if result.Rows < int64(len(rows)) {
		return fault.New(fault.Denied, "entries: %d of the ids belong to chunks of documents or to entries that this credential may not change", int64(len(rows))-result.Rows)
	}
	if err := t.index.AddWords(ctx, tx, made); err != nil {
		return err
	}
	return count(ctx, tx, t, result.Inserted, result.Rows, namespace, ids)
}

// termsOf returns the terms of texts, zero for an empty one and where PostgreSQL makes them.
func termsOf(ctx context.Context, tx *data.Tx, into index.Index, texts []string) ([]index.Terms, error) {
	made := make([]index.Terms, len(texts))
	if !into.MakesTerms() {
		return made, nil
	}
	given := make([]index.Text, 0, len(texts))
	languages := make([]string, 0, len(texts))
	for _, text := range texts {
		if text != "" {
			language := into.LanguageOf(text)
			given, languages = append(given, index.Text{Body: text, Language: language}), append(languages, language)
		}
	}
	terms, err := into.TermsOf(ctx, tx, given)
	if err != nil {
		return nil, err
	}
	next := 0
	for n, text := range texts {
		if text != "" {
			made[n] = terms[next]
			next++
		}
	}
	return made, into.NoteLanguages(ctx, tx, languages)
}

// column returns embeddings as an array parameter, and the SQL type of its elements.
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

// where returns the condition on a chunk c that the selection selects it.
func (s Selection) where(t target, args *filter.Args) string {
	where := "c.document_id IS NULL AND c.namespace = " + args.Add(s.Namespace)
	if len(s.IDs) > 0 {
		where += " AND c.chunk_id = ANY(" + args.Add(s.IDs) + "::text[])"
	}
	return where + " AND " + filter.And(t.visible, s.Filter).SQL(filter.ChunkMetadata, args, t.index.MetadataIndexes...)
}

// lockedSQL selects ids and locks them in their order, so that writers of the same
// rows never deadlock.
func lockedSQL(where string) string {
	return `SELECT c.namespace, c.chunk_id FROM tenant.chunk AS c WHERE ` + where + ` ORDER BY c.chunk_id FOR UPDATE`
}

// writeTimeout ends a statement that runs away, such as one with a regular expression
// that backtracks without end.
const writeTimeout = "SET LOCAL statement_timeout = '20s'"

// remove deletes the entries of a selection and returns how many.
func remove(ctx context.Context, tx *data.Tx, t target, s Selection) (int64, error) {
	var err error
	if s.Filter, err = t.request.Resolve(s.Filter); err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, writeTimeout); err != nil {
		return 0, err
	}
	args := filter.NewArgs()
	ids, err := data.Values[string](ctx, tx, `
		WITH locked AS (`+lockedSQL(s.where(t, args))+`)
		DELETE FROM tenant.chunk AS c USING locked
		WHERE c.namespace = locked.namespace AND c.chunk_id = locked.chunk_id RETURNING c.chunk_id`, args.Values()...)
	n := int64(len(ids))
	if err != nil || n == 0 {
		return n, err
	}
	return n, count(ctx, tx, t, -n, 0, s.Namespace, ids)
}

// change holds new values of columns; nil leaves a column as it is.
type change struct {
	embedding any
	sparse    *pgvector.SparseVector
	metadata  any
	searched  string // the text in metadata
}

// setSparse sets sparse values, of an index of sparse vectors or beside others. Errors:
// Invalid.
func (c *change) setSparse(into index.Index, v *index.Sparse) (err error) {
	const field = "sparseValues"
	switch {
	case v == nil:
		return nil
	case into.VectorType != index.SparseVec:
		c.sparse, err = into.Beside(field, *v)
		return err
	case c.embedding != nil:
		return fault.Field(field, "and values are mutually exclusive for vectors of type sparsevec")
	}
	values, err := into.Dense(field, *v)
	if err != nil {
		return err
	}
	c.embedding = into.Column(values)
	return into.CheckVector(field, values)
}

// update changes the entries of a selection and returns how many.
func update(ctx context.Context, tx *data.Tx, t target, s Selection, c change) (int64, error) {
	var err error
	if s.Filter, err = t.request.Resolve(s.Filter); err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, writeTimeout); err != nil {
		return 0, err
	}
	args := filter.NewArgs()
	where := s.where(t, args)
	var sets []string
	if c.embedding != nil {
		sets = append(sets, "embedding = "+args.Add(c.embedding))
	}
	if c.sparse != nil {
		sets = append(sets, "sparse = "+args.Add(c.sparse))
	}
	var made []index.Terms
	if c.metadata != nil {
		if made, err = termsOf(ctx, tx, t.index, []string{c.searched}); err != nil {
			return 0, err
		}
		// Without a text, the terms are those of the text in the metadata. Where they are null the trigger
		// weigh_terms sets them.
		sets = append(sets, "metadata = "+args.Add(c.metadata)+"::text::jsonb",
			"terms = CASE WHEN c.text <> '' THEN c.terms ELSE "+args.Add(made[0].Terms)+"::tsvector END",
			"term_weights = CASE WHEN c.text <> '' THEN c.term_weights ELSE "+args.Add(made[0].Weights)+"::sparsevec END")
	}
	ids, err := data.Values[string](ctx, tx, `
		WITH locked AS (`+lockedSQL(where)+`)
		UPDATE tenant.chunk AS c SET `+strings.Join(sets, ", ")+` FROM locked
		WHERE c.namespace = locked.namespace AND c.chunk_id = locked.chunk_id RETURNING c.chunk_id`, args.Values()...)
	n := int64(len(ids))
	if err != nil || n == 0 {
		return n, err
	}
	if err := t.index.AddWords(ctx, tx, made); err != nil {
		return n, err
	}
	return n, count(ctx, tx, t, 0, n, s.Namespace, ids)
}
