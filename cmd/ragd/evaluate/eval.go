package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/data"
	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/localfiles"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/progress"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/automation/evaluate"
	"github.com/ragdhq/ragd/internal/automation/evaluate/measure"
)

func evalCommand(p *command.Program) *cobra.Command {
	cmd := p.ClientFlags(&cobra.Command{
		Use:   "eval",
		Short: "Measure retrieval and answers with questions whose answers are known",
		Long: `Measure retrieval and answers with questions whose answers are known: the commands
below keep question sets in the service, run them there and compare runs. With --queries
instead of a command, this one asks the questions of a file at once and keeps nothing.
With --answers it asks an agent the questions of a set; see further below.

Ask questions whose relevant documents are known and print how well they were
found, for each search mode:

  recall@k  share of the relevant documents among the first k
  ndcg@k    their discounted gain, against that of the best order
  all@k     share of the questions whose relevant documents are all among the first k
  mrr       mean of 1/rank of the first relevant document
  p50, p99  time of a query as the client sees it, at the given concurrency

Each query asks for as many chunks as the largest k; chunks of one document count
once. Questions without a relevant document are left out. --per-question prints for
each question the rank of its first relevant document and those that were not found;
--json always has that.

With --rerank each mode is measured a second time with its answers reranked; a
question whose answer cannot be reranked ends the measurement.

--queries is JSON Lines with id, text and uris, the documents that answer the
question. With --qrels the answers come from a file of their own instead: it is
tab-separated with the header query_id, doc_id, relevance, where doc_id is a
document's uri and relevance above 0 is relevant. Both may be gzip. A relevant
document that the index does not have is an error that names the line, unless
--allow-missing. --corpus, JSON Lines as for "ragd ingest --jsonl", is ingested
first.

The service keeps embeddings of questions, so a mode that runs second finds them
made.

With --answers the service asks an agent every question of a set. The run is kept like
those of "ragd eval run": "ragd eval runs" lists it, "ragd eval show" shows its
questions, "ragd eval compare" compares two.

  exactMatch, f1        the answer against the reference answers of the question, as SQuAD
                        compares short answers
  citationPrecision     share of the cited passages that are relevant
  citationRecall        share of what is relevant that is cited
  declinedAnswerable,   share of the answerable and of the unanswerable questions for which
  declinedUnanswerable  the agent said that it does not know
  correctness           how far the answer says what the reference answers say, and
  faithfulness          how far the cited passages say what the answer does: by --judge
  failed, judgeFailed   share of the questions without an answer, and of the answers
                        without a verdict that can be used
  tokens, cost          of the agent for a question

The agent has the rights of your key to read.`,
		Example: `  ragd eval --index handbook --queries examples/questions.jsonl --per-question
  ragd eval --index squad --corpus corpus.jsonl.gz --queries queries.jsonl.gz --qrels qrels.tsv.gz
  ragd eval --index squad --queries queries.jsonl.gz --qrels qrels.tsv.gz --mode hybrid --k 1,5,20 --json
  ragd eval --index wiki --queries queries.jsonl.gz --qrels qrels.tsv.gz --mode keyword --graph
  ragd eval --index wiki --queries queries.jsonl.gz --qrels qrels.tsv.gz --mode hybrid --rerank lexical
  ragd eval --answers --agent lawyer --set contracts
  ragd eval --answers --agent lawyer --set contracts --judge openai/gpt-5 --label "shorter instructions"`,
		Args: command.Arguments(),
	})
	flags := cmd.Flags()
	index := command.IndexFlag(cmd)
	documents := flags.String("corpus", "", "documents to ingest first")
	queries := flags.String("queries", "", "the questions")
	qrels := flags.String("qrels", "", "their relevant documents (default the uris of the questions)")
	allowMissing := flags.Bool("allow-missing", false, "accept relevant documents that the index does not have, and count them as not found")
	perQuestion := flags.Bool("per-question", false, "print the result of each question")
	mode := flags.String("mode", "all", "vector, keyword, hybrid, several with commas, or all")
	graph := flags.Bool("graph", false, "measure walks through the graph too, from what each mode finds")
	reranker := command.RerankerFlag(flags, "measure each mode reranked too")
	ks := flags.IntSlice("k", []int{5, 10}, "how many documents are looked at")
	concurrency := flags.Int("concurrency", 4, "queries, or uploads, at once")
	answers := evalAnswersFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if answers.wanted(cmd) {
			return evalAnswers(p, cmd, answers)
		}
		e := evaluation{concurrency: *concurrency, ks: *ks, perQuestion: *perQuestion}
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
		case *queries == "":
			return misuse.Errorf("--queries or --answers is missing")
		case *concurrency < 1 || len(*ks) == 0 || slices.Min(*ks) < 1:
			return misuse.Errorf("--k and --concurrency must be at least 1")
		}
		if e.questions, err = readQuestions(p, *queries, *qrels, false); err != nil {
			return err
		}
		c, err := p.Connect(client.ForTenant)
		if err != nil {
			return err
		}
		e.index, err = evalIndex(cmd.Context(), p, c, *index, *documents, *concurrency)
		if err != nil {
			return err
		}
		if !*allowMissing {
			if err := checkRelevant(cmd.Context(), c, e.index, e.questions); err != nil {
				return err
			}
		}
		return measureModes(cmd.Context(), p, c, e)
	}
	cmd.AddCommand(evalSetCommands(p), evalRun(p), evalRuns(p), evalShow(p), evalDelete(p), evalCompare(p), evalFeedback(p))
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
			return nil, misuse.Errorf("--mode must be vector, keyword, hybrid or all, got %q", m)
		}
	}
	return modes, nil
}

// evalIndex returns the name of the index to query. If documents names a file it ingests
// that first.
func evalIndex(ctx context.Context, p *command.Program, c *client.Client, index, documents string, concurrency int) (string, error) {
	if documents == "" {
		return c.ExistingIndex(ctx, index)
	}
	// Standard output is reserved for the measures.
	quiet := *p
	quiet.Out = output.Printer{Stdout: p.Out.Stderr, Stderr: p.Out.Stderr}
	return data.IngestLines(ctx, &quiet, c, documents, index, concurrency)
}

// readJudged reads questions, and their relevant documents from the file qrels if it is
// named.
func readJudged(queries, qrels string) (questions []evaluate.Question, err error) {
	err = readFile(queries, func(r io.Reader) (err error) {
		questions, err = evaluate.ReadQuestions(queries, r)
		return err
	})
	if err == nil && qrels != "" {
		err = readFile(qrels, func(r io.Reader) error { return evaluate.Judge(questions, qrels, r) })
	}
	return questions, err
}

// readQuestions is readJudged without questions for which nothing is relevant, whose number
// it prints. Those that are marked as unanswerable are left out unless they are wanted.
func readQuestions(p *command.Program, queries, qrels string, unanswerable bool) (questions []evaluate.Question, err error) {
	if questions, err = readJudged(queries, qrels); err != nil {
		return nil, err
	}
	all := len(questions)
	questions = slices.DeleteFunc(questions, func(q evaluate.Question) bool { return !q.Judged() && (!unanswerable || !q.Unanswerable) })
	if len(questions) == 0 && qrels == "" {
		return nil, fmt.Errorf("%s: no question has a relevant document: give each a field \"uris\", or --qrels", queries)
	}
	if len(questions) == 0 {
		return nil, fmt.Errorf("%s: no question has a relevant document in %s", queries, qrels)
	}
	if unjudged := all - len(questions); unjudged > 0 {
		output.Note(p.Out.Stderr, "left out %s without a relevant document", output.Count(unjudged, "question"))
	}
	return questions, nil
}

// readFile calls read with the content of a file, decompressed if it is in gzip.
func readFile(path string, read func(io.Reader) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	plain, err := localfiles.Decompress(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return read(plain)
}

// urisPerCheck is the number of uris that one call looks up.
const urisPerCheck = 1000

// checkRelevant returns an error that names the line of a relevant document that the index
// does not have.
func checkRelevant(ctx context.Context, c *client.Client, index string, questions []evaluate.Question) error {
	locations := map[string]string{} // by uri
	for _, q := range questions {
		for _, uri := range q.Documents() {
			if at := q.Locations[uri]; locations[uri] == "" || at < locations[uri] {
				locations[uri] = at
			}
		}
	}
	for some := range slices.Chunk(slices.Sorted(maps.Keys(locations)), urisPerCheck) {
		wanted := &structpb.ListValue{}
		for _, uri := range some {
			wanted.Values = append(wanted.Values, structpb.NewStringValue(uri))
		}
		found, err := c.Documents.ListDocuments(ctx, &ragdv1.ListDocumentsRequest{
			IndexName: index, Namespace: "default", Filter: command.Object("$uri", structpb.NewListValue(wanted)), PageSize: urisPerCheck,
		})
		if err != nil {
			return err
		}
		for _, d := range found.GetDocuments() {
			delete(locations, d.GetUri())
		}
	}
	if len(locations) == 0 {
		return nil
	}
	return missingError(ctx, c, index, locations)
}

// missingError returns the error about documents that the index does not have, whose
// locations are given by uri.
func missingError(ctx context.Context, c *client.Client, index string, locations map[string]string) error {
	byLocation := func(a, b string) int {
		return cmp.Or(cmp.Compare(len(locations[a]), len(locations[b])), cmp.Compare(locations[a], locations[b]), cmp.Compare(a, b))
	}
	first := slices.SortedFunc(maps.Keys(locations), byLocation)[0]
	text := fmt.Sprintf("%s: index %s has no document with the uri %q", locations[first], index, first)
	if more := len(locations) - 1; more > 0 {
		text += fmt.Sprintf(", nor %d more that are relevant", more)
	}
	if page, err := c.Documents.ListDocuments(ctx, &ragdv1.ListDocumentsRequest{IndexName: index, PageSize: 1}); err == nil && len(page.GetDocuments()) > 0 {
		text += fmt.Sprintf("; its uris look like %q", page.GetDocuments()[0].GetUri())
	}
	return errors.New(text + "; --allow-missing counts such documents as not found")
}

// evaluation is one measurement.
type evaluation struct {
	index       string
	questions   []evaluate.Question
	perQuestion bool
	modes       []string
	ks          []int
	concurrency int
	reranker    *ragdv1.Reranker // of modes with rerankSuffix
}

// modeMeasures is the output for one mode with --json.
type modeMeasures struct {
	Mode string `json:"mode"`
	measure.Summary
	P50Ms float64 `json:"p50Ms"`
	P99Ms float64 `json:"p99Ms"`
	// Results are those of the questions, in their order.
	Results []result `json:"results"`
}

// result is the result of one question in one mode.
type result struct {
	ID        string   `json:"id"`
	Text      string   `json:"text"`
	FirstRank int      `json:"firstRank"` // of a relevant document; 0 if none was found
	Recall    float64  `json:"recall"`    // at the largest k
	Missing   []string `json:"missing"`   // relevant documents that were not found
	LatencyMs float64  `json:"latencyMs"`
}

// resultsOf returns the results of the questions, from their answers.
func resultsOf(questions []evaluate.Question, answers []measure.Answer, k int) []result {
	results := make([]result, len(questions))
	for i, a := range answers {
		results[i] = result{
			ID: questions[i].ID, Text: questions[i].Text, FirstRank: measure.FirstRank(a.Ranking, a.Judged), Recall: measure.Recall(a.Ranking, a.Judged, k),
			Missing: output.OrEmpty(measure.Missing(a.Ranking, a.Judged, k)), LatencyMs: milliseconds(a.Latency),
		}
	}
	return results
}

// measureModes asks every question in every mode and prints the measures.
func measureModes(ctx context.Context, p *command.Program, c *client.Client, e evaluation) error {
	var measures []modeMeasures
	for _, mode := range e.modes {
		answers, err := ask(ctx, p, c, e, mode)
		if err != nil {
			return err
		}
		s := measure.Summarize(answers, e.ks)
		measures = append(measures, modeMeasures{mode, s, milliseconds(s.P50), milliseconds(s.P99), resultsOf(e.questions, answers, slices.Max(e.ks))})
	}
	if p.Out.JSON {
		return p.Out.Value(map[string]any{"index": e.index, "modes": measures})
	}
	if e.perQuestion {
		if err := printResults(p, measures, slices.Max(e.ks)); err != nil {
			return err
		}
	}
	return printMeasures(p, measures)
}

// printResults prints the result of each question in each mode.
func printResults(p *command.Program, measures []modeMeasures, k int) error {
	w := output.NewTable(p.Out.Stdout)
	fmt.Fprintf(w, "MODE\tQUESTION\tFIRST\tRECALL@%d\tNOT FOUND\n", k)
	for _, m := range measures {
		for _, r := range m.Results {
			first := "-"
			if r.FirstRank > 0 {
				first = strconv.Itoa(r.FirstRank)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%.2f\t%s\n", m.Mode, output.OneLine(r.ID), first, r.Recall, output.OneLine(strings.Join(r.Missing, ", ")))
		}
	}
	fmt.Fprintln(w)
	return w.Flush()
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// ask asks every question in one mode. The first query that fails ends it, because
// measures over the other questions would not be comparable.
func ask(ctx context.Context, p *command.Program, c *client.Client, e evaluation, mode string) ([]measure.Answer, error) {
	bar := progress.NewBar(p.Out.Stderr, int64(len(e.questions)), mode, progressbar.OptionSetVisibility(p.StderrTerminal), progressbar.OptionShowCount())
	defer func() { _ = bar.Finish() }()
	answers := make([]measure.Answer, len(e.questions))
	topK := int32(slices.Max(e.ks))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(e.concurrency)
	for i, q := range e.questions {
		group.Go(func() error {
			start := time.Now()
			sources, err := findSources(ctx, c, e, mode, q.Text, topK)
			if err != nil {
				return fmt.Errorf("question %s: %w", q.ID, err)
			}
			answers[i] = measure.Answer{Judged: q.Judgements(), Latency: time.Since(start)}
			answers[i].Ranking, _ = q.Rank(hitsOf(sources))
			_ = bar.Add(1)
			return nil
		})
	}
	return answers, group.Wait()
}

// hitsOf returns sources in the form in which they are judged.
func hitsOf(sources []*ragdv1.Source) []evaluate.Hit {
	hits := make([]evaluate.Hit, len(sources))
	for i, s := range sources {
		hits[i] = evaluate.Hit{
			URI: s.GetUri(), Span: evaluate.Span{Start: int(s.GetStartByte()), End: int(s.GetEndByte())}, Text: s.GetDocument(), Score: s.GetScore(),
		}
	}
	return hits
}

// findSources answers one question in a mode, which may have graphSuffix and then
// rerankSuffix.
func findSources(ctx context.Context, c *client.Client, e evaluation, mode, text string, topK int32) ([]*ragdv1.Source, error) {
	var reranker *ragdv1.Reranker
	mode, reranked := strings.CutSuffix(mode, rerankSuffix)
	if reranked {
		reranker = e.reranker
	}
	if seeds, ok := strings.CutSuffix(mode, graphSuffix); ok {
		res, err := c.Queries.GraphRag(ctx, &ragdv1.GraphRagRequest{QueryText: text, IndexName: e.index, SearchMode: seeds, TopK: &topK, Reranker: reranker})
		return res.GetSources(), err
	}
	res, err := c.Queries.VectorQuery(ctx, &ragdv1.VectorQueryRequest{QueryText: text, IndexName: e.index, SearchMode: mode, TopK: &topK, Reranker: reranker})
	return res.GetSources(), err
}

func printMeasures(p *command.Program, measures []modeMeasures) error {
	w := output.NewTable(p.Out.Stdout)
	header := []string{"MODE", "QUESTIONS"}
	for _, name := range []string{"RECALL", "NDCG", "ALL"} {
		for _, cut := range measures[0].Cuts {
			header = append(header, fmt.Sprintf("%s@%d", name, cut.K))
		}
	}
	fmt.Fprintln(w, strings.Join(append(header, "MRR", "P50 MS", "P99 MS"), "\t"))
	for _, m := range measures {
		fmt.Fprintf(w, "%s\t%d", m.Mode, m.Questions)
		for _, value := range []func(measure.Cut) float64{
			func(c measure.Cut) float64 { return c.Recall },
			func(c measure.Cut) float64 { return c.NDCG },
			func(c measure.Cut) float64 { return c.AllIn },
		} {
			for _, cut := range m.Cuts {
				fmt.Fprintf(w, "\t%.4f", value(cut))
			}
		}
		fmt.Fprintf(w, "\t%.4f\t%.2f\t%.2f\n", m.MRR, m.P50Ms, m.P99Ms)
	}
	return w.Flush()
}
