package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/sync/errgroup"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/evaluate"
)

// evaluation is what is measured.
type evaluation struct {
	index       string
	questions   []question
	modes       []string
	ks          []int
	concurrency int
	reranker    *ragdv1.Reranker // of modes marked by rerankSuffix
}

// measure is what --json prints of a mode.
type measure struct {
	Mode string `json:"mode"`
	evaluate.Summary
	P50Ms float64 `json:"p50Ms"`
	P99Ms float64 `json:"p99Ms"`
}

// evaluate asks every question in every mode and prints the measures.
func (p *program) evaluate(ctx context.Context, c *client, e evaluation) error {
	var measures []measure
	for _, mode := range e.modes {
		answers, err := p.ask(ctx, c, e, mode)
		if err != nil {
			return err
		}
		s := evaluate.Summarize(answers, e.ks)
		measures = append(measures, measure{mode, s, milliseconds(s.P50), milliseconds(s.P99)})
	}
	if p.json {
		return p.printJSON(map[string]any{"index": e.index, "modes": measures})
	}
	return p.printMeasures(measures)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// ask asks every question in one mode. The first query that fails ends it: a
// measure over the rest would be of something else.
func (p *program) ask(ctx context.Context, c *client, e evaluation, mode string) ([]evaluate.Answer, error) {
	bar := newBar(p.stderr, int64(len(e.questions)), mode, progressbar.OptionSetVisibility(p.animates), progressbar.OptionShowCount())
	defer func() { _ = bar.Finish() }()
	answers := make([]evaluate.Answer, len(e.questions))
	topK := int32(slices.Max(e.ks))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(e.concurrency)
	for i, q := range e.questions {
		group.Go(func() error {
			start := time.Now()
			sources, err := c.find(ctx, e, mode, q.text, topK)
			if err != nil {
				return fmt.Errorf("question %s: %w", q.id, err)
			}
			answers[i] = evaluate.Answer{Judged: q.judged, Latency: time.Since(start)}
			for _, source := range sources {
				answers[i].Ranking = append(answers[i].Ranking, source.GetUri())
			}
			_ = bar.Add(1)
			return nil
		})
	}
	return answers, group.Wait()
}

// find answers one question in a mode, which may be marked by graphSuffix, then
// by rerankSuffix.
func (c *client) find(ctx context.Context, e evaluation, mode, text string, topK int32) ([]*ragdv1.Source, error) {
	var reranker *ragdv1.Reranker
	mode, reranked := strings.CutSuffix(mode, rerankSuffix)
	if reranked {
		reranker = e.reranker
	}
	if seeds, ok := strings.CutSuffix(mode, graphSuffix); ok {
		res, err := c.queries.GraphRag(ctx, &ragdv1.GraphRagRequest{QueryText: text, IndexName: e.index, SearchMode: seeds, TopK: &topK, Reranker: reranker})
		return res.GetSources(), err
	}
	res, err := c.queries.VectorQuery(ctx, &ragdv1.VectorQueryRequest{QueryText: text, IndexName: e.index, SearchMode: mode, TopK: &topK, Reranker: reranker})
	return res.GetSources(), err
}

func (p *program) printMeasures(measures []measure) error {
	w := newTable(p.stdout)
	header := []string{"MODE", "QUESTIONS"}
	for _, name := range []string{"RECALL", "NDCG", "ALL"} {
		for _, cut := range measures[0].Cuts {
			header = append(header, fmt.Sprintf("%s@%d", name, cut.K))
		}
	}
	fmt.Fprintln(w, strings.Join(append(header, "MRR", "P50 MS", "P99 MS"), "\t"))
	for _, m := range measures {
		fmt.Fprintf(w, "%s\t%d", m.Mode, m.Questions)
		for _, value := range []func(evaluate.Cut) float64{
			func(c evaluate.Cut) float64 { return c.Recall },
			func(c evaluate.Cut) float64 { return c.NDCG },
			func(c evaluate.Cut) float64 { return c.AllIn },
		} {
			for _, cut := range m.Cuts {
				fmt.Fprintf(w, "\t%.4f", value(cut))
			}
		}
		fmt.Fprintf(w, "\t%.4f\t%.2f\t%.2f\n", m.MRR, m.P50Ms, m.P99Ms)
	}
	return w.Flush()
}
