package ingest

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// segmentBytes is how much of a document one row holds.
const segmentBytes = 8 << 20

// storeContents writes the contents of written documents, which are given by name, large
// ones in segments. Texts that are stored apart remain until their version is replaced.
func storeContents(ctx context.Context, tx *data.Tx, given map[name]newDocument, written []Document) error {
	var replaced, ids []string
	var firsts [][]byte
	for _, d := range written {
		if d.Version > 1 {
			replaced = append(replaced, d.DocumentID)
		}
		all := given[d.name()].content
		ids, firsts = append(ids, d.DocumentID), append(firsts, all[:min(len(all), segmentBytes)])
	}
	if len(replaced) > 0 {
		if _, err := tx.Exec(ctx, `DELETE FROM tenant.document_contents WHERE document_id = ANY($1::uuid[]) AND segment >= 0`, replaced); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO tenant.document_contents (document_id, content)
		SELECT given.document_id, given.content FROM unnest($1::uuid[], $2::bytea[]) AS given (document_id, content)`, ids, firsts)
	if err != nil {
		return err
	}
	for _, d := range written {
		if err := storeSegments(ctx, tx, d.DocumentID, given[d.name()].content); err != nil {
			return err
		}
	}
	return nil
}

// storeSegments writes all segments of a document but the first.
func storeSegments(ctx context.Context, tx *data.Tx, documentID string, content []byte) error {
	for segment := 1; segment*segmentBytes < len(content); segment++ {
		piece := content[segment*segmentBytes : min((segment+1)*segmentBytes, len(content))]
		_, err := tx.Exec(ctx, `INSERT INTO tenant.document_contents (document_id, segment, content) VALUES ($1, $2, $3)`, documentID, segment, piece)
		if err != nil {
			return err
		}
	}
	return nil
}

// loadContent returns the content of a document of size bytes, whose first segment is
// given. Errors: job.ErrEnded when the other segments no longer exist.
func loadContent(ctx context.Context, h *data.Handle, documentID string, first []byte, size int64) ([]byte, error) {
	if int64(len(first)) >= size {
		return first, nil
	}
	content := append(make([]byte, 0, size), first...)
	for segment := 1; int64(len(content)) < size; segment++ {
		piece, err := data.Value[[]byte](ctx, h, `
			SELECT content FROM tenant.document_contents WHERE document_id = $1 AND segment = $2`, documentID, segment)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, job.ErrEnded
		}
		if err != nil {
			return nil, err
		}
		content = append(content, piece...)
	}
	return content, nil
}
