package evaluate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// answersFlags are the flags of "ragd eval --answers".
type answersFlags struct {
	answers, noWait                    *bool
	agent, set, judge, declines, label *string
}

// answersFlagNames are the names of the flags that only --answers has.
var answersFlagNames = []string{"agent", "set", "judge", "declines", "label", "no-wait"}

func evalAnswersFlags(cmd *cobra.Command) answersFlags {
	flags := cmd.Flags()
	return answersFlags{
		answers: flags.Bool("answers", false, "ask an agent the questions of a set"), agent: flags.String("agent", "", "with --answers: the agent"),
		set: flags.String("set", "", "with --answers: the question set"), judge: flags.String("judge", "", "with --answers: language model that judges the answers, as endpoint/model"),
		declines: flags.String("declines", "", "with --answers: regular expression that matches answers which say that the agent does not know (default the judge decides; without one, answers that cite nothing)"),
		label:    flags.String("label", "", "with --answers: a note for people"), noWait: flags.Bool("no-wait", false, "with --answers: start the job and print its id"),
	}
}

// wanted reports whether --answers or one of its flags is given.
func (f answersFlags) wanted(cmd *cobra.Command) bool {
	return *f.answers || slices.ContainsFunc(answersFlagNames, cmd.Flags().Changed)
}

// check returns an error for flags that do not belong together.
func (f answersFlags) check(cmd *cobra.Command) error {
	for _, name := range []string{"index", "corpus", "queries", "qrels", "allow-missing", "per-question", "mode", "graph", "rerank", "k", "concurrency"} {
		if cmd.Flags().Changed(name) {
			return misuse.Errorf("--%s is for queries, not for --answers", name)
		}
	}
	switch {
	case !*f.answers:
		return misuse.Errorf("--answers is missing: --%s is for it", strings.Join(answersFlagNames, ", --"))
	case *f.agent == "":
		return misuse.Errorf("--agent is missing: name the agent to ask")
	case *f.set == "":
		return misuse.Errorf("--set is missing: name a question set; ragd eval set import makes one")
	}
	return nil
}

// evalAnswers has an agent asked the questions of a set.
func evalAnswers(p *command.Program, cmd *cobra.Command, f answersFlags) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	c, err := p.Connect(client.ForTenant)
	if err != nil {
		return err
	}
	return startEvaluation(cmd.Context(), p, c, &ragdv1.StartEvaluationRequest{
		SetName: *f.set, Label: *f.label,
		Settings: &ragdv1.StartEvaluationRequest_Agent{Agent: &ragdv1.AnswerSettings{AgentName: *f.agent, JudgeModel: *f.judge, DeclinePattern: *f.declines}},
	}, *f.noWait)
}

// answerSettingsText describes in one line how an agent was asked.
func answerSettingsText(a *ragdv1.AnswerSettings) string {
	text := "agent " + a.GetAgentName()
	if judge := a.GetJudgeModel(); judge != "" {
		text += ", judge " + judge
	}
	if pattern := a.GetDeclinePattern(); pattern != "" {
		text += fmt.Sprintf(", declines %q", pattern)
	}
	return text
}

// answerUsageText says what answers have taken.
func answerUsageText(u *ragdv1.AnswerUsage) string {
	text := fmt.Sprintf("%d steps, %d calls of tools, %d tokens in, %d out", u.GetSteps(), u.GetToolCalls(), u.GetInputTokens(), u.GetOutputTokens())
	if u.GetCost() > 0 {
		text += fmt.Sprintf(", cost %.4g", u.GetCost())
	}
	if u.GetRemovedCitations() > 0 {
		text += fmt.Sprintf("; %d citations removed", u.GetRemovedCitations())
	}
	if u.GetJudgeCalls() > 0 {
		text += fmt.Sprintf("; judge: %d calls, %d tokens in, %d out", u.GetJudgeCalls(), u.GetJudgeInputTokens(), u.GetJudgeOutputTokens())
	}
	return text
}

// answerColumns are the columns of the questions of a run that asked an agent.
const answerColumns = "QUESTION CORRECT EXACT F1 FAITHFUL CITED-P CITED-R DECLINED MS TEXT ANSWER"

func answerRow(r *ragdv1.QuestionResult) []any {
	measured := func(name string) string {
		for _, m := range r.GetMeasures() {
			if m.GetName() == name {
				return fmt.Sprintf("%.2f", m.GetValue())
			}
		}
		return "-"
	}
	a := r.GetAnswer()
	declined, text := "-", a.GetText()
	switch {
	case a.GetError() != "":
		text = "failed: " + a.GetError()
	case a.Declined != nil && a.GetDeclined():
		declined = "yes"
	case a.Declined != nil:
		declined = "no"
	}
	if r.GetUnanswerable() {
		declined += " (unanswerable)"
	}
	return []any{
		r.GetQuestionId(), measured("correctness"), measured("exactMatch"), measured("f1"), measured("faithfulness"), measured("citationPrecision"), measured("citationRecall"),
		declined, fmt.Sprintf("%.0f", r.GetLatencyMs()), r.GetText(), text,
	}
}
