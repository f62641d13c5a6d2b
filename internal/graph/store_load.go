package graph

import (
	"context"
	"strconv"
	"time"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// loadTimeout is the longest that a statement may take, for filters whose regular
// expressions backtrack without end.
const loadTimeout = 10 * time.Second

// bounded runs a query with a timeout. Errors: Deadline.
func bounded[T any](ctx context.Context, h *data.Handle, timeout time.Duration, sql string, args []any) (out []T, err error) {
	b := h.Batch()
	b.Set("statement_timeout", strconv.FormatInt(max(1, timeout.Milliseconds()), 10)) // 0 would mean none
	b.Query(data.Rows(&out), sql, args...)
	return out, b.Run(ctx)
}

// columns returns the documents and ordinals of chunks.
func columns(chunks []ChunkRef) (documents []string, ordinals []int) {
	documents, ordinals = make([]string, len(chunks)), make([]int, len(chunks))
	for i, chunk := range chunks {
		documents[i], ordinals[i] = chunk.DocumentID, chunk.Ordinal
	}
	return documents, ordinals
}

// setting is a PostgreSQL setting of a statement.
type setting struct{ name, value string }

// lookups are settings with which statements that look rows up by key have one plan, whatever the
// statistics of the tables are: nested loops over index scans, planned once. An index scan, unlike a
// bitmap scan, stops at a LIMIT.
var lookups = []setting{
	{"plan_cache_mode", "force_generic_plan"}, {"enable_seqscan", "off"}, {"enable_bitmapscan", "off"}, {"enable_hashjoin", "off"},
	{"enable_mergejoin", "off"}, {"max_parallel_workers_per_gather", "0"}, {"jit", "off"},
}

// lookUp is bounded for a statement that looks rows up by key.
func lookUp[T any](ctx context.Context, h *data.Handle, timeout time.Duration, sql string, args []any) (out []T, err error) {
	b := h.Batch()
	for _, setting := range lookups {
		b.Set(setting.name, setting.value)
	}
	b.Set("statement_timeout", strconv.FormatInt(max(1, timeout.Milliseconds()), 10))
	b.Query(data.Rows(&out), sql, args...)
	return out, b.Run(ctx)
}

// sourcesOf returns the chunks that the filter admits as sources without a score.
func sourcesOf(ctx context.Context, h *data.Handle, i index.Index, chunks []ChunkRef, visible filter.Filter, withVectors bool) (map[ChunkRef]query.Source, error) {
	found := map[ChunkRef]query.Source{}
	if len(chunks) == 0 {
		return found, nil
	}
	documents, ordinals := columns(chunks)
	args := filter.NewArgs(documents, ordinals)
	embedding := "NULL::vector"
	if withVectors {
		embedding = i.EmbeddingSQL("c.embedding")
	}
	rows, err := bounded[query.SourceRow](ctx, h, loadTimeout, `
		SELECT c.chunk_id, c.document_id::text, d.uri, c.title, c.ordinal, c.text, c.metadata, c.start_byte, c.end_byte,
			`+embedding+` AS embedding, 0::float8 AS rank_value
		FROM unnest($1::uuid[], $2::int[]) AS p (document_id, ordinal)
		JOIN tenant.chunk AS c USING (document_id, ordinal)
		JOIN tenant.documents AS d ON d.document_id = c.document_id
		WHERE `+visible.SQL(filter.ChunkMetadata, args), args.Values())
	for _, row := range rows {
		source := row.Source()
		found[chunkOf(source)] = source
	}
	return found, err
}
