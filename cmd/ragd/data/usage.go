package data

import (
	"context"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func usageCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Show how much tenants used",
		Long: `Show the documents, searches and tokens of models that the tenant used, by time,
index and stage. It needs a key with the scope admin. With the operator key it
shows the tenant that --tenant names, or without it all tenants.

Times are dates, such as 2026-11-01, or RFC 3339, such as 2026-11-01T08:00:00Z.`,
		Example: `  ragd usage
  ragd usage --interval month --group-by total --csv > usage.csv
  ragd usage --from 2026-11-01 --to 2026-12-01 --group-by stage,model`,
		Args: command.Arguments(),
	}
	flags := cmd.Flags()
	req := &ragdv1.ListUsageRequest{}
	from := flags.String("from", "", "`TIME` of the begin (default 30 days before the end)")
	to := flags.String("to", "", "`TIME` of the end, which is excluded (default now)")
	flags.StringVar(&req.Interval, "interval", "day", "hour, day or month, by UTC")
	flags.StringSliceVar(&req.GroupBy, "group-by", []string{"index", "stage"}, "what has rows of its own: some of index, stage and model, or total")
	flags.StringVar(&req.IndexName, "index", "", "only this index (default all)")
	flags.StringVar(&req.Stage, "stage", "", "only ingest, upsert, query, walk, embedding, rerank or chat (default all)")
	asCSV := flags.Bool("csv", false, "print comma-separated values")
	limit := command.LimitFlag(flags)
	cmd.RunE = p.Call(client.ForUsage, func(ctx context.Context, c *client.Client, _ []string) (err error) {
		if req.StartTime, err = command.ParseTime("from", *from); err != nil {
			return err
		}
		if req.EndTime, err = command.ParseTime("to", *to); err != nil {
			return err
		}
		rows := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Usage, string, error) {
			req.PageSize, req.PageToken = size, token
			page, err := c.Usage.ListUsage(ctx, req)
			return page.GetRows(), page.GetNextPageToken(), err
		})
		if *asCSV {
			return writeUsage(p.Out.Stdout, rows)
		}
		return output.List(p.Out, "rows", rows, "START TENANT INDEX STAGE MODEL CALLS DOCUMENTS CHUNKS BYTES IN OUT SECONDS", func(u *ragdv1.Usage) []any {
			return []any{
				output.Stamp(u.GetStartTime()), u.GetTenantId(), u.GetIndexName(), u.GetStage(), u.GetModel(), output.Number(u.GetCalls()), output.Number(u.GetDocuments()),
				output.Number(u.GetChunks()), output.Number(u.GetBytes()), output.Number(u.GetInputTokens()), output.Number(u.GetOutputTokens()), output.Number(u.GetSeconds()),
			}
		})
	})
	return p.ClientFlags(cmd)
}

// writeUsage writes rows as comma-separated values, as they arrive.
func writeUsage(w io.Writer, rows iter.Seq2[*ragdv1.Usage, error]) error {
	columns := []string{"start", "tenant", "index", "stage", "model", "calls", "documents", "chunks", "bytes", "input_tokens", "output_tokens", "seconds"}
	return output.CSV(w, columns, rows, func(u *ragdv1.Usage) []string {
		return []string{
			u.GetStartTime().AsTime().Format(time.RFC3339), u.GetTenantId(), u.GetIndexName(), u.GetStage(), u.GetModel(), output.Number(u.GetCalls()), output.Number(u.GetDocuments()),
			output.Number(u.GetChunks()), output.Number(u.GetBytes()), output.Number(u.GetInputTokens()), output.Number(u.GetOutputTokens()), output.Number(u.GetSeconds()),
		}
	})
}

func quotasCommand(p *command.Program) *cobra.Command {
	return p.ClientFlags(&cobra.Command{
		Use:   "quotas",
		Short: "Show the plan and the quotas of the tenant",
		Long: `Show the plan and the quotas of the tenant, what is used of them, and where each
limit comes from: settings (of the tenant), plan, or default (of the service). It
needs a key with the scope admin, or the operator key and --tenant.`,
		Example: `  ragd quotas
  ragd quotas --json | jq '.quotas[] | select(.used > 0.8 * .limit and .limit > 0)'`,
		Args: command.Arguments(),
		RunE: command.Show(p, client.ForQuotas, func(ctx context.Context, c *client.Client, _ []string) (*ragdv1.GetQuotasResponse, error) {
			return c.Usage.GetQuotas(ctx, &ragdv1.GetQuotasRequest{})
		}, showQuotas),
	})
}

func showQuotas(res *ragdv1.GetQuotasResponse) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "plan", res.GetPlanName())
		output.Field(w, "larger plans", res.GetPlanContact())
		output.Field(w, "without", strings.Join(res.GetWithout(), ", "))
		output.Field(w, "models", strings.Join(res.GetModels(), ", "))
		for _, q := range res.GetQuotas() {
			limit := "no limit"
			if q.GetLimit() > 0 {
				limit = output.Number(q.GetLimit()) + " (" + q.GetSource() + ")"
			}
			if q.Used != nil {
				limit = output.Number(q.GetUsed()) + " of " + limit
			}
			output.Field(w, q.GetName(), limit)
		}
	}
}
