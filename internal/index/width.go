package index

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	// wantedRecall is the share of the nearest chunks that a search in the
	// Postgres index must find, on average over questions made of the index's own
	// vectors.
	//
	// It is above the 95 % that docs/retrieval.md promises: the narrowest of several
	// widths that passes owes that to luck in part. Most questions find all or
	// nothing, so few questions say little.
	wantedRecall = 0.96
	// widthSamples is how many questions are tried, and widthNeighbours how many
	// neighbours of each.
	widthSamples    = 128
	widthNeighbours = 10
)

// minSearchWidth is where the measurement of an HNSW index begins: pgvector's
// own default.
const minSearchWidth = 40

// widths are the search widths to try, from fast to thorough.
func (i Index) widths(rows int64) []int {
	if i.Config.Type == HNSW {
		return []int{minSearchWidth, 80, 120, 200, 300, 450, 700, 1000}
	}
	var out []int
	lists := int(i.Config.lists(rows))
	for _, percent := range []int{5, 10, 20, 35, 60, 100} {
		out = append(out, max(lists*percent/100, 1))
	}
	return out
}

// unmeasuredEf and unmeasuredProbes serve until a width has been measured.
const (
	unmeasuredEf     = 200
	unmeasuredProbes = 100
)

// SearchWidth is how far a search in the Postgres index looks for its answers to be
// right: hnsw.ef_search or ivfflat.probes.
func (i Index) SearchWidth() int {
	switch {
	case i.measuredWidth > 0:
		return i.measuredWidth
	case i.Config.Type == IVFFlat:
		return unmeasuredProbes
	}
	return unmeasuredEf
}

// WidthSetting is the PostgreSQL setting that a search width is for.
func (i Index) WidthSetting() string {
	if i.Config.Type == IVFFlat {
		return "ivfflat.probes"
	}
	return "hnsw.ef_search"
}

// measure finds the search width and writes it down: after a build, and when the
// index has grown, as a walk then has to look further.
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

// measureWidth returns the smallest search width with which the Postgres index
// finds what an exact search finds. What suffices depends on the data: some
// dozens for embeddings of texts, hundreds for vectors without structure.
func measureWidth(ctx context.Context, s *tenant.Session, i Index, rows int64) (width int, err error) {
	if err := i.executeAll(ctx, s, []string{i.sampleSQL()}); err != nil {
		return 0, err
	}
	// The connection's next tenant could not drop it.
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

// sampleSQL makes a table of questions with the distance of the furthest
// neighbour that they should find. A stored vector would be too easy a question:
// it is in the middle of its neighbours. A question shares much with the texts that
// answer it and has something of its own: here, a third of another vector.
// The added 0 keeps the Postgres index out.
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

// constant is a vector of the same value everywhere, to multiply others with.
func (i Index) constant(value float64) string {
	return fmt.Sprintf("array_fill(%g::real, ARRAY[%d])::%s", value, i.Dimension, i.VectorType)
}

// recallSQL is the share of the questions' neighbours that the Postgres index
// finds. A neighbour counts as found when it is no further than the furthest, so
// that equal vectors stand for each other.
func (i Index) recallSQL() string {
	return fmt.Sprintf(`
		SELECT coalesce(avg(least(1, (
			SELECT count(*) FROM (
				SELECT c.embedding %[1]s q.embedding AS d FROM tenant.chunk AS c ORDER BY d LIMIT %[2]d
			) AS found WHERE d <= q.furthest
		)::float8 / %[2]d)), 1)::float8
		FROM pg_temp.sample AS q`, i.Metric.Operator(), widthNeighbours)
}
