package data

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func suggestCommand(p *command.Program) *cobra.Command {
	cmd := p.ClientFlags(&cobra.Command{
		Use:   "suggest PREFIX",
		Short: "Complete what is being typed into a search",
		Long: `Complete what is being typed into a search: with titles of documents, questions that
had a helpful answer, and words of the index.`,
		Example: `  ragd suggest "notice pe"
  ragd suggest lea --index handbook --limit 5 --json`,
		Args: command.Arguments("PREFIX"),
	})
	flags := cmd.Flags()
	index := command.IndexFlag(cmd)
	namespace := flags.String("namespace", "", "part of the index (default \"default\")")
	limit := flags.Int32("limit", 0, "print at most this many, up to 20 (default 10)")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		res, err := c.Queries.Suggest(ctx, &ragdv1.SuggestRequest{Prefix: args[0], IndexName: *index, Namespace: *namespace, Limit: command.Given(flags, "limit", limit)})
		if err != nil {
			return err
		}
		if p.Out.JSON {
			return p.Out.Message(res)
		}
		return output.List(p.Out, "suggestions", paging.All(res.GetSuggestions()), "TEXT KIND URI", func(s *ragdv1.Suggestion) []any {
			return []any{output.OneLine(s.GetText()), s.GetKind(), output.OneLine(s.GetUri())}
		})
	})
	return cmd
}
