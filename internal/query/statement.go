package query

import (
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// statement is a SELECT under construction: common table expressions, each used by
// one that follows, and the parameters of all. testdata/statements has the results.
//
// Only texts of this package and of the filter compiler become SQL. Values are
// parameters, except for counts, which the planner should see.
type statement struct {
	args *filter.Args
	with []string
}

// define adds the common table expression name, one clause a line.
func (q *statement) define(name string, clauses ...string) {
	q.with = append(q.with, name+" AS (\n\t"+strings.Join(clauses, "\n\t")+"\n)")
}

// sql returns the statement with its last query, one clause a line.
func (q *statement) sql(clauses ...string) string {
	return "WITH " + strings.Join(q.with, ", ") + "\n" + strings.Join(clauses, "\n")
}

// sql returns the statement of the search. Its rows are best first and have the
// columns that read takes.
//
// Between its parts a chunk is known by its tid, which is quicker to look up than
// its id. An index scan that is all there is to do has read the chunk already, and
// passes it on whole.
func (s search) sql(args *filter.Args) string {
	q := &statement{args: args}
	s.find(q)
	columns, order := "SELECT c.chunk_id, c.text, c.metadata", "DESC"
	chunks := "FROM found JOIN tenant.chunk AS c ON c.ctid = found.tid"
	if s.scansOnly() {
		chunks = "FROM found AS c"
	}
	if !s.request.plain {
		columns += ", c.document_id::text, d.uri, c.title, c.ordinal, c.start_byte, c.end_byte"
		chunks += "\n\tLEFT JOIN tenant.documents AS d ON d.document_id = c.document_id"
	}
	if s.vectors() {
		columns += ", " + s.index.EmbeddingSQL("c.embedding") + " AS embedding"
	}
	if s.request.mode == Vector || s.request.lists() {
		order = "ASC" // a distance, or a place
	}
	if s.scores() {
		columns += ", found.keyword, found.adjacent, found.distance"
	}
	if s.reweighs() {
		columns += ", c.terms"
	}
	if s.rest != nil {
		columns += ", rest.evidence, rest.keyword"
		chunks += "\n\tCROSS JOIN rest"
	}
	return q.sql(columns+", rank_value", chunks, "ORDER BY rank_value "+order+", c.chunk_id")
}

// find defines found: the tid and the rank_value of the chunks to return.
func (s search) find(q *statement) {
	where := s.where(q)
	wanted := s.request.fetch()
	switch {
	case len(s.pins) > 0:
		s.findPinned(q, where)
	case len(s.request.order) > 0 && s.request.lists():
		s.inOrder(q, where)
	case s.request.lists():
		q.define("found",
			"SELECT c.ctid AS tid, 0::float8 AS rank_value",
			"FROM tenant.chunk AS c",
			"WHERE "+where,
			"ORDER BY c.chunk_id",
			limitTo(s.request.topK))
	case s.request.mode == Vector:
		s.nearest(q, "found", s.distance(q), where, wanted)
	case s.request.mode == Keyword:
		distance, weight := "NULL::float8", s.weight(q)
		if s.request.compares() {
			distance = s.distance(q)
		}
		s.heaviest(q, "candidate", weight, where+s.near(q, distance))
		s.score(q, distance, s.keywordScore(weight))
		s.best(q, "keyword + adjacent")
	case s.keywords == nil: // a hybrid search for a question without terms
		distance := s.distance(q)
		s.nearest(q, "candidate", distance, where, s.request.candidates())
		s.score(q, distance, "0::float8")
		s.best(q, s.fused(q))
	default:
		distance, weight := s.distance(q), s.weight(q)
		s.nearest(q, "near", distance, where, s.request.candidates())
		s.heaviest(q, "heavy", weight, where+s.near(q, distance))
		if s.rest != nil {
			s.bound(q)
		}
		q.define("candidate", "SELECT tid FROM near UNION SELECT tid FROM heavy")
		s.score(q, distance, s.keywordScore(weight))
		s.best(q, s.fused(q))
	}
}

// scores reports whether the statement returns the scores that a score is made of.
func (s search) scores() bool { return s.request.mode != Vector && !s.request.lists() }

// near returns the condition that a chunk is more similar than the request demands, with
// AND before it, or nothing.
func (s search) near(q *statement, distance string) string {
	if s.request.minSimilarity == nil {
		return ""
	}
	return " AND " + distance + " < " + q.args.Add(s.index.Distance(*s.request.minSimilarity)) + "::float8"
}

// where returns the condition on a chunk c of the scope and the required phrases.
func (s search) where(q *statement) string {
	where := s.request.scope.sql(s.index, q.args) + s.request.examples.sql(q.args) +
		s.request.curated.sql(s.index, s.request.scope.namespace, q.args) + conditionSQL(s.request.conditions, q.args)
	if s.keywords != nil && s.keywords.required != "" {
		where += " AND c.terms @@ " + q.args.Add(s.keywords.required) + "::text::tsquery"
	}
	if s.list != nil {
		where += " AND c.ctid = ANY(" + q.args.Add(s.list.among(s)) + "::tid[])"
	}
	return where
}

// distance returns the distance of a chunk c from the question. Inner products of sparse
// vectors, which pgvector returns as negative numbers, are subtracted from it.
func (s search) distance(q *statement) string {
	distance := "c.embedding " + s.index.Metric.Operator() + " " + q.args.Add(s.index.Column(s.request.vector))
	if s.request.beside == nil {
		return distance
	}
	return "(" + distance + ") + coalesce(c.sparse <#> " + q.args.Add(s.request.beside) + ", 0)"
}

// weight returns the negative weight of the question's terms in a chunk c.
func (s search) weight(q *statement) string {
	weight := "c.term_weights <#> " + q.args.Add(s.keywords.weights)
	if phrases := s.keywords.phrasesIn(q); phrases != "" {
		return "coalesce(" + weight + ", 0)" + phrases
	}
	return weight
}

// keywordScore returns the keyword score of a chunk c, given the negative weight of its terms.
func (search) keywordScore(weight string) string {
	return "coalesce(-(" + weight + "), 0)"
}

// nearest defines the chunks with the nearest embeddings. The added 0 keeps the
// Postgres index out of an exact search; with the index, PostgreSQL can sort by
// nothing but the distance.
func (s search) nearest(q *statement, name, distance, where string, most int) {
	columns, order := "SELECT c.ctid AS tid, ", distance
	switch {
	case s.spread:
		s.spreadOut(q, name, distance, where, most)
		return
	case s.scansOnly():
		columns = "SELECT c.*, "
	case s.plan == exact:
		order = "(" + distance + ") + 0, c.chunk_id"
	}
	q.define(name,
		columns+distance+" AS rank_value",
		"FROM tenant.chunk AS c",
		"WHERE "+where,
		"ORDER BY "+order,
		limitTo(most))
}

// heaviest defines the chunks that match and whose terms weigh most.
func (s search) heaviest(q *statement, name, weight, where string) {
	where = "c.terms @@ " + q.args.Add(s.keywords.match) + "::text::tsquery AND " + where
	if s.spread {
		s.spreadOut(q, name, weight, where, s.request.candidates())
		return
	}
	columns := "SELECT c.ctid AS tid"
	if s.rest != nil {
		columns += ", " + weight + " AS rank_value"
	}
	q.define(name,
		columns,
		"FROM tenant.chunk AS c",
		"WHERE "+where,
		"ORDER BY "+weight+", c.chunk_id",
		limitTo(s.request.candidates()))
}

// bound defines rest: what the embedding adds at most to the value of a chunk that is not near, and the
// BM25 score at most of a chunk that matches and is not heavy, 0 if there is none. An embedding of length 0 adds nothing.
func (s search) bound(q *statement) {
	q.define("rest",
		"SELECT greatest("+s.vectorEvidence(q)+", 0) AS evidence,",
		"	(SELECT CASE WHEN count(*) = "+strconv.Itoa(s.request.candidates())+" THEN coalesce(-max(rank_value), 0) ELSE 0 END FROM heavy) AS keyword",
		"FROM (SELECT max(rank_value) AS distance FROM near) AS n")
}

// spreadOut defines the chunks with the least value, at most maxPerDocument of each
// document.
func (s search) spreadOut(q *statement, name, value, where string, most int) {
	q.define(name+"_ranked",
		"SELECT c.ctid AS tid, c.chunk_id, c.document_id, "+value+" AS rank_value",
		"FROM tenant.chunk AS c",
		"WHERE "+where)
	s.fewPerDocument(q, name, "ASC", most, "")
}

// score defines scored: each candidate with both scores, whichever leg found it.
func (s search) score(q *statement, distance, keyword string) {
	q.define("scored",
		"SELECT candidate.tid, c.chunk_id, c.document_id, "+distance+" AS distance,",
		"	"+keyword+" AS keyword,",
		"	"+s.adjacent(q)+" AS adjacent",
		"FROM candidate JOIN tenant.chunk AS c ON c.ctid = candidate.tid")
}

// best defines found: the chunks of scored with the highest value, ties by chunk_id.
func (s search) best(q *statement, value string) {
	from := "FROM scored WHERE true" + s.near(q, "distance")
	if s.request.minSimilarity == nil {
		from = "FROM scored"
	}
	if s.spread {
		q.define("found_ranked", "SELECT tid, chunk_id, document_id, keyword, adjacent, distance,", "	"+value+" AS rank_value", from)
		s.fewPerDocument(q, "found", "DESC", s.request.fetch(), "keyword, adjacent, distance, ")
		return
	}
	q.define("found",
		"SELECT tid, keyword, adjacent, distance,",
		"	"+value+" AS rank_value",
		from,
		"ORDER BY rank_value DESC, chunk_id",
		limitTo(s.request.fetch()))
}

// fewPerDocument defines the first rows of name_ranked, at most maxPerDocument of
// each document, with more columns. A ready-made vector is a document of its own.
func (s search) fewPerDocument(q *statement, name, direction string, most int, columns string) {
	order := "ORDER BY rank_value " + direction + ", chunk_id"
	q.define(name+"_numbered",
		"SELECT tid, chunk_id, "+columns+"rank_value,",
		"	row_number() OVER (PARTITION BY document_id, CASE WHEN document_id IS NULL THEN chunk_id END "+order+") AS nth",
		"FROM "+name+"_ranked")
	q.define(name,
		"SELECT tid, "+columns+"rank_value",
		"FROM "+name+"_numbered",
		"WHERE nth <= "+strconv.Itoa(s.request.maxPerDocument),
		order,
		limitTo(most))
}

func limitTo(n int) string { return "LIMIT " + strconv.Itoa(n) }

// vectors reports whether the statement returns the embeddings.
func (s search) vectors() bool { return s.request.includeVectors || s.request.diversity > 0 }

// scansOnly reports whether a scan of the Postgres index over the embeddings is all
// there is to do.
func (s search) scansOnly() bool { return s.request.mode == Vector && s.plan == indexScan }

// fewArguments are the namespace, the question and two more, of a filter with one
// condition that a Postgres index serves.
const fewArguments = 4

// setting is a PostgreSQL setting of one statement.
type setting struct{ name, value string }

// settings returns the settings of the statement, which has so many arguments.
//
// Planning it takes a third of a millisecond. Where only one plan makes sense, it is
// planned once for all arguments. Elsewhere the planner must see the arguments to
// know which conditions are selective, and to use a Postgres index on a metadata field.
func (s search) settings(arguments int) []setting {
	out := []setting{{"statement_timeout", searchTimeout}}
	byContainment := s.estimate.indexed && !s.estimate.constants && arguments <= fewArguments
	switch {
	case s.scansOnly(), s.list != nil, s.request.mode == Vector && byContainment:
		out = append(out, setting{"plan_cache_mode", "force_generic_plan"})
	case s.request.scope.filtered() || len(s.request.conditions) > 0 || s.keywords != nil:
		out = append(out, setting{"plan_cache_mode", "force_custom_plan"})
	}
	if s.request.mode == Keyword {
		return out
	}
	// The plan is chosen already, by better statistics.
	if s.plan == indexScan {
		return append(append(out, setting{"enable_seqscan", "off"}, setting{"enable_sort", "off"}), s.scanSettings()...)
	}
	if s.estimate.indexed || s.list != nil {
		out = append(out, setting{"enable_seqscan", "off"})
	}
	return out
}

// scanSettings returns the settings of the index scan: its width, and how it goes on if the
// scope excludes candidates.
func (s search) scanSettings() []setting {
	wanted, width := s.effort()
	out, c := []setting{{s.index.WidthSetting(), strconv.Itoa(width)}}, costsOf(s.index)
	switch {
	case s.index.Config.Type == index.IVFFlat:
		return append(out, setting{"ivfflat.iterative_scan", "relaxed_order"})
	case !s.estimate.iterates(c, wanted):
		return append(out, setting{"hnsw.iterative_scan", "off"})
	}
	return append(out, setting{"hnsw.iterative_scan", "relaxed_order"}, setting{"hnsw.max_scan_tuples", strconv.Itoa(s.estimate.scanTuples(c))})
}
