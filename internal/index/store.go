package index

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/index/wording"
	"github.com/ragdhq/ragd/internal/ingest/backlog"
	"github.com/ragdhq/ragd/internal/ingest/extract"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/nearest"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/quota"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

type indexRow struct {
	IndexID         int64
	Generation      int
	IndexName       string
	Dimension       int
	Metric          Metric
	VectorType      VectorType
	IndexConfig     Config
	MetadataIndexes []string
	EmbeddingModel  string
	Chunking        chunk.Settings
	Extract         *extract.Settings
	MetadataSchema  json.RawMessage // nil in a schema without the column, which is a migration behind
	TextLanguage    string
	TextAnalysis    *int // nil in a schema without the column, which is a migration behind
	EmbeddedForm    *int // nil in a schema without the column, which is a migration behind
	Languages       []string
	Graph           Graph
	Built           bool
	SearchWidth     int
	WidthRecall     float64
	WidthQuestions  int
	OwnQuestions    bool
	MeasuredAt      *time.Time
	RecallTarget    float64
	RecallCurve     *curve             // nil if it was not measured, and in a schema without the column
	Tuning          *tunings           // nil without one, and in a schema without the column
	Synonyms        []wording.Synonym  // nil without any, and in a schema without the column
	Curations       []wording.Curation // the same
	RankingProfiles *profiles          // the same
	RecordQuestions bool
	TermsCounted    bool
	Building        bool
	ReembedJobID    *string
	NextModel       *string
	NextDimension   *int
	NextVectorType  *VectorType
	CreatedAt       time.Time
	UpdatedAt       time.Time
}

// recallTargetSQL is the recall target of an index i, also in a schema without the column, which is a migration behind.
var recallTargetSQL = fmt.Sprintf(`coalesce((to_jsonb(i)->>'recall_target')::float8, %g)`, DefaultRecallTarget)

var indexColumns = `i.index_id, i.generation, i.index_name, i.dimension, i.metric, i.vector_type, i.index_config, i.metadata_indexes, i.embedding_model,
	i.chunking, i.extract, nullif(to_jsonb(i)->'metadata_schema', 'null') AS metadata_schema, i.text_language, (to_jsonb(i)->>'text_analysis')::int AS text_analysis, (to_jsonb(i)->>'embedded_form')::int AS embedded_form, ` + languagesSQL + ` AS languages, i.graph, i.built, i.search_width, i.width_recall::float8 AS width_recall, i.width_questions, i.own_questions, i.measured_at,
	` + recallTargetSQL + ` AS recall_target, nullif(to_jsonb(i)->'recall_curve', 'null') AS recall_curve, nullif(to_jsonb(i)->'tuning', 'null') AS tuning,
	nullif(to_jsonb(i)->'synonyms', 'null') AS synonyms, nullif(to_jsonb(i)->'curations', 'null') AS curations, nullif(to_jsonb(i)->'ranking_profiles', 'null') AS ranking_profiles,
	i.record_questions, i.counted_chunks > 0 AS terms_counted, i.build_job_id IS NOT NULL AS building,
	i.reembed_job_id::text, i.next_model, i.next_dimension, i.next_vector_type, i.created_at, i.updated_at`

func (r indexRow) index() Index {
	i := Index{
		ID: r.IndexID, Generation: r.Generation, Name: r.IndexName, Dimension: r.Dimension, Metric: r.Metric, VectorType: r.VectorType,
		Config: r.IndexConfig, MetadataIndexes: r.MetadataIndexes, EmbeddingModel: r.EmbeddingModel,
		Chunking: r.Chunking, Extract: r.Extract, TextLanguage: r.TextLanguage, analysis: r.TextAnalysis, embeddedForm: r.EmbeddedForm, Languages: r.Languages, Graph: r.Graph, Built: r.Built, RecordsQuestions: r.RecordQuestions, measured: r.measured(), termsCounted: r.TermsCounted,
		Building: r.Building, Next: r.next(), CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, MetadataSchema: r.MetadataSchema, RecallTarget: r.RecallTarget,
	}
	if r.Tuning != nil {
		i.tunings = *r.Tuning
	}
	if len(r.Synonyms) > 0 {
		i.synonyms = wording.NewSynonyms(r.Synonyms)
	}
	if len(r.Curations) > 0 {
		i.curations = wording.NewCurations(r.Curations)
	}
	if r.RankingProfiles != nil {
		i.profiles = *r.RankingProfiles
	}
	if len(i.MetadataSchema) > 0 {
		i.metadataSchema = schema.Later(metadataSchemaField, i.MetadataSchema)
	}
	return i
}

// measured returns the measurement of the search width.
func (r indexRow) measured() Measurement {
	m := Measurement{Width: r.SearchWidth, Recall: r.WidthRecall, Questions: r.WidthQuestions, Own: r.OwnQuestions}
	if m.Width > 0 {
		m.curve = r.RecallCurve
	}
	if r.MeasuredAt != nil {
		m.At = *r.MeasuredAt
	}
	return m
}

// next returns the generation that is being built, nil if there is none.
func (r indexRow) next() *Next {
	if r.ReembedJobID == nil || r.NextModel == nil {
		return nil
	}
	return &Next{JobID: *r.ReembedJobID, EmbeddingModel: *r.NextModel, Dimension: *r.NextDimension, VectorType: *r.NextVectorType}
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

// sumCounts joins the sums of the counts of an index, which has at most 16 rows of them.
const sumCounts = `
	CROSS JOIN LATERAL (
		SELECT coalesce(sum(c.chunks), 0)::bigint AS chunks, coalesce(sum(c.ready), 0)::bigint AS ready,
			coalesce(sum(c.pending), 0)::bigint AS pending, coalesce(sum(c.failed), 0)::bigint AS failed
		FROM tenant.index_counts AS c WHERE c.index_id = i.index_id
	) AS counted`

// ByName loads an index from the database, without the cache of Resolve. Errors: NotFound, also
// outside the bounds of the request in the context.
func ByName(ctx context.Context, q data.Queryer, name string) (Index, error) {
	if !access.MayUseIndex(ctx, name) {
		return Index{}, NotFound(ctx, q, name)
	}
	row, err := data.Get[indexRow](ctx, q, `SELECT `+indexColumns+` FROM tenant.indexes AS i WHERE i.index_name = $1`, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return Index{}, NotFound(ctx, q, name)
	}
	return row.index(), err
}

// WithEndpoint returns the name of an index whose embedding model, or the next one, is of this
// endpoint, empty if there is none.
func WithEndpoint(ctx context.Context, q data.Queryer, endpoint string) (string, error) {
	name, err := data.Value[string](ctx, q, `
		SELECT i.index_name FROM tenant.indexes AS i
		WHERE starts_with(i.embedding_model, $1 || '/') OR starts_with(i.next_model, $1 || '/') ORDER BY i.index_name LIMIT 1`, endpoint)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return name, err
}

// Load adds to a batch the query of the index with this id. When the batch runs, it
// fills into, which stays as it is if there is no such index.
func Load(b *data.Batch, indexID int64, into *Index) {
	b.Query(func(rows pgx.Rows) error {
		row, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[indexRow])
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		*into = row.index()
		return err
	}, `SELECT `+indexColumns+` FROM tenant.indexes AS i WHERE i.index_id = $1`, indexID)
}

// listed is the condition on an index i that lists may show it.
const listed = `i.index_name <> '` + access.MemoryIndex + `'`

// named returns the names of up to limit indexes within the bounds of the request in the context that one of
// the patterns of LIKE selects, in order.
func named(ctx context.Context, q data.Queryer, patterns []string, limit int) ([]string, error) {
	type row struct{ IndexName string }
	rows, err := data.Select[row](ctx, q, `
		SELECT i.index_name FROM tenant.indexes AS i
		WHERE i.index_name LIKE ANY($1::text[]) AND `+listed+` AND ($3::text[] IS NULL OR i.index_name = ANY($3))
		ORDER BY i.index_name LIMIT $2`, patterns, limit, access.BoundsOf(ctx).Indexes)
	names := make([]string, len(rows))
	for n, r := range rows {
		names[n] = r.IndexName
	}
	return names, err
}

// NotFound returns the error for an index name that does not exist. It names the nearest
// index of the tenant.
func NotFound(ctx context.Context, q data.Queryer, name string) error {
	hint := nearest.Hint(name, namesLike(ctx, q, name))
	return fault.New(fault.NotFound, "index %q not found%s", name, cmp.Or(hint, ": create it first, or list the indexes to see the names"))
}

// namesLike returns the names of the caller's indexes that may be meant by a wrong one:
// those whose length is most alike.
func namesLike(ctx context.Context, q data.Queryer, name string) []string {
	type row struct{ IndexName string }
	rows, err := data.Select[row](ctx, q, `
		SELECT i.index_name FROM tenant.indexes AS i
		WHERE `+listed+` AND ($2::text[] IS NULL OR i.index_name = ANY($2))
		ORDER BY abs(length(i.index_name) - length($1)), i.index_name LIMIT 1000`, name, access.BoundsOf(ctx).Indexes)
	if err != nil {
		return nil // the error is complete without a hint
	}
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.IndexName
	}
	return names
}

func counted(ctx context.Context, q data.Queryer, name string) (Index, Counts, error) {
	if !access.MayUseIndex(ctx, name) {
		return Index{}, Counts{}, NotFound(ctx, q, name)
	}
	row, err := data.Get[countedRow](ctx, q, `
		SELECT `+indexColumns+`, counted.chunks, counted.ready, counted.pending, counted.failed
		FROM tenant.indexes AS i`+sumCounts+`
		WHERE i.index_name = $1`, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return Index{}, Counts{}, NotFound(ctx, q, name)
	}
	return row.index(), row.counts(), err
}

// ByID loads an index from the database, without the cache of Resolve. Errors: NotFound.
func ByID(ctx context.Context, q data.Queryer, indexID int64) (Index, error) {
	i, _, err := byID(ctx, q, indexID)
	return i, err
}

// byID returns an index and the number of its chunks. Errors: NotFound.
func byID(ctx context.Context, q data.Queryer, indexID int64) (Index, int64, error) {
	row, err := data.Get[countedRow](ctx, q, `
		SELECT `+indexColumns+`, counted.chunks, counted.ready, counted.pending, counted.failed
		FROM tenant.indexes AS i`+sumCounts+` WHERE i.index_id = $1`, indexID)
	if errors.Is(err, pgx.ErrNoRows) {
		return Index{}, 0, errDeleted
	}
	return row.index(), row.Chunks, err
}

// listCounted returns up to limit indexes within the bounds of the request in the context, in
// the order of their names, from the one after the given name.
func listCounted(ctx context.Context, q data.Queryer, after string, limit int) ([]countedRow, error) {
	return data.Select[countedRow](ctx, q, `
		SELECT `+indexColumns+`, counted.chunks, counted.ready, counted.pending, counted.failed
		FROM tenant.indexes AS i`+sumCounts+`
		WHERE i.index_name > $1 AND `+listed+` AND ($3::text[] IS NULL OR i.index_name = ANY($3))
		ORDER BY i.index_name LIMIT $2`, after, limit, access.BoundsOf(ctx).Indexes)
}

// insert creates the row and the tables of an index, or returns pgx.ErrNoRows if the
// name is taken. A lock makes the quota hold for concurrent calls. Errors: Exhausted.
func insert(ctx context.Context, h *data.Handle, spec Spec, quotas quota.Limits) (Index, error) {
	var made Index
	err := h.Tx(ctx, func(tx *data.Tx) error {
		if err := checkQuota(ctx, tx, spec.Name, quotas); err != nil {
			return err
		}
		columns, values, err := versionColumns(ctx, tx, spec.TextLanguage)
		if err != nil {
			return err
		}
		row, err := data.Get[indexRow](ctx, tx, `
			INSERT INTO tenant.indexes AS i
				(index_name, dimension, metric, vector_type, index_config, metadata_indexes, embedding_model, chunking, extract, text_language, graph`+columns+`)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11`+values+`) ON CONFLICT (index_name) DO NOTHING
			RETURNING `+indexColumns,
			spec.Name, spec.Dimension, spec.Metric, spec.VectorType, spec.Config, spec.MetadataIndexes,
			spec.EmbeddingModel, spec.Chunking, spec.Extract, spec.TextLanguage, spec.Graph)
		if err != nil {
			return err
		}
		if !removes(spec.MetadataSchema) {
			if err := storeMetadataSchema(ctx, tx, row.IndexID, spec.MetadataSchema); err != nil {
				return err
			}
			row.MetadataSchema = spec.MetadataSchema
		}
		if spec.RecallTarget != DefaultRecallTarget {
			if err := storeRecallTarget(ctx, tx, row.IndexID, spec.RecallTarget); err != nil {
				return err
			}
			row.RecallTarget = spec.RecallTarget
		}
		made = row.index()
		return makeTables(ctx, tx.OfIndex(made.ID, made.Generation), made)
	})
	return made, err
}

// checkQuota returns an Exhausted error if the tenant has as many indexes as it may have,
// and the new one is not among them. Until the transaction ends no other creates an index.
func checkQuota(ctx context.Context, tx *data.Tx, name string, quotas quota.Limits) error {
	if err := tx.Lock(ctx, "indexes"); err != nil {
		return err
	}
	others, err := data.Value[int](ctx, tx, `
		SELECT CASE WHEN count(*) FILTER (WHERE i.index_name = $1) = 0 THEN count(*) ELSE 0 END FROM tenant.indexes AS i`, name)
	if err == nil && others >= quotas.Indexes && access.BoundsOf(ctx).Indexes != nil { // the numbers count hidden indexes
		return fault.New(fault.Exhausted, "this tenant may have no more indexes: delete one, or ask its admin").Of(quota.MaxIndexes)
	}
	if err == nil && others >= quotas.Indexes {
		return fault.New(fault.Exhausted, "this tenant has %d indexes and may have %d: delete one, divide an index into namespaces, "+
			"or %s, or the setting max-indexes", others, quotas.Indexes, quotas.More(quota.MaxIndexes)).Of(quota.MaxIndexes)
	}
	return err
}

// drop deletes an index and cancels its jobs, and then drops its tables. If the tables
// cannot be dropped now, the maintenance of the index drops them, which is queued.
func drop(ctx context.Context, h *data.Handle, queue *job.Queue, i Index) error {
	if err := stopBuild(ctx, h.OfIndex(i.ID, i.Generation)); err != nil {
		return err
	}
	err := h.TxOvertaking(ctx, func(tx *data.Tx) error {
		// Every writer of chunks locks the rows of their documents first.
		_, err := tx.Exec(ctx, `SELECT FROM tenant.documents AS d WHERE d.index_id = $1 ORDER BY d.document_id FOR UPDATE OF d`, i.ID)
		if err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `DELETE FROM tenant.indexes WHERE index_id = $1`, i.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			return NotFound(ctx, tx, i.Name)
		}
		if _, err := deleteQuestions(ctx, tx, i.ID); err != nil { // none is stored from here on
			return err
		}
		_, err = tx.Exec(ctx, `
			DELETE FROM tenant.document_contents WHERE document_id IN (
				SELECT k.document_id FROM ragd_shared.deleted_documents AS k WHERE k.index_id = $1)`, i.ID)
		if err != nil {
			return err
		}
		for _, table := range []string{"alerts", "watched_indexes", "chunk_changes", "deleted_documents"} {
			if _, err := tx.Exec(ctx, `DELETE FROM ragd_shared.`+table+` WHERE index_id = $1`, i.ID); err != nil {
				return err
			}
		}
		// Uploads lock the index before they queue their jobs, so none is queued later.
		documents, err := job.CancelIndex(ctx, tx, i.Name, "the index was deleted")
		if err != nil {
			return err
		}
		if err := backlog.Leave(ctx, tx, documents); err != nil {
			return err
		}
		return queue.Enqueue(ctx, tx, job.Maintain, i.ID, "")
	})
	if err != nil {
		return err
	}
	_ = dropTables(ctx, h, i.ID) // the index is deleted; the queued task drops what is left
	return nil
}

// dropTables drops the tables of a deleted index, those that are left. The ids of indexes
// are never used twice. Errors: Deadline after dropWait.
func dropTables(ctx context.Context, h *data.Handle, indexID int64) error {
	ctx, cancel := context.WithTimeout(ctx, dropWait)
	defer cancel()
	// Citus would read the catalog of a worker, which has other names, in one statement with a table of the tenant.
	if exists, err := data.Value[bool](ctx, h, `SELECT EXISTS (SELECT FROM tenant.indexes WHERE index_id = $1)`, indexID); err != nil || exists {
		return err
	}
	tables, err := data.Values[string](ctx, h, `
		SELECT c.relname::text FROM pg_catalog.pg_class AS c
		WHERE c.relnamespace = (SELECT s.relnamespace FROM pg_catalog.pg_class AS s WHERE s.oid = 'tenant.indexes'::regclass)
			AND (c.relname = ANY(ARRAY(SELECT t || '_' || $1::text FROM unnest(ARRAY['chunk', 'term', 'edge', 'topic', 'member', 'reembed', 'renewal', 'word', 'cells', 'kept']) AS t))
				OR c.relname LIKE 'chunk\_' || $1::text || '\_%' OR c.relname LIKE 'kept\_' || $1::text || '\_%')
			AND c.relkind = 'r'`, strconv.FormatInt(indexID, 10))
	if err != nil {
		return err
	}
	return h.DropTables(ctx, tables...)
}

// LockForUpload keeps an index from being emptied until the transaction ends. Transactions
// that insert documents call it first.
func LockForUpload(ctx context.Context, tx *data.Tx, indexID int64) error {
	return tx.LockShared(ctx, uploadsLock(indexID))
}

// uploadsLock returns the name of the lock that uploads to an index share.
func uploadsLock(indexID int64) string { return "uploads to " + strconv.FormatInt(indexID, 10) }

// truncate deletes all documents and vectors of an index, and the Postgres index over
// the embeddings, so that the next load is fast. Like all writers, it locks documents before
// chunks, and chunks before counts.
func truncate(ctx context.Context, h *data.Handle, i Index) error {
	if err := stopBuild(ctx, h.OfIndex(i.ID, i.Generation)); err != nil {
		return err
	}
	return h.TxOvertaking(ctx, func(tx *data.Tx) error {
		if err := tx.Lock(ctx, uploadsLock(i.ID)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `SELECT FROM tenant.documents AS d WHERE d.index_id = $1 ORDER BY d.document_id FOR UPDATE OF d`, i.ID)
		if err != nil {
			return err
		}
		tables := tx.OfIndex(i.ID, i.Generation)
		if _, err := tables.Exec(ctx, `TRUNCATE tenant.chunk`); err != nil {
			return err
		}
		for _, statement := range []string{
			`DELETE FROM tenant.documents WHERE index_id = $1`,
			// The version grows, so that no cached edges of the old graph are used.
			`UPDATE tenant.index_counts SET chunks = 0, written = 0, ready = 0, pending = 0, failed = 0, bytes = 0,
				graph_version = graph_version + 1, names = 0, mentions = 0, similarities = 0 WHERE index_id = $1`,
			`UPDATE tenant.indexes SET built = false, search_width = 0, width_questions = 0, own_questions = false, measured_at = NULL, counted_chunks = 0, counted_written = 0, scale = '{}',
				graph_components = 0, graph_counted_at = NULL, similar_edges_missing = false, topics = NULL, updated_at = now()
				WHERE index_id = $1`,
		} {
			if _, err := tx.Exec(ctx, statement, i.ID); err != nil {
				return err
			}
		}
		if err := dropTuning(ctx, tx, i.ID); err != nil {
			return err
		}
		if _, err := deleteQuestions(ctx, tx, i.ID); err != nil {
			return err
		}
		documents, err := job.CancelOrphans(ctx, tx, i.Name, "the index was emptied")
		if err != nil {
			return err
		}
		if err := backlog.Leave(ctx, tx, documents); err != nil {
			return err
		}
		// Nobody fills a table that is made from here on: its writers read the chunks first.
		for _, table := range []string{"term", "edge", "topic", "member", "word", "cells"} {
			made, err := data.Value[bool](ctx, tables, `SELECT to_regclass('tenant.`+table+`') IS NOT NULL`)
			if err != nil {
				return err
			}
			if !made {
				continue
			}
			if _, err := tables.Exec(ctx, `TRUNCATE tenant.`+table); err != nil {
				return err
			}
			if table == "word" {
				if _, err := tables.Exec(ctx, allWords); err != nil {
					return err
				}
			}
		}
		return dropBuilt(ctx, tables, i)
	})
}

// byNameLocked is byName, and locks the row until the transaction ends: for others that
// change the index, not for writers of documents.
func byNameLocked(ctx context.Context, tx *data.Tx, name string) (Index, error) {
	if !access.MayUseIndex(ctx, name) {
		return Index{}, NotFound(ctx, tx, name)
	}
	row, err := data.Get[indexRow](ctx, tx, `
		SELECT `+indexColumns+` FROM tenant.indexes AS i WHERE i.index_name = $1 FOR NO KEY UPDATE`, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return Index{}, NotFound(ctx, tx, name)
	}
	return row.index(), err
}

// storeSettings stores the settings of an index that Update changes, and makes the
// Postgres indexes on metadata match them.
func storeSettings(ctx context.Context, tx *data.Tx, i Index) error {
	_, err := tx.Exec(ctx, `
		UPDATE tenant.indexes SET index_config = $2, metadata_indexes = $3, chunking = $4, graph = $5, record_questions = $6, extract = $7,
			updated_at = now()
		WHERE index_id = $1`, i.ID, i.Config, i.MetadataIndexes, i.Chunking, i.Graph, i.RecordsQuestions, i.Extract)
	if err != nil {
		return err
	}
	if !i.RecordsQuestions {
		if _, err := deleteQuestions(ctx, tx, i.ID); err != nil {
			return err
		}
	}
	return matchMetadataIndexes(ctx, tx.OfIndex(i.ID, i.Generation), i)
}
