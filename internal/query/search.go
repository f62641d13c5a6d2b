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
	// candidateFactor is how many candidates a search brings for each source
	// wanted when they are yet to be fused or chosen from, and minCandidates and
	// maxCandidates bound them.
	candidateFactor = 5
	minCandidates   = 50
	maxCandidates   = 1000
	// searchTimeout ends a search that runs away, such as one with a regular
	// expression that backtracks without end.
	searchTimeout = "20s"
)

// candidates is how many chunks each leg brings.
func (p plan) candidates() int {
	if p.mode == Vector {
		return p.fetch()
	}
	return max(p.fetch(), p.plenty())
}

// fetch is how many sources the search brings, to choose topK from.
func (p plan) fetch() int {
	switch {
	case p.rerank != nil:
		return p.rerank.candidates
	case p.diversity > 0 || p.maxPerDocument > 0:
		return p.plenty()
	}
	return p.topK
}

// plenty is candidates enough to choose topK from.
func (p plan) plenty() int {
	return min(max(minCandidates, candidateFactor*p.topK), max(maxCandidates, p.topK))
}

// search is one search, ready to run.
type search struct {
	index    index.Index
	plan     plan
	approach approach  // of the vector leg
	estimate estimate  // of the scope; zero where there is nothing to choose
	keywords *keywords // of the keyword leg; nil without one
	spread   bool      // bring no more of a document than the plan's maxPerDocument
}

// choose settles how the nearest embeddings are found in a built index.
func (s *search) choose() {
	s.approach = s.estimate.choose(s.plan.candidates(), s.plan.width(s.index, s.estimate))
}

// SourceRow is a chunk as a statement finds it. What was not asked for stays empty.
// rank_value is a distance in vector mode, else a score.
type SourceRow struct {
	ChunkID    string
	DocumentID *string
	URI        *string
	Title      string
	Ordinal    int
	Text       string
	Metadata   string // the JSON of an object
	StartByte  int
	EndByte    int
	Embedding  *pgvector.Vector
	RankValue  float64
}

// run searches, in one round trip, and returns the sources best first.
func (s search) run(ctx context.Context, h *tenant.Handle) ([]Source, error) {
	sources, err := s.runSQL(ctx, h, func(args *filter.Args) string { return s.fromSQL(s.foundSQL(args)) })
	if s.plan.mode == Vector {
		for n := range sources {
			sources[n].Score = s.index.Score(sources[n].Score)
		}
	}
	withoutDirection(sources)
	return sources, err
}

// runSQL runs a statement that returns source rows.
func (s search) runSQL(ctx context.Context, h *tenant.Handle, write func(args *filter.Args) string) ([]Source, error) {
	args := filter.NewArgs()
	statement := write(args)
	b := h.Batch()
	s.configure(b, len(args.Values()))
	var sources []Source
	b.Query(func(rows pgx.Rows) (err error) {
		sources, err = s.read(rows)
		return err
	}, statement, args.Values()...)
	err := b.Run(ctx)
	return sources, err
}

// read returns rows of the columns of fromSQL as sources. It knows their order and
// looks up no names.
func (s search) read(rows pgx.Rows) ([]Source, error) {
	var r SourceRow
	into := []any{&r.ChunkID, &r.Text, &r.Metadata}
	if !s.plan.plain {
		into = append(into, &r.DocumentID, &r.URI, &r.Title, &r.Ordinal, &r.StartByte, &r.EndByte)
	}
	if s.vectors() {
		into = append(into, &r.Embedding)
	}
	sources := make([]Source, 0, s.plan.fetch())
	_, err := pgx.ForEachRow(rows, append(into, &r.RankValue), func() error {
		sources = append(sources, r.Source())
		return nil
	})
	return sources, err
}

// vectors reports whether the embeddings are brought along.
func (s search) vectors() bool { return s.plan.includeVectors || s.plan.diversity > 0 }

// fewArguments are those of a filter with one condition that a Postgres index
// serves, the namespace and the question.
const fewArguments = 4

// configure makes the settings of a statement with so many arguments. To plan it
// takes a third of a millisecond: that is done once for all wherever there is one
// way to go about it. Else the planner must see the arguments to know which
// conditions are selective.
func (s search) configure(b *tenant.Batch, arguments int) {
	b.Set("statement_timeout", searchTimeout)
	switch {
	case s.walks(), s.plan.mode == Vector && s.estimate.indexed && arguments <= fewArguments:
		b.Set("plan_cache_mode", "force_generic_plan")
	case s.plan.scope.filtered() || s.keywords != nil:
		b.Set("plan_cache_mode", "force_custom_plan")
	}
	if s.plan.mode == Keyword || s.approach == exact {
		return
	}
	b.Set(s.index.WidthSetting(), strconv.Itoa(s.plan.width(s.index, s.estimate)))
	// The scope may leave candidates out: the walk goes on until there are enough.
	b.Set(string(s.index.Config.Type)+".iterative_scan", "relaxed_order")
	// The approach is chosen already, by better statistics.
	b.Set("enable_seqscan", "off")
	b.Set("enable_sort", "off")
}

// withoutDirection scores vectors that have none, and so no distance, at 0, or
// like the worst of the others if that is less: they come last.
func withoutDirection(sources []Source) {
	least := 0.0
	for n := range sources {
		if math.IsNaN(sources[n].Score) {
			sources[n].Score = least
		}
		least = min(least, sources[n].Score)
	}
}

// Source is the row as a query returns it.
func (r SourceRow) Source() Source {
	s := Source{
		ID: r.ChunkID, DocumentID: valueOr(r.DocumentID, ""), URI: valueOr(r.URI, ""), Title: r.Title, Ordinal: r.Ordinal,
		Text: r.Text, Metadata: r.Metadata, Score: r.RankValue, StartByte: r.StartByte, EndByte: r.EndByte,
	}
	if r.Embedding != nil {
		s.Vector = r.Embedding.Slice()
	}
	return s
}

// fromSQL reads what the common table expression found. Only texts of ours and of
// the filter compiler become part of a statement; values are parameters, but for
// counts, which the planner should see. Within the statement a chunk is known by
// its place in the table, which is quicker to go back to than its id; a walk of the
// Postgres index has been at the chunk already and brings it along.
func (s search) fromSQL(found string) string {
	order := "DESC"
	if s.plan.mode == Vector {
		order = "ASC" // a distance
	}
	columns, documents := "c.chunk_id, c.text, c.metadata", ""
	if !s.plan.plain {
		columns += ", c.document_id::text, d.uri, c.title, c.ordinal, c.start_byte, c.end_byte"
		documents = "LEFT JOIN tenant.documents AS d ON d.document_id = c.document_id"
	}
	if s.vectors() {
		columns += ", " + s.index.EmbeddingSQL("c.embedding") + " AS embedding"
	}
	chunks := "found JOIN tenant.chunk AS c ON c.ctid = found.tid"
	if s.walks() {
		chunks = "found AS c"
	}
	return `
		WITH ` + found + `
		SELECT ` + columns + `, rank_value
		FROM ` + chunks + ` ` + documents + `
		ORDER BY rank_value ` + order + `, c.chunk_id`
}

// walks reports whether all there is to do is to walk the Postgres index over the
// embeddings.
func (s search) walks() bool { return s.plan.mode == Vector && s.approach == approximate }

// foundSQL is the common table expression of what is found: place and
// rank_value.
func (s search) foundSQL(args *filter.Args) string {
	where := s.plan.scope.sql(s.index, args)
	if s.keywords != nil && s.keywords.required != "" {
		where += " AND c.terms @@ " + args.Add(s.keywords.required) + "::text::tsquery"
	}
	var distance string
	if s.plan.mode != Keyword {
		distance = "c.embedding " + s.index.Metric.Operator() + " " + args.Add(s.index.Column(s.plan.vector))
	}
	switch s.plan.mode {
	case Vector:
		return `found AS (` + s.vectorSQL(distance, where, s.plan.fetch()) + `)`
	case Keyword:
		return s.scoredSQL(s.keywordSQL(where, args), "NULL::float8", args) + `,
			found AS (` + s.bestSQL("SELECT *, keyword AS rank_value FROM scored", "DESC", s.plan.fetch()) + `)`
	}
	legs := `SELECT tid FROM (` + s.vectorSQL(distance, where, s.plan.candidates()) + `) AS near`
	vector, keyword := 1.0, 0.0
	if s.keywords != nil {
		legs += ` UNION ` + s.keywordSQL(where, args)
		vector, keyword = s.plan.fusion.weights(s.index.EmbeddingModel)
	}
	return s.scoredSQL(legs, distance, args) + `,
			found AS (` + s.bestSQL(`SELECT *, `+s.plan.fusion.sql(vector, keyword)+` AS rank_value FROM scored`, "DESC", s.plan.fetch()) + `)`
}

// bestSQL keeps the first of rows with tid, chunk_id, document_id and rank_value,
// and in a search that is spread only so many of one document. A ready-made vector
// is a document of its own.
func (s search) bestSQL(rows, direction string, limit int) string {
	order, few := "rank_value "+direction+", chunk_id", ""
	if s.spread {
		rows = `SELECT *, row_number() OVER (
					PARTITION BY document_id, CASE WHEN document_id IS NULL THEN chunk_id END ORDER BY ` + order + `
				) AS nth FROM (` + rows + `) AS r`
		few = " WHERE nth <= " + strconv.Itoa(s.plan.maxPerDocument)
	}
	return `SELECT tid, rank_value FROM (` + rows + `) AS r` + few + ` ORDER BY ` + order + ` LIMIT ` + strconv.Itoa(limit)
}

// vectorSQL finds the nearest embeddings. The added 0 keeps the Postgres index
// out of an exact search; with it, only the distance itself may be sorted by.
func (s search) vectorSQL(distance, where string, limit int) string {
	if s.spread {
		return s.bestSQL(s.rankedSQL(distance, where), "ASC", limit)
	}
	columns, order := "c.ctid AS tid", distance
	if s.walks() {
		columns = "c.*"
	}
	if s.approach == exact {
		order = "(" + distance + ") + 0, c.chunk_id"
	}
	return `SELECT ` + columns + `, ` + distance + ` AS rank_value FROM tenant.chunk AS c WHERE ` + where + `
				ORDER BY ` + order + ` LIMIT ` + strconv.Itoa(limit)
}

// keywordSQL finds the chunks whose words weigh most.
func (s search) keywordSQL(where string, args *filter.Args) string {
	where = "c.terms @@ " + args.Add(s.keywords.match) + "::text::tsquery AND " + where
	order := "c.term_weights <#> " + args.Add(s.keywords.weights)
	if s.spread {
		return `(SELECT tid FROM (` + s.bestSQL(s.rankedSQL(order, where), "ASC", s.plan.candidates()) + `) AS weighty)`
	}
	return `(SELECT c.ctid AS tid FROM tenant.chunk AS c WHERE ` + where + `
				ORDER BY ` + order + `, c.chunk_id LIMIT ` + strconv.Itoa(s.plan.candidates()) + `)`
}

// rankedSQL is the rows for bestSQL of all chunks that a condition selects.
func (s search) rankedSQL(value, where string) string {
	return `SELECT c.ctid AS tid, c.chunk_id, c.document_id, ` + value + ` AS rank_value FROM tenant.chunk AS c WHERE ` + where
}

// scoredSQL gives each candidate both scores, whichever leg it came from.
func (s search) scoredSQL(candidates, distance string, args *filter.Args) string {
	keyword := "0::float8"
	if s.keywords != nil {
		keyword = "coalesce(-(c.term_weights <#> " + args.Add(s.keywords.weights) + "), 0)"
		if len(s.keywords.compounds) > 0 {
			keyword += ` + ` + args.Add(s.keywords.bonus) + `::float8 * (
					SELECT count(*) FROM unnest(` + args.Add(s.keywords.compounds) + `::text[]) AS compound WHERE c.terms @@ compound::tsquery)`
		}
	}
	return `candidate AS (` + candidates + `),
			scored AS (
				SELECT candidate.tid, c.chunk_id, c.document_id, ` + distance + ` AS distance, ` + keyword + ` AS keyword
				FROM candidate JOIN tenant.chunk AS c ON c.ctid = candidate.tid
			)`
}
