package ingest

import (
	"context"
	"crypto/sha256"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant"
)

// embedBatch is how many chunks are embedded between two reports of progress.
const embedBatch = 256

// textHash tells embedded texts apart.
type textHash [sha256.Size]byte

// embed finds the embeddings of the chunks of all tasks: those of chunks that an
// earlier version of the document had are taken over, the others are made. The
// tasks are of one index, and so of one model.
func (w *Worker) embed(ctx context.Context, h *tenant.Handle, tasks []*task) error {
	known, err := storedEmbeddings(ctx, h, tasks)
	if err != nil {
		return err
	}
	var texts []string
	var missing []*[]float32
	for _, t := range tasks {
		t.embeddings = make([][]float32, len(t.chunks))
		for i, c := range t.chunks {
			text := index.EmbeddedText(t.Title, c.Text)
			if t.embeddings[i] = known[sha256.Sum256([]byte(text))]; t.embeddings[i] == nil {
				texts, missing = append(texts, text), append(missing, &t.embeddings[i])
			}
		}
	}
	model, err := tasks[0].index().Model(w.models)
	if err != nil {
		return err
	}
	for done := 0; done < len(texts); done += embedBatch {
		if len(tasks) == 1 && len(texts) > embedBatch {
			total := len(tasks[0].chunks)
			if err := progress(ctx, h, tasks[0].JobID, total-len(texts)+done, total); err != nil {
				return err
			}
		}
		end := min(done+embedBatch, len(texts))
		made, err := model.Embed(ctx, texts[done:end])
		if err != nil {
			return err
		}
		for i, embedding := range made {
			*missing[done+i] = embedding
		}
	}
	return nil
}

// storedEmbeddings returns the embeddings that the present versions of the tasks'
// documents have, by the hash of the text that was embedded, of those texts that
// the new versions have too.
func storedEmbeddings(ctx context.Context, h *tenant.Handle, tasks []*task) (map[textHash][]float32, error) {
	var documents []string
	var hashes [][]byte
	for _, t := range tasks {
		if t.Version == 1 {
			continue
		}
		documents = append(documents, t.DocumentID)
		for _, c := range t.chunks {
			hash := sha256.Sum256([]byte(index.EmbeddedText(t.Title, c.Text)))
			hashes = append(hashes, hash[:])
		}
	}
	if len(documents) == 0 {
		return nil, nil
	}
	// The expression that is hashed is index.EmbeddedText in SQL.
	stored, err := tenant.Select[struct {
		Hash      []byte
		Embedding []float32
	}](ctx, h, `
		SELECT c.hash, (`+tasks[0].index().EmbeddingSQL("c.embedding")+`)::real[] AS embedding
		FROM (
			SELECT c.embedding, sha256(convert_to(CASE c.title WHEN '' THEN '' ELSE c.title || E'\n\n' END || c.text, 'UTF8')) AS hash
			FROM tenant.chunk AS c WHERE c.document_id = ANY($1::uuid[])
		) AS c
		WHERE c.hash = ANY($2::bytea[])`, documents, hashes)
	known := make(map[textHash][]float32, len(stored))
	for _, s := range stored {
		known[textHash(s.Hash)] = s.Embedding
	}
	return known, err
}
