package graph

import (
	"context"
	"crypto/sha256"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/graph/names"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/index/analyzer"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// isContents is the SQL condition that a chunk c is of a table of contents, or is that of a figure, whose caption another chunk has.
const isContents = `coalesce(c.metadata -> 'position' -> 'contents' = 'true' OR 'figure' = ANY (c.content_keys) AND c.metadata -> 'figure' ? 'caption', false)`

// documentsByID reads documents with the texts of their chunks, in the order of
// their ids.
func documentsByID(ctx context.Context, h *data.Handle, ids []string) ([]Document, error) {
	return data.Select[Document](ctx, h, `
		SELECT d.document_id::text, d.namespace, d.title, d.uri,
			ARRAY(SELECT c.text FROM tenant.chunk AS c WHERE c.document_id = d.document_id ORDER BY c.ordinal) AS texts,
			ARRAY(SELECT `+isContents+` FROM tenant.chunk AS c WHERE c.document_id = d.document_id ORDER BY c.ordinal) AS contents,
			(SELECT c.metadata FROM tenant.chunk AS c WHERE c.document_id = d.document_id AND c.ordinal = 0) AS metadata
		FROM tenant.documents AS d WHERE d.document_id = ANY($1::uuid[]) ORDER BY d.document_id`, ids)
}

// idBatch and chunkBatch are the numbers of documents and, approximately, of
// chunks in a batch of a rebuild.
const (
	idBatch    = 200
	chunkBatch = 2000
)

// documentIDs returns the next ids of an index's documents, ascending: at least
// one, at most idBatch, with up to chunkBatch chunks before the last of them.
func documentIDs(ctx context.Context, h *data.Handle, indexID int64, after string) ([]string, error) {
	return data.Values[string](ctx, h, `
		SELECT n.document_id::text FROM (
			SELECT d.document_id, d.chunk_count, sum(d.chunk_count) OVER (ORDER BY d.document_id) AS chunks
			FROM (
				SELECT d.document_id, d.chunk_count FROM tenant.documents AS d
				WHERE d.index_id = $1 AND d.document_id > $2::uuid AND d.chunk_count > 0
				ORDER BY d.document_id LIMIT $3
			) AS d
		) AS n WHERE n.chunks - n.chunk_count < $4 ORDER BY n.document_id`, indexID, after, idBatch, chunkBatch)
}

// disconnect deletes the edges of documents. It locks rows in the order in which
// they are inserted, so that it cannot deadlock with an insert.
func disconnect(ctx context.Context, h *data.Handle, ids []string) error {
	for _, statement := range []string{
		`WITH gone AS MATERIALIZED (
			SELECT e.ctid FROM tenant.edge AS e WHERE e.document_id = ANY($1::uuid[]) AND e.key IS NOT NULL
			ORDER BY e.key, e.type, e.document_id, e.ordinal FOR UPDATE
		)
		DELETE FROM tenant.edge AS e USING gone WHERE e.ctid = gone.ctid`,
		`WITH gone AS MATERIALIZED (
			SELECT e.ctid FROM tenant.edge AS e
			WHERE e.type IN ('similar', 'section') AND (e.document_id = ANY($1::uuid[]) OR e.to_document_id = ANY($1::uuid[]))
			ORDER BY e.to_document_id, e.to_ordinal, e.document_id, e.ordinal FOR UPDATE
		)
		DELETE FROM tenant.edge AS e USING gone WHERE e.ctid = gone.ctid`,
	} {
		if _, err := h.Exec(ctx, statement, ids); err != nil {
			return err
		}
	}
	return nil
}

// deleteSimilar deletes the similar edges of an index.
func deleteSimilar(ctx context.Context, h *data.Handle) error {
	_, err := h.Exec(ctx, `DELETE FROM tenant.edge WHERE type = 'similar'`)
	return err
}

// unchangedSQL selects the chunks whose text still has the given hash, and locks
// them against deletion until the end of the transaction: what was found in a
// text must neither be stored for its next version nor outlive it.
const unchangedSQL = `
		WITH unchanged AS MATERIALIZED (
			SELECT c.document_id, c.ordinal
			FROM unnest($1::uuid[], $2::int[], $3::bytea[]) AS h (document_id, ordinal, hash)
			JOIN tenant.chunk AS c USING (document_id, ordinal)
			WHERE sha256(convert_to(c.text, 'UTF8')) = h.hash
			ORDER BY c.document_id, c.ordinal
			FOR KEY SHARE OF c
		)`

// unchangedArgs returns the arguments of unchangedSQL, $1 to $3.
func unchangedArgs(texts []chunkText) []any {
	documents, ordinals, hashes := make([]string, len(texts)), make([]int, len(texts)), make([][]byte, len(texts))
	for i, text := range texts {
		hash := sha256.Sum256([]byte(text.Text))
		documents[i], ordinals[i], hashes[i] = text.DocumentID, text.Ordinal, hash[:]
	}
	return []any{documents, ordinals, hashes}
}

// insertNames stores the names of chunks and the beginnings of long names.
func insertNames(ctx context.Context, h *data.Handle, of []Document, defined []definition) error {
	documents, ordinals := make([]string, len(defined)), make([]int, len(defined))
	keys, prefixes := make([]int64, len(defined)), make([]int64, len(defined))
	kinds, written := make([]string, len(defined)), make([]string, len(defined))
	chunks := make([]ChunkRef, len(defined))
	for i, name := range defined {
		chunks[i] = name.ChunkRef
		documents[i], ordinals[i], keys[i], prefixes[i] = name.DocumentID, name.Ordinal, int64(name.Key), int64(name.Prefix)
		kinds[i], written[i] = string(name.Kind), name.Text
	}
	_, err := h.Exec(ctx, unchangedSQL+`, name AS (
			SELECT unchanged.document_id, unchanged.ordinal, n.key, n.prefix, n.kind, n.name
			FROM unnest($4::uuid[], $5::int[], $6::bigint[], $7::bigint[], $8::text[], $9::text[]) AS n (document_id, ordinal, key, prefix, kind, name)
			JOIN unchanged USING (document_id, ordinal)
		)
		INSERT INTO tenant.edge (document_id, ordinal, type, key, kind, name)
		SELECT * FROM (
			SELECT document_id, ordinal, 'name'::ragd_shared.edge_type AS type, key, kind, name FROM name
			UNION ALL
			SELECT DISTINCT document_id, ordinal, 'prefix'::ragd_shared.edge_type, prefix, NULL, NULL FROM name WHERE prefix <> 0
		) AS r
		ORDER BY key, type, document_id, ordinal
		ON CONFLICT DO NOTHING`, append(unchangedArgs(textsAt(chunks, of)), documents, ordinals, keys, prefixes, kinds, written)...)
	return err
}

// insertSections stores the heads of the sections of chunks.
func insertSections(ctx context.Context, h *data.Handle, of []Document, members []sectionChunk) error {
	documents, ordinals, heads := make([]string, len(members)), make([]int, len(members)), make([]int, len(members))
	var chunks []ChunkRef
	for i, member := range members {
		documents[i], ordinals[i], heads[i] = member.DocumentID, member.Ordinal, member.head
		chunks = append(chunks, member.ChunkRef, ChunkRef{member.DocumentID, member.head})
	}
	_, err := h.Exec(ctx, unchangedSQL+`
		INSERT INTO tenant.edge (document_id, ordinal, type, to_document_id, to_ordinal)
		SELECT unchanged.document_id, unchanged.ordinal, 'section', head.document_id, head.ordinal
		FROM unnest($4::uuid[], $5::int[], $6::int[]) AS p (document_id, ordinal, head)
		JOIN unchanged USING (document_id, ordinal)
		JOIN unchanged AS head ON head.document_id = p.document_id AND head.ordinal = p.head
		ORDER BY 4, 5, 1, 2
		ON CONFLICT DO NOTHING`, append(unchangedArgs(textsAt(chunks, of)), documents, ordinals, heads)...)
	return err
}

// namesOfIndex returns the names of an index, or nil if there are more than most.
func namesOfIndex(ctx context.Context, h *data.Handle, indexID int64, most int) (map[names.Key]bool, error) {
	counts, err := countsOf(ctx, h, indexID)
	if err != nil || counts.Names > int64(most) {
		return nil, err
	}
	all := map[names.Key]bool{}
	b := h.Batch()
	b.Set("enable_seqscan", "off")
	b.Query(addTo(all), `SELECT DISTINCT e.key FROM tenant.edge AS e WHERE e.type = 'name' AND e.key IS NOT NULL`)
	return all, b.Run(ctx)
}

// knownKeys returns which of the keys are names of chunks, and which of the
// prefixes begin longer names. It always uses the table's index: the statistics
// of a growing table would mislead the planner.
func knownKeys(ctx context.Context, h *data.Handle, keys, prefixes []names.Key) (known, begun map[names.Key]bool, err error) {
	known, begun = map[names.Key]bool{}, map[names.Key]bool{}
	if len(keys)+len(prefixes) == 0 {
		return known, begun, nil
	}
	b := h.Batch()
	b.Set("enable_seqscan", "off")
	b.Query(addTo(known), `
		SELECT k.key FROM unnest($1::bigint[]) AS k (key)
		CROSS JOIN LATERAL (SELECT FROM tenant.edge AS e WHERE e.key = k.key AND e.type = 'name' LIMIT 1) AS n`, int64s(keys))
	b.Query(addTo(begun), `
		SELECT k.key FROM unnest($1::bigint[]) AS k (key)
		CROSS JOIN LATERAL (SELECT FROM tenant.edge AS e WHERE e.key = k.key AND e.type = 'prefix' LIMIT 1) AS p`, int64s(prefixes))
	return known, begun, b.Run(ctx)
}

// addTo returns a reader of rows that adds keys to a set.
func addTo(set map[names.Key]bool) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var key int64
		_, err := pgx.ForEachRow(rows, []any{&key}, func() error {
			set[names.Key(key)] = true
			return nil
		})
		return err
	}
}

// int64s converts keys to the type whose arrays pgx encodes fastest.
func int64s(keys []names.Key) []int64 {
	out := make([]int64, len(keys))
	for i, key := range keys {
		out[i] = int64(key)
	}
	return out
}

// textsWith returns the texts of other documents that may mention one of the
// names, by a phrase search. It ignores names that more than
// maxDefinitions chunks have. The namespace is compared as an expression, so that
// the planner cannot choose the Postgres index over namespaces.
func textsWith(ctx context.Context, h *data.Handle, i index.Index, defined []definition, documents []Document) (found []chunkText, err error) {
	var keys []names.Key
	var texts, namespaces, phrases []string
	languages := i.AskedLanguages(i.Languages)
	for _, name := range defined {
		keys, texts, namespaces = append(keys, name.Key), append(texts, name.Text), append(namespaces, name.namespace)
		phrases = append(phrases, analyzer.Phrase(name.Text, languages))
	}
	b := h.Batch()
	b.Set("enable_seqscan", "off")
	index.FlushTerms(b)
	b.Query(data.Rows(&found), `
		WITH sought AS (
			SELECT DISTINCT `+i.PhraseSQL("n.name", "n.phrase")+` AS phrase, n.namespace
			FROM unnest($2::bigint[], $3::text[], $7::text[], $1::text[]) AS n (key, name, namespace, phrase)
			WHERE (SELECT count(*) FROM (SELECT FROM tenant.edge AS e WHERE e.key = n.key AND e.type = 'name' LIMIT $4 + 1) AS defined) <= $4
		), found AS (
			SELECT DISTINCT c.document_id, c.ordinal
			FROM sought CROSS JOIN LATERAL (
				SELECT c.document_id, c.ordinal FROM tenant.chunk AS c
				WHERE c.terms @@ sought.phrase AND c.namespace || '' = sought.namespace AND c.document_id IS NOT NULL LIMIT $5 + 1
			) AS c
		)
		SELECT c.document_id::text, c.ordinal, c.namespace, c.text
		FROM found JOIN tenant.chunk AS c USING (document_id, ordinal)
		WHERE c.document_id <> ALL($6::uuid[]) AND NOT `+isContents, phrases, keys, texts, maxDefinitions, maxMentions, idsOf(documents), namespaces)
	return found, b.Run(ctx)
}

func idsOf(documents []Document) []string {
	ids := make([]string, len(documents))
	for i, d := range documents {
		ids[i] = d.DocumentID
	}
	return ids
}

// insertMentions stores the mentions found in texts. All inserts here order their
// rows, so that concurrent inserts of the same rows cannot deadlock.
func insertMentions(ctx context.Context, h *data.Handle, texts []chunkText, mentions []mention) error {
	if len(mentions) == 0 {
		return nil
	}
	documents, ordinals, keys := make([]string, len(mentions)), make([]int, len(mentions)), make([]names.Key, len(mentions))
	for i, m := range mentions {
		documents[i], ordinals[i], keys[i] = m.DocumentID, m.Ordinal, m.key
	}
	_, err := h.Exec(ctx, unchangedSQL+`
		INSERT INTO tenant.edge (document_id, ordinal, type, key)
		SELECT m.document_id, m.ordinal, 'mention', m.key
		FROM unnest($4::uuid[], $5::int[], $6::bigint[]) AS m (document_id, ordinal, key)
		JOIN unchanged USING (document_id, ordinal)
		ORDER BY m.key, m.document_id, m.ordinal
		ON CONFLICT DO NOTHING`, append(unchangedArgs(texts), documents, ordinals, keys)...)
	return err
}

// insertSimilar connects each chunk of the documents to the similarCount nearest
// in its namespace that the Postgres index over the embeddings finds, if their
// cosine is at least threshold. Each pair has one row. The upper bound of the
// cosine rules out zero vectors: theirs is NaN, which compares above any number.
func insertSimilar(ctx context.Context, h *data.Handle, ids []string, threshold float64) error {
	chunks, err := data.Value[int](ctx, h, `
		SELECT coalesce(max(d.chunk_count), 0) FROM tenant.documents AS d WHERE d.document_id = ANY($1::uuid[])`, ids)
	for first := 0; err == nil && first < chunks; first += linkedChunks {
		_, err = h.Exec(ctx, `
		WITH own AS MATERIALIZED (
			SELECT c.document_id, c.ordinal, c.namespace, c.embedding FROM tenant.chunk AS c
			WHERE c.document_id = ANY($1::uuid[]) AND c.ordinal >= $4 AND c.ordinal < $4 + $5
			ORDER BY c.document_id, c.ordinal FOR KEY SHARE
		), pair AS (
			SELECT own.document_id, own.ordinal, near.document_id AS near_document, near.ordinal AS near_ordinal, near.cosine,
				(own.document_id, own.ordinal) < (near.document_id, near.ordinal) AS later
			FROM own CROSS JOIN LATERAL (
				SELECT o.document_id, o.ordinal, 1 - (o.embedding <=> own.embedding) AS cosine
				FROM tenant.chunk AS o WHERE o.document_id IS NOT NULL AND o.namespace || '' = own.namespace ORDER BY o.embedding <=> own.embedding LIMIT $2 + 1
			) AS near
			WHERE near.cosine BETWEEN $3 AND 1.01 AND (near.document_id, near.ordinal) <> (own.document_id, own.ordinal)
		)
		INSERT INTO tenant.edge (document_id, ordinal, type, to_document_id, to_ordinal, cosine)
		SELECT
			CASE WHEN later THEN document_id ELSE near_document END, CASE WHEN later THEN ordinal ELSE near_ordinal END, 'similar',
			CASE WHEN later THEN near_document ELSE document_id END, CASE WHEN later THEN near_ordinal ELSE ordinal END, cosine
		FROM pair ORDER BY 4, 5, 1, 2
		ON CONFLICT DO NOTHING`, ids, similarCount, threshold, first, linkedChunks)
	}
	return err
}

// linkedChunks is the number of chunks of each document that one statement connects.
const linkedChunks = 1000
