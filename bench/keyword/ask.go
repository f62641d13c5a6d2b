package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/index/analyzer"
)

// textLanguage is the text language of the index.
const textLanguage = "english"

// topK is the number of sources of an answer.
const topK = 10

// ask asks the questions of each kind and prints a row of Markdown for each.
func (a *arena) ask(ctx context.Context) error {
	fmt.Println("\n| questions | p50 ms | p90 ms | p99 ms | CPU ms: PostgreSQL | ragd | candidates | searches | exact | agreement of the first 10 |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	l := newLanguage(0)
	for n, kind := range []string{mixed, titled, common} {
		l.reseed(uint64(1000 + n))
		if err := a.askAll(ctx, l, kind); err != nil {
			return err
		}
	}
	return nil
}

// askAll asks the questions of one kind.
func (a *arena) askAll(ctx context.Context, l *language, kind string) error {
	const warmUp = 20
	questions := make([]string, a.questions+warmUp)
	for n := range questions {
		questions[n] = l.question(kind)
	}
	for _, question := range questions[a.questions:] {
		if _, err := a.query(ctx, question); err != nil {
			return err
		}
	}
	questions = questions[:a.questions]
	took := make([]time.Duration, len(questions))
	answers := make([]*ragdv1.VectorQueryResponse, len(questions))
	var exact, searches int
	var candidates int32
	before := a.usage()
	for n, question := range questions {
		start := time.Now()
		res, err := a.query(ctx, question)
		if err != nil {
			return err
		}
		took[n], answers[n] = time.Since(start), res
		candidates += res.GetExplain().GetCandidates()
		for _, stage := range res.GetExplain().GetStages() {
			if strings.HasPrefix(stage.GetName(), "search") {
				searches++
			}
		}
		if res.GetExplain().GetExact() {
			exact++
		}
	}
	after := a.usage()
	agreement, err := a.agreement(ctx, questions, answers)
	if err != nil {
		return err
	}
	slices.Sort(took)
	milliseconds := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	each := func(d time.Duration) float64 { return milliseconds(d) / float64(len(questions)) }
	fmt.Printf("| %s | %.1f | %.1f | %.1f | %.1f | %.1f | %.0f | %.2f | %.0f %% | %.4f |\n", kind,
		milliseconds(took[len(took)/2]), milliseconds(took[len(took)*9/10]), milliseconds(took[len(took)*99/100]),
		each(after.database-before.database), each(after.ragd-before.ragd),
		float64(candidates)/float64(len(questions)), float64(searches)/float64(len(questions)), 100*float64(exact)/float64(len(questions)), agreement)
	return nil
}

func (a *arena) query(ctx context.Context, question string) (*ragdv1.VectorQueryResponse, error) {
	limit := int32(topK)
	return a.queries.VectorQuery(ctx, &ragdv1.VectorQueryRequest{
		IndexName: indexName, QueryText: question, SearchMode: "keyword", TopK: &limit, Explain: true,
	})
}

// agreement returns the mean fraction of the sources that are among the best topK of all
// passages. A source that scores as much as the last of these is one of them.
func (a *arena) agreement(ctx context.Context, questions []string, answers []*ragdv1.VectorQueryResponse) (float64, error) {
	sum, compared := 0.0, 0
	for n := range min(a.compared, len(questions)) {
		ids := make([]string, len(answers[n].GetSources()))
		for s, source := range answers[n].GetSources() {
			ids[s] = source.GetId()
		}
		var good, all int
		terms, factors := termsOf(questions[n])
		if err := a.database.QueryRow(ctx, fullRanking, terms, ids, topK, factors).Scan(&good, &all); err != nil {
			return 0, err
		}
		if all > 0 {
			sum += float64(good) / float64(all)
			compared++
		}
	}
	return sum / float64(max(1, compared)), nil
}

// termsOf returns the terms of a question, and how often it has each.
func termsOf(question string) (terms []string, counts []float64) {
	for _, word := range analyzer.Informative(analyzer.Question(question, []string{textLanguage})) {
		for _, term := range word.Terms {
			terms, counts = append(terms, term), append(counts, float64(word.Count))
		}
	}
	return terms, counts
}

// fullRanking counts the sources with the ids $2 that score as the best $3 of all passages
// do, and the best. It weighs terms by their counts at the last count, as ragd does.
const fullRanking = `
	WITH asked AS (
		SELECT ragd_shared.term_dimension(lexeme) AS dimension, coalesce(
			(SELECT t.chunks * (SELECT sum(chunks) FROM tenant_bench.index_counts) / (SELECT counted_chunks FROM tenant_bench.indexes)
				FROM tenant_bench.term_1 AS t WHERE t.lexeme = a.lexeme),
			(SELECT count(*) FROM tenant_bench.chunk_1 AS c WHERE c.terms @@ quote_literal(a.lexeme)::tsquery)) AS n, a.factor
		FROM (SELECT lexeme COLLATE "C" AS lexeme, factor FROM unnest($1::text[], $4::float8[]) AS t (lexeme, factor)) AS a
	), question AS (
		SELECT ('{' || string_agg(dimension || ':' || factor * ln(1 + (total - n + 0.5) / (n + 0.5)), ',') || '}/1000000000')::sparsevec AS weights
		FROM asked, (SELECT sum(chunks) AS total FROM tenant_bench.index_counts) AS size
	), best AS (
		SELECT -(c.term_weights <#> (SELECT weights FROM question)) AS score FROM tenant_bench.chunk_1 AS c
		WHERE c.term_weights IS NOT NULL ORDER BY 1 DESC LIMIT $3
	), least AS (SELECT min(score) AS score FROM best WHERE score > 0)
	SELECT (SELECT count(*) FROM tenant_bench.chunk_1 AS c, least
			WHERE c.namespace = 'default' AND c.chunk_id = ANY($2)
				AND -(c.term_weights <#> (SELECT weights FROM question)) >= least.score - 1e-4),
		(SELECT count(*) FROM best WHERE score > 0)`
