package index

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	// BuildThreshold is the number of vectors from which the Postgres index is built.
	// With fewer, an exact scan takes a millisecond or less.
	BuildThreshold = 2_000
	// countThreshold is the number of chunks from which common terms are counted into
	// a table. With fewer, a query counts them itself.
	countThreshold = 2_000
	// wordsWritten is the number of chunks that are written to a smaller index until its words are counted again.
	wordsWritten = 2 * countThreshold
	// Terms are counted again when 1/countFraction of the chunks have changed. A growing
	// index is counted again whenever it has grown by a quarter: loading n chunks costs as
	// much as counting 5n.
	countFraction = 4
	// While an index is being loaded, its terms are counted when it has grown by the factor
	// loadGrowth and has at least loadThreshold chunks.
	loadGrowth    = 4
	loadThreshold = 20_000
)

// state decides whether an index needs maintenance.
type state struct {
	Chunks         int64
	Written        int64
	Pending        int64 // documents that are waiting or being processed
	CountedChunks  int64
	CountedWritten int64
	Built          bool
	SearchWidth    int // 0: not measured yet
	RecallTarget   float64
	CurveTarget    *float64 // for which the width was measured; nil: without a curve
	CurveStored    bool     // the schema has a column for it
	OwnQuestions   bool
	MeasuredAt     *time.Time
	NewQuestions   int64 // recorded since then, of the present generation
	ScaledChunks   int64 // 0: the similarities of the present generation have not been measured
	BuildJobID     *string
	IndexConfig    Config
	Edges          int64
	Topics         *Topics // nil before they were found
	TopicsJobID    *string
	TextLanguage   string
	TextAnalysis   *int // nil in a schema without the column
}

// readState reads the state of an index. Errors: NotFound.
func readState(ctx context.Context, q data.Queryer, indexID int64) (state, error) {
	// The shared table is read apart: Citus joins none of it with a table of the tenant's own.
	s, err := data.Get[state](ctx, q, `
		WITH asked AS MATERIALIZED (SELECT q.generation, q.asked_at FROM ragd_shared.asked_questions AS q WHERE q.index_id = $1)
		SELECT coalesce(c.chunks, 0) AS chunks, coalesce(c.written, 0) AS written, coalesce(c.pending, 0) AS pending, i.counted_chunks, i.counted_written,
			i.built, i.search_width, `+recallTargetSQL+` AS recall_target,
			(to_jsonb(i)#>>'{recall_curve,target}')::float8 AS curve_target, to_jsonb(i) ? 'recall_curve' AS curve_stored, i.own_questions, i.measured_at, i.build_job_id::text, i.index_config,
			(SELECT count(*) FROM asked AS q
				WHERE q.generation = i.generation AND q.asked_at > coalesce(i.measured_at, '-infinity')) AS new_questions,
			CASE WHEN i.scale ? 'near' THEN (i.scale->>'chunks')::bigint ELSE 0 END AS scaled_chunks, coalesce(c.edges, 0) AS edges, i.topics, i.topics_job_id::text,
			i.text_language, (to_jsonb(i)->>'text_analysis')::int AS text_analysis
		FROM tenant.indexes AS i
		CROSS JOIN (SELECT sum(chunks)::bigint AS chunks, sum(written)::bigint AS written, sum(pending)::bigint AS pending,
				sum(names + mentions + similarities)::bigint AS edges
			FROM tenant.index_counts WHERE index_id = $1) AS c
		WHERE i.index_id = $1`, indexID)
	if errors.Is(err, pgx.ErrNoRows) {
		return s, errDeleted
	}
	return s, err
}

// countDue reports whether the terms should be counted again.
func (s state) countDue() bool {
	if s.Chunks < countThreshold {
		return false
	}
	changed := max(s.Written-s.CountedWritten, s.Chunks-s.CountedChunks, s.CountedChunks-s.Chunks)
	return changed*countFraction >= s.Chunks
}

// countOverdue reports whether the terms should be counted although the index is being
// loaded, so that they must be counted again later.
func (s state) countOverdue() bool {
	return s.Chunks >= loadThreshold && s.Chunks >= s.CountedChunks*loadGrowth
}

// measureDue reports whether the search width of a built index should be measured: for the
// first time, for another recall target, or with questions that were recorded since.
func (s state) measureDue() bool {
	return s.Built && (s.SearchWidth == 0 || s.targetChanged() || s.questionsDue())
}

// targetChanged reports whether the search width was measured for another recall target, or before there were curves.
func (s state) targetChanged() bool {
	return s.CurveStored && (s.CurveTarget == nil || *s.CurveTarget != s.RecallTarget)
}

// scaleDue reports whether the scale of the scores should be measured, apart from when the
// terms are counted.
func (s state) scaleDue() bool {
	return s.Chunks >= scaleChunks && s.Chunks >= s.ScaledChunks*scaleGrowth
}

// wordsDue reports whether words of deleted chunks should be deleted from an index that is too small for its terms to be
// counted.
func (s state) wordsDue() bool {
	return s.Chunks < countThreshold && s.Written-s.CountedWritten >= wordsWritten
}

// renewalDue reports whether the terms should be made anew.
func (s state) renewalDue() bool {
	return Index{TextLanguage: s.TextLanguage, analysis: s.TextAnalysis}.outdated()
}

// buildDue reports whether the Postgres index over the embeddings should be built: a
// caller asked for it, or there are enough vectors.
func (s state) buildDue() bool {
	return s.BuildJobID != nil || !s.Built && s.IndexConfig.Type != Flat && s.Chunks >= BuildThreshold
}

// topicsDue reports whether the topics should be found again.
func (s state) topicsDue() bool {
	return s.Topics != nil && s.TopicsJobID == nil && s.Topics.Outdated(s.Chunks, s.Written, s.Edges)
}

// watch returns how long to watch whether a load goes on. The chunks of waiting
// documents arrive in batches, with pauses in between.
func (s state) watch() time.Duration {
	if s.Pending >= loadRate {
		return loadPause * batchPauses
	}
	return loadPause
}
