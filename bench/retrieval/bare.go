package main

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pgvector/pgvector-go"
	pgxvector "github.com/pgvector/pgvector-go/pgx"
)

// bare is pgx and pgvector alone: a table with the same Postgres indexes as ragd's
// tables, and one prepared statement per question.
type bare struct {
	pool      *pgxpool.Pool
	width     int
	iterative bool // scans of the index go on until they have topK vectors that match a filter
}

func openBare(ctx context.Context, url string) (*bare, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	b := &bare{}
	config.MaxConns = 16
	config.ConnConfig.RuntimeParams["search_path"] = "extensions"
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if err := pgxvector.RegisterTypes(ctx, conn); err != nil || b.width == 0 {
			return err
		}
		scan := "off"
		if b.iterative {
			scan = "relaxed_order"
		}
		_, err := conn.Exec(ctx, `SELECT set_config('hnsw.ef_search', $1, false), set_config('hnsw.iterative_scan', $2, false)`, strconv.Itoa(b.width), scan)
		return err
	}
	if b.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	return b, b.exec(ctx,
		`CREATE SCHEMA bare`,
		`CREATE TABLE bare.vectors (id text PRIMARY KEY, metadata jsonb NOT NULL, document text NOT NULL, embedding vector(384) NOT NULL)`,
		`ALTER TABLE bare.vectors ALTER embedding SET STORAGE PLAIN`,
		`CREATE INDEX ON bare.vectors USING gin (metadata jsonb_path_ops)`,
	)
}

func (b *bare) exec(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		if _, err := b.pool.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// write copies the vectors in [from, to) into the table.
func (b *bare) write(ctx context.Context, d data, from, to int) error {
	_, err := b.pool.CopyFrom(ctx, pgx.Identifier{"bare", "vectors"}, []string{"id", "metadata", "document", "embedding"},
		pgx.CopyFromSlice(to-from, func(n int) ([]any, error) {
			return []any{entryID(from + n), d.metadata(from + n), "", pgvector.NewVector(d.values[from+n])}, nil
		}))
	return err
}

func (b *bare) build(ctx context.Context) error {
	return b.exec(ctx,
		`CREATE INDEX ON bare.vectors USING hnsw (embedding vector_cosine_ops) WITH (m = 16, ef_construction = 64)`,
		`ANALYZE bare.vectors`)
}

// takeWidth waits until ragd has measured its search width, sets the same width here, and
// returns it.
func (b *bare) takeWidth(ctx context.Context) (int, error) {
	const known = 6 * time.Second
	for b.width == 0 {
		if err := b.pool.QueryRow(ctx, `SELECT search_width FROM tenant_bench.indexes`).Scan(&b.width); err != nil {
			return 0, err
		}
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(known)
	b.pool.Reset() // new connections set the width
	return b.width, nil
}

// iterate makes scans of the index find topK vectors under a filter. Otherwise those that do
// not match are missing from an answer.
func (b *bare) iterate() {
	b.iterative = true
	b.pool.Reset()
}

// row is one result.
type row struct {
	ID       string
	Metadata map[string]any
	Document string
	Score    float64
}

// query returns the ids of the nearest vectors with the field set to 1; an empty field means
// all vectors.
func (b *bare) query(ctx context.Context, question []float32, field string) ([]string, error) {
	statement, args := `SELECT id, metadata, document, 1 - (embedding <=> $1) FROM bare.vectors`, []any{pgvector.NewVector(question)}
	if field != "" {
		statement += ` WHERE metadata @> $2`
		args = append(args, map[string]any{field: 1})
	}
	return b.nearest(ctx, statement, args...)
}

// nearest returns the ids of the topK nearest rows of a statement whose $1 is the question.
func (b *bare) nearest(ctx context.Context, statement string, args ...any) ([]string, error) {
	rows, err := b.pool.Query(ctx, statement+` ORDER BY embedding <=> $1 LIMIT `+strconv.Itoa(topK), args...)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
	ids := make([]string, len(found))
	for n := range found {
		ids[n] = found[n].ID
	}
	return ids, err
}
