package data

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func graphTopics(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "topics",
		Short: "List what the documents of an index are about",
		Long: `List the topics of an index, largest first, each followed by its subtopics: groups of
chunks that the graph links closely, with the terms that tell them apart and their
largest documents. The first call finds them; later ones find them again in the
background when a tenth of the chunks has changed.`,
		Example: `  ragd graph topics
  ragd graph topics --index papers --json`,
		Args: command.Arguments(),
	}
	index := command.IndexFlag(cmd)
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		var all ragdv1.ListTopicsResponse
		for topic, err := range paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Topic, string, error) {
			page, err := c.Queries.ListTopics(ctx, &ragdv1.ListTopicsRequest{IndexName: *index, PageSize: size, PageToken: token})
			if err == nil {
				all.FindTime, all.JobId, all.OtherChunkCount, all.Modularity = page.GetFindTime(), page.GetJobId(), page.GetOtherChunkCount(), page.GetModularity()
			}
			return page.GetTopics(), page.GetNextPageToken(), err
		}) {
			if err != nil {
				return err
			}
			all.Topics = append(all.Topics, topic)
		}
		return p.Out.Show(&all, showTopics(p, &all))
	})
	return cmd
}

func showTopics(p *command.Program, list *ragdv1.ListTopicsResponse) func(io.Writer) {
	return func(w io.Writer) {
		for _, t := range list.GetTopics() {
			indent := ""
			if t.GetParentId() != 0 {
				indent = "  "
			}
			fmt.Fprintf(w, "%s%s  (%.0f%%, %d chunks of %d documents)\n", indent, p.Out.Bold(output.OneLine(t.GetTitle())),
				100*t.GetShare(), t.GetChunkCount(), t.GetDocumentCount())
			lines := []string{output.OneLine(strings.Join(t.GetTerms(), ", "))}
			if t.GetSummary() != "" {
				lines = append(lines, output.OneLine(t.GetSummary()))
			}
			var documents []string
			for _, d := range t.GetDocuments() {
				documents = append(documents, output.OneLine(d.GetUri()))
			}
			lines = append(lines, "in "+strings.Join(documents, ", "))
			for _, line := range lines {
				fmt.Fprintf(w, "%s    %s\n", indent, line)
			}
		}
		fmt.Fprintf(w, "%d chunks in no topic; modularity %.2f\n", list.GetOtherChunkCount(), list.GetModularity())
		if list.GetJobId() != "" {
			output.Note(p.Out.Stderr, "topics are being found again: see ragd job watch %s", list.GetJobId())
		}
	}
}
