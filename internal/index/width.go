package index

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	// confidence is the quantile of the normal distribution for one-sided confidence of 95 %.
	confidence = 1.645
	// widthNeighbours is the number of neighbours of each question.
	widthNeighbours = 10
	// Bounds of the number of questions that are made from chunks, and about how many distances from them
	// an exact search computes. The more questions, the less the width exceeds the least that suffices. Those that
	// prove a high recall target are made nevertheless.
	minWidthSamples = 128
	maxWidthSamples = 500
	widthDistances  = 10_000_000
	// widthStep is the fraction of a width below which no narrower one is looked for, and curveStep that for other
	// recall targets than that of the index.
	widthStep = 20
	curveStep = 8
	// provingMargin multiplies the questions that prove a recall target if nothing is missed.
	provingMargin = 1.5
)

// curveTargets are the recall targets for which widths are measured besides that of the index, if its questions can prove them.
var curveTargets = []float64{0.9, 0.95, 0.99}

// MinSearchWidth is the least search width of an HNSW index, which is pgvector's default. A narrower
// scan saves little time, and finds too few where chunks were deleted.
const MinSearchWidth = 40

// maxMeasuredEf is the largest hnsw.ef_search there is.
const maxMeasuredEf = 1000

// widthRange returns the least and the largest search width.
func (i Index) widthRange(rows int64) (least, most int) {
	if i.Config.Type == HNSW {
		return MinSearchWidth, maxMeasuredEf
	}
	return 1, int(i.Config.lists(rows))
}

// samplingWidth returns the search width with which questions are made.
func (i Index) samplingWidth(rows int64) int {
	if i.Config.Type == HNSW {
		return sampleRanks
	}
	return max(int(i.Config.lists(rows))/10, 1)
}

// widthSamples returns the number of questions to make from chunks for a recall target.
func widthSamples(rows int64, target float64) int64 {
	return max(min(max(widthDistances/max(rows, 1), minWidthSamples), maxWidthSamples), int64(provingMargin*float64(provingQuestions(target))))
}

// sampleRecall is the recall of scans over a sample of questions.
type sampleRecall struct {
	Mean      float64 // of the recall of a question
	Variance  float64 // of it between the questions
	Questions int
}

// holds reports whether the recall of all questions is at least a target, with confidence: by
// the lower bound of Wilson's interval for a binomial proportion (1927).
//
// The neighbours of a question are found or missed together, so they count for fewer independent ones: for
// as many as would have the variance of the mean. With no variance only questions count.
func (r sampleRecall) holds(target float64) bool {
	p, n, z := r.Mean, float64(r.Questions), confidence
	if n == 0 {
		return true
	}
	if r.Variance > 0 {
		n = min(max(n, n*p*(1-p)/r.Variance), n*widthNeighbours)
	}
	return (p+z*z/(2*n)-z*math.Sqrt((p*(1-p)+z*z/(4*n))/n))/(1+z*z/n) >= target
}

// widths looks for search widths from least to most.
type widths struct {
	least, most int
	recall      func(width int) (sampleRecall, error)
}

// holding returns the least width at which recall holds a target, and the recall there, else the first at which
// nothing is missed or most. It assumes that wider scans find more, doubles the width until it suffices and halves the interval
// below it until that is the fraction 1/step of the width.
func (w widths) holding(target float64, step int) (width int, found sampleRecall, err error) {
	below := w.least - 1 // does not suffice
	for width = w.least; ; width = min(2*width, w.most) {
		if found, err = w.recall(width); err != nil || found.holds(target) || found.Mean >= 1 || width == w.most {
			break
		}
		below = width
	}
	for err == nil && found.holds(target) && (width-below)*step > width && width-below > 1 {
		middle := (below + width) / 2
		var r sampleRecall
		if r, err = w.recall(middle); r.holds(target) {
			width, found = middle, r
		} else {
			below = middle
		}
	}
	return width, found, err
}

// unmeasuredEf and unmeasuredProbes are the widths until one has been measured.
const (
	unmeasuredEf     = 200
	unmeasuredProbes = 100
)

// Measurement is a measurement of the search width.
type Measurement struct {
	Width     int       // the least at which the recall target of the index holds, else the largest; 0: not measured
	Recall    float64   // the fraction of the nearest chunks that scans found
	Questions int       // with which it was measured
	Own       bool      // they were recorded; otherwise made from chunks
	At        time.Time // zero if unknown

	curve *curve // nil if it was measured before there were curves
}

// Measured returns the measurement of the search width; Width is 0 until there is one.
func (i Index) Measured() Measurement {
	m := i.measured
	if m.curve != nil {
		p, _ := m.curve.least(i.RecallTarget)
		m.Width, m.Recall, m.Questions = p.Width, p.Recall, p.Questions
	}
	return m
}

// SearchWidth returns the search width of an index scan, hnsw.ef_search or
// ivfflat.probes: the least with which the recall target held with confidence when it was measured.
func (i Index) SearchWidth() int {
	switch {
	case i.measured.curve != nil:
		p, _ := i.measured.curve.least(i.RecallTarget)
		return p.Width
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
	return h.Tx(ctx, func(tx *data.Tx) error {
		if err := storeCurve(ctx, tx, indexID, m.curve); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE tenant.indexes SET search_width = $2, width_recall = $3, width_questions = $4, own_questions = $5, measured_at = now()
			WHERE index_id = $1`, indexID, m.Width, m.Recall, m.Questions, m.Own)
		return err
	})
}

// measureWidth returns the least search width with which index scans find as much
// of what exact scans find as the recall target says, with confidence, and the recall with other widths. It depends on the data: some dozens for
// embeddings of texts, hundreds for vectors without structure. And it depends on the
// questions: where enough were recorded, they are used.
func measureWidth(ctx context.Context, s *data.Session, i Index, rows int64) (m Measurement, err error) {
	recorded, err := data.Value[int](ctx, s, `SELECT count(*) FROM ragd_shared.asked_questions AS q WHERE q.index_id = $1 AND q.generation = $2`, i.ID, i.Generation)
	if err != nil {
		return m, err
	}
	questions := i.sampledQuestions(widthSamples(rows, i.RecallTarget))
	if m.Own = recorded >= neededQuestions(i.RecallTarget); m.Own {
		questions = i.recordedQuestions()
	}
	sample := i.sampleTable(s.Distributed())
	if s.Distributed() { // an interrupted measurement may have left it
		if err := i.executeAll(ctx, s, []string{`DROP TABLE IF EXISTS ` + sample}); err != nil {
			return m, err
		}
	}
	if err := s.Set(ctx, i.WidthSetting(), strconv.Itoa(i.samplingWidth(rows))); err != nil {
		return m, err
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
	measured := map[int]sampleRecall{}
	look := widths{recall: func(width int) (sampleRecall, error) {
		if r, ok := measured[width]; ok {
			return r, nil
		}
		if err := s.Set(ctx, i.WidthSetting(), strconv.Itoa(width)); err != nil {
			return sampleRecall{}, err
		}
		r, err := data.Get[sampleRecall](ctx, s, i.recallSQL(sample))
		if err != nil {
			return r, fmt.Errorf("measure the recall of index %d: %w", i.ID, err)
		}
		measured[width] = r
		return r, nil
	}}
	look.least, look.most = i.widthRange(rows)
	var found sampleRecall
	if m.Width, found, err = look.holding(i.RecallTarget, widthStep); err != nil {
		return m, err
	}
	for _, target := range curveTargets {
		if provingQuestions(target) > found.Questions {
			continue
		}
		if _, _, err := look.holding(target, curveStep); err != nil {
			return m, err
		}
	}
	m.Recall, m.Questions = found.Mean, found.Questions
	m.curve = newCurve(i.RecallTarget, measured)
	return m, nil
}

// recordedQuestions returns a query of the recorded questions.
func (i Index) recordedQuestions() string {
	return fmt.Sprintf(`SELECT q.embedding::%s AS embedding FROM ragd_shared.asked_questions AS q WHERE q.index_id = %d AND q.generation = %d`,
		i.columnType(), i.ID, i.Generation)
}

// A made question is a combination of sampleAnchors vectors among the sampleRanks nearest of a chunk, of which
// sampleAdded have the factor 1/5 and the others -1/5.
const (
	sampleRanks   = 100
	sampleAnchors = 25
	sampleAdded   = 15
)

// sampledQuestions returns a query of n questions made from chunks. A stored vector would be too easy a
// question, in the middle of its neighbours, and one between two vectors drawn at random too hard: where vectors
// cluster it is far from all of them, where no question is. As the factors add up to 1, and so do their
// squares, a made question has the mean and the variance of the vectors in its region, and none of them is
// much nearer to it than others.
func (i Index) sampledQuestions(n int64) string {
	drawn := fmt.Sprintf(`SELECT c.chunk_id, c.embedding FROM tenant.chunk AS c ORDER BY hashtextextended(c.chunk_id, 0) LIMIT %d`, n)
	if i.VectorType != Vector && i.VectorType != HalfVec {
		return `SELECT drawn.embedding FROM (` + drawn + `) AS drawn`
	}
	return fmt.Sprintf(`
			WITH drawn AS MATERIALIZED (%[1]s)
			SELECT CASE WHEN made.anchors = %[2]d THEN made.embedding::%[3]s ELSE drawn.embedding END AS embedding
			FROM drawn CROSS JOIN LATERAL (
				SELECT count(*) AS anchors,
					(sum(n.embedding::vector) FILTER (WHERE n.place <= %[4]d) - sum(n.embedding::vector) FILTER (WHERE n.place > %[4]d)) * %[5]s AS embedding
				FROM (
					SELECT n.embedding, row_number() OVER (ORDER BY hashtextextended(n.chunk_id, 1)) AS place
					FROM (
						SELECT n.chunk_id, n.embedding, row_number() OVER (ORDER BY n.distance, n.chunk_id) AS rank
						FROM (
							SELECT c.chunk_id, c.embedding, c.embedding %[6]s drawn.embedding AS distance
							FROM tenant.chunk AS c ORDER BY distance LIMIT %[7]d
						) AS n
					) AS n WHERE n.rank %% %[8]d = 0
				) AS n
			) AS made`, drawn, sampleAnchors, i.columnType(), sampleAdded, constant(Vector, 0.2, i.Dimension), i.Metric.Operator(), sampleRanks, sampleRanks/sampleAnchors)
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
func constant(of VectorType, value float64, dimension int) string {
	return fmt.Sprintf("array_fill(%g::real, ARRAY[%d])::%s", value, dimension, of)
}

// recallSQL returns a query of the fraction of the questions' neighbours that index
// scans find, as a sampleRecall. A result counts as a neighbour if it is no further than the furthest
// neighbour, so that equal vectors count for each other.
func (i Index) recallSQL(table string) string {
	return fmt.Sprintf(`
		SELECT coalesce(avg(r.recall), 1)::float8 AS mean, coalesce(var_samp(r.recall), 0)::float8 AS variance, count(*)::int AS questions
		FROM (
			SELECT least(1, (
				SELECT count(*) FROM (
					SELECT c.embedding %[1]s q.embedding AS d FROM tenant.chunk AS c ORDER BY d LIMIT %[2]d
				) AS found WHERE d <= q.furthest
			)::float8 / %[2]d) AS recall
			FROM %[3]s AS q
		) AS r`, i.Metric.Operator(), widthNeighbours, table)
}
