package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/ragdhq/ragd/internal/model/embed"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

const (
	copyDocuments = 64  // copied in one transaction
	copyTexts     = 256 // embedded in one call
)

// copier writes the next generation of the chunks of an index.
type copier struct {
	old, fresh *data.Handle
	from, to   Index
	model      *embed.Model
	text       EmbeddedTextFunc
	jobID      string
}

// prepare creates the table and records all documents as still to be copied, unless an
// earlier attempt did.
func (c *copier) prepare(ctx context.Context) error {
	return c.old.Tx(ctx, func(tx *data.Tx) error {
		if err := c.lock(ctx, tx); err != nil {
			return err
		}
		fresh := tx.OfIndex(c.to.ID, c.to.Generation)
		made, err := data.Value[bool](ctx, fresh, `SELECT to_regclass('tenant.chunk') IS NOT NULL`)
		if err != nil || made {
			return err
		}
		if err := c.to.executeAll(ctx, fresh, c.to.makeChunks(fresh.Distributed())); err != nil {
			return err
		}
		// The triggers come first, so that no change between the two is missed.
		if err := c.from.executeAll(ctx, tx, c.from.recordChanges()); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `
			INSERT INTO tenant.reembed (document_id)
			SELECT DISTINCT c.document_id FROM tenant.chunk AS c WHERE c.document_id IS NOT NULL
			ON CONFLICT DO NOTHING`)
		if err != nil {
			return err
		}
		return job.Progress(ctx, tx, c.jobID, 0, int(n))
	})
}

// lock locks the row of the index until the transaction ends, so that the job is not
// cancelled meanwhile. Errors: job.ErrEnded if it has been.
func (c *copier) lock(ctx context.Context, tx *data.Tx) error {
	n, err := tx.Exec(ctx, `
		SELECT FROM tenant.indexes AS i WHERE i.index_id = $1 AND i.reembed_job_id = $2 AND i.next_model IS NOT NULL FOR NO KEY UPDATE`,
		c.from.ID, c.jobID)
	if err == nil && n == 0 {
		return job.ErrEnded
	}
	return err
}

// copyAll copies documents until none is recorded.
func (c *copier) copyAll(ctx context.Context) error {
	for {
		if err := c.fresh.Disk(); err != nil {
			return err // the task waits and goes on from here
		}
		n, err := c.copySome(ctx)
		if err != nil || n == 0 {
			return err
		}
		if err := job.Advance(ctx, c.old, c.jobID, n); err != nil {
			return err
		}
	}
}

// noted is a chunk of a recorded document; a document without chunks has one row
// without a chunk.
type noted struct {
	DocumentID  string
	Change      int64
	ChunkID     *string
	Title       string
	Text        string
	Metadata    map[string]any
	ContentKeys []string
}

// copySome embeds and copies up to copyDocuments recorded documents and returns how many.
// Documents that change meanwhile stay recorded.
func (c *copier) copySome(ctx context.Context) (int, error) {
	rows, err := data.Select[noted](ctx, c.old, `
		SELECT n.document_id::text, n.change, c.chunk_id, coalesce(c.title, '') AS title, coalesce(c.text, '') AS text,
			coalesce(c.metadata, '{}') AS metadata, coalesce(c.content_keys, '{}') AS content_keys
		FROM (
			SELECT n.document_id, n.change FROM tenant.reembed AS n ORDER BY n.document_id LIMIT $1
		) AS n
		LEFT JOIN tenant.chunk AS c USING (document_id)`, copyDocuments)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	changes := map[string]int64{}
	var chunks, texts []string
	for _, row := range rows {
		changes[row.DocumentID] = row.Change
		if row.ChunkID != nil {
			embedded := c.text(c.to, StoredText{Title: row.Title, Text: row.Text, Metadata: row.Metadata, ContentKeys: row.ContentKeys})
			chunks, texts = append(chunks, *row.ChunkID), append(texts, embedded)
		}
	}
	embeddings, err := c.embed(ctx, texts)
	if err != nil {
		return 0, err
	}
	var documents []string
	var numbers []int64
	for id, change := range changes {
		documents, numbers = append(documents, id), append(numbers, change)
	}
	return len(documents), c.fresh.Tx(ctx, func(tx *data.Tx) error {
		return c.write(ctx, tx, documents, numbers, chunks, embeddings)
	})
}

// embed returns the embeddings of texts in the text format of PostgreSQL.
func (c *copier) embed(ctx context.Context, texts []string) ([]string, error) {
	out := make([]string, 0, len(texts))
	for done := 0; done < len(texts); done += copyTexts {
		made, err := c.model.Embed(ctx, string(c.old.Tenant()), texts[done:min(done+copyTexts, len(texts))])
		if err != nil {
			return nil, err
		}
		for _, embedding := range made {
			out = append(out, fmt.Sprint(c.to.Column(embedding)))
		}
	}
	return out, nil
}

// write copies the recorded documents that have not changed since they were read. Another
// writer of such a document waits for the end of the transaction and records it again.
func (c *copier) write(ctx context.Context, tx *data.Tx, documents []string, changes []int64, chunks, embeddings []string) error {
	ids, err := data.Values[string](ctx, tx, `
		SELECT n.document_id::text FROM tenant.reembed AS n
		JOIN unnest($1::uuid[], $2::bigint[]) AS was (document_id, change) USING (document_id, change)
		ORDER BY n.document_id FOR UPDATE OF n`, documents, changes)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM tenant.chunk WHERE document_id = ANY($1::uuid[])`, ids); err != nil {
		return err
	}
	// The table of the old generation has no stand-in name here.
	const columns = `document_id, ordinal, start_byte, end_byte, token_count, term_weights, namespace, chunk_id, metadata, content_keys, title, text, terms`
	if _, err := tx.Exec(ctx, `
		INSERT INTO tenant.chunk (`+columns+`, embedding)
		SELECT `+columns+`, made.embedding::`+c.to.columnType()+`
		FROM `+c.old.ChunkTable().Sanitize()+` AS o JOIN unnest($2::text[], $3::text[]) AS made (chunk_id, embedding) USING (chunk_id)
		WHERE o.document_id = ANY($1::uuid[])`, ids, chunks, embeddings); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `DELETE FROM tenant.reembed WHERE document_id = ANY($1::uuid[])`, ids)
	return err
}

// build creates the Postgres index over the new embeddings, if there are enough.
func (c *copier) build(ctx context.Context, s *data.Session) error {
	rows, err := data.Value[int64](ctx, s, `SELECT count(*) FROM tenant.chunk`)
	if err != nil || c.to.Config.Type == Flat || rows < BuildThreshold {
		return err
	}
	if err := dropBuilt(ctx, s, c.to); err != nil {
		return err
	}
	if err := createIndex(ctx, s, c.to, rows); err != nil {
		return err
	}
	if err := replaceBuilt(ctx, c.fresh, c.to); err != nil {
		return err
	}
	if c.to.measured, err = measureWidth(ctx, s, c.to, rows); err != nil {
		return err
	}
	c.to.Built = true
	_, err = s.Exec(ctx, `ANALYZE tenant.chunk`)
	return err
}

// errNotCopied is returned when documents have changed since they were copied.
var errNotCopied = errors.New("documents have changed since they were copied")

// takeOver makes the next generation the current one, if it is complete, and drops the
// old one. Errors: errNotCopied, Conflict when the old one is in use for longer
// than switchWait, job.ErrEnded.
func (c *copier) takeOver(ctx context.Context) error {
	return c.old.Tx(ctx, func(tx *data.Tx) error {
		wait := fmt.Sprintf(`SET LOCAL lock_timeout = %d`, switchWait.Milliseconds())
		if err := c.from.executeAll(ctx, tx, []string{wait, `LOCK TABLE tenant.chunk IN ACCESS EXCLUSIVE MODE`}); err != nil {
			return err
		}
		if err := c.check(ctx, tx); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `
			UPDATE tenant.indexes SET generation = $3, embedding_model = $4, dimension = $5, vector_type = $6, built = $7, search_width = $8,
				width_recall = $9, width_questions = $10, own_questions = false, measured_at = now(),
				scale = scale - '{far,near}'::text[],
				next_model = NULL, next_dimension = NULL, next_vector_type = NULL, updated_at = now()
			WHERE index_id = $1 AND reembed_job_id = $2`, c.to.ID, c.jobID, c.to.Generation, c.to.EmbeddingModel, c.to.Dimension,
			c.to.VectorType, c.to.Built, c.to.measured.Width, c.to.measured.Recall, c.to.measured.Questions)
		if err != nil {
			return err
		}
		if n == 0 {
			return job.ErrEnded
		}
		if err := storeCurve(ctx, tx, c.to.ID, c.to.measured.curve); err != nil {
			return err
		}
		if c.to.embeddedForm != nil {
			if _, err := tx.Exec(ctx, `UPDATE tenant.indexes SET embedded_form = $2 WHERE index_id = $1`, c.to.ID, EmbeddedForm); err != nil {
				return err
			}
		}
		if err := c.from.executeAll(ctx, tx, []string{`DROP TABLE tenant.chunk, tenant.reembed`, `DROP TABLE IF EXISTS tenant.kept`}); err != nil {
			return err
		}
		return c.to.executeAll(ctx, tx.OfIndex(c.to.ID, c.to.Generation), c.to.makeTriggers())
	})
}

// check reports whether the next generation is complete, while writers are locked out.
func (c *copier) check(ctx context.Context, tx *data.Tx) error {
	left, err := data.Value[bool](ctx, tx, `SELECT EXISTS (SELECT FROM tenant.reembed)`)
	if err != nil {
		return err
	}
	if left {
		return errNotCopied
	}
	return refuseReadyMade(ctx, tx)
}

// refuseReadyMade rejects an index with ready-made vectors, which cannot be embedded
// again. Errors: Precondition.
func refuseReadyMade(ctx context.Context, q data.Queryer) error {
	some, err := data.Value[bool](ctx, q, `SELECT EXISTS (SELECT FROM tenant.chunk WHERE document_id IS NULL)`)
	if err == nil && some {
		return fault.New(fault.Precondition, "the index holds ready-made vectors, which cannot be embedded again: delete them first")
	}
	return err
}
