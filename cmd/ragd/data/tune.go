package data

import (
	"context"
	"fmt"
	"io"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/jobs"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/progress"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// AwaitJob follows a job to its end and shows its progress.
func AwaitJob(ctx context.Context, p *command.Program, c *client.Client, job *ragdv1.Job, what string) error {
	bar := progress.NewBar(p.Out.Stderr, 1, what, progressbar.OptionSetVisibility(p.StderrTerminal), progressbar.OptionShowCount())
	defer func() { _ = bar.Finish() }()
	id := job.GetJobId()
	job, err := jobs.Follow(ctx, c, id, func(job *ragdv1.Job) error {
		if done := job.GetProgress(); done.GetTotal() > 0 {
			bar.ChangeMax64(int64(done.GetTotal()))
			_ = bar.Set64(int64(done.GetDone()))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("the job goes on; ragd job watch %s follows it: %w", id, err)
	}
	return jobs.Outcome(id, job)
}

func indexTune(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tune INDEX",
		Short: "Find how much embeddings should weigh, by judged questions",
		Long: `Find how much the embeddings of an index should weigh for questions like those of a
set. Each question is asked with several weights; the best one on half of the
questions is compared with the present one on the other half. With --adopt, queries
rank by it from then on if it is better there whichever questions are drawn, that
is, if the whole interval of the difference is above 0. It takes 40 questions that say what
is relevant. --restore goes back to the tuning before, and a second time forward.`,
		Example: `  ragd index tune handbook --questions handbook
  ragd index tune handbook --questions feedback-handbook --adopt
  ragd index tune handbook --restore`,
		Args: command.Arguments("INDEX"),
	}
	flags := cmd.Flags()
	set := flags.String("questions", "", "the question set")
	adopt := flags.Bool("adopt", false, "rank by what is found if it is better")
	restore := flags.Bool("restore", false, "go back to the tuning before")
	namespace := flags.String("namespace", "", `part of the index to ask (default "default")`)
	label := flags.String("label", "", "a note for people")
	wait := flags.Bool("wait", true, "follow the job to its end")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if others := *set != "" || *adopt || *namespace != "" || *label != ""; *restore && others || !*restore && *set == "" {
			return misuse.Errorf("either --questions is needed, or --restore alone")
		}
		c, err := p.Connect(client.ForTenant)
		if err != nil {
			return err
		}
		if *restore {
			restored, err := c.Evaluate.RestoreTuning(cmd.Context(), &ragdv1.RestoreTuningRequest{IndexName: args[0]})
			if err != nil {
				return err
			}
			return p.Out.Show(restored, func(w io.Writer) { output.Field(w, "tuning", tuningSummary(restored.GetTuning(), "none")) })
		}
		started, err := c.Evaluate.TuneIndex(cmd.Context(), &ragdv1.TuneIndexRequest{IndexName: args[0], SetName: *set, Adopt: *adopt, Namespace: *namespace, Label: *label})
		if err != nil {
			return err
		}
		if *wait {
			if err := AwaitJob(cmd.Context(), p, c, started.GetJob(), "asking"); err != nil {
				return err
			}
			if started, err = c.Evaluate.GetEvaluation(cmd.Context(), &ragdv1.GetEvaluationRequest{EvaluationId: started.GetEvaluationId()}); err != nil {
				return err
			}
		}
		return p.Out.Show(started, func(w io.Writer) {
			output.Field(w, "run", started.GetEvaluationId())
			output.Field(w, "job", started.GetJob().GetJobId())
			output.Field(w, "status", started.GetJob().GetStatus())
			ShowTuning(w, started)
		})
	}
	return cmd
}

// signed returns a number with its sign, 0 without one.
func signed(x float64) string {
	if x == 0 {
		return "0"
	}
	return fmt.Sprintf("%+g", x)
}

// tuningSummary describes the tuning of an index in one line, none if it has none.
func tuningSummary(t *ragdv1.IndexTuning, none string) string {
	if t == nil {
		return none
	}
	return fmt.Sprintf("%s by question set %s, run %s, of %s", signed(t.GetVectorLogOdds()), t.GetSetName(), t.GetEvaluationId(), output.Stamp(t.GetAdoptTime()))
}

// ShowTuning prints what an evaluation that tunes an index found; nothing for others and until it has succeeded.
func ShowTuning(w io.Writer, e *ragdv1.Evaluation) {
	o := e.GetTuningOutcome()
	if o == nil {
		return
	}
	outcome := "the present value is the best"
	switch better := o.GetDifference().GetLow() > 0; {
	case o.GetAdopted():
		outcome = "adopted"
	case o.GetVectorLogOdds() == o.GetPresentVectorLogOdds():
	case better:
		outcome = "better; --adopt lets queries rank by it"
	default:
		outcome = "not adopted: it may be no better for other questions"
	}
	d := o.GetDifference()
	output.Field(w, "present value", signed(o.GetPresentVectorLogOdds()))
	output.Field(w, "chosen value", fmt.Sprintf("%s, by %s", signed(o.GetVectorLogOdds()), output.Count(int(o.GetChosenCount()), "question")))
	output.Field(w, "difference", fmt.Sprintf("%+.3f (%+.3f to %+.3f): %s %.3f instead of %.3f over %s", d.GetDifference(), d.GetLow(), d.GetHigh(),
		d.GetName(), d.GetCandidate(), d.GetBaseline(), output.Count(int(o.GetComparedCount()), "other question")))
	output.Field(w, "outcome", outcome)
	fmt.Fprintln(w, "\nVALUE\tNDCG@10 OF THE HALF THAT CHOSE")
	for _, c := range o.GetCandidates() {
		fmt.Fprintf(w, "%s\t%.3f\n", signed(c.GetVectorLogOdds()), c.GetNdcg())
	}
}
