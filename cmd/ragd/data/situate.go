package data

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func indexSituate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "situate INDEX",
		Short: "Have a language model say of each chunk where in its document it stands",
		Long: `Process the documents of an index again whose chunks lack a sentence of context,
which says what a chunk is about that only calls it "it". The sentence is searched and
embedded with the chunk. With --model or --budget the index first gets this setting, for
later uploads too. What was made before is not paid again. --dry-run changes nothing and
shows about what it takes.`,
		Example: `  ragd index situate handbook --model openai/gpt-5-mini --dry-run
  ragd index situate handbook --model openai/gpt-5-mini --budget 2000000
  ragd index situate handbook`,
		Args: command.Arguments("INDEX"),
	}
	flags := cmd.Flags()
	model := flags.String("model", "", "language model that writes the sentences, as endpoint/model (default that of the index)")
	budget := flags.Int64("budget", 0, "tokens that all sentences of the index may take (default that of the index, else 10000000)")
	namespace := flags.String("namespace", "", "only documents of this namespace (default all)")
	dryRun := flags.Bool("dry-run", false, "show about what it takes, and change nothing")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		if *budget < 0 {
			return misuse.Errorf("--budget must be a positive number of tokens")
		}
		if !*dryRun && (*model != "" || *budget > 0) {
			if err := setContext(ctx, c, args[0], *model, *budget); err != nil {
				return err
			}
		}
		done, err := c.Documents.SituateDocuments(ctx, &ragdv1.SituateDocumentsRequest{IndexName: args[0], Namespace: *namespace, DryRun: *dryRun})
		if err != nil {
			return err
		}
		if *dryRun && *budget > 0 {
			done.BudgetTokens = float64(*budget)
		}
		if done.GetRemaining() {
			output.Note(p.Out.Stderr, "the backlog is full: call this again to go on with the other documents")
		}
		return p.Out.Show(done, showSituated(done))
	})
	return cmd
}

// setContext sets the option context of the extraction of an index; what is empty or 0 stays as it is.
func setContext(ctx context.Context, c *client.Client, name, model string, budget int64) error {
	index, err := c.Indexes.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: name})
	if err != nil {
		return err
	}
	extract := index.GetExtract()
	if extract == nil {
		extract = &structpb.Struct{}
	}
	if extract.Fields == nil {
		extract.Fields = map[string]*structpb.Value{}
	}
	option := extract.Fields["context"].GetStructValue()
	if option == nil {
		option = &structpb.Struct{}
	}
	if option.Fields == nil {
		option.Fields = map[string]*structpb.Value{}
	}
	if model != "" {
		option.Fields["model"] = structpb.NewStringValue(model)
	}
	if budget > 0 {
		option.Fields["budgetTokens"] = structpb.NewNumberValue(float64(budget))
	}
	extract.Fields["context"] = structpb.NewStructValue(option)
	_, err = c.Indexes.UpdateIndex(ctx, &ragdv1.UpdateIndexRequest{IndexName: name, Extract: extract, Etag: index.GetEtag()})
	return err
}

func showSituated(done *ragdv1.SituateDocumentsResponse) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "documents", done.GetDocuments())
		output.Field(w, "chunks", done.GetChunks())
		output.Field(w, "calls, about", int64(done.GetCalls()))
		output.Field(w, "input tokens, about", int64(done.GetInputTokens()))
		output.Field(w, "of them repeated", int64(done.GetCachedTokens()))
		output.Field(w, "output tokens, about", int64(done.GetOutputTokens()))
		output.Field(w, "budget tokens", int64(done.GetBudgetTokens()))
		output.Field(w, "spent tokens", int64(done.GetSpentTokens()))
	}
}
