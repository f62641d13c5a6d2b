package data

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/tool/finding"
)

func researchCommand(p *command.Program) *cobra.Command {
	cmd := p.ClientFlags(&cobra.Command{
		Use:   "research QUESTION",
		Short: "Collect the passages that answer a hard question together",
		Long: `Collect the passages that answer a hard question together: one that asks several
things, compares things, or goes on from one thing to the next. The question is cut
into parts; for each the command searches, and follows the names in what it finds.
Steps are told on standard error as they happen. No language model is needed.

It prints the parts with what was found for each, then the passages with the
sentences that matter.`,
		Example: `  ragd research "Which film has the older director, Dark River or Inside the Room?"
  ragd research "Where was the founder of the yard that built the Marenna born, and how large is that town?"
  ragd research "Who won the regatta of 1896?" --index reports,people --passages 12 --json`,
		Args: command.Arguments("QUESTION"),
	})
	flags := cmd.Flags()
	indexes := flags.StringSlice("index", nil, "indexes to search, also patterns such as 'team-*' (default all)")
	namespace := flags.String("namespace", "", "part of the indexes (default \"default\")")
	filter := command.FilterFlags(flags, "only chunks whose metadata match")
	passages := flags.Int32P("passages", "k", 8, "passages wanted, up to 50")
	steps := flags.Int32("steps", 32, "searches and followings of names that it may take, up to 64")
	seconds := flags.Float64("seconds", 20, "time that it may take, up to 60")
	budget := budgetFlags(flags, "the text for a prompt")
	full := flags.Bool("full", false, "print passages as a whole, not only the sentences that matter")
	within := command.ContextFlag(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.Connect(client.ForTenant)
		if err != nil {
			return err
		}
		req := &ragdv1.ResearchRequest{
			Question: args[0], IndexNames: *indexes, Namespace: *namespace,
			Budget: &ragdv1.ResearchBudget{Passages: passages, Steps: steps, Seconds: seconds},
		}
		req.Budget.MaxTokens, req.Budget.EncodingName = budget()
		if object := filter(); object != nil {
			req.Filter = structpb.NewStructValue(object)
		}
		stream, err := c.Research.ResearchStream(within(cmd.Context()), &ragdv1.ResearchStreamRequest{Research: req})
		if err != nil {
			return err
		}
		var result *ragdv1.ResearchResponse
		for stream.Receive() {
			if e := stream.Msg(); e.GetResult() != nil {
				result = e.GetResult()
			} else if step := e.GetStep(); step != nil {
				output.Note(p.Out.Stderr, "%d. %s: %s (%d passages)", step.GetNumber(), step.GetKind(), output.OneLine(step.GetText()), step.GetFoundCount())
			}
		}
		if err := stream.Err(); err != nil {
			return err
		}
		if p.Out.JSON {
			return p.Out.Message(result)
		}
		return printResearch(p, result, *full)
	}
	return cmd
}

// printResearch prints the parts and the passages.
func printResearch(p *command.Program, res *ragdv1.ResearchResponse, full bool) error {
	for _, warning := range res.GetWarnings() {
		output.Note(p.Out.Stderr, "warning: %s", output.OneLine(warning))
	}
	if res.GetStopped() != "exhausted" {
		output.Note(p.Out.Stderr, "the %s are used up: there may be more", res.GetStopped())
	}
	var b strings.Builder
	for _, part := range res.GetParts() {
		fmt.Fprintf(&b, "%s\n  %s\n", p.Out.Bold(output.OneLine(part.GetText())), finding.Line(part, output.OneLine))
	}
	b.WriteString("\n")
	for n, passage := range res.GetPassages() {
		s := passage.GetSource()
		fmt.Fprintf(&b, "[%d] %s", n+1, p.Out.Bold(output.OneLine(s.GetTitle()+", "+s.GetUri())))
		if passage.GetVia() != "" {
			fmt.Fprintf(&b, "  (%s)", output.OneLine(passage.GetVia()))
		}
		b.WriteString("\n")
		var lines []string
		for _, quote := range passage.GetQuotes() {
			lines = append(lines, output.OneLine(quote.GetText()))
		}
		if full || len(lines) == 0 {
			lines = passageLines(p, s, passageOf(s, full))
		}
		b.WriteString(output.Indent(lines) + "\n")
	}
	if _, err := fmt.Fprint(p.Out.Stdout, b.String()); err != nil {
		return err
	}
	noteBudget(p, res.GetBudget())
	return nil
}
