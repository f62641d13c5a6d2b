package graph

import (
	"context"
	"strconv"
	"time"

	"github.com/ragdhq/ragd/internal/graph/names"
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

// maxShownName bounds a name in the label of an edge, in characters.
const maxShownName = 200

// countableSQL is true for names k with at most 5,000 chunks. Under a filter only
// these are followed: counting the few visible among very many chunks would take
// seconds.
const countableSQL = `NOT EXISTS (SELECT FROM tenant.edge AS e WHERE e.key = k.key AND e.type IN ('name', 'mention') OFFSET 5000)`

// namedSQL counts, for each name key of a table, the chunks that have the name and those that
// mention it, and leaves out names that too many have. Of chunks c only those that the condition
// seen admits count; all says that it admits every chunk.
func namedSQL(table, seen string, all bool) string {
	counted, countable := "tenant.edge AS e WHERE", "true"
	if !all {
		counted, countable = "tenant.edge AS e JOIN tenant.chunk AS c USING (document_id, ordinal) WHERE "+seen+" AND", countableSQL
	}
	definitions, mentions := strconv.Itoa(maxDefinitions), strconv.Itoa(maxMentions)
	return `SELECT k.key, d.definitions, m.mentions
			FROM (SELECT DISTINCT key FROM ` + table + `) AS k
			CROSS JOIN LATERAL (
				SELECT count(*) AS definitions
				FROM (SELECT FROM ` + counted + ` e.key = k.key AND e.type = 'name' LIMIT ` + definitions + ` + 1) AS e
			) AS d
			CROSS JOIN LATERAL (
				SELECT count(*) AS mentions
				FROM (SELECT FROM ` + counted + ` e.key = k.key AND e.type = 'mention' AND d.definitions > 0 LIMIT ` + mentions + ` + 1) AS e
			) AS m
			WHERE ` + countable + ` AND d.definitions BETWEEN 1 AND ` + definitions + ` AND m.mentions <= ` + mentions
}

// edgesFrom returns up to limit edges that leave the chunks and lead to chunks
// that the filter admits, those of the rarest names first. Only admitted chunks
// count for how rare a name is: weights must not reveal hidden ones. Errors:
// Deadline after timeout.
func edgesFrom(ctx context.Context, h *data.Handle, chunks []ChunkRef, visible filter.Filter, limit int, timeout time.Duration) ([]edgeRow, error) {
	if len(chunks) == 0 {
		return nil, nil
	}
	documents, ordinals := columns(chunks)
	args := filter.NewArgs(documents, ordinals)
	seen := visible.SQL(filter.ChunkMetadata, args)
	return bounded[edgeRow](ctx, h, timeout, `
		WITH start AS MATERIALIZED (
			SELECT * FROM unnest($1::uuid[], $2::int[]) AS s (document_id, ordinal)
		), said AS MATERIALIZED (
			SELECT f.document_id, f.ordinal, m.key
			FROM start AS f JOIN tenant.edge AS m USING (document_id, ordinal)
			WHERE m.type = 'mention'
		), named AS MATERIALIZED (
			`+namedSQL("said", seen, visible.IsZero())+`
		), found AS (
			SELECT s.document_id AS from_document, s.ordinal AS from_ordinal, n.document_id AS to_document, n.ordinal AS to_ordinal,
				'mention' AS type, left(n.name, `+strconv.Itoa(maxShownName)+`) AS name, named.definitions::int, named.mentions::int, 0::float8 AS cosine
			FROM said AS s JOIN named USING (key) JOIN tenant.edge AS n ON n.key = s.key AND n.type = 'name'
			WHERE (n.document_id, n.ordinal) <> (s.document_id, s.ordinal)
			UNION ALL
			SELECT f.document_id, f.ordinal, f.document_id, f.ordinal + step, 'next', '', 0, 0, 0
			FROM start AS f CROSS JOIN (VALUES (-1), (1)) AS s (step)
			UNION ALL
			SELECT f.document_id, f.ordinal, e.to_document_id, e.to_ordinal, 'similar', '', 0, 0, e.cosine
			FROM start AS f JOIN tenant.edge AS e USING (document_id, ordinal) WHERE e.type = 'similar'
			UNION ALL -- a similar pair has one row, a section row leads to the head
			SELECT f.document_id, f.ordinal, e.document_id, e.ordinal, e.type::text, '', 0, 0, coalesce(e.cosine, 0)
			FROM start AS f JOIN tenant.edge AS e ON e.to_document_id = f.document_id AND e.to_ordinal = f.ordinal
		)
		SELECT found.from_document::text, found.from_ordinal, found.to_document::text, found.to_ordinal, found.type, found.name,
			found.definitions, found.mentions, found.cosine
		FROM found JOIN tenant.chunk AS c ON c.document_id = found.to_document AND c.ordinal = found.to_ordinal
		WHERE `+seen+`
		ORDER BY found.mentions, found.definitions, found.from_document, found.from_ordinal, found.to_document, found.to_ordinal, found.name
		LIMIT `+strconv.Itoa(limit), args.Values())
}

// edgesInto returns up to limit edges that lead to a chunk from chunks that the filter admits and
// that edgesFrom does not return in the other direction: from chunks that mention it, and from the
// head of its section. Errors: Deadline after loadTimeout.
func edgesInto(ctx context.Context, h *data.Handle, chunk ChunkRef, visible filter.Filter, limit int) ([]edgeRow, error) {
	args := filter.NewArgs(chunk.DocumentID, chunk.Ordinal)
	seen := visible.SQL(filter.ChunkMetadata, args)
	return bounded[edgeRow](ctx, h, loadTimeout, `
		WITH own AS MATERIALIZED (
			SELECT key, name FROM tenant.edge WHERE document_id = $1::uuid AND ordinal = $2 AND type = 'name'
		), named AS MATERIALIZED (
			`+namedSQL("own", seen, visible.IsZero())+`
		), found AS (
			SELECT m.document_id AS from_document, m.ordinal AS from_ordinal, 'mention' AS type, left(own.name, `+strconv.Itoa(maxShownName)+`) AS name,
				named.definitions::int, named.mentions::int
			FROM own JOIN named USING (key) JOIN tenant.edge AS m ON m.key = own.key AND m.type = 'mention'
			WHERE (m.document_id, m.ordinal) <> ($1::uuid, $2)
			UNION ALL
			SELECT e.to_document_id, e.to_ordinal, 'section', '', 0, 0
			FROM tenant.edge AS e WHERE e.document_id = $1::uuid AND e.ordinal = $2 AND e.type = 'section'
		)
		SELECT found.from_document::text, found.from_ordinal, $1::uuid::text AS to_document, $2::int AS to_ordinal, found.type, found.name,
			found.definitions, found.mentions, 0::float8 AS cosine
		FROM found JOIN tenant.chunk AS c ON c.document_id = found.from_document AND c.ordinal = found.from_ordinal
		WHERE `+seen+`
		ORDER BY found.mentions, found.definitions, found.from_document, found.from_ordinal, found.name
		LIMIT `+strconv.Itoa(limit), args.Values())
}

// namedRow is a chunk with a name.
type namedRow struct {
	Key        names.Key
	DocumentID string
	Ordinal    int
	Kind       names.Kind
	Name       string
	Chunks     int // that have the name and are admitted by the filter
}

// maxNamed bounds the chunks that are seeds because a question names them.
const maxNamed = 1000

// namedBy returns the chunks that have one of the names and that the filter
// admits, those of the rarest names first. It leaves out names that more than
// maxDefinitions admitted chunks have, so that they do not displace others.
func namedBy(ctx context.Context, h *data.Handle, keys []names.Key, visible filter.Filter) ([]namedRow, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	args := filter.NewArgs(keys)
	definitions, countable := strconv.Itoa(maxDefinitions), "true"
	if !visible.IsZero() {
		countable = countableSQL
	}
	return bounded[namedRow](ctx, h, loadTimeout, `
		SELECT n.key, n.document_id::text, n.ordinal, n.kind, n.name, n.chunks::int
		FROM unnest($1::bigint[]) AS k (key) CROSS JOIN LATERAL (
			SELECT n.*, count(*) OVER () AS chunks
			FROM (
				SELECT e.key, e.document_id, e.ordinal, e.kind, e.name
				FROM tenant.edge AS e JOIN tenant.chunk AS c USING (document_id, ordinal)
				WHERE e.key = k.key AND e.type = 'name' AND `+visible.SQL(filter.ChunkMetadata, args)+`
				LIMIT `+definitions+` + 1
			) AS n
		) AS n
		WHERE `+countable+` AND n.chunks <= `+definitions+`
		ORDER BY n.chunks, n.key, n.document_id, n.ordinal LIMIT `+strconv.Itoa(maxNamed), args.Values())
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
