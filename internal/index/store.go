package index

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/tenant"
)

type indexRow struct {
	IndexID        int64
	IndexName      string
	Dimension      int
	Metric         Metric
	IndexConfig    Config
	EmbeddingModel string
	Chunking       map[string]any
	TextLanguage   string
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

const indexColumns = `i.index_id, i.index_name, i.dimension, i.metric, i.index_config, i.embedding_model, i.chunking, i.text_language, i.created_at, i.updated_at`

func (r indexRow) index() Index {
	return Index{
		ID: r.IndexID, Name: r.IndexName, Dimension: r.Dimension, Metric: r.Metric, Config: r.IndexConfig,
		EmbeddingModel: r.EmbeddingModel, Chunking: r.Chunking, TextLanguage: r.TextLanguage,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

type countedRow struct {
	indexRow
	Chunks  int64
	Ready   int64
	Pending int64
	Failed  int64
}

func (r countedRow) counts() Counts {
	return Counts{Chunks: r.Chunks, ReadyDocuments: r.Ready, PendingDocuments: r.Pending, FailedDocuments: r.Failed}
}

// sumCounts adds up an index's at most 16 rows of counts.
const sumCounts = `
	CROSS JOIN LATERAL (
		SELECT coalesce(sum(c.chunks), 0)::bigint AS chunks, coalesce(sum(c.ready), 0)::bigint AS ready,
			coalesce(sum(c.pending), 0)::bigint AS pending, coalesce(sum(c.failed), 0)::bigint AS failed
		FROM tenant.index_counts AS c WHERE c.index_id = i.index_id
	) AS counted`

func byName(ctx context.Context, q tenant.Queryer, name string) (Index, error) {
	row, err := tenant.Get[indexRow](ctx, q, `SELECT `+indexColumns+` FROM tenant.indexes AS i WHERE i.index_name = $1`, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return Index{}, notFound(name)
	}
	return row.index(), err
}

func notFound(name string) error {
	return fault.New(fault.NotFound, "index %q not found: create it first, or list the indexes to see the names", name)
}

func counted(ctx context.Context, q tenant.Queryer, name string) (Index, Counts, error) {
	row, err := tenant.Get[countedRow](ctx, q, `
		SELECT `+indexColumns+`, counted.chunks, counted.ready, counted.pending, counted.failed
		FROM tenant.indexes AS i`+sumCounts+`
		WHERE i.index_name = $1`, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return Index{}, Counts{}, notFound(name)
	}
	return row.index(), row.counts(), err
}

// listCounted returns up to limit indexes in the order of their names, from the
// one after the given name.
func listCounted(ctx context.Context, q tenant.Queryer, after string, limit int) ([]countedRow, error) {
	return tenant.Select[countedRow](ctx, q, `
		SELECT `+indexColumns+`, counted.chunks, counted.ready, counted.pending, counted.failed
		FROM tenant.indexes AS i`+sumCounts+`
		WHERE i.index_name > $1 ORDER BY i.index_name LIMIT $2`, after, limit)
}

// insert makes the index's row and tables, or returns pgx.ErrNoRows if the name
// is taken.
func insert(ctx context.Context, h *tenant.Handle, spec Spec) (Index, error) {
	var made Index
	err := h.Tx(ctx, func(tx *tenant.Tx) error {
		row, err := tenant.Get[indexRow](ctx, tx, `
			INSERT INTO tenant.indexes AS i (index_name, dimension, metric, index_config, embedding_model, chunking, text_language)
			VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (index_name) DO NOTHING
			RETURNING `+indexColumns,
			spec.Name, spec.Dimension, spec.Metric, spec.Config, spec.EmbeddingModel, spec.Chunking, spec.TextLanguage)
		if err != nil {
			return err
		}
		made = row.index()
		return makeTables(ctx, tx.OfIndex(made.ID), made)
	})
	return made, err
}

// operatorClass is pgvector's name for a metric over the type vector.
var operatorClass = map[Metric]string{
	Cosine:     "vector_cosine_ops",
	Euclidean:  "vector_l2_ops",
	DotProduct: "vector_ip_ops",
}

// maxInlineDimension is the widest embedding that is kept inside the row, where
// an exact scan reads it without a detour through TOAST. A row must fit into a
// page of 8 kB.
const maxInlineDimension = 1_536

// makeTables makes the chunk table with its Postgres indexes. Definitions take
// no parameters: what is spliced in are numbers, and names from lists of ours or
// from languagePattern.
func makeTables(ctx context.Context, tx *tenant.Tx, i Index) error {
	statements := []string{
		fmt.Sprintf(`CREATE TABLE tenant.chunk (
			chunk_id    text COLLATE "C" PRIMARY KEY,
			document_id uuid NOT NULL,
			ordinal     int NOT NULL,
			title       text NOT NULL,
			text        text NOT NULL,
			metadata    jsonb NOT NULL,
			start_byte  int NOT NULL,
			end_byte    int NOT NULL,
			token_count int NOT NULL,
			embedding   vector(%d) NOT NULL,
			tsv         tsvector NOT NULL GENERATED ALWAYS AS (to_tsvector('%s'::regconfig, title || ' ' || text)) STORED
		)`, i.Dimension, i.TextLanguage),
		`CREATE INDEX ON tenant.chunk (document_id, ordinal)`,
		`CREATE INDEX ON tenant.chunk USING gin (tsv)`,
		`CREATE INDEX ON tenant.chunk USING gin (metadata jsonb_path_ops)`,
	}
	if i.Dimension <= maxInlineDimension {
		statements = append(statements, `ALTER TABLE tenant.chunk ALTER embedding SET STORAGE PLAIN`)
	}
	if i.Config.Type == HNSW {
		statements = append(statements, fmt.Sprintf(
			`CREATE INDEX ON tenant.chunk USING hnsw (embedding %s) WITH (m = %d, ef_construction = %d)`,
			operatorClass[i.Metric], i.Config.M, i.Config.EfConstruction))
	}
	for _, statement := range statements {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return fmt.Errorf("make the tables of index %d: %w", i.ID, err)
		}
	}
	return makeEdges(ctx, tx, i)
}

func languageExists(ctx context.Context, q tenant.Queryer, language string) (bool, error) {
	return tenant.Value[bool](ctx, q, `SELECT EXISTS (SELECT FROM pg_catalog.pg_ts_config WHERE cfgname = $1)`, language)
}

// drop removes the index with everything in it.
func drop(ctx context.Context, h *tenant.Handle, i Index) error {
	return h.Tx(ctx, func(tx *tenant.Tx) error {
		n, err := tx.Exec(ctx, `DELETE FROM tenant.indexes WHERE index_id = $1`, i.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			return notFound(i.Name)
		}
		_, err = tx.OfIndex(i.ID).Exec(ctx, `DROP TABLE IF EXISTS tenant.chunk, tenant.edge`)
		return err
	})
}
