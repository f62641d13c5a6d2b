package index

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// Archived are the tables of an index that are archived, in the order in which they are restored, by
// their stand-in names.
var Archived = []string{"chunk", "edge", "term", "topic", "member", "word", "cells"}

// restorable returns an index whose row was restored, after checking what its tables are made from: the row
// may come from anywhere. Errors: Invalid.
func restorable(ctx context.Context, tx *data.Tx, indexID int64) (Index, error) {
	i, err := ByID(ctx, tx, indexID)
	if err != nil {
		return i, err
	}
	spec := Spec{
		Name: i.Name, Dimension: i.Dimension, Metric: i.Metric, VectorType: i.VectorType, Config: i.Config, MetadataIndexes: i.MetadataIndexes,
		EmbeddingModel: i.EmbeddingModel, TextLanguage: i.TextLanguage, Graph: i.Graph,
	}
	if err := spec.check(); err != nil {
		return i, fmt.Errorf("index %d of the archive: %w", indexID, err)
	}
	if err := spec.checkTypes(); err != nil {
		return i, fmt.Errorf("index %d of the archive: %w", indexID, err)
	}
	if i.Dimension == 0 || spec.VectorType != i.VectorType || spec.Metric != i.Metric || spec.TextLanguage != i.TextLanguage || i.Generation < 0 || i.ID <= 0 {
		return i, fault.New(fault.Invalid, "the index %q lacks its dimension, type, metric or language", i.Name)
	}
	exists, err := languageExists(ctx, tx, i.TextLanguage)
	if err == nil && !exists {
		err = fault.New(fault.Precondition, "the index %q has the textLanguage %q, which this database does not have: add the text search configuration", i.Name, i.TextLanguage)
	}
	return i, err
}

// MakeBare creates a table of an index that is being restored, without the Postgres indexes and
// triggers that Complete adds. It returns the transaction for the tables of the index. Errors:
// Invalid for settings that no index can have.
func MakeBare(ctx context.Context, tx *data.Tx, indexID int64, table string) (*data.Tx, error) {
	i, err := restorable(ctx, tx, indexID)
	if err != nil {
		return nil, err
	}
	var statements []string
	switch table {
	case "chunk":
		statements = i.makeBareChunks(tx.Distributed())
	case "edge":
		statements = makeBareEdges()
	case "term":
		statements = []string{makeTerms}
	case "topic":
		statements = makeBareTopics()
	case "word":
		statements = makeBareWords()
	case "cells":
		statements = makeBareCells()
	case "member": // is made with the topics
	}
	tables := tx.OfIndex(i.ID, i.Generation)
	return tables, i.executeAll(ctx, tables, statements)
}

// restoreMemory is the memory of PostgreSQL for a Postgres index that is built on restored rows.
const restoreMemory = "256MB"

// Complete creates the Postgres indexes and triggers of the tables of a restored index, except the
// Postgres index over the embeddings, which maintenance builds.
func Complete(ctx context.Context, tx *data.Tx, indexID int64) error {
	i, err := restorable(ctx, tx, indexID)
	if err != nil {
		return err
	}
	tables := tx.OfIndex(i.ID, i.Generation)
	statements := append(i.indexChunks(), i.makeTriggers()...)
	analyzed := []string{"tenant.chunk"}
	for _, table := range Archived[1:] {
		made, err := data.Value[bool](ctx, tables, `SELECT to_regclass('tenant.`+table+`') IS NOT NULL`)
		if err != nil {
			return err
		}
		if !made {
			continue
		}
		analyzed = append(analyzed, "tenant."+table)
		switch table {
		case "edge":
			statements = append(statements, indexEdges(i.ID)...)
		case "member":
			statements = append(statements, indexTopics)
		case "word":
			statements = append(statements, indexWords)
		case "cells":
			statements = append(statements, indexCells)
		}
	}
	if !slices.Contains(analyzed, "tenant.term") { // queries read it once terms are counted
		statements = append(statements, `UPDATE tenant.indexes SET counted_chunks = 0, counted_written = 0 WHERE index_id = tenant.this_index`)
	}
	for _, table := range analyzed {
		statements = append(statements, `ANALYZE `+table)
	}
	return i.executeAll(ctx, tables, append([]string{`SET LOCAL maintenance_work_mem = '` + restoreMemory + `'`}, statements...))
}

// Restored forgets the jobs of restored indexes, which ended with the archive, and queues their maintenance,
// which builds the Postgres index over the embeddings where there was one.
func Restored(ctx context.Context, tx *data.Tx, queue *job.Queue) error {
	type row struct {
		IndexID int64
		Build   bool
	}
	found, err := data.Select[row](ctx, tx, `
		SELECT i.index_id, i.built OR i.build_job_id IS NOT NULL AS build FROM tenant.indexes AS i ORDER BY i.index_id`)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		UPDATE tenant.indexes SET built = false, build_job_id = NULL, graph_job_id = NULL, topics_job_id = NULL,
			reembed_job_id = NULL, next_model = NULL, next_dimension = NULL, next_vector_type = NULL`)
	if err != nil {
		return err
	}
	for _, r := range found {
		i, chunks, err := byID(ctx, tx, r.IndexID)
		if err != nil {
			return err
		}
		jobID := ""
		if r.Build && chunks < BuildThreshold { // maintenance would leave it
			jobID = uuid.Must(uuid.NewV7()).String()
			if _, err := tx.Exec(ctx, `UPDATE tenant.indexes SET build_job_id = $2 WHERE index_id = $1`, i.ID, jobID); err != nil {
				return err
			}
			if err := job.Insert(ctx, tx, buildJob(jobID, i)); err != nil {
				return err
			}
		}
		if err := queue.Enqueue(ctx, tx, job.Maintain, i.ID, jobID); err != nil {
			return err
		}
	}
	return nil
}

// LastID returns the highest id that the tenant's indexes have had. Ids are never used twice.
func LastID(ctx context.Context, tx *data.Tx) (int64, error) {
	id, err := data.Value[int64](ctx, tx, `SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('tenant.indexes', 'index_id')::regclass), 0)`)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return id, err
}

// SetLastID lets ids of new indexes begin after this one, and after those that are there.
func SetLastID(ctx context.Context, tx *data.Tx, id int64) error {
	there, err := data.Value[int64](ctx, tx, `SELECT coalesce(max(i.index_id), 0) FROM tenant.indexes AS i`)
	if last := max(id, there); err == nil && last > 0 {
		// A statement of its own: Citus would set the sequence where the table is, and not where new rows are numbered.
		_, err = tx.Exec(ctx, `SELECT setval(pg_get_serial_sequence('tenant.indexes', 'index_id')::regclass, $1)`, last)
	}
	return err
}
