package index

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	// wantedRecall is the fraction of the nearest chunks that an index scan must find,
	// on average over questions that are made from the index's own vectors.
	//
	// It is above 95 %, which is meant, because the smallest width that passes does so
	// partly by luck: most questions find all of their neighbours or none, so the measured
	// recall varies much.
	wantedRecall = 0.96
	// widthSamples is the number of questions, and widthNeighbours the number of
	// neighbours of each.
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

// SearchWidth returns the search width of an index scan, hnsw.ef_search or
// ivfflat.probes: the smallest with which measured scans found wantedRecall.
func (i Index) SearchWidth() int {
	switch {
	case i.measuredWidth > 0:
		return i.measuredWidth
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
func measure(ctx context.Context, h *tenant.Handle, s *tenant.Session, indexID int64) error {
	i, rows, err := byID(ctx, s, indexID)
	if err != nil {
		return err
	}
	width, err := measureWidth(ctx, s, i, rows)
	if err != nil {
		return err
	}
	_, err = h.Exec(ctx, `UPDATE tenant.indexes SET search_width = $2 WHERE index_id = $1`, indexID, width)
	return err
}

// measureWidth returns the smallest search width with which index scans find
// wantedRecall of what exact scans find. It depends on the data: some dozens for
// embeddings of texts, hundreds for vectors without structure.
func measureWidth(ctx context.Context, s *tenant.Session, i Index, rows int64) (width int, err error) {
	if err := i.executeAll(ctx, s, []string{i.sampleSQL()}); err != nil {
		return 0, err
	}
	// Drop the table now: the next tenant that uses the connection could not.
	defer func() {
		if dropped := i.executeAll(context.WithoutCancel(ctx), s, []string{`DROP TABLE pg_temp.sample`}); err == nil {
			err = dropped
		}
	}()
	widths := i.widths(rows)
	for _, width := range widths {
		if err := s.Set(ctx, i.WidthSetting(), strconv.Itoa(width)); err != nil {
			return 0, err
		}
		recall, err := tenant.Value[float64](ctx, s, i.recallSQL())
		if err != nil {
			return 0, fmt.Errorf("measure the recall of index %d: %w", i.ID, err)
		}
		if recall >= wantedRecall {
			return width, nil
		}
	}
	return widths[len(widths)-1], nil
}

// sampleSQL returns a statement that makes a table of questions, with the distance of
// the furthest neighbour that each should find. A stored vector would be too easy a
// question, in the middle of its neighbours. A real question shares much with the texts
// that answer it and differs from them: here, a third of it is another vector. Adding
// 0 prevents a plan with the Postgres index.
func (i Index) sampleSQL() string {
	question := "a.embedding"
	if i.VectorType == Vector || i.VectorType == HalfVec {
		question = fmt.Sprintf("a.embedding * %[1]s + b.embedding * %[2]s", i.constant(0.67), i.constant(0.33))
	}
	return fmt.Sprintf(`
		CREATE TEMP TABLE sample AS
		WITH drawn AS (
			SELECT embedding, row_number() OVER (ORDER BY hashtextextended(chunk_id, 0)) AS n
			FROM tenant.chunk ORDER BY n LIMIT %[3]d * 2
		), question AS MATERIALIZED (
			SELECT %[4]s AS embedding FROM drawn AS a JOIN drawn AS b ON b.n = a.n + %[3]d
		)
		SELECT q.embedding, (
			SELECT max(d) FROM (SELECT (c.embedding %[1]s q.embedding) + 0 AS d FROM tenant.chunk AS c ORDER BY d LIMIT %[2]d) AS exact
		) AS furthest
		FROM question AS q`, i.Metric.Operator(), widthNeighbours, widthSamples, question)
}

// constant returns a vector with the same value in all dimensions as SQL, to multiply
// others with.
func (i Index) constant(value float64) string {
	return fmt.Sprintf("array_fill(%g::real, ARRAY[%d])::%s", value, i.Dimension, i.VectorType)
}

// recallSQL returns a query of the fraction of the questions' neighbours that index
// scans find. A result counts as a neighbour if it is no further than the furthest
// neighbour, so that equal vectors count for each other.
func (i Index) recallSQL() string {
	return fmt.Sprintf(`
		SELECT coalesce(avg(least(1, (
			SELECT count(*) FROM (
				SELECT c.embedding %[1]s q.embedding AS d FROM tenant.chunk AS c ORDER BY d LIMIT %[2]d
			) AS found WHERE d <= q.furthest
		)::float8 / %[2]d)), 1)::float8
		FROM pg_temp.sample AS q`, i.Metric.Operator(), widthNeighbours)
}
