package graph

import (
	"context"

	"github.com/ragdhq/ragd/internal/tenant"
)

// documentByID reads a document with the texts of its chunks.
func documentByID(ctx context.Context, h *tenant.Handle, documentID string) (Document, error) {
	return tenant.Get[Document](ctx, h, `
		SELECT d.document_id::text, d.title, d.uri,
			ARRAY(SELECT c.text FROM tenant.chunk AS c WHERE c.document_id = d.document_id ORDER BY c.ordinal) AS texts
		FROM tenant.documents AS d WHERE d.document_id = $1`, documentID)
}

func insertNames(ctx context.Context, h *tenant.Handle, documentID string, names []placedName) error {
	if len(names) == 0 {
		return nil
	}
	var ordinals []int
	var keys []Key
	var kinds, texts []string
	for _, name := range names {
		ordinals = append(ordinals, name.ordinal)
		keys = append(keys, name.Key)
		kinds = append(kinds, string(name.Kind))
		texts = append(texts, name.Text)
	}
	_, err := h.Exec(ctx, `
		INSERT INTO tenant.edge (document_id, ordinal, type, key, kind, name)
		SELECT $1::uuid, n.ordinal, 1, n.key, n.kind, n.name
		FROM unnest($2::int[], $3::bigint[], $4::text[], $5::text[]) AS n (ordinal, key, kind, name)
		WHERE EXISTS (SELECT FROM tenant.chunk AS c WHERE c.document_id = $1::uuid AND c.ordinal = n.ordinal)
		ON CONFLICT DO NOTHING`, documentID, ordinals, keys, kinds, texts)
	return err
}

// knownKeys returns which of the keys are names of chunks.
func knownKeys(ctx context.Context, h *tenant.Handle, keys []Key) (map[Key]bool, error) {
	known := map[Key]bool{}
	if len(keys) == 0 {
		return known, nil
	}
	rows, err := tenant.Select[struct{ Key Key }](ctx, h, `
		SELECT DISTINCT e.key FROM tenant.edge AS e WHERE e.key = ANY($1::bigint[]) AND e.type = 1`, keys)
	for _, row := range rows {
		known[row.Key] = true
	}
	return known, err
}

// placedText is the text of a chunk.
type placedText struct {
	DocumentID string
	Ordinal    int
	Text       string
}

// textsWith returns the texts that may have one of the names, as far as
// PostgreSQL's idea of words goes: it is asked for the words in their order. A
// name that too many chunks have is not worth looking for.
func textsWith(ctx context.Context, h *tenant.Handle, language string, names []placedName) ([]placedText, error) {
	if len(names) == 0 {
		return nil, nil
	}
	var keys []Key
	var texts []string
	for _, name := range names {
		keys = append(keys, name.Key)
		texts = append(texts, name.Text)
	}
	return tenant.Select[placedText](ctx, h, `
		WITH sought AS (
			SELECT DISTINCT phraseto_tsquery($1::text::regconfig, n.name) AS words
			FROM unnest($2::bigint[], $3::text[]) AS n (key, name)
			WHERE (SELECT count(*) FROM (SELECT FROM tenant.edge AS e WHERE e.key = n.key AND e.type = 1 LIMIT $4 + 1) AS defined) <= $4
		), found AS (
			SELECT DISTINCT c.document_id, c.ordinal
			FROM sought CROSS JOIN LATERAL (
				SELECT c.document_id, c.ordinal FROM tenant.chunk AS c WHERE c.tsv @@ sought.words LIMIT $5
			) AS c
		)
		SELECT c.document_id::text, c.ordinal, c.text
		FROM found JOIN tenant.chunk AS c USING (document_id, ordinal)`, language, keys, texts, mostDefinitions, mostTexts)
}

// insertEdges stores mentions and, if asked to, links each chunk of the document
// to those nearest to it, which the Postgres index over the embeddings finds. A
// document that was deleted meanwhile does not come back.
func insertEdges(ctx context.Context, h *tenant.Handle, documentID string, mentions []mention, similar bool) error {
	var documents []string
	var ordinals []int
	var keys []Key
	for _, m := range mentions {
		documents = append(documents, m.DocumentID)
		ordinals = append(ordinals, m.Ordinal)
		keys = append(keys, m.key)
	}
	b := h.Batch()
	b.Exec(`
		INSERT INTO tenant.edge (document_id, ordinal, type, key)
		SELECT m.document_id, m.ordinal, 2, m.key
		FROM unnest($1::uuid[], $2::int[], $3::bigint[]) AS m (document_id, ordinal, key)
		WHERE EXISTS (SELECT FROM tenant.chunk AS c WHERE c.document_id = m.document_id AND c.ordinal = m.ordinal)
		ON CONFLICT DO NOTHING`, documents, ordinals, keys)
	if similar {
		// Each pair has one row. A zero vector has no cosine: NaN, which is more
		// than any number.
		b.Exec(`
			INSERT INTO tenant.edge (document_id, ordinal, type, to_document_id, to_ordinal, cosine)
			SELECT
				CASE WHEN later THEN c.document_id ELSE c.near_document END, CASE WHEN later THEN c.ordinal ELSE c.near_ordinal END, 3,
				CASE WHEN later THEN c.near_document ELSE c.document_id END, CASE WHEN later THEN c.near_ordinal ELSE c.ordinal END, c.cosine
			FROM (
				SELECT c.document_id, c.ordinal, near.document_id AS near_document, near.ordinal AS near_ordinal, near.cosine,
					(c.document_id, c.ordinal) < (near.document_id, near.ordinal) AS later
				FROM tenant.chunk AS c
				CROSS JOIN LATERAL (
					SELECT o.document_id, o.ordinal, 1 - (o.embedding <=> c.embedding) AS cosine
					FROM tenant.chunk AS o ORDER BY o.embedding <=> c.embedding LIMIT $2 + 1
				) AS near
				WHERE c.document_id = $1 AND near.cosine BETWEEN $3 AND 1.01
					AND (near.document_id, near.ordinal) <> (c.document_id, c.ordinal)
			) AS c
			ON CONFLICT DO NOTHING`, documentID, similarCount, similarFloor)
	}
	return b.Run(ctx)
}
