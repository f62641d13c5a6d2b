package automation

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func memoryCommands(p *command.Program) *cobra.Command {
	return p.ClientFlags(command.Group("memory", "See and erase what is remembered about users", `
A memory is a short text about one user, which agents and programs keep with the tool remember.
Everybody sees and erases their own memories; keys with the scope admin also those of others.`,
		memoryList(p), memoryRemember(p), memoryRecall(p), memoryForget(p),
	))
}

const memoryHeader = "MEMORY SINCE UNTIL TEXT"

func memoryRow(m *ragdv1.Memory) []any {
	return []any{m.GetMemoryId(), output.Stamp(m.GetValidFrom()), output.Stamp(m.GetValidUntil()), output.Printable(m.GetText())}
}

func memoryList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List memories, the newest first",
		Example: `  ragd memory list
  ragd memory list --all-subjects --json`,
		Args: command.Arguments(),
	}
	subject := cmd.Flags().String("subject", "", "memories of this subject, as --json shows it; for admins")
	all := cmd.Flags().Bool("all-subjects", false, "memories of all users; for admins")
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		memories := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Memory, string, error) {
			page, err := c.Memories.ListMemories(ctx, &ragdv1.ListMemoriesRequest{PageSize: size, PageToken: token, Subject: *subject, AllSubjects: *all})
			return page.GetMemories(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "memories", memories, memoryHeader, memoryRow)
	})
	return cmd
}

func memoryRemember(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remember TEXT",
		Short: "Keep a fact or preference",
		Example: `  ragd memory remember "I live in Ghent."
  ragd memory remember "I live in Graz." --replaces 0198c3a4-0000-7000-8000-000000000001`,
		Args: command.Arguments("TEXT"),
	}
	replaces := cmd.Flags().String("replaces", "", "id of the memory that it updates")
	note := cmd.Flags().String("note", "", "where it comes from")
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Memory, error) {
		return c.Memories.Remember(ctx, &ragdv1.RememberRequest{Text: args[0], Replaces: *replaces, Note: *note})
	}, func(m *ragdv1.Memory) func(io.Writer) {
		return func(w io.Writer) { output.Field(w, "memory", m.GetMemoryId()) }
	})
	return cmd
}

func memoryRecall(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "recall QUESTION",
		Short:   "Show the memories that answer a question",
		Example: `  ragd memory recall "Where do I live?"`,
		Args:    command.Arguments("QUESTION"),
	}
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		found, err := c.Memories.Recall(ctx, &ragdv1.RecallRequest{QueryText: args[0]})
		if err != nil {
			return err
		}
		return p.Out.Show(found, func(w io.Writer) {
			for _, m := range found.GetMemories() {
				fmt.Fprintln(w, output.Printable(m.GetText()))
			}
			if len(found.GetMemories()) == 0 {
				fmt.Fprintln(w, "Nothing is remembered about that.")
			}
		})
	})
	return cmd
}

func memoryForget(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "forget [MEMORY]",
		Short: "Erase memories with all their versions",
		Example: `  ragd memory forget 0198c3a4-0000-7000-8000-000000000001
  ragd memory forget --question "Where do I live?" --dry-run
  ragd memory forget --all`,
		Args: cobra.MaximumNArgs(1),
	}
	req := &ragdv1.ForgetRequest{}
	cmd.Flags().StringVar(&req.QueryText, "question", "", "erase what a recall of this question finds")
	cmd.Flags().BoolVar(&req.All, "all", false, "erase all")
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "erase nothing, and show what would be erased")
	cmd.Flags().StringVar(&req.Subject, "subject", "", "memories of this subject, as list --json shows it; for admins")
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.ForgetResponse, error) {
		if len(args) > 0 {
			req.MemoryId = args[0]
		}
		return c.Memories.Forget(ctx, req)
	}, func(res *ragdv1.ForgetResponse) func(io.Writer) {
		return func(w io.Writer) {
			did := "erased"
			if req.GetDryRun() {
				did = "would be erased"
			}
			fmt.Fprintf(w, "%d %s\n", res.GetDeletedCount(), did)
			for _, m := range res.GetMemories() {
				fmt.Fprintf(w, "  %s\n", output.Printable(m.GetText()))
			}
		}
	})
	return cmd
}
