package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/cmd/ragd/internal/localfiles"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/progress"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/evaluate"
)

func (p *program) evalCommand() *cobra.Command {
	cmd := p.clientFlags(&cobra.Command{
		Use:   "eval",
		Short: "Measure retrieval with questions whose answers are known",
		Long: `Ask questions whose relevant documents are known and print how well they were
found, for each search mode:

  recall@k  share of the relevant documents among the first k
  ndcg@k    their discounted gain, against that of the best order
  all@k     share of the questions whose relevant documents are all among the first k
  mrr       mean of 1/rank of the first relevant document
  p50, p99  time of a query as the client sees it, at the given concurrency

Each query asks for as many chunks as the largest k; chunks of one document count
once. Questions without a relevant document are left out.

With --rerank each mode is measured a second time with its answers reranked; a
question whose answer cannot be reranked ends the measurement.

--queries is JSON Lines with id and text; --qrels is tab-separated with a header
and the columns query_id, doc_id and relevance, where doc_id is a document's uri
and relevance above 0 is relevant. Both may be gzip. --corpus, JSON Lines as for
"ragd ingest --jsonl", is ingested first.

The service keeps embeddings of questions, so a mode that runs second finds them
made.`,
		Example: `  ragd eval --index squad --corpus corpus.jsonl.gz --queries queries.jsonl.gz --qrels qrels.tsv.gz
  ragd eval --index squad --queries queries.jsonl.gz --qrels qrels.tsv.gz --mode hybrid --k 1,5,20 --json
  ragd eval --index wiki --queries queries.jsonl.gz --qrels qrels.tsv.gz --mode keyword --graph
  ragd eval --index wiki --queries queries.jsonl.gz --qrels qrels.tsv.gz --mode hybrid --rerank lexical`,
		Args: arguments(),
	})
	flags := cmd.Flags()
	index := indexFlag(cmd)
	documents := flags.String("corpus", "", "documents to ingest first")
	queries := flags.String("queries", "", "the questions")
	qrels := flags.String("qrels", "", "their relevant documents")
	mode := flags.String("mode", "all", "vector, keyword, hybrid, several with commas, or all")
	graph := flags.Bool("graph", false, "measure walks through the graph too, from what each mode finds")
	reranker := rerankerFlag(flags, "measure each mode reranked too")
	ks := flags.IntSlice("k", []int{5, 10}, "how many documents are looked at")
	concurrency := flags.Int("concurrency", 4, "queries, or uploads, at once")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		e := evaluation{concurrency: *concurrency, ks: *ks}
		var err error
		if e.modes, err = searchModes(*mode); err != nil {
			return err
		}
		if *graph {
			for _, mode := range e.modes {
				e.modes = append(e.modes, mode+graphSuffix)
			}
		}
		if e.reranker = reranker(); e.reranker != nil {
			e.reranker.Required = true // else results that were not reranked would be measured
			for _, mode := range e.modes {
				e.modes = append(e.modes, mode+rerankSuffix)
			}
		}
		switch {
		case *queries == "" || *qrels == "":
			return usagef("--queries and --qrels are needed")
		case *concurrency < 1 || len(*ks) == 0 || slices.Min(*ks) < 1:
			return usagef("--k and --concurrency must be at least 1")
		}
		if e.questions, err = p.readQuestions(*queries, *qrels); err != nil {
			return err
		}
		c, err := p.connect(credentials.forTenant)
		if err != nil {
			return err
		}
		e.index, err = p.evalIndex(cmd.Context(), c, *index, *documents, *concurrency)
		if err != nil {
			return err
		}
		return p.evaluate(cmd.Context(), c, e)
	}
	return cmd
}

// graphSuffix marks a mode whose results are the seeds of a graph walk, rerankSuffix a
// mode whose results are reranked.
const (
	graphSuffix  = "+graph"
	rerankSuffix = "+rerank"
)

func searchModes(mode string) ([]string, error) {
	all := []string{"vector", "keyword", "hybrid"}
	if mode == "all" {
		return all, nil
	}
	modes := strings.Split(mode, ",")
	for _, m := range modes {
		if !slices.Contains(all, m) {
			return nil, usagef("--mode must be vector, keyword, hybrid or all, got %q", m)
		}
	}
	return modes, nil
}

// evalIndex returns the name of the index to query. If documents names a file it ingests
// that first.
func (p *program) evalIndex(ctx context.Context, c *client, index, documents string, concurrency int) (string, error) {
	if documents == "" {
		return c.existingIndex(ctx, index)
	}
	// Standard output is reserved for the measures.
	quiet := *p
	quiet.out = output.Printer{Stdout: p.out.Stderr, Stderr: p.out.Stderr}
	return quiet.ingest(ctx, c, ingestOptions{
		paths: []string{documents}, jsonl: true, index: index, create: true, concurrency: concurrency,
	})
}

// question is a question with known relevant documents.
type question struct {
	id, text string
	judged   evaluate.Judgements // of documents, by uri
}

// readQuestions reads questions and their relevant documents. It leaves out questions
// without a relevant document and prints their number.
func (p *program) readQuestions(queries, qrels string) ([]question, error) {
	file, err := os.Open(qrels)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	plain, err := localfiles.Decompress(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", qrels, err)
	}
	judged, err := evaluate.ReadQrels(qrels, plain)
	if err != nil {
		return nil, err
	}
	var questions []question
	unjudged := 0
	for line, err := range localfiles.LineFiles(queries) {
		if err != nil {
			return nil, err
		}
		if judged[line.URI].Relevant() == 0 {
			unjudged++
			continue
		}
		questions = append(questions, question{line.URI, line.Text, judged[line.URI]})
	}
	if unjudged > 0 {
		output.Note(p.out.Stderr, "left out %s without a relevant document", output.Count(unjudged, "question"))
	}
	if len(questions) == 0 {
		return nil, fmt.Errorf("%s: no question has a relevant document in %s", queries, qrels)
	}
	return questions, nil
}

// evaluation is one measurement.
type evaluation struct {
	index       string
	questions   []question
	modes       []string
	ks          []int
	concurrency int
	reranker    *ragdv1.Reranker // of modes with rerankSuffix
}

// measure is the output for one mode with --json.
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
	if p.out.JSON {
		return p.out.Value(map[string]any{"index": e.index, "modes": measures})
	}
	return p.printMeasures(measures)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// ask asks every question in one mode. The first query that fails ends it, because
// measures over the other questions would not be comparable.
func (p *program) ask(ctx context.Context, c *client, e evaluation, mode string) ([]evaluate.Answer, error) {
	bar := progress.NewBar(p.out.Stderr, int64(len(e.questions)), mode, progressbar.OptionSetVisibility(p.stderrTerminal), progressbar.OptionShowCount())
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

// find answers one question in a mode, which may have graphSuffix and then
// rerankSuffix.
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
	w := output.NewTable(p.out.Stdout)
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
