package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/localfiles"
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
			e.reranker.Required = true // what is not reranked would count for it
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

// graphSuffix marks a mode that finds the seeds of walks, rerankSuffix one whose
// answers are reranked.
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

// evalIndex returns the index to ask, after ingesting the documents if there are
// any.
func (p *program) evalIndex(ctx context.Context, c *client, index, documents string, concurrency int) (string, error) {
	if documents == "" {
		return c.existingIndex(ctx, index)
	}
	// Standard output is for the measures.
	quiet := *p
	quiet.stdout, quiet.json = p.stderr, false
	return quiet.ingest(ctx, c, ingestOptions{
		paths: []string{documents}, jsonl: true, index: index, create: true, concurrency: concurrency,
	})
}

// question is one that has relevant documents.
type question struct {
	id, text string
	judged   evaluate.Judgements
}

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
		note(p.stderr, "left out %s without a relevant document", count(unjudged, "question"))
	}
	if len(questions) == 0 {
		return nil, fmt.Errorf("%s: no question has a relevant document in %s", queries, qrels)
	}
	return questions, nil
}
