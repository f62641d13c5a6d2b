package query

import (
	"context"
	"math"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	// rrfK damps the lead of the first ranks in the fusion, see [fusedSQL].
	rrfK = 60
	// candidateFactor is how many candidates each leg of a hybrid search brings
	// per source wanted, and minCandidates the least.
	candidateFactor = 5
	minCandidates   = 50
	maxCandidates   = 1000
	// minEfSearch and maxEfSearch bound the candidate list of an HNSW scan.
	minEfSearch = 100
	maxEfSearch = 1000
	// searchTimeout ends a search that runs away, such as one with a regular
	// expression that backtracks without end.
	searchTimeout = "20s"
)

// distance is how a metric is written in SQL, and how a distance becomes a score
// that is higher for the better.
type distance struct {
	operator string
	score    func(distance float64) float64
}

var distances = map[index.Metric]distance{
	index.Cosine:     {"<=>", func(d float64) float64 { return 1 - d }},
	index.Euclidean:  {"<->", func(d float64) float64 { return 1 / (1 + d) }},
	index.DotProduct: {"<#>", func(d float64) float64 { return -d }},
}

// sourceRow is a found chunk. In vector mode rank_value is a distance, else a
// score.
type sourceRow struct {
	ChunkID    string
	DocumentID string
	URI        *string
	Title      string
	Ordinal    int
	Text       string
	Metadata   map[string]any
	StartByte  int
	EndByte    int
	Embedding  *pgvector.Vector
	RankValue  float64
}

// search runs one statement, in one round trip, and returns at most topK
// sources, best first.
func search(ctx context.Context, h *tenant.Handle, i index.Index, p plan) ([]Source, error) {
	metric := distances[i.Metric]
	var rows []sourceRow
	b := h.Batch()
	b.Set("statement_timeout", searchTimeout)
	ef := min(max(minEfSearch, p.candidates()), maxEfSearch)
	b.Set("hnsw.ef_search", strconv.Itoa(ef))
	// A filter may drop candidates: the scan goes on until there are enough.
	b.Set("hnsw.iterative_scan", "strict_order")
	args := filter.NewArgs()
	statement := p.sql(i, metric, args)
	b.Query(func(r pgx.Rows) (err error) {
		rows, err = pgx.CollectRows(r, pgx.RowToStructByName[sourceRow])
		return err
	}, statement, args.Values()...)
	if err := b.Run(ctx); err != nil {
		return nil, err
	}
	sources := make([]Source, len(rows))
	for n, row := range rows {
		sources[n] = row.source()
		if p.mode == Vector {
			sources[n].Score = metric.score(row.RankValue)
		}
		if math.IsNaN(sources[n].Score) { // a zero vector has no direction
			sources[n].Score = 0
		}
	}
	return sources, nil
}

func (r sourceRow) source() Source {
	s := Source{
		ID: r.ChunkID, DocumentID: r.DocumentID, Title: r.Title, Ordinal: r.Ordinal, Text: r.Text,
		Metadata: r.Metadata, Score: r.RankValue, StartByte: r.StartByte, EndByte: r.EndByte,
	}
	if r.URI != nil {
		s.URI = *r.URI
	}
	if r.Embedding != nil {
		s.Vector = r.Embedding.Slice()
	}
	return s
}

// candidates is how many chunks each leg brings.
func (p plan) candidates() int {
	if p.mode != Hybrid {
		return p.topK
	}
	return min(max(minCandidates, candidateFactor*p.topK), max(maxCandidates, p.topK))
}

// sql writes the statement of the plan's mode. Only texts of this file and of
// the filter compiler become part of it; values are parameters.
func (p plan) sql(i index.Index, metric distance, args *filter.Args) string {
	where := p.filter.SQL("c.metadata", args)
	limit := args.Add(p.candidates())
	var found string
	switch p.mode {
	case Vector:
		found = vectorSQL(metric, where, args.Add(pgvector.NewVector(p.vector)), limit)
	case Keyword:
		found = keywordSQL(where, args.Add(i.TextLanguage), args.Add(p.text), limit)
	default:
		found = fusedSQL(
			vectorSQL(metric, where, args.Add(pgvector.NewVector(p.vector)), limit),
			keywordSQL(where, args.Add(i.TextLanguage), args.Add(p.text), limit),
			args.Add(p.topK))
	}
	order := "DESC"
	if p.mode == Vector {
		order = "ASC" // a distance
	}
	embedding := "NULL::vector"
	if p.includeVectors {
		embedding = "c.embedding"
	}
	return `
		WITH found AS (` + found + `)
		SELECT c.chunk_id, c.document_id::text, d.uri, c.title, c.ordinal, c.text, c.metadata, c.start_byte, c.end_byte,
			` + embedding + ` AS embedding, found.rank_value
		FROM found
		JOIN tenant.chunk AS c USING (chunk_id)
		LEFT JOIN tenant.documents AS d ON d.document_id = c.document_id
		ORDER BY found.rank_value ` + order + `, c.chunk_id`
}

func vectorSQL(metric distance, where, vector, limit string) string {
	by := "c.embedding " + metric.operator + " " + vector
	return `
			SELECT c.chunk_id, ` + by + ` AS rank_value
			FROM tenant.chunk AS c WHERE ` + where + `
			ORDER BY ` + by + ` LIMIT ` + limit
}

// keywordSQL finds chunks with any word of the question: asking for all of them,
// as plainto_tsquery does, would find nothing for most questions. Chunks with
// more of the words, closer together, come first.
func keywordSQL(where, language, text, limit string) string {
	return `
			SELECT c.chunk_id, ts_rank_cd(c.tsv, question.words, 1)::float8 AS rank_value
			FROM tenant.chunk AS c,
				(SELECT replace(plainto_tsquery(` + language + `::text::regconfig, ` + text + `)::text, '&', '|')::tsquery AS words) AS question
			WHERE c.tsv @@ question.words AND ` + where + `
			ORDER BY rank_value DESC, c.chunk_id LIMIT ` + limit
}

// fusedSQL joins two lists by reciprocal rank fusion (Cormack, Clarke and
// Buettcher, SIGIR 2009): a chunk's score is the sum of 1/(rrfK + rank) over the
// lists that it is in.
func fusedSQL(vector, keyword, limit string) string {
	k := strconv.Itoa(rrfK)
	return `
			SELECT chunk_id, sum(1.0::float8 / (` + k + ` + place)) AS rank_value
			FROM (
				SELECT chunk_id, row_number() OVER (ORDER BY rank_value, chunk_id) AS place FROM (` + vector + `) AS near
				UNION ALL
				SELECT chunk_id, row_number() OVER (ORDER BY rank_value DESC, chunk_id) AS place FROM (` + keyword + `) AS matching
			) AS places
			GROUP BY chunk_id ORDER BY rank_value DESC, chunk_id LIMIT ` + limit
}
