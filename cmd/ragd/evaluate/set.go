package evaluate

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/data"
	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/jobs"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/automation/evaluate"
)

func evalSetCommands(p *command.Program) *cobra.Command {
	return command.Group("set", "Keep questions whose answers are known", `
A question set is a named list of questions about the documents of an index. The
service keeps it, runs it with "ragd eval run" and compares the runs.`,
		evalSetCreate(p), evalSetList(p), evalSetShow(p), evalSetDelete(p), evalSetImport(p), evalSetExport(p), evalSetDraft(p),
	)
}

func showSet(set *ragdv1.QuestionSet) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "set", set.GetSetName())
		output.Field(w, "index", set.GetIndexName())
		output.Field(w, "description", set.GetDescription())
		output.Field(w, "questions", set.GetQuestionCount())
		output.Field(w, "drafted", set.GetDraftedCount())
		output.Field(w, "draft job", set.GetDraftJobId())
		output.Field(w, "created", output.Stamp(set.GetCreateTime()))
		output.Field(w, "updated", output.Stamp(set.GetUpdateTime()))
	}
}

func evalSetCreate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "create SET",
		Short:   "Make an empty question set",
		Example: `  ragd eval set create handbook --index handbook --description "Asked in the support chat"`,
		Args:    command.Arguments("SET"),
	}
	index := command.IndexFlag(cmd)
	description := cmd.Flags().String("description", "", "where the questions are from, for people")
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.QuestionSet, error) {
		return c.Evaluate.CreateQuestionSet(ctx, &ragdv1.CreateQuestionSetRequest{SetName: args[0], IndexName: *index, Description: *description})
	}, showSet)
	return cmd
}

func evalSetList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the question sets in the order of their names",
		Example: `  ragd eval set list`,
		Args:    command.Arguments(),
	}
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		sets := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.QuestionSet, string, error) {
			page, err := c.Evaluate.ListQuestionSets(ctx, &ragdv1.ListQuestionSetsRequest{PageSize: size, PageToken: token})
			return page.GetQuestionSets(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "question sets", sets, "SET INDEX QUESTIONS DRAFTED UPDATED DESCRIPTION", func(s *ragdv1.QuestionSet) []any {
			return []any{s.GetSetName(), s.GetIndexName(), s.GetQuestionCount(), s.GetDraftedCount(), output.Stamp(s.GetUpdateTime()), s.GetDescription()}
		})
	})
	return cmd
}

// questionsOf returns the questions of a set, at most limit of them if limit is above 0.
func questionsOf(ctx context.Context, c *client.Client, set string, limit int) func(yield func(*ragdv1.Question, error) bool) {
	return paging.Items(limit, func(size int32, token string) ([]*ragdv1.Question, string, error) {
		page, err := c.Evaluate.ListQuestions(ctx, &ragdv1.ListQuestionsRequest{SetName: set, PageSize: size, PageToken: token})
		return page.GetQuestions(), page.GetNextPageToken(), err
	})
}

func evalSetShow(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show SET",
		Short:   "List the questions of a set in the order of their ids",
		Example: `  ragd eval set show handbook --limit 20`,
		Args:    command.Arguments("SET"),
	}
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		return output.List(p.Out, "questions", questionsOf(ctx, c, args[0], *limit), "QUESTION DRAFTED TEXT RELEVANT", func(q *ragdv1.Question) []any {
			drafted := ""
			if q.GetDrafted() {
				drafted = "yes"
			}
			return []any{q.GetQuestionId(), drafted, q.GetText(), relevantText(q)}
		})
	})
	return cmd
}

// relevantText says what answers a question.
func relevantText(q *ragdv1.Question) string {
	if q.GetUnanswerable() {
		return "nothing"
	}
	var all []string
	if q.GetAnswer() != "" {
		all = append(all, fmt.Sprintf("%q", q.GetAnswer()))
	}
	for _, r := range q.GetRelevant() {
		text := r.GetUri()
		if r.StartByte != nil {
			text += fmt.Sprintf("#%d-%d", r.GetStartByte(), r.GetEndByte())
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func evalSetDelete(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "delete SET",
		Short:   "Delete a question set with its runs",
		Example: `  ragd eval set delete handbook --yes`,
		Args:    command.Arguments("SET"),
	}
	yes := command.YesFlag(cmd)
	cmd.RunE = command.Delete(p, client.ForTenant, "question set", func(ctx context.Context, c *client.Client, args []string) (*ragdv1.DeleteQuestionSetResponse, error) {
		if err := p.Confirm(ctx, *yes, args[0], "This deletes the questions of the set %s and all its runs.", args[0]); err != nil {
			return nil, err
		}
		return c.Evaluate.DeleteQuestionSet(ctx, &ragdv1.DeleteQuestionSetRequest{SetName: args[0]})
	})
	return cmd
}

func evalSetImport(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import SET",
		Short: "Add questions from files to a set",
		Long: `Add questions from the files that "ragd eval" reads to a set, or replace those whose
ids the set has. A set that does not exist is made.`,
		Example: `  ragd eval set import handbook --index handbook --queries examples/questions.jsonl
  ragd eval set import squad --index squad --queries queries.jsonl.gz --qrels qrels.tsv.gz
  ragd eval set import squad --queries others.jsonl.gz --unanswerable`,
		Args: command.Arguments("SET"),
	}
	index := command.IndexFlag(cmd)
	queries := cmd.Flags().String("queries", "", "the questions, as JSON Lines")
	qrels := cmd.Flags().String("qrels", "", "their relevant documents (default those in the questions)")
	unanswerable := cmd.Flags().Bool("unanswerable", false, "mark questions for which nothing is relevant as unanswerable (default they are left out)")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		if *queries == "" {
			return misuse.Errorf("--queries is missing")
		}
		questions, err := importedQuestions(p, *queries, *qrels, *unanswerable)
		if err != nil {
			return err
		}
		if err := ensureSet(ctx, c, args[0], *index); err != nil {
			return err
		}
		return putQuestions(ctx, p, c, args[0], questions)
	})
	return cmd
}

// importedQuestions reads questions, and what is relevant from the file qrels if it is named.
func importedQuestions(p *command.Program, queries, qrels string, unanswerable bool) (questions []evaluate.Question, err error) {
	if !unanswerable {
		return readQuestions(p, queries, qrels, true)
	}
	questions, err = readJudged(queries, qrels)
	for i := range questions {
		if q := &questions[i]; !q.Judged() {
			q.Unanswerable = true
		}
	}
	return questions, err
}

// ensureSet makes a set unless it exists.
func ensureSet(ctx context.Context, c *client.Client, name, index string) error {
	_, err := c.Evaluate.GetQuestionSet(ctx, &ragdv1.GetQuestionSetRequest{SetName: name})
	if connect.CodeOf(err) != connect.CodeNotFound {
		return err
	}
	_, err = c.Evaluate.CreateQuestionSet(ctx, &ragdv1.CreateQuestionSetRequest{SetName: name, IndexName: index})
	return err
}

// A call puts at most questionsPerCall questions with about bytesPerCall.
const (
	questionsPerCall = 500
	bytesPerCall     = 4 << 20
)

func putQuestions(ctx context.Context, p *command.Program, c *client.Client, set string, questions []evaluate.Question) error {
	var last *ragdv1.QuestionSet
	for len(questions) > 0 {
		req := &ragdv1.PutQuestionsRequest{SetName: set}
		for size := 0; len(questions) > 0 && len(req.Questions) < questionsPerCall && size < bytesPerCall; questions = questions[1:] {
			q := questionOf(questions[0])
			size += len(q.GetText()) + 100*len(q.GetRelevant()) + len(q.GetAnswer()) + len(strings.Join(q.GetAlternativeAnswers(), ""))
			req.Questions = append(req.Questions, q)
		}
		var err error
		if last, err = c.Evaluate.PutQuestions(ctx, req); err != nil {
			return err
		}
	}
	return p.Out.Show(last, showSet(last))
}

// questionOf converts a question of a file.
func questionOf(q evaluate.Question) *ragdv1.Question {
	out := &ragdv1.Question{QuestionId: q.ID, Text: q.Text, Answer: q.Answer, AlternativeAnswers: q.AlternativeAnswers, Unanswerable: q.Unanswerable, Drafted: q.Drafted}
	for _, r := range q.Relevant {
		relevant := &ragdv1.Relevant{Uri: r.URI}
		if r.Grade != 1 {
			relevant.Grade = &r.Grade
		}
		if r.Span != nil {
			start, end := uint32(r.Span.Start), uint32(r.Span.End)
			relevant.StartByte, relevant.EndByte = &start, &end
		}
		out.Relevant = append(out.Relevant, relevant)
	}
	return out
}

// fileQuestion converts a question for a file.
func fileQuestion(q *ragdv1.Question) evaluate.Question {
	out := evaluate.Question{ID: q.GetQuestionId(), Text: q.GetText(), Answer: q.GetAnswer(), AlternativeAnswers: q.GetAlternativeAnswers(), Unanswerable: q.GetUnanswerable(), Drafted: q.GetDrafted()}
	for _, r := range q.GetRelevant() {
		relevant := evaluate.Relevant{URI: r.GetUri(), Grade: 1}
		if r.Grade != nil {
			relevant.Grade = r.GetGrade()
		}
		if r.StartByte != nil {
			relevant.Span = &evaluate.Span{Start: int(r.GetStartByte()), End: int(r.GetEndByte())}
		}
		out.Relevant = append(out.Relevant, relevant)
	}
	return out
}

func evalSetExport(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export SET",
		Short: "Write the questions of a set as JSON Lines",
		Long: `Write the questions of a set in the format that "ragd eval set import" and "ragd eval"
read, to edit them in a file or to keep them beside the documents.`,
		Example: `  ragd eval set export handbook > questions.jsonl
  ragd eval set export handbook --to questions.jsonl --qrels qrels.tsv`,
		Args: command.Arguments("SET"),
	}
	to := cmd.Flags().String("to", "", "the file (default standard output)")
	qrels := cmd.Flags().String("qrels", "", "write the relevant documents to this file, tab-separated, and not to the questions")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		var questions []evaluate.Question
		for q, err := range questionsOf(ctx, c, args[0], 0) {
			if err != nil {
				return err
			}
			questions = append(questions, fileQuestion(q))
		}
		if *qrels != "" {
			if err := output.WriteFile(*qrels, func(w io.Writer) error { return evaluate.WriteQrels(w, questions) }); err != nil {
				return err
			}
			questions = slices.Clone(questions)
			for i := range questions {
				questions[i].Relevant = nil
			}
		}
		if *to == "" {
			return evaluate.WriteQuestions(p.Out.Stdout, questions)
		}
		return output.WriteFile(*to, func(w io.Writer) error { return evaluate.WriteQuestions(w, questions) })
	})
	return cmd
}

func evalSetDraft(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "draft SET",
		Short: "Have questions drafted from the documents of the index",
		Long: `Add questions to a set that are made from chunks sampled over the documents of its
index. A set that does not exist is made. Each question is marked as drafted, and its
chunk is what answers it.

With --model a language model writes the questions. Without one they are made from
titles, headings and first sentences: they use the words of the documents, so
keyword search finds them more easily than what people ask.

Review drafts before you trust what they measure: export the set, correct or delete
lines, remove "drafted", and import it again.`,
		Example: `  ragd eval set draft handbook --index handbook --count 50
  ragd eval set draft handbook --count 100 --model openai/gpt-5-mini`,
		Args: command.Arguments("SET"),
	}
	index := command.IndexFlag(cmd)
	count := cmd.Flags().Int32("count", 0, "questions wanted (default 50)")
	model := cmd.Flags().String("model", "", "language model that writes them, as provider/model")
	seed := cmd.Flags().Int64("seed", 0, "another number samples other documents and chunks")
	namespace := cmd.Flags().String("namespace", "", "part of the index to draft from (default \"default\")")
	noWait := noWaitFlag(cmd)
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.QuestionSet, error) {
		if err := ensureSet(ctx, c, args[0], *index); err != nil {
			return nil, err
		}
		started, err := c.Evaluate.DraftQuestions(ctx, &ragdv1.DraftQuestionsRequest{SetName: args[0], Count: *count, Model: *model, Seed: *seed, Namespace: *namespace})
		if err != nil {
			return nil, err
		}
		if *noWait {
			return nil, p.Out.Show(started, jobs.Show(started.GetJob()))
		}
		if err := data.AwaitJob(ctx, p, c, started.GetJob(), "drafting"); err != nil {
			return nil, err
		}
		return c.Evaluate.GetQuestionSet(ctx, &ragdv1.GetQuestionSetRequest{SetName: args[0]})
	}, showSet)
	return cmd
}
