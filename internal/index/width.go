package index

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	// wantedRecall is the fraction of the nearest chunks that an index scan must find,
	// on average over recorded questions, or over questions made from the index's own vectors.
	//
	// It is above 95 %, which is meant, because the smallest width that passes does so
	// partly by luck: most questions find all of their neighbours or none, so the measured
	// recall varies much.
	wantedRecall = 0.96
	// widthSamples is the number of questions made from chunks, and widthNeighbours the
	// number of neighbours of each question.
	widthSamples    = 128
	widthNeighbours = 10
)

// MinSearchWidth is the smallest width that is measured for an HNSW index, which is
// pgvector's default.
const MinSearchWidth = 40

// widths returns the search widths to measure, from fast to thorough.
func (i Index) widths(rows int64) []int {
	if i.Config.Type == HNSW {
		return []int{MinSearchWidth, 80, 120, 200, 300, 450, 700, 1000}
	}
	var out []int
	lists := int(i.Config.lists(rows))
	for _, percent := range []int{5, 10, 20, 35, 60, 100} {
		out = append(out, max(lists*percent/100, 1))
	}
	return out
}

// unmeasuredEf and unmeasuredProbes are the widths until one has been measured.
const (
	unmeasuredEf     = 200
	unmeasuredProbes = 100
)

// Measurement is a measurement of the search width.
type Measurement struct {
	Width     int       // the smallest that found wantedRecall, else the largest; 0: not measured
	Recall    float64   // the fraction of the nearest chunks that scans found
	Questions int       // with which it was measured
	Own       bool      // they were recorded; otherwise made from chunks
	At        time.Time // zero if unknown
}

// Measured returns the measurement of the search width; Width is 0 until there is one.
func (i Index) Measured() Measurement { return i.measured }

// SearchWidth returns the search width of an index scan, hnsw.ef_search or
// ivfflat.probes: the smallest with which measured scans found wantedRecall.
func (i Index) SearchWidth() int {
	switch {
	case i.measured.Width > 0:
		return i.measured.Width
	case i.Config.Type == IVFFlat:
		return unmeasuredProbes
	}
	return unmeasuredEf
}

// WidthSetting returns the PostgreSQL setting of the search width.
func (i Index) WidthSetting() string {
	if i.Config.Type == IVFFlat {
		return "ivfflat.probes"
	}
	return "hnsw.ef_search"
}

// measure measures and stores the search width, after a build and when the index has
// grown, as a scan then needs a larger width.
func measure(ctx context.Context, h *data.Handle, s *data.Session, indexID int64) error {
	i, rows, err := byID(ctx, s, indexID)
	if err != nil {
		return err
	}
	m, err := measureWidth(ctx, s, i, rows)
	if err != nil {
		return err
	}
	_, err = h.Exec(ctx, `UPDATE tenant.indexes SET search_width = $2, width_recall = $3, width_questions = $4, own_questions = $5, measured_at = now()
		WHERE index_id = $1`, indexID, m.Width, m.Recall, m.Questions, m.Own)
	return err
}

// measureWidth returns the smallest search width with which index scans find
// wantedRecall of what exact scans find. It depends on the data: some dozens for
// embeddings of texts, hundreds for vectors without structure. And it depends on the
// questions: where enough were recorded, they are used.
func measureWidth(ctx context.Context, s *data.Session, i Index, rows int64) (m Measurement, err error) {
	recorded, err := data.Value[int](ctx, s, `SELECT count(*) FROM ragd_shared.asked_questions AS q WHERE q.index_id = $1 AND q.generation = $2`, i.ID, i.Generation)
	if err != nil {
		return m, err
	}
	questions := i.sampledQuestions()
	if m.Own = recorded >= ownQuestions; m.Own {
		questions = i.recordedQuestions()
	}
	sample := i.sampleTable(s.Distributed())
	if s.Distributed() { // an interrupted measurement may have left it
		if err := i.executeAll(ctx, s, []string{`DROP TABLE IF EXISTS ` + sample}); err != nil {
			return m, err
		}
	}
	if err := i.executeAll(ctx, s, []string{i.sampleSQL(sample, questions)}); err != nil {
		return m, err
	}
	// Drop the table now: the next tenant that uses the connection could not.
	defer func() {
		if dropped := i.executeAll(context.WithoutCancel(ctx), s, []string{`DROP TABLE ` + sample}); err == nil {
			err = dropped
		}
	}()
	if m.Questions, err = data.Value[int](ctx, s, `SELECT count(*) FROM `+sample); err != nil {
		return m, err
	}
	for _, m.Width = range i.widths(rows) {
		if err := s.Set(ctx, i.WidthSetting(), strconv.Itoa(m.Width)); err != nil {
			return m, err
		}
		if m.Recall, err = data.Value[float64](ctx, s, i.recallSQL(sample)); err != nil {
			return m, fmt.Errorf("measure the recall of index %d: %w", i.ID, err)
		}
		if m.Recall >= wantedRecall {
			break
		}
	}
	return m, nil
}

// recordedQuestions returns a query of the recorded questions.
func (i Index) recordedQuestions() string {
	return fmt.Sprintf(`SELECT q.embedding::%s AS embedding FROM ragd_shared.asked_questions AS q WHERE q.index_id = %d AND q.generation = %d`,
		i.columnType(), i.ID, i.Generation)
}

// sampledQuestions returns a query of questions made from chunks. A stored vector would be
// too easy a question, in the middle of its neighbours. A real question shares much with the
// texts that answer it and differs from them: here, a third of it is another vector.
func (i Index) sampledQuestions() string {
	question := "a.embedding"
	if i.VectorType == Vector || i.VectorType == HalfVec {
		question = fmt.Sprintf("a.embedding * %[1]s + b.embedding * %[2]s", i.constant(0.67), i.constant(0.33))
	}
	return fmt.Sprintf(`
			WITH drawn AS (
				SELECT embedding, row_number() OVER (ORDER BY hashtextextended(chunk_id, 0)) AS n
				FROM tenant.chunk ORDER BY n LIMIT %[1]d * 2
			)
			SELECT %[2]s AS embedding FROM drawn AS a JOIN drawn AS b ON b.n = a.n + %[1]d`, widthSamples, question)
}

// sampleTable returns the name of the table of questions: a temporary one, unless the chunks are on
// another server, where it has to be too.
func (i Index) sampleTable(distributed bool) string {
	if distributed {
		return fmt.Sprintf("tenant.width_sample_%d", i.ID)
	}
	return "pg_temp.sample"
}

// sampleSQL returns a statement that makes a table of questions, with the distance of the
// furthest neighbour that each should find. Adding 0 prevents a plan with the Postgres index.
func (i Index) sampleSQL(table, questions string) string {
	return fmt.Sprintf(`
		CREATE TABLE %[4]s AS
		WITH question AS MATERIALIZED (%[3]s)
		SELECT q.embedding, (
			SELECT max(d) FROM (SELECT (c.embedding %[1]s q.embedding) + 0 AS d FROM tenant.chunk AS c ORDER BY d LIMIT %[2]d) AS exact
		) AS furthest
		FROM question AS q`, i.Metric.Operator(), widthNeighbours, questions, table)
}

// constant returns a vector with the same value in all dimensions as SQL, to multiply
// others with.
func (i Index) constant(value float64) string {
	return fmt.Sprintf("array_fill(%g::real, ARRAY[%d])::%s", value, i.Dimension, i.VectorType)
}

// recallSQL returns a query of the fraction of the questions' neighbours that index
// scans find. A result counts as a neighbour if it is no further than the furthest
// neighbour, so that equal vectors count for each other.
func (i Index) recallSQL(table string) string {
	return fmt.Sprintf(`
		SELECT coalesce(avg(least(1, (
			SELECT count(*) FROM (
				SELECT c.embedding %[1]s q.embedding AS d FROM tenant.chunk AS c ORDER BY d LIMIT %[2]d
			) AS found WHERE d <= q.furthest
		)::float8 / %[2]d)), 1)::float8
		FROM %[3]s AS q`, i.Metric.Operator(), widthNeighbours, table)
}
