package index

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/index/analyzer"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// The terms of an index are renewed when it was made with an earlier version of the analyzer. The chunks are
// rewritten in the order of their keys; writers make current terms all the while, so what is written behind
// the last renewed key needs no renewal. Until the end questions ask for the terms of PostgreSQL's parser too, if the
// index was made with them (see Index.Parsed); of an index that an earlier analyzer made, for the present terms alone.

const (
	// renewedChunks is the number of chunks that are renewed in one transaction.
	renewedChunks = 256
	// renewTurn is how long terms are renewed before other jobs on the index have a turn.
	renewTurn = 5 * time.Second
	// renewCounts is how often the terms are counted while they are renewed.
	renewCounts = 4
)

// StoredText is what the terms of a stored chunk are made from.
type StoredText struct {
	Title       string
	Text        string
	Metadata    map[string]any
	ContentKeys []string        // of metadata that was read from the content
	DocumentID  *string         // nil for a ready-made vector
	ContentType *string         // of the document
	Chunking    *chunk.Settings // of the document
	Language    *string         // of the document
}

// TextFunc returns the text of a chunk of a document for keyword search, as when the document was ingested.
type TextFunc func(StoredText) Text

// outdated reports whether chunks may have terms of an earlier version of the analyzer. In a schema without the
// column nothing can be renewed yet.
func (i Index) outdated() bool {
	return i.analysis != nil && *i.analysis < analyzer.Version && analyzer.Knows(i.TextLanguage)
}

// makeRenewal is the statement that makes the table of how far a renewal is.
const makeRenewal = `CREATE TABLE tenant.renewal (
	version   int NOT NULL, -- of the analyzer
	namespace text COLLATE "C" NOT NULL,
	chunk_id  text COLLATE "C" NOT NULL, -- of the last chunk that was renewed
	chunks    bigint NOT NULL -- chunks that were renewed
)`

// renewal is how far a renewal is.
type renewal struct {
	Namespace string
	ChunkID   string
	Chunks    int64
}

// renew makes the terms of chunks anew, for a turn: then it snoozes the job. Errors: job.Snoozed.
func (m *Maintainer) renew(ctx context.Context, h *data.Handle, s *data.Session, indexID int64) error {
	i, err := ByID(ctx, h, indexID)
	if err != nil {
		return err
	}
	if err := makeOnce(ctx, h, i, "renewal", []string{makeRenewal}); err != nil {
		return err
	}
	for start := time.Now(); time.Since(start) < renewTurn; {
		if err := h.Disk(); err != nil {
			return err // the task waits and goes on from here
		}
		before, err := renewalOf(ctx, h)
		if err != nil {
			return err
		}
		after, done, err := m.renewSome(ctx, h, i, before)
		if err != nil {
			return err
		}
		now, err := readState(ctx, s, indexID)
		if err != nil {
			return err
		}
		quarter := now.Chunks/renewCounts + 1
		if done || before.Chunks/quarter != after.Chunks/quarter {
			if err := recount(ctx, h, s, indexID, now); err != nil {
				return err
			}
		}
		if done {
			m.log.InfoContext(ctx, "terms renewed", "tenant", h.Tenant(), "index", i.Name, "version", analyzer.Version, "chunks", after.Chunks)
			return endRenewal(ctx, h, i)
		}
		if now.BuildJobID != nil { // a caller waits for it
			return nil
		}
	}
	return job.Snooze(loadPause)
}

// recount counts the terms and measures the scale of an index that is large enough.
func recount(ctx context.Context, h *data.Handle, s *data.Session, indexID int64, now state) error {
	switch {
	case now.Chunks >= countThreshold:
		return count(ctx, h, s, indexID, now)
	case now.Chunks >= scaleChunks:
		return scale(ctx, h, h.OfIndex, indexID, now)
	}
	return nil
}

// renewalOf returns how far the renewal to the present version is.
func renewalOf(ctx context.Context, h *data.Handle) (renewal, error) {
	found, err := data.Select[renewal](ctx, h, `
		SELECT r.namespace, r.chunk_id, r.chunks FROM tenant.renewal AS r WHERE r.version = $1`, analyzer.Version)
	if err != nil || len(found) == 0 {
		return renewal{}, err
	}
	return found[0], nil
}

// renewSome renews the terms of the next chunks and records how far it came. It reports done if there were none.
func (m *Maintainer) renewSome(ctx context.Context, h *data.Handle, i Index, from renewal) (to renewal, done bool, err error) {
	type key struct {
		Namespace, ChunkID string
		DocumentID         *string
	}
	to = from
	err = h.Tx(ctx, func(tx *data.Tx) error {
		keys, err := data.Select[key](ctx, tx, `
			SELECT c.namespace, c.chunk_id, c.document_id::text FROM tenant.chunk AS c
			WHERE (c.namespace, c.chunk_id) > ($1, $2) ORDER BY c.namespace, c.chunk_id LIMIT $3`, from.Namespace, from.ChunkID, renewedChunks)
		if err != nil || len(keys) == 0 {
			done = err == nil
			return err
		}
		var documents []string
		for _, k := range keys {
			if k.DocumentID != nil {
				documents = append(documents, *k.DocumentID)
			}
		}
		// Every writer of chunks locks the rows of their documents first.
		_, err = tx.Exec(ctx, `
			SELECT FROM tenant.documents AS d WHERE d.document_id = ANY($1::uuid[]) ORDER BY d.document_id FOR SHARE OF d`, documents)
		if err != nil {
			return err
		}
		last := keys[len(keys)-1]
		to = renewal{last.Namespace, last.ChunkID, from.Chunks + int64(len(keys))}
		if err := m.rewrite(ctx, tx, i, from, to, documents); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM tenant.renewal`); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO tenant.renewal (version, namespace, chunk_id, chunks) VALUES ($1, $2, $3, $4)`,
			analyzer.Version, to.Namespace, to.ChunkID, to.Chunks)
		if err != nil {
			return err
		}
		// Scores of these chunks are others from here on, and so is the version of the calibration.
		_, err = tx.Exec(ctx, `UPDATE tenant.indexes SET scale = scale || jsonb_build_object('renewed', $2::bigint) WHERE index_id = $1`, i.ID, to.Chunks)
		return err
	})
	return to, done, err
}

// storedRow is a chunk whose terms are renewed.
type storedRow struct {
	Namespace string
	ChunkID   string
	StoredText
}

// rewrite makes the terms of the chunks with keys after from up to to: of ready-made vectors, and of the documents,
// which are locked. Chunks of other documents in the range have been written since.
func (m *Maintainer) rewrite(ctx context.Context, tx *data.Tx, i Index, from, to renewal, documents []string) error {
	rows, err := data.Select[storedRow](ctx, tx, `
		SELECT c.namespace, c.chunk_id, c.document_id::text, c.title, c.metadata, coalesce(c.content_keys, '{}') AS content_keys,
			CASE WHEN c.text = '' AND c.document_id IS NULL AND jsonb_typeof(c.metadata->'text') = 'string' THEN c.metadata->>'text' ELSE c.text END AS text,
			d.content_type, d.chunking, to_jsonb(d)->>'language' AS language
		FROM tenant.chunk AS c LEFT JOIN tenant.documents AS d ON d.document_id = c.document_id
		WHERE (c.namespace, c.chunk_id) > ($1, $2) AND (c.namespace, c.chunk_id) <= ($3, $4)
			AND (c.document_id IS NULL OR c.document_id = ANY($5::uuid[]))
		ORDER BY c.namespace, c.chunk_id FOR UPDATE OF c`, from.Namespace, from.ChunkID, to.Namespace, to.ChunkID, documents)
	if err != nil {
		return err
	}
	var namespaces, ids, languages []string
	var texts []Text
	for _, row := range rows {
		switch {
		case row.DocumentID != nil:
			texts = append(texts, m.text(row.StoredText))
		case row.Text != "":
			language := i.LanguageOf(row.Text)
			texts, languages = append(texts, Text{Body: row.Text, Language: language}), append(languages, language)
		default:
			continue
		}
		namespaces, ids = append(namespaces, row.Namespace), append(ids, row.ChunkID)
	}
	made, err := i.TermsOf(ctx, tx, texts)
	if err != nil {
		return err
	}
	terms, weights := make(pgtype.FlatArray[postgres.Binary], len(made)), make(pgtype.FlatArray[postgres.Binary], len(made))
	for n, t := range made {
		terms[n], weights[n] = t.Terms, t.Weights
	}
	if err := i.NoteLanguages(ctx, tx, languages); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		UPDATE tenant.chunk AS c SET terms = made.terms, term_weights = made.weights
		FROM unnest($1::text[], $2::text[], $3::tsvector[], $4::sparsevec[]) AS made (namespace, chunk_id, terms, weights)
		WHERE c.namespace = made.namespace AND c.chunk_id = made.chunk_id
			AND (c.terms IS DISTINCT FROM made.terms OR c.term_weights IS DISTINCT FROM made.weights)`, namespaces, ids, terms, weights)
	if err != nil {
		return err
	}
	return i.AddWords(ctx, tx, made)
}

// endRenewal records that all chunks have terms of the present version.
func endRenewal(ctx context.Context, h *data.Handle, i Index) error {
	return h.Tx(ctx, func(tx *data.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE tenant.indexes SET text_analysis = $2, scale = scale - 'renewed' WHERE index_id = $1`, i.ID, analyzer.Version); err != nil {
			return err
		}
		return i.executeAll(ctx, tx, []string{`DROP TABLE tenant.renewal`})
	})
}
