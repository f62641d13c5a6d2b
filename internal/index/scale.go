package index

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Scale tells how the scores of unrelated and of related texts of an index are
// distributed. internal/query needs it to put scores of different indexes and questions on
// one scale.
type Scale struct {
	// Match is the mean weight of a term in a chunk that has it, in (0, 1.4).
	Match float64 `json:"match"`
	// Far and Near are the stretched similarities (see Metric.Stretch) of two random chunks
	// and of a chunk and the nearest one of another document, at the median.
	Far  float64 `json:"far"`
	Near float64 `json:"near"`
	// Chunks is the size of the index when the scale was measured; 0: it has not been.
	Chunks int64 `json:"chunks"`
	// Renewed is the number of chunks whose terms have been renewed, while they are; see Maintainer.renew.
	Renewed int64 `json:"renewed,omitempty"`
}

// Calibration is what the scores of a search rest on beside its chunks.
type Calibration struct {
	Scale   Scale  // of queries, see Index.Trusted
	Version string // changes with the scale, the counts of common terms and the tuning
	// Languages are those of the documents, for the text language auto.
	Languages []string
}

// Calibrate adds to a batch the query of the calibration of an index.
func (i Index) Calibrate(b *data.Batch, into *Calibration) {
	type row struct {
		Scale          Scale
		CountedWritten int64
		Languages      []string
	}
	b.Query(func(rows pgx.Rows) error {
		r, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[row])
		if errors.Is(err, pgx.ErrNoRows) {
			return errDeleted
		}
		*into = Calibration{i.Trusted(r.Scale), versionOf(r.Scale, r.CountedWritten, i.VectorLogOdds()), r.Languages}
		return err
	}, `SELECT i.scale, i.counted_written, `+languagesSQL+` AS languages FROM tenant.indexes AS i WHERE i.index_id = $1`, i.ID)
}

// DefaultVersion is the version of the calibration of an index that is too small for one and has no tuning.
const DefaultVersion = "default"

func versionOf(measured Scale, counted int64, tuned float64) string {
	if measured.Chunks == 0 && measured.Renewed == 0 && counted == 0 && tuned == 0 {
		return DefaultVersion
	}
	sum := sha256.New()
	_, _ = fmt.Fprint(sum, measured, counted) // never fails
	if tuned != 0 {
		_, _ = fmt.Fprint(sum, " ", tuned)
	}
	return hex.EncodeToString(sum.Sum(nil)[:4])
}

// Trusted returns the scale for queries: a mean of a measured one and of one that suits most texts. The
// measured one counts for nothing at scaleChunks chunks and for all at trustedChunks, so that scores do not
// jump when there is a first one.
func (i Index) Trusted(measured Scale) Scale {
	scale := Scale{Match: defaultMatch, Far: 0.05, Near: 0.6, Chunks: measured.Chunks}
	if i.Parsed() {
		scale.Match = parsedMatch
	}
	switch i.Metric {
	case Euclidean:
		scale.Far = 0.45
	case Hamming:
		scale.Far, scale.Near = 0.55, 0.97
	}
	trust := math.Log(float64(max(measured.Chunks, scaleChunks))/scaleChunks) / math.Log(float64(trustedChunks)/scaleChunks)
	toward := func(value *float64, measured float64) { *value += min(trust, 1) * (measured - *value) }
	if measured.Match > 0 {
		toward(&scale.Match, measured.Match)
	}
	if measured.Near > measured.Far {
		toward(&scale.Far, measured.Far)
		toward(&scale.Near, measured.Near)
	}
	return scale
}

const (
	// defaultMatch is the Match of an index whose scale has not been measured, about that of
	// passages of 80 words. parsedMatch is that of one with terms of PostgreSQL's parser.
	defaultMatch = 0.52
	parsedMatch  = 0.58
	// scaleChunks is the number of chunks from which the scale is measured. It is measured
	// again when the index is scaleGrowth times as large, and with the common terms.
	scaleChunks = 200
	scaleGrowth = 2
	// trustedChunks is the number of chunks from which a measured scale is used as it is. In an index of
	// fewer chunks it is measured as they are written, and not later by a job.
	trustedChunks = 2_000
	// maxStretched is the similarity above which differences do not count.
	maxStretched = 0.999
	// nearestCap limits Near in an index of copies.
	nearestCap = 1.8
	// leastSpread is the least difference of Near and Far.
	leastSpread = 0.1
)

// Stretch returns the inverse hyperbolic tangent of a similarity (Fisher's z), which
// spreads similarities near 1. Inner products, which have no bound, stay as they are.
func (m Metric) Stretch(similarity float64) float64 {
	if m == DotProduct {
		return similarity
	}
	return math.Atanh(min(max(similarity, -maxStretched), maxStretched))
}

// StretchedSQL returns the stretched similarity for a distance, both as SQL.
func (i Index) StretchedSQL(distance string) string {
	similarity := "1 - " + distance
	switch i.Metric {
	case DotProduct:
		return "(-" + distance + ")"
	case Euclidean:
		similarity = "1 / (1 + " + distance + ")"
	case Hamming:
		similarity = "1 - " + distance + " / " + strconv.Itoa(i.Dimension)
	}
	limit := strconv.FormatFloat(maxStretched, 'g', -1, 64)
	return "atanh(least(greatest(" + similarity + ", -" + limit + "), " + limit + "))"
}

// Distance returns the distance for a score: the inverse of Score.
func (i Index) Distance(score float64) float64 {
	switch i.Metric {
	case Euclidean:
		if score <= 0 {
			return math.Inf(1)
		}
		return 1/score - 1
	case DotProduct:
		return -score
	case Hamming:
		return (1 - score) * float64(i.Dimension)
	}
	return 1 - score
}

// InverseFrequency returns the inverse document frequency of a term in BM25 (Robertson and
// Zaragoza 2009): the weight of a term that chunks of total chunks have.
func InverseFrequency(chunks, total int64) float64 {
	n, all := float64(chunks), float64(max(total, chunks))
	return math.Log(1 + (all-n+0.5)/(n+0.5))
}

// measurer runs statements: a handle, or a transaction.
type measurer interface {
	data.Queryer
	Exec(ctx context.Context, sql string, args ...any) (rows int64, err error)
}

// measureScale measures and stores the scale of an index. The sample depends on the texts of the chunks
// and not on their ids, so that equal indexes of up to scaleSample chunks get equal scales.
func measureScale(ctx context.Context, h measurer, i Index, s state) error {
	scale := Scale{Chunks: s.Chunks}
	var err error
	if scale.Match, err = measureMatch(ctx, h, s.Chunks); err != nil {
		return err
	}
	if scale.Far, scale.Near, err = measureSimilarities(ctx, h, i, s.Chunks); err != nil {
		return err
	}
	_, err = h.Exec(ctx, `
		UPDATE tenant.indexes SET scale = $2::jsonb || CASE WHEN scale ? 'renewed' THEN jsonb_build_object('renewed', scale->'renewed') ELSE '{}' END
		WHERE index_id = $1`, i.ID, scale)
	return err
}

const (
	// matchSample is the number of chunks of which measureMatch reads the terms.
	matchSample = 300
	// scaleSample is about the number of chunks of which a sample is drawn.
	scaleSample = 4000
	// similarPairs is the number of pairs of chunks that are compared.
	similarPairs = 100
	// similarNearest is the number of nearest chunks among which one of another document is looked for. If there
	// is none, the last of them counts.
	similarNearest = 40
)

// sampleOrder is the order in which a sample is drawn, as SQL.
const sampleOrder = `hashtextextended(coalesce(c.text, c.chunk_id), 1), c.chunk_id`

// sampledChunks returns a FROM item: chunks from random pages of a large index, or all.
func sampledChunks(chunks int64) string {
	if chunks <= scaleSample {
		return "tenant.chunk AS c"
	}
	percent := strconv.FormatFloat(100*scaleSample/float64(chunks), 'f', 6, 64)
	return "tenant.chunk AS c TABLESAMPLE SYSTEM (" + percent + ") REPEATABLE (1)"
}

// measureMatch returns the mean weight of a chunk's term. It returns 0 without terms.
func measureMatch(ctx context.Context, h data.Queryer, total int64) (float64, error) {
	chunks, err := data.Select[struct{ Weights pgvector.SparseVector }](ctx, h, `
		SELECT c.term_weights AS weights FROM `+sampledChunks(total)+`
		WHERE c.term_weights IS NOT NULL ORDER BY `+sampleOrder+` LIMIT $1`, matchSample)
	if err != nil || len(chunks) == 0 {
		return 0, err
	}
	sum := 0.0
	for _, chunk := range chunks {
		weights := chunk.Weights.Values()
		of := 0.0
		for _, weight := range weights {
			of += float64(weight)
		}
		sum += of / float64(max(len(weights), 1))
	}
	return sum / float64(len(chunks)), nil
}

// measureSimilarities returns the medians of the stretched similarities of random pairs of chunks, and of chunks
// and those nearest to them in other documents: through the Postgres index if there is one, else among a sample.
// Chunks of one document share its title and much of its words, as no question does.
func measureSimilarities(ctx context.Context, h data.Queryer, i Index, total int64) (far, near float64, err error) {
	candidates := sampledChunks(total)
	if i.Built {
		candidates = "tenant.chunk AS c"
	}
	type pair struct{ Random, Nearest *float64 }
	pairs, err := data.Select[pair](ctx, h, `
		WITH drawn AS MATERIALIZED (
			SELECT c.chunk_id, c.document_id, c.embedding, row_number() OVER (ORDER BY `+sampleOrder+`) AS n
			FROM `+sampledChunks(total)+` ORDER BY n LIMIT $1 + 1
		), p AS MATERIALIZED (
			SELECT a.chunk_id, a.document_id, a.embedding, a.embedding `+i.Metric.Operator()+` b.embedding AS random
			FROM drawn AS a JOIN drawn AS b ON b.n = a.n + 1
		)
		SELECT nullif(p.random, 'NaN')::float8 AS random, (
			SELECT coalesce(min(f.distance) FILTER (WHERE f.document_id IS NULL OR f.document_id IS DISTINCT FROM p.document_id), max(f.distance))
			FROM (
				SELECT c.chunk_id, c.document_id, c.embedding `+i.Metric.Operator()+` p.embedding AS distance FROM `+candidates+`
				ORDER BY c.embedding `+i.Metric.Operator()+` p.embedding LIMIT $2
			) AS f
			WHERE f.chunk_id <> p.chunk_id AND f.distance <> 'NaN'
		)::float8 AS nearest
		FROM p`, similarPairs, similarNearest)
	if err != nil {
		return 0, 0, err
	}
	var random, nearest []float64
	for _, p := range pairs {
		if p.Random != nil && p.Nearest != nil {
			random = append(random, i.Metric.Stretch(i.Score(*p.Random)))
			nearest = append(nearest, i.Metric.Stretch(i.Score(*p.Nearest)))
		}
	}
	if len(random) == 0 {
		return 0, 0, nil
	}
	far, near = median(random), median(nearest)
	if i.Metric != DotProduct {
		near = min(near, nearestCap)
	}
	return far, max(near, far+leastSpread), nil
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
