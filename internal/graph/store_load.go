package graph

import (
	"context"
	"strconv"
	"time"

	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/tenant"
)

// loadTimeout ends a statement that runs away, such as one with a filter that
// backtracks without end.
const loadTimeout = 10 * time.Second

// bounded runs one query that may take so long. Errors: Deadline.
func bounded[T any](ctx context.Context, h *tenant.Handle, timeout time.Duration, sql string, args []any) (out []T, err error) {
	b := h.Batch()
	b.Set("statement_timeout", strconv.FormatInt(max(1, timeout.Milliseconds()), 10)) // 0 would be for ever
	b.Query(tenant.Rows(&out), sql, args...)
	return out, b.Run(ctx)
}

// split returns the columns of places.
func split(places []Place) (documents []string, ordinals []int) {
	documents, ordinals = make([]string, len(places)), make([]int, len(places))
	for i, place := range places {
		documents[i], ordinals[i] = place.DocumentID, place.Ordinal
	}
	return documents, ordinals
}

// maxShownName bounds a name as paths say it, in characters.
const maxShownName = 200

// countableSQL holds for the names k whose chunks can be looked through for those that a
// filter leaves. The others are followed under no filter: what hides nearly all of very
// many chunks would make a query take seconds.
const countableSQL = `NOT EXISTS (SELECT FROM tenant.edge AS e WHERE e.key = k.key AND e.type IN (1, 2) OFFSET 5000)`

// edgesFrom returns up to so many edges that leave the places and lead to chunks
// that the filter lets be seen, those of the rarest names first. How rare a name
// is, is counted over what the filter lets be seen too: weights must not tell of
// what it hides. Errors: Deadline when it takes longer than the timeout.
func edgesFrom(ctx context.Context, h *tenant.Handle, places []Place, visible filter.Filter, limit int, timeout time.Duration) ([]edgeRow, error) {
	if len(places) == 0 {
		return nil, nil
	}
	documents, ordinals := split(places)
	args := filter.NewArgs(documents, ordinals)
	seen := visible.SQL("c.metadata", args)
	counted, countable := "tenant.edge AS e WHERE", "true"
	if !visible.IsZero() {
		counted, countable = "tenant.edge AS e JOIN tenant.chunk AS c USING (document_id, ordinal) WHERE "+seen+" AND", countableSQL
	}
	most, mostMentions := strconv.Itoa(mostDefinitions), strconv.Itoa(mostMentions)
	return bounded[edgeRow](ctx, h, timeout, `
		WITH place AS MATERIALIZED (
			SELECT * FROM unnest($1::uuid[], $2::int[]) AS p (document_id, ordinal)
		), said AS MATERIALIZED (
			SELECT p.document_id, p.ordinal, m.key
			FROM place AS p JOIN tenant.edge AS m USING (document_id, ordinal)
			WHERE m.type = 2
		), named AS MATERIALIZED (
			SELECT k.key, d.definitions, m.mentions
			FROM (SELECT DISTINCT key FROM said) AS k
			CROSS JOIN LATERAL (
				SELECT count(*) AS definitions
				FROM (SELECT FROM `+counted+` e.key = k.key AND e.type = 1 LIMIT `+most+` + 1) AS e
			) AS d
			CROSS JOIN LATERAL (
				SELECT count(*) AS mentions
				FROM (SELECT FROM `+counted+` e.key = k.key AND e.type = 2 AND d.definitions > 0 LIMIT `+mostMentions+` + 1) AS e
			) AS m
			WHERE `+countable+` AND d.definitions BETWEEN 1 AND `+most+` AND m.mentions <= `+mostMentions+`
		), found AS (
			SELECT s.document_id AS from_document, s.ordinal AS from_ordinal, n.document_id AS to_document, n.ordinal AS to_ordinal,
				2 AS type, left(n.name, `+strconv.Itoa(maxShownName)+`) AS name, named.definitions::int, named.mentions::int, 0::float8 AS cosine
			FROM said AS s JOIN named USING (key) JOIN tenant.edge AS n ON n.key = s.key AND n.type = 1
			WHERE (n.document_id, n.ordinal) <> (s.document_id, s.ordinal)
			UNION ALL
			SELECT p.document_id, p.ordinal, p.document_id, p.ordinal + step, 0, '', 0, 0, 0
			FROM place AS p CROSS JOIN (VALUES (-1), (1)) AS s (step)
			UNION ALL
			SELECT p.document_id, p.ordinal, e.to_document_id, e.to_ordinal, 3, '', 0, 0, e.cosine
			FROM place AS p JOIN tenant.edge AS e USING (document_id, ordinal) WHERE e.type = 3
			UNION ALL -- what is near has one row for both, a part one that leads to its head
			SELECT p.document_id, p.ordinal, e.document_id, e.ordinal, e.type, '', 0, 0, coalesce(e.cosine, 0)
			FROM place AS p JOIN tenant.edge AS e ON e.to_document_id = p.document_id AND e.to_ordinal = p.ordinal
		)
		SELECT found.from_document::text, found.from_ordinal, found.to_document::text, found.to_ordinal, found.type, found.name,
			found.definitions, found.mentions, found.cosine
		FROM found JOIN tenant.chunk AS c ON c.document_id = found.to_document AND c.ordinal = found.to_ordinal
		WHERE `+seen+`
		ORDER BY found.mentions, found.definitions, found.from_document, found.from_ordinal, found.to_document, found.to_ordinal, found.name
		LIMIT `+strconv.Itoa(limit), args.Values())
}

// namedRow is a chunk that has a name.
type namedRow struct {
	Key        Key
	DocumentID string
	Ordinal    int
	Name       string
	Chunks     int // that have the name and may be seen
}

// maxNamed bounds the chunks that the names in a question lead to.
const maxNamed = 1000

// namedBy returns the chunks that have one of the names and that the filter lets
// be seen, those of the rarest names first. A name that too many of them have is
// left out, so that it does not take the place of others.
func namedBy(ctx context.Context, h *tenant.Handle, keys []Key, visible filter.Filter) ([]namedRow, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	args := filter.NewArgs(keys)
	most, countable := strconv.Itoa(mostDefinitions), "true"
	if !visible.IsZero() {
		countable = countableSQL
	}
	return bounded[namedRow](ctx, h, loadTimeout, `
		SELECT n.key, n.document_id::text, n.ordinal, n.name, n.chunks::int
		FROM unnest($1::bigint[]) AS k (key) CROSS JOIN LATERAL (
			SELECT n.*, count(*) OVER () AS chunks
			FROM (
				SELECT e.key, e.document_id, e.ordinal, e.name
				FROM tenant.edge AS e JOIN tenant.chunk AS c USING (document_id, ordinal)
				WHERE e.key = k.key AND e.type = 1 AND `+visible.SQL("c.metadata", args)+`
				LIMIT `+most+` + 1
			) AS n
		) AS n
		WHERE `+countable+` AND n.chunks <= `+most+`
		ORDER BY n.chunks, n.key, n.document_id, n.ordinal LIMIT `+strconv.Itoa(maxNamed), args.Values())
}

// sourcesAt returns the chunks at the places as sources without a score, as far
// as the filter lets them be seen.
func sourcesAt(ctx context.Context, h *tenant.Handle, i index.Index, places []Place, visible filter.Filter, withVectors bool) (map[Place]query.Source, error) {
	found := map[Place]query.Source{}
	if len(places) == 0 {
		return found, nil
	}
	documents, ordinals := split(places)
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
		WHERE `+visible.SQL("c.metadata", args), args.Values())
	for _, row := range rows {
		source := row.Source()
		found[placeOf(source)] = source
	}
	return found, err
}
