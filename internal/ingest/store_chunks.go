package ingest

import (
	"context"
	"maps"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant"
)

// copiedChunks and copiedBytes bound what is written by one COPY, whose words memory holds.
const (
	copiedChunks = 1024
	copiedBytes  = 1 << 20
)

// storedAt is a chunk on its way into the table.
type storedAt struct {
	*task
	ordinal int
}

// copyChunks writes the chunks of the tasks, which are of one index.
func copyChunks(ctx context.Context, tx *tenant.Tx, tasks []*task) error {
	var part []storedAt
	bytes := 0
	for _, t := range tasks {
		for n, c := range t.chunks {
			part, bytes = append(part, storedAt{t, n}), bytes+len(c.Text)
			if len(part) < copiedChunks && bytes < copiedBytes {
				continue
			}
			if err := copyPart(ctx, tx, part); err != nil {
				return err
			}
			part, bytes = part[:0], 0
		}
	}
	return copyPart(ctx, tx, part)
}

var chunkColumns = []string{
	"namespace", "chunk_id", "document_id", "ordinal", "title", "text", "metadata", "start_byte", "end_byte", "token_count", "embedding",
	"terms", "term_weights",
}

func copyPart(ctx context.Context, tx *tenant.Tx, part []storedAt) error {
	if len(part) == 0 {
		return nil
	}
	into := part[0].into
	texts := make([]string, len(part))
	for i, at := range part {
		texts[i] = at.Title + " " + at.chunks[at.ordinal].Text
	}
	terms, err := index.TermsOf(ctx, tx, into.TextLanguage, texts)
	if err != nil {
		return err
	}
	_, err = tx.CopyFrom(ctx, chunkColumns, pgx.CopyFromSlice(len(part), func(i int) ([]any, error) {
		at := part[i]
		c := at.chunks[at.ordinal]
		embedding, err := at.embeddings.at(at.ordinal)
		if err != nil {
			return nil, err
		}
		return []any{
			at.Namespace, at.DocumentID + ":" + strconv.Itoa(at.ordinal), at.DocumentID, at.ordinal, at.Title, c.Text, merged(at.Metadata, c.Metadata),
			c.StartByte, c.EndByte, c.TokenCount, into.Column(embedding), terms[i].Terms, terms[i].Weights,
		}, nil
	}))
	return err
}

// merged returns the document's metadata overridden by the chunk's.
func merged(document, chunk map[string]any) map[string]any {
	if len(chunk) == 0 {
		return document
	}
	out := make(map[string]any, len(document)+len(chunk))
	maps.Copy(out, document)
	maps.Copy(out, chunk)
	return out
}
