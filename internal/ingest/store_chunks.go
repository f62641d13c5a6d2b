package ingest

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant"
)

// copiedChunks and copiedBytes limit one COPY, whose rows are kept in memory.
const (
	copiedChunks = 1024
	copiedBytes  = 1 << 20
)

// chunkRow is a chunk to be stored.
type chunkRow struct {
	*task
	ordinal int
}

// copyChunks writes the chunks of the tasks, which are of one index.
func copyChunks(ctx context.Context, tx *tenant.Tx, tasks []*task) error {
	var rows []chunkRow
	bytes := 0
	for _, t := range tasks {
		for n, c := range t.chunks {
			rows, bytes = append(rows, chunkRow{t, n}), bytes+len(c.Text)
			if len(rows) < copiedChunks && bytes < copiedBytes {
				continue
			}
			if err := copyRows(ctx, tx, rows); err != nil {
				return err
			}
			rows, bytes = rows[:0], 0
		}
	}
	return copyRows(ctx, tx, rows)
}

var chunkColumns = []string{
	"namespace", "chunk_id", "document_id", "ordinal", "title", "text", "metadata", "content_keys", "start_byte", "end_byte", "token_count", "embedding",
	"terms", "term_weights",
}

func copyRows(ctx context.Context, tx *tenant.Tx, rows []chunkRow) error {
	if len(rows) == 0 {
		return nil
	}
	into := rows[0].into
	texts := make([]string, len(rows))
	for i, row := range rows {
		texts[i] = row.Title + " " + row.chunks[row.ordinal].Text
	}
	terms, err := index.TermsOf(ctx, tx, into.TextLanguage, texts)
	if err != nil {
		return err
	}
	_, err = tx.CopyFrom(ctx, chunkColumns, pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
		row := rows[i]
		c := row.chunks[row.ordinal]
		embedding, err := row.embeddings.at(row.ordinal)
		if err != nil {
			return nil, err
		}
		metadata, contentKeys := row.metadataOf(row.ordinal)
		return []any{
			row.Namespace, row.DocumentID + ":" + strconv.Itoa(row.ordinal), row.DocumentID, row.ordinal, row.Title, c.Text, metadata, contentKeys,
			c.StartByte, c.EndByte, c.TokenCount, into.Column(embedding), terms[i].Terms, terms[i].Weights,
		}, nil
	}))
	return err
}

// metadataOf returns the metadata of the task's n-th chunk, and the sorted keys of it that
// were read from the content. The content never overrides the uploader: of several values
// for a key, the uploader's wins, then the chunk's, then the file's.
func (t *task) metadataOf(n int) (all map[string]any, contentKeys []string) {
	all = maps.Clone(t.fromFile)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, t.chunks[n].Metadata)
	for key := range all {
		if _, taken := t.Metadata[key]; !taken {
			contentKeys = append(contentKeys, key)
		}
	}
	maps.Copy(all, t.Metadata)
	slices.Sort(contentKeys)
	return all, contentKeys
}
