package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"strings"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/ingest/parse/grid"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// cells are rows of the table of cells by column.
type cells struct {
	documentIDs                 []string
	ordinals, numbers           []int
	names, stamps, descriptions []*string
	sizes                       []int
	rows                        []string
	bytes, stored               int // of rows, and of all that were added
}

// storeCells stores the tables of documents in place of those of earlier versions. It returns by how many bytes
// what the index stores has grown.
func storeCells(ctx context.Context, tx *data.Tx, tasks []*task, older []string) (grown int64, err error) {
	has := false
	for _, t := range tasks {
		has = has || len(t.grids) > 0
	}
	if !has && len(older) == 0 {
		return 0, nil
	}
	removed, err := deleteCells(ctx, tx, older)
	if err != nil || !has {
		return -removed, err
	}
	var next cells
	for _, t := range tasks {
		for n, g := range t.grids {
			if err := next.add(ctx, tx, t, n+1, g); err != nil {
				return 0, err
			}
		}
	}
	err = next.insert(ctx, tx)
	return int64(next.stored) - removed, err
}

// add adds the segments of a table, and inserts what has become large.
func (c *cells) add(ctx context.Context, tx *data.Tx, t *task, ordinal int, g grid.Table) error {
	description, err := json.Marshal(g.Description)
	if err != nil {
		return err
	}
	hash := sha256.New()
	for _, part := range append([][]byte{description}, g.Segments...) {
		_, _ = hash.Write(part) // it never fails
	}
	segments := g.Segments
	if len(segments) == 0 {
		segments = [][]byte{[]byte("[]")}
	}
	for n, segment := range segments {
		var name, stamp, described *string
		if n == 0 {
			name, stamp, described = new(tableName(g, t)), new(hex.EncodeToString(hash.Sum(nil)[:16])), new(string(description))
		}
		size := len(segment)
		if n == 0 {
			size += len(description)
		}
		c.documentIDs, c.ordinals, c.numbers = append(c.documentIDs, t.DocumentID), append(c.ordinals, ordinal), append(c.numbers, n)
		c.names, c.stamps, c.descriptions = append(c.names, name), append(c.stamps, stamp), append(c.descriptions, described)
		c.sizes, c.rows = append(c.sizes, size), append(c.rows, string(segment))
		c.bytes, c.stored = c.bytes+size, c.stored+size
		if c.bytes < segmentBytes {
			continue
		}
		if err := c.insert(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// insert stores the rows in one statement and forgets them.
func (c *cells) insert(ctx context.Context, tx *data.Tx) error {
	if len(c.rows) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO tenant.cells (document_id, ordinal, segment, name, stamp, description, bytes, cells)
		SELECT given.document_id, given.ordinal, given.segment, given.name, given.stamp, given.description::jsonb, given.bytes, given.cells::jsonb
		FROM unnest($1::uuid[], $2::int[], $3::int[], $4::text[], $5::text[], $6::text[], $7::int[], $8::text[])
			AS given (document_id, ordinal, segment, name, stamp, description, bytes, cells)`,
		c.documentIDs, c.ordinals, c.numbers, c.names, c.stamps, c.descriptions, c.sizes, c.rows)
	*c = cells{stored: c.stored}
	return err
}

// tableName returns the name by which plans find a table: of the table itself, else of its document.
func tableName(g grid.Table, t *task) string {
	base := path.Base(t.URI)
	for _, title := range []string{g.Name, t.Title, strings.TrimSuffix(base, path.Ext(base))} {
		if name := grid.NameOf(title); name != "" {
			return name
		}
	}
	return "table"
}

// deleteCells deletes the tables of documents and returns how many bytes they had.
func deleteCells(ctx context.Context, tx *data.Tx, documentIDs []string) (int64, error) {
	if len(documentIDs) == 0 {
		return 0, nil
	}
	made, err := index.HasCells(ctx, tx)
	if err != nil || !made {
		return 0, err
	}
	return data.Value[int64](ctx, tx, `
		WITH deleted AS (DELETE FROM tenant.cells WHERE document_id = ANY($1::uuid[]) RETURNING bytes)
		SELECT coalesce(sum(d.bytes), 0)::bigint FROM deleted AS d`, documentIDs)
}
