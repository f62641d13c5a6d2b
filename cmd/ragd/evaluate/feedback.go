package evaluate

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func evalFeedback(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "feedback QUERY_ID SOURCE",
		Short: "Say whether a source of an answer helped",
		Long: `Record whether a source of an answer helped. "ragd query --json" prints the queryId of
the answer and the ids of its sources. The judgement goes into the question set
feedback-INDEX, which "ragd eval run" measures as any other.`,
		Example: `  ragd eval feedback "$QUERY_ID" 0196a1f2-5a57-7d0a-a9b1-6a1c9be6a4e0:3
  ragd eval feedback "$QUERY_ID" 0196a1f2-5a57-7d0a-a9b1-6a1c9be6a4e0:4 --helpful=false
  ragd eval feedback "$QUERY_ID" 0196a1f2-5a57-7d0a-a9b1-6a1c9be6a4e0:4 --withdraw`,
		Args: command.Arguments("QUERY_ID", "SOURCE"),
	}
	helpful := cmd.Flags().Bool("helpful", true, "whether it helped to answer the question")
	withdraw := cmd.Flags().Bool("withdraw", false, "delete what you have said of the source")
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.RecordFeedbackResponse, error) {
		req := &ragdv1.RecordFeedbackRequest{QueryId: args[0], Source: args[1], Withdraw: *withdraw}
		switch {
		case !*withdraw:
			req.Helpful = helpful
		case cmd.Flags().Changed("helpful"):
			return nil, misuse.Errorf("--withdraw and --helpful exclude each other")
		}
		return c.Evaluate.RecordFeedback(ctx, req)
	}, func(res *ragdv1.RecordFeedbackResponse) func(io.Writer) {
		return func(w io.Writer) {
			fmt.Fprintf(w, "recorded in question %s of set %s\n", output.OneLine(res.GetQuestionId()), output.OneLine(res.GetSetName()))
		}
	})
	return cmd
}
