package evaluate

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/data"
	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/jobs"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/jsonmessage"
)

func noWaitFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("no-wait", false, "start the job and print its id")
}

func evalRun(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run SET",
		Short: "Run a question set with the settings of a query",
		Long: `Have the service ask every question of a set and measure the answers. The run and its
results are kept: "ragd eval runs" lists them, "ragd eval compare" compares two.
"ragd eval --answers" asks an agent instead.

--settings takes any fields of a query, as JSON: of VectorQueryRequest, or of
GraphRagRequest with --graph. To compare two embedding models, make a second index
with the same documents and name it with --index.`,
		Example: `  ragd eval run handbook
  ragd eval run handbook --mode hybrid --rerank lexical --label "with reranking"
  ragd eval run handbook --graph --k 5,20
  ragd eval run handbook --profile fresh@2
  ragd eval run handbook --index handbook-large --settings '{"hybrid": {"vectorWeight": 0.7}}'`,
		Args: command.Arguments("SET"),
	}
	flags := cmd.Flags()
	index := flags.String("index", "", "index to ask (default that of the set)")
	mode := flags.String("mode", "", "vector, keyword or hybrid (default hybrid where it is possible)")
	graph := flags.Bool("graph", false, "walk through the graph from what is found")
	ks := flags.Int32Slice("k", nil, "how many documents are looked at (default 5,10)")
	minScore := flags.Float64("min-score", 0, "measure the precision of the sources that score more than this")
	label := flags.String("label", "", "a note for people")
	profile := flags.String("profile", "", "ranking profile, as NAME or NAME@VERSION; none for no profile (default that of the index, if it has one)")
	filter := command.ObjectFlag(flags, "filter", "only chunks that this filter selects")
	settings := command.ObjectFlag(flags, "settings", `other fields of the query, such as {"topK": 50}`)
	reranker := command.RerankerFlag(flags, "rerank what was found")
	noWait := noWaitFlag(cmd)
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		req := &ragdv1.StartEvaluationRequest{SetName: args[0], K: *ks, Label: *label}
		if flags.Changed("min-score") {
			req.MinScore = minScore
		}
		fields := map[string]*structpb.Value{"indexName": structpb.NewStringValue(*index), "searchMode": structpb.NewStringValue(*mode), "profile": structpb.NewStringValue(*profile)}
		if f := filter(); f != nil {
			fields["filter"] = structpb.NewStructValue(f)
		}
		if err := evalSettings(req, *graph, fields, settings(), reranker()); err != nil {
			return err
		}
		return startEvaluation(ctx, p, c, req, *noWait)
	})
	return cmd
}

// startEvaluation starts a run, waits for its end unless noWait, and shows it.
func startEvaluation(ctx context.Context, p *command.Program, c *client.Client, req *ragdv1.StartEvaluationRequest, noWait bool) error {
	started, err := c.Evaluate.StartEvaluation(ctx, req)
	if err != nil {
		return err
	}
	if !noWait {
		if err := data.AwaitJob(ctx, p, c, started.GetJob(), "asking"); err != nil {
			return err
		}
		if started, err = c.Evaluate.GetEvaluation(ctx, &ragdv1.GetEvaluationRequest{EvaluationId: started.GetEvaluationId()}); err != nil {
			return err
		}
	}
	return p.Out.Show(started, showEvaluation(started))
}

// evalSettings sets the query of an evaluation from fields that flags gave and others, which
// win.
func evalSettings(req *ragdv1.StartEvaluationRequest, graph bool, fields map[string]*structpb.Value, others *structpb.Struct, reranker *ragdv1.Reranker) error {
	for name, value := range others.GetFields() {
		fields[name] = value
	}
	encoded, err := protojson.Marshal(&structpb.Struct{Fields: fields})
	if err != nil {
		return err
	}
	var query proto.Message
	if reranker != nil {
		reranker.Required = true // else results that were not reranked would be measured
	}
	if graph {
		m := &ragdv1.GraphRagRequest{}
		query, req.Settings = m, &ragdv1.StartEvaluationRequest_Graph{Graph: m}
		defer func() { setReranker(&m.Reranker, reranker) }()
	} else {
		m := &ragdv1.VectorQueryRequest{}
		query, req.Settings = m, &ragdv1.StartEvaluationRequest_Query{Query: m}
		defer func() { setReranker(&m.Reranker, reranker) }()
	}
	if err := jsonmessage.Unmarshal(encoded, query); err != nil {
		return misuse.Errorf("--settings: %v", err)
	}
	return nil
}

func setReranker(into **ragdv1.Reranker, given *ragdv1.Reranker) {
	if given != nil {
		*into = given
	}
}

// settingsText describes the query of an evaluation in one line.
func settingsText(e *ragdv1.Evaluation) string {
	if a := e.GetAgent(); a != nil {
		return answerSettingsText(a)
	}
	if t := e.GetTuning(); t != nil {
		return strings.TrimSuffix("tuning "+output.CompactJSON(t), " {}")
	}
	kind, query := "query", proto.Message(e.GetQuery())
	if g := e.GetGraph(); g != nil {
		kind, query = "graph", g
	}
	fields := query.ProtoReflect()
	fields = proto.Clone(fields.Interface()).ProtoReflect()
	if index := fields.Descriptor().Fields().ByName("index_name"); index != nil {
		fields.Clear(index)
	}
	if text := output.CompactJSON(fields.Interface()); text != "{}" {
		return kind + " " + text
	}
	return kind
}

func showEvaluation(e *ragdv1.Evaluation) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "run", e.GetEvaluationId())
		output.Field(w, "set", e.GetSetName())
		output.Field(w, "index", e.GetIndexName())
		output.Field(w, "label", e.GetLabel())
		output.Field(w, "settings", settingsText(e))
		output.Field(w, "questions", questionsText(e))
		output.Field(w, "status", e.GetJob().GetStatus())
		if e.GetJob().GetStatus() != "succeeded" {
			output.Field(w, "job", e.GetJob().GetJobId())
			output.Field(w, "progress", jobs.Progress(e.GetJob()))
			output.Field(w, "error", e.GetJob().GetError())
		}
		if u := e.GetUsage(); u != nil {
			output.Field(w, "used", answerUsageText(u))
		}
		output.Field(w, "created", output.Stamp(e.GetCreateTime()))
		data.ShowTuning(w, e)
		if len(e.GetMeasures()) > 0 {
			fmt.Fprintln(w, "\nMEASURE\tVALUE\t95% INTERVAL")
		}
		for _, m := range e.GetMeasures() {
			fmt.Fprintf(w, "%s\t%s\t%s\n", m.GetName(), measureText(m.GetName(), m.GetValue()), intervalText(m.GetName(), m.GetLow(), m.GetHigh()))
		}
	}
}

func questionsText(e *ragdv1.Evaluation) string {
	if n := e.GetUnanswerableCount(); n > 0 {
		return fmt.Sprintf("%d, of which %d unanswerable", e.GetQuestionCount(), n)
	}
	return fmt.Sprint(e.GetQuestionCount())
}

// measureText returns a value with as many digits as it deserves: a time is in ms.
func measureText(name string, value float64) string {
	switch {
	case strings.HasSuffix(name, "Ms"), name == "tokens":
		return fmt.Sprintf("%.1f", value)
	case name == "cost":
		return fmt.Sprintf("%.4g", value)
	}
	return fmt.Sprintf("%.3f", value)
}

func intervalText(name string, low, high float64) string {
	return measureText(name, low) + " to " + measureText(name, high)
}

func evalRuns(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs [SET]",
		Short: "List runs, newest first",
		Example: `  ragd eval runs
  ragd eval runs handbook --limit 10`,
		Args: cobra.MaximumNArgs(1),
	}
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		set := strings.Join(args, "")
		runs := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Evaluation, string, error) {
			page, err := c.Evaluate.ListEvaluations(ctx, &ragdv1.ListEvaluationsRequest{SetName: set, PageSize: size, PageToken: token})
			return page.GetEvaluations(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "runs", runs, "RUN SET INDEX STATUS MEASURES LABEL SETTINGS CREATED", func(e *ragdv1.Evaluation) []any {
			return []any{
				e.GetEvaluationId(), e.GetSetName(), e.GetIndexName(), e.GetJob().GetStatus(), mainMeasures(e), e.GetLabel(),
				settingsText(e), output.Stamp(e.GetCreateTime()),
			}
		})
	})
	return cmd
}

// mainMeasures returns the measures that a list of runs shows.
func mainMeasures(e *ragdv1.Evaluation) string {
	names := []string{"correctness", "f1", "citationRecall", "failed"}
	if e.GetAgent() == nil {
		k := e.GetK()[0]
		names = []string{fmt.Sprintf("recall@%d", k), fmt.Sprintf("ndcg@%d", k), "mrr"}
	}
	var all []string
	for _, m := range e.GetMeasures() {
		if slices.Contains(names, m.GetName()) {
			all = append(all, m.GetName()+" "+measureText(m.GetName(), m.GetValue()))
		}
	}
	return strings.Join(all, ", ")
}

func evalShow(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show the measures of a run, or its questions",
		Example: `  ragd eval show 4711
  ragd eval show 4711 --per-question`,
		Args: command.Arguments("RUN"),
	}
	perQuestion := cmd.Flags().Bool("per-question", false, "list the results of the questions")
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		run, err := c.Evaluate.GetEvaluation(ctx, &ragdv1.GetEvaluationRequest{EvaluationId: args[0]})
		if err != nil {
			return err
		}
		if !*perQuestion {
			return p.Out.Show(run, showEvaluation(run))
		}
		results := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.QuestionResult, string, error) {
			page, err := c.Evaluate.ListEvaluationResults(ctx, &ragdv1.ListEvaluationResultsRequest{EvaluationId: args[0], PageSize: size, PageToken: token})
			return page.GetResults(), page.GetNextPageToken(), err
		})
		if run.GetAgent() != nil {
			return output.List(p.Out, "results", results, answerColumns, answerRow)
		}
		most := run.GetK()[len(run.GetK())-1]
		recall := fmt.Sprintf("recall@%d", most)
		return output.List(p.Out, "results", results, "QUESTION FIRST "+strings.ToUpper(recall)+" TOP MS TEXT MISSING", func(r *ragdv1.QuestionResult) []any {
			first, top, found := "-", "-", "-"
			if r.GetFirstRank() > 0 {
				first = fmt.Sprint(r.GetFirstRank())
			}
			if r.TopScore != nil {
				top = fmt.Sprintf("%.3f", r.GetTopScore())
			}
			for _, m := range r.GetMeasures() {
				if m.GetName() == recall {
					found = fmt.Sprintf("%.2f", m.GetValue())
				}
			}
			return []any{r.GetQuestionId(), first, found, top, fmt.Sprintf("%.1f", r.GetLatencyMs()), r.GetText(), strings.Join(r.GetMissing(), ", ")}
		})
	})
	return cmd
}

func evalDelete(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "delete RUN",
		Short:   "Delete a run with its results, and cancel it if it is under way",
		Example: `  ragd eval delete 4711`,
		Args:    command.Arguments("RUN"),
		RunE: command.Delete(p, client.ForTenant, "run", func(ctx context.Context, c *client.Client, args []string) (*ragdv1.DeleteEvaluationResponse, error) {
			return c.Evaluate.DeleteEvaluation(ctx, &ragdv1.DeleteEvaluationRequest{EvaluationId: args[0]})
		}),
	}
}

func evalCompare(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compare BASELINE CANDIDATE",
		Short: "Compare two runs question by question",
		Long: `Compare two runs over the questions that both have. A difference whose interval does not
contain 0, and whose p is small, is hardly due to the choice of questions. Wins and
losses count the questions for which the second run is better and worse; sign p is the
sign test on them. Below come the questions that changed most.`,
		Example: `  ragd eval compare 4711 4712
  ragd eval compare 4711 4712 --measure recall@5 --limit 50`,
		Args: command.Arguments("BASELINE", "CANDIDATE"),
	}
	by := cmd.Flags().String("measure", "", "what the questions are sorted by: recall@k, ndcg@k, all@k or mrr (default ndcg at the largest k); of answers any but the times (default correctness, else f1)")
	limit := cmd.Flags().Int32("limit", 0, "questions to print (default 20)")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		compared, err := c.Evaluate.CompareEvaluations(ctx, &ragdv1.CompareEvaluationsRequest{BaselineId: args[0], CandidateId: args[1], Measure: *by, Limit: *limit})
		if err != nil {
			return err
		}
		if p.Out.JSON {
			return p.Out.Message(compared)
		}
		return printComparison(p, compared)
	})
	return cmd
}

func printComparison(p *command.Program, c *ragdv1.EvaluationComparison) error {
	fmt.Fprintf(p.Out.Stdout, "%s in both runs", output.Count(int(c.GetQuestionCount()), "question"))
	if n := c.GetLeftOutCount(); n > 0 {
		fmt.Fprintf(p.Out.Stdout, "; left out %d that only one has or that were changed", n)
	}
	fmt.Fprint(p.Out.Stdout, "\n\n")
	w := output.NewTable(p.Out.Stdout)
	fmt.Fprintln(w, "MEASURE\tBASELINE\tCANDIDATE\tDIFFERENCE\t95% INTERVAL\tP\tWINS\tLOSSES\tTIES\tSIGN P")
	for _, d := range c.GetDifferences() {
		name := d.GetName()
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%.3f", name, measureText(name, d.GetBaseline()), measureText(name, d.GetCandidate()),
			signed(name, d.GetDifference()), signed(name, d.GetLow())+" to "+signed(name, d.GetHigh()), d.GetPValue())
		if s := d.GetSignTest(); s != nil {
			fmt.Fprintf(w, "\t%d\t%d\t%d\t%.3f", s.GetWins(), s.GetLosses(), s.GetTies(), s.GetPValue())
		}
		fmt.Fprintln(w)
	}
	name := c.GetMeasure()
	ranked := name == "mrr" || strings.Contains(name, "@") // answers have no ranks
	for i, q := range c.GetChanges() {
		header, first := "", ""
		if ranked {
			header, first = "\tFIRST", "\t"+ranks(q)
		}
		if i == 0 {
			fmt.Fprintf(w, "\nQUESTION%s\t%s\tTEXT\n", header, strings.ToUpper(name))
		}
		fmt.Fprintf(w, "%s%s\t%s -> %s\t%s\n", output.OneLine(q.GetQuestionId()), first, changeText(name, q.GetBaseline()), changeText(name, q.GetCandidate()), output.OneLine(q.GetText()))
	}
	return w.Flush()
}

// changeText returns the value of one question.
func changeText(name string, value float64) string {
	if name == "tokens" || name == "cost" {
		return measureText(name, value)
	}
	return fmt.Sprintf("%.2f", value)
}

// signed returns a difference with its sign.
func signed(name string, value float64) string {
	text := measureText(name, value)
	switch {
	case strings.Trim(text, "-0.") == "":
		return strings.TrimPrefix(text, "-")
	case value < 0:
		return text
	}
	return "+" + text
}

// ranks returns the ranks of the first relevant source before and after.
func ranks(q *ragdv1.QuestionChange) string {
	text := func(rank int32) string {
		if rank == 0 {
			return "-"
		}
		return fmt.Sprint(rank)
	}
	return text(q.GetBaselineFirstRank()) + " -> " + text(q.GetCandidateFirstRank())
}
