package openai

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// segmentBytes is the size of the segments in which contents are stored.
const segmentBytes = 1 << 20

// file is a stored file without its content.
type file struct {
	FileID    string
	FileName  string
	Purpose   string
	ByteSize  int64
	CreatedAt time.Time
	ExpiresAt *time.Time // nil: never
}

const fileColumns = `file_id, file_name, purpose, byte_size, created_at, expires_at`

// insertFile stores a file with its content of f.ByteSize bytes, and deletes files that have expired.
// A lock makes the limit hold for concurrent calls. Errors: Exhausted.
func insertFile(ctx context.Context, h *data.Handle, f file, content io.Reader) (stored file, err error) {
	err = h.Tx(ctx, func(tx *data.Tx) error {
		if err := tx.Lock(ctx, "files"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM ragd_shared.files WHERE expires_at <= now()`); err != nil {
			return err
		}
		count, err := data.Value[int](ctx, tx, `SELECT count(*)::int FROM ragd_shared.files`)
		switch {
		case err != nil:
			return err
		case count >= maxFiles:
			return fault.New(fault.Exhausted, "a tenant may have %d files: delete those that are in vector stores already, or no longer needed", maxFiles)
		}
		stored, err = data.Get[file](ctx, tx, `
			INSERT INTO ragd_shared.files (file_id, file_name, purpose, byte_size, expires_at)
			VALUES ($1, $2, $3, $4, $5) RETURNING `+fileColumns, f.FileID, f.FileName, f.Purpose, f.ByteSize, f.ExpiresAt)
		if err != nil {
			return err
		}
		piece := make([]byte, min(f.ByteSize, segmentBytes))
		for segment := 0; ; segment++ {
			n, err := io.ReadFull(content, piece)
			if n == 0 && errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
				return err
			}
			if _, err := tx.Exec(ctx, `INSERT INTO ragd_shared.file_contents (file_id, segment, content) VALUES ($1, $2, $3)`, f.FileID, segment, piece[:n]); err != nil {
				return err
			}
		}
	})
	return stored, err
}

// getFile returns a file. Errors: NotFound.
func getFile(ctx context.Context, q data.Queryer, field, id string) (file, error) {
	f, err := data.Get[file](ctx, q, `
		SELECT `+fileColumns+` FROM ragd_shared.files WHERE file_id = $1 AND (expires_at IS NULL OR expires_at > now())`, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return file{}, notFound(field, "file", id)
	}
	return f, err
}

// notFound returns the error for an id that the tenant does not have.
func notFound(field, what, id string) error {
	err := fault.New(fault.NotFound, "no %s with the id %q", what, shorten(id))
	if field != "" {
		err.Violations = []fault.Violation{{Field: field, Reason: "does not exist"}}
	}
	return err
}

// listFiles returns at most most files of a purpose, of any if it is empty, after a file in the order
// of creation.
func listFiles(ctx context.Context, q data.Queryer, purpose string, after file, descending bool, most int) ([]file, error) {
	beyond, direction := ">", ""
	if descending {
		beyond, direction = "<", " DESC"
	}
	return data.Select[file](ctx, q, `
		SELECT `+fileColumns+` FROM ragd_shared.files
		WHERE ($1 = '' OR purpose = $1) AND ($2 = '' OR (created_at, file_id) `+beyond+` ($3, $2))
			AND (expires_at IS NULL OR expires_at > now())
		ORDER BY created_at`+direction+`, file_id`+direction+` LIMIT $4`, purpose, after.FileID, after.CreatedAt, most)
}

// readFile returns a segment of a file's content, nil after the last one.
func readFile(ctx context.Context, q data.Queryer, id string, segment int) ([]byte, error) {
	content, err := data.Value[[]byte](ctx, q, `SELECT content FROM ragd_shared.file_contents WHERE file_id = $1 AND segment = $2`, id, segment)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return content, err
}

// deleteFile deletes a file, and what is kept of it in vector stores.
func deleteFile(ctx context.Context, h *data.Handle, id string) error {
	return h.Tx(ctx, func(tx *data.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM ragd_shared.vector_store_files WHERE file_id = $1`, id); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM ragd_shared.files WHERE file_id = $1`, id)
		return err
	})
}

// description is what this interface keeps of an index.
type description struct {
	IndexName string
	StoreName string
	Metadata  map[string]string
}

// describeStores returns the descriptions of the indexes that have one.
func describeStores(ctx context.Context, q data.Queryer, indexNames []string) (map[string]description, error) {
	rows, err := data.Select[description](ctx, q, `
		SELECT index_name, store_name, metadata FROM ragd_shared.vector_stores WHERE index_name = ANY($1)`, indexNames)
	byName := make(map[string]description, len(rows))
	for _, d := range rows {
		byName[d.IndexName] = d
	}
	return byName, err
}

func putDescription(ctx context.Context, h *data.Handle, d description) error {
	_, err := h.Exec(ctx, `
		INSERT INTO ragd_shared.vector_stores (index_name, store_name, metadata) VALUES ($1, $2, $3)
		ON CONFLICT (tenant_id, index_name) DO UPDATE SET store_name = excluded.store_name, metadata = excluded.metadata`, d.IndexName, d.StoreName, d.Metadata)
	return err
}

// attached is a file in a vector store.
type attached struct {
	IndexName string
	FileID    string
	FileName  string
	Chunking  chunkingStrategy
	Refused   *refusal // nil unless the store did not accept it
	CreatedAt time.Time
}

// refusal says why a vector store did not accept a file.
type refusal struct {
	fileError
	Attributes map[string]any `json:"attributes"` // as they were asked for
}

const attachedColumns = `index_name, file_id, file_name, chunking, refused, created_at`

func putAttached(ctx context.Context, h *data.Handle, a attached) error {
	_, err := h.Exec(ctx, `
		INSERT INTO ragd_shared.vector_store_files (index_name, file_id, file_name, chunking, refused) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (tenant_id, file_id, index_name) DO UPDATE
		SET file_name = excluded.file_name, chunking = excluded.chunking, refused = excluded.refused`,
		a.IndexName, a.FileID, a.FileName, a.Chunking, a.Refused)
	return err
}

// attachedFiles returns those of the files that were put into an index, by id.
func attachedFiles(ctx context.Context, q data.Queryer, indexName string, ids []string) (map[string]attached, error) {
	rows, err := data.Select[attached](ctx, q, `
		SELECT `+attachedColumns+` FROM ragd_shared.vector_store_files WHERE index_name = $1 AND file_id = ANY($2)`, indexName, ids)
	byID := make(map[string]attached, len(rows))
	for _, a := range rows {
		byID[a.FileID] = a
	}
	return byID, err
}

// refusedFiles returns at most most files that an index did not accept and whose attributes a filter
// selects, after a file in the order of their addition. With ids, only those.
func refusedFiles(ctx context.Context, q data.Queryer, indexName string, ids []string, visible filter.Filter, after attached, descending bool, most int) ([]attached, error) {
	beyond, direction := ">", ""
	if descending {
		beyond, direction = "<", " DESC"
	}
	args := filter.NewArgs(indexName, ids, after.FileID, after.CreatedAt, most)
	return data.Select[attached](ctx, q, `
		SELECT `+attachedColumns+` FROM ragd_shared.vector_store_files
		WHERE index_name = $1 AND refused IS NOT NULL AND ($2::text[] IS NULL OR file_id = ANY($2))
			AND ($3 = '' OR (created_at, file_id) `+beyond+` ($4, $3)) AND `+visible.SQL("(refused->'attributes')", args)+`
		ORDER BY created_at`+direction+`, file_id`+direction+` LIMIT $5`, args.Values()...)
}

// countRefused returns how many files each of the indexes did not accept whose attributes a filter selects.
func countRefused(ctx context.Context, q data.Queryer, indexNames []string, visible filter.Filter) (map[string]int, error) {
	type count struct {
		IndexName string
		Files     int
	}
	args := filter.NewArgs(indexNames)
	rows, err := data.Select[count](ctx, q, `
		SELECT index_name, count(*)::int AS files FROM ragd_shared.vector_store_files
		WHERE index_name = ANY($1) AND refused IS NOT NULL AND `+visible.SQL("(refused->'attributes')", args)+`
		GROUP BY index_name`, args.Values()...)
	byName := make(map[string]int, len(rows))
	for _, r := range rows {
		byName[r.IndexName] = r.Files
	}
	return byName, err
}

// indexesOf returns the names of the indexes that a file was put into.
func indexesOf(ctx context.Context, q data.Queryer, id string) ([]string, error) {
	return data.Values[string](ctx, q, `SELECT index_name FROM ragd_shared.vector_store_files WHERE file_id = $1`, id)
}

func deleteAttached(ctx context.Context, h *data.Handle, indexName, id string) error {
	_, err := h.Exec(ctx, `DELETE FROM ragd_shared.vector_store_files WHERE file_id = $1 AND index_name = $2`, id, indexName)
	return err
}

// fileBatch is a set of files that were put into a vector store by one request.
type fileBatch struct {
	BatchID   string
	IndexName string
	FileIDs   []string
	Errors    map[string]fileError // by the id of the file that could not be stored
	Cancelled bool
	CreatedAt time.Time
}

const batchColumns = `batch_id, index_name, file_ids, errors, cancelled, created_at`

// insertBatch stores a batch, and deletes the oldest ones beyond the limit.
func insertBatch(ctx context.Context, h *data.Handle, b fileBatch) (made fileBatch, err error) {
	err = h.Tx(ctx, func(tx *data.Tx) error {
		made, err = data.Get[fileBatch](ctx, tx, `
			INSERT INTO ragd_shared.file_batches (batch_id, index_name, file_ids, errors) VALUES ($1, $2, $3, $4)
			RETURNING `+batchColumns, b.BatchID, b.IndexName, b.FileIDs, b.Errors)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			DELETE FROM ragd_shared.file_batches WHERE batch_id IN (
				SELECT b.batch_id FROM ragd_shared.file_batches AS b ORDER BY b.created_at DESC, b.batch_id DESC OFFSET $1
			)`, maxBatches)
		return err
	})
	return made, err
}

// getBatch returns a batch of an index. Errors: NotFound.
func getBatch(ctx context.Context, q data.Queryer, indexName, id string) (fileBatch, error) {
	b, err := data.Get[fileBatch](ctx, q, `SELECT `+batchColumns+` FROM ragd_shared.file_batches WHERE batch_id = $1 AND index_name = $2`, id, indexName)
	if errors.Is(err, pgx.ErrNoRows) {
		return fileBatch{}, notFound("", "file batch of this vector store", id)
	}
	return b, err
}

func cancelBatch(ctx context.Context, h *data.Handle, id string) error {
	_, err := h.Exec(ctx, `UPDATE ragd_shared.file_batches SET cancelled = true WHERE batch_id = $1`, id)
	return err
}
