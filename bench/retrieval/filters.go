package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/pgvector/pgvector-go"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/dataset/synthetic"
)

// filterCase is a filter with the questions that are asked with it.
type filterCase struct {
	name   string
	filter map[string]any
	bare   string // the same condition in SQL
	match  func(metadata map[string]any) bool
	asked  [][]float32
}

// Fields of the metadata besides those of package synthetic. A number is declared in
// metadataIndexes or not; the others rank the vectors by their cosine to an anchor.
const (
	undeclared = "number"
	declared   = "declared"
	rankField  = "rank" // 0 is nearest to the anchor
	bandField  = "band" // the twentieth of the ranks, from 0
	bands      = 20
)

// rankedMetadata returns the metadata of vectors with the further fields.
func rankedMetadata(values [][]float32, anchor []float32) func(n int) map[string]any {
	rank := make([]int, len(values))
	for r, n := range synthetic.Nearest(values, anchor, "", len(values)) {
		rank[n] = r
	}
	return func(n int) map[string]any {
		m := synthetic.Metadata(n)
		number := rand.New(rand.NewPCG(uint64(n), 5)).Float64()
		m[undeclared], m[declared] = number, number
		m[rankField], m[bandField] = float64(rank[n]), float64(rank[n]*bands/len(values))
		return m
	}
}

// around returns questions near the anchor.
func around(anchor []float32, n int) [][]float32 {
	const noise = 0.3
	r := rand.New(rand.NewPCG(11, 11))
	out := make([][]float32, n)
	for q := range out {
		out[q] = slices.Clone(anchor)
		for i := range out[q] {
			out[q][i] += float32(r.NormFloat64() * noise)
		}
	}
	return out
}

// filterCases returns filters of many shares, by equality and by order, independent of the
// vectors and correlated with them.
func filterCases(d data, near [][]float32) []filterCase {
	var cases []filterCase
	for _, s := range shares {
		cases = append(cases, equals(s.keeps+", equality", s.field, 1, d.asked))
	}
	for _, field := range []string{undeclared, declared} {
		for _, share := range []float64{0.5, 0.1, 0.05, 0.01, 0.001} {
			cases = append(cases, below(fmt.Sprintf("%g %%, range, %s", 100*share, field), field, share, d.asked))
		}
	}
	hundredth := float64(d.loaded / 100)
	return append(cases,
		equals("5 %, all near the question", bandField, 0, near),
		equals("5 %, all far from the question", bandField, bands-1, near),
		equals("5 %, all in one region", bandField, 0, d.asked),
		below("1 %, all near the question", rankField, hundredth, near),
		below("1 %, all in one region", rankField, hundredth, d.asked),
	)
}

func equals(name, field string, value float64, asked [][]float32) filterCase {
	return filterCase{
		name: name, filter: map[string]any{field: value}, bare: fmt.Sprintf(`metadata @> '{"%s": %g}'`, field, value),
		match: func(m map[string]any) bool { return m[field] == value }, asked: asked,
	}
}

func below(name, field string, value float64, asked [][]float32) filterCase {
	return filterCase{
		name: name, filter: map[string]any{field: map[string]any{"$lt": value}},
		bare:  fmt.Sprintf(`(metadata->>'%s')::float8 < %g`, field, value),
		match: func(m map[string]any) bool { return m[field].(float64) < value }, asked: asked,
	}
}

// query returns the ids of the nearest vectors that match the filter, and how they were
// found.
func (c filterCase) query(ctx context.Context, r *ragd, question []float32) (ids []string, plan string, err error) {
	filter, err := structpb.NewValue(c.filter)
	if err != nil {
		return nil, "", err
	}
	res, err := r.vectors.Query(ctx, &ragdv1.QueryRequest{IndexName: indexName, QueryVector: question, Filter: filter, Explain: true})
	for _, result := range res.GetResults() {
		ids = append(ids, result.GetId())
	}
	return ids, fmt.Sprintf("%s of %d", res.GetExplain().GetPlan(), res.GetExplain().GetCandidates()), err
}

// queryBare returns what the same condition finds in the table of bare SQL.
func (c filterCase) queryBare(ctx context.Context, b *bare, question []float32) ([]string, error) {
	return b.nearest(ctx, `SELECT id, metadata, document, 1 - (embedding <=> $1) FROM bare.vectors WHERE `+c.bare, pgvector.NewVector(question))
}

// recallQuestions bounds the questions that recall is measured with.
const recallQuestions = 50

// recall returns the fraction of the nearest matching vectors that a query finds. A query
// that fails finds nothing.
func (c filterCase) recall(d data, query func(question []float32) []string) float64 {
	var numbers []int
	var matching [][]float32
	for n, v := range d.values[:d.loaded] {
		if c.match(d.metadata(n)) {
			numbers, matching = append(numbers, n), append(matching, v)
		}
	}
	found, wanted := 0, 0
	for _, question := range c.asked[:min(len(c.asked), recallQuestions)] {
		exact := map[string]bool{}
		for _, n := range synthetic.Nearest(matching, question, "", topK) {
			exact[entryID(numbers[n])] = true
		}
		wanted += len(exact)
		for _, id := range query(question) {
			if exact[id] {
				found++
			}
		}
	}
	return float64(found) / float64(max(wanted, 1))
}

// compareEachFilter measures queries with the filters of filterCases, one client at a time.
func compareEachFilter(ctx context.Context, o options, d data, near [][]float32, r *ragd, b *bare) error {
	fmt.Printf("\n| filter keeps | bare p50 ms | bare p99 ms | bare recall@%d | ragd p50 ms | ragd p99 ms | p99/p50 | ragd recall@%[1]d | plans | client CPU us | ragd CPU us | PostgreSQL CPU us |\n", topK)
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	b.iterate()
	if err := b.exec(ctx, `CREATE INDEX ON bare.vectors (((metadata->>'`+declared+`')::float8))`, `ANALYZE bare.vectors`); err != nil {
		return err
	}
	for _, c := range filterCases(d, near) {
		if o.only != "" && !strings.Contains(c.name, o.only) {
			continue
		}
		plans := map[string]int{}
		rates, err := measure(ctx, 1, o.duration, []side{
			{"bare", func(ctx context.Context, n int) error {
				_, err := c.queryBare(ctx, b, c.asked[n%len(c.asked)])
				return err
			}},
			{"ragd", func(ctx context.Context, n int) error {
				_, plan, err := c.query(ctx, r, c.asked[n%len(c.asked)])
				plans[plan]++
				return err
			}},
		}, r.used)
		if err != nil {
			return err
		}
		bareRecall := c.recall(d, func(q []float32) []string { ids, _ := c.queryBare(ctx, b, q); return ids })
		ragdRecall := c.recall(d, func(q []float32) []string { ids, _, _ := c.query(ctx, r, q); return ids })
		fmt.Printf("| %s | %s | %s | %.3f | %s | %s | %.1f | %.3f | %s | %s |\n", c.name, ms(rates[0].p50), ms(rates[0].p99), bareRecall,
			ms(rates[1].p50), ms(rates[1].p99), float64(rates[1].p99)/float64(max(rates[1].p50, 1)), ragdRecall, most(plans),
			rates[1].used.per(rates[1].calls))
	}
	return nil
}

// most returns the counted plans, the most frequent first.
func most(plans map[string]int) string {
	var names []string
	for name := range plans {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y string) int { return cmp.Compare(plans[y], plans[x]) })
	return strings.Join(names, ", ")
}
