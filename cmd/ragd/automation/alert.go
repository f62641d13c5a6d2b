package automation

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func alertCommands(p *command.Program) *cobra.Command {
	return p.ClientFlags(command.Group("alert", "Be told of new passages that match a question", `
An alert is a question that each new passage of an index is compared with. A match is an event
of the type alert.matched, which hooks and "ragd events" deliver, and is listed by "ragd alert
matches". An alert has the rights of the key that made it, and ends with it.`,
		alertPreview(p), alertCreate(p), alertUpdate(p), alertPause(p), alertResume(p), alertGet(p), alertList(p), alertMatches(p), alertDelete(p),
	))
}

// alertFlags are the flags that create and update have in common.
type alertFlags struct {
	mode, name *string
	minScore   func() *float64 // nil if it was not given
	filter     func() *structpb.Struct
}

func newAlertFlags(flags *pflag.FlagSet) *alertFlags {
	f := &alertFlags{name: flags.String("name", "", "what the alert is called")}
	f.mode, f.minScore, f.filter = matchFlags(flags)
	return f
}

// matchFlags adds the flags that say which passages match a question.
func matchFlags(flags *pflag.FlagSet) (mode *string, minScore func() *float64, filter func() *structpb.Struct) {
	mode = flags.String("mode", "", "hybrid: some term and the least score; keyword: all terms; vector: the least score (default hybrid)")
	score := flags.Float64("min-score", 0, `least similarity, as "ragd alert preview" shows it`)
	minScore = func() *float64 {
		if flags.Changed("min-score") {
			return score
		}
		return nil
	}
	return mode, minScore, command.ObjectFlag(flags, "filter", `only passages whose metadata it selects, such as '{"team": "red"}'`)
}

func namespaceFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("namespace", "", "namespace of the passages (default default)")
}

func showAlert(a *ragdv1.Alert) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "alert", a.GetAlertId())
		output.Field(w, "name", a.GetDisplayName())
		output.Field(w, "index", a.GetIndexName())
		output.Field(w, "namespace", a.GetNamespace())
		output.Field(w, "question", a.GetQueryText())
		output.Field(w, "mode", a.GetSearchMode())
		if a.GetSearchMode() != "keyword" {
			output.Field(w, "least score", fmt.Sprintf("%.3f", a.GetMinScore()))
		}
		if a.GetFilter() != nil {
			output.Field(w, "filter", output.CompactJSON(a.GetFilter()))
		}
		output.Field(w, "of", a.GetSubject())
		if a.GetPaused() {
			output.Field(w, "paused", "yes")
		}
		output.Field(w, "ended because", a.GetEndedReason())
		output.Field(w, "created", output.Stamp(a.GetCreateTime()))
		output.Field(w, "updated", output.Stamp(a.GetUpdateTime()))
	}
}

func alertCreate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create QUESTION",
		Short: "Compare new passages of an index with a question",
		Example: `  ragd alert create "late ferries" --index docs --min-score 0.4
  ragd alert create "merger" --index docs --mode keyword --filter '{"team": "legal"}' --name mergers`,
		Args: command.Arguments("QUESTION"),
	}
	index, flags := command.IndexFlag(cmd), newAlertFlags(cmd.Flags())
	namespace := namespaceFlag(cmd)
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		made, err := c.Alerts.CreateAlert(ctx, &ragdv1.CreateAlertRequest{
			IndexName: *index, QueryText: args[0], SearchMode: *flags.mode, MinScore: flags.minScore(), Filter: flags.filter(),
			Namespace: *namespace, DisplayName: *flags.name,
		})
		if err != nil {
			return err
		}
		return p.Out.Show(made, showAlert(made))
	})
	return cmd
}

func alertPreview(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "preview QUESTION",
		Short: "Show which passages of an index an alert would match",
		Long: `Compare the passages that are in an index with a question, as an alert compares new ones, and
store nothing. Those that match come first, and then the most similar others, which show a value for --min-score.`,
		Example: `  ragd alert preview "late ferries" --index docs
  ragd alert preview "late ferries" --index docs --min-score 0.4`,
		Args: command.Arguments("QUESTION"),
	}
	index := command.IndexFlag(cmd)
	mode, score, filter := matchFlags(cmd.Flags())
	namespace := namespaceFlag(cmd)
	topK := cmd.Flags().Int32P("top-k", "k", 20, "how many passages to show")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		found, err := c.Alerts.PreviewAlert(ctx, &ragdv1.PreviewAlertRequest{
			IndexName: *index, QueryText: args[0], SearchMode: *mode, MinScore: score(), Filter: filter(), Namespace: *namespace, TopK: *topK,
		})
		if err != nil {
			return err
		}
		return p.Out.Show(found, func(w io.Writer) { showPreview(w, found) })
	})
	return cmd
}

func showPreview(w io.Writer, found *ragdv1.PreviewAlertResponse) {
	of := "newest"
	if found.GetComplete() {
		of = "only"
	}
	fmt.Fprintf(w, "%d match of the %s %d passages\n", found.GetMatchCount(), of, found.GetComparedCount())
	for _, one := range found.GetPassages() {
		is := "no match"
		if one.GetMatches() {
			is = "match"
		}
		s := one.GetSource()
		fmt.Fprintf(w, "%-8s  %.3f  %s  %s\n", is, s.GetScore(), s.GetUri(), beginning(output.OneLine(s.GetDocument())))
	}
}

func alertUpdate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update ALERT",
		Short: "Change an alert of this key",
		Long: `Change what is given of an alert and leave the rest. Only the key that made an alert changes it:
the alert works with its rights.`,
		Example: `  ragd alert update 0198c3a4-0000-7000-8000-000000000001 --min-score 0.5
  ragd alert update 0198c3a4-0000-7000-8000-000000000001 --question "ferries in fog" --filter '{}'`,
		Args: command.Arguments("ALERT"),
	}
	flags := newAlertFlags(cmd.Flags())
	question := cmd.Flags().String("question", "", "another question")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		given := func(name string, value *string) *string {
			if cmd.Flags().Changed(name) {
				return value
			}
			return nil
		}
		changed, err := c.Alerts.UpdateAlert(ctx, &ragdv1.UpdateAlertRequest{
			AlertId: args[0], QueryText: given("question", question), SearchMode: given("mode", flags.mode), MinScore: flags.minScore(),
			Filter: flags.filter(), DisplayName: given("name", flags.name),
		})
		if err != nil {
			return err
		}
		return p.Out.Show(changed, showAlert(changed))
	})
	return cmd
}

func alertPause(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "pause ALERT",
		Short:   "Compare no passages with an alert of this key until it is resumed",
		Example: `  ragd alert pause 0198c3a4-0000-7000-8000-000000000001`,
		Args:    command.Arguments("ALERT"),
	}
	cmd.RunE = setPaused(p, true)
	return cmd
}

func alertResume(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "resume ALERT",
		Short:   "Compare passages with a paused alert again",
		Long:    `Compare passages with a paused alert again: those that are ingested from now on.`,
		Example: `  ragd alert resume 0198c3a4-0000-7000-8000-000000000001`,
		Args:    command.Arguments("ALERT"),
	}
	cmd.RunE = setPaused(p, false)
	return cmd
}

// setPaused returns the run of a command that pauses or resumes the alert in its argument.
func setPaused(p *command.Program, paused bool) func(*cobra.Command, []string) error {
	return command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Alert, error) {
		return c.Alerts.UpdateAlert(ctx, &ragdv1.UpdateAlertRequest{AlertId: args[0], Paused: &paused})
	}, showAlert)
}

func alertGet(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "get ALERT",
		Short:   "Show an alert",
		Example: `  ragd alert get 0198c3a4-0000-7000-8000-000000000001`,
		Args:    command.Arguments("ALERT"),
	}
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Alert, error) {
		return c.Alerts.GetAlert(ctx, &ragdv1.GetAlertRequest{AlertId: args[0]})
	}, showAlert)
	return cmd
}

func alertList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List alerts, the newest first: those of this key, and with the scope admin all",
		Example: `  ragd alert list --index docs`,
		Args:    command.Arguments(),
	}
	index := cmd.Flags().String("index", "", "only alerts of this index")
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		alerts := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Alert, string, error) {
			page, err := c.Alerts.ListAlerts(ctx, &ragdv1.ListAlertsRequest{IndexName: *index, PageSize: size, PageToken: token})
			return page.GetAlerts(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "alerts", alerts, "ALERT INDEX STATE NAME QUESTION", func(a *ragdv1.Alert) []any {
			state := "active"
			switch {
			case a.GetEndedReason() != "":
				state = "ended"
			case a.GetPaused():
				state = "paused"
			}
			return []any{a.GetAlertId(), a.GetIndexName(), state, a.GetDisplayName(), output.OneLine(a.GetQueryText())}
		})
	})
	return cmd
}

func alertMatches(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "matches ALERT",
		Short:   "List the passages that matched, the newest first",
		Example: `  ragd alert matches 0198c3a4-0000-7000-8000-000000000001 --limit 20`,
		Args:    command.Arguments("ALERT"),
	}
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		matches := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.AlertMatch, string, error) {
			page, err := c.Alerts.ListAlertMatches(ctx, &ragdv1.ListAlertMatchesRequest{AlertId: args[0], PageSize: size, PageToken: token})
			return page.GetMatches(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "matches", matches, "TIME SCORE DOCUMENT PASSAGE", func(m *ragdv1.AlertMatch) []any {
			s := m.GetSource()
			return []any{output.Stamp(m.GetCreateTime()), fmt.Sprintf("%.3f", s.GetScore()), s.GetUri(), beginning(output.OneLine(s.GetDocument()))}
		})
	})
	return cmd
}

// beginning returns a text, or its first 80 characters and an ellipsis.
func beginning(text string) string {
	if r := []rune(text); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return text
}

func alertDelete(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "delete ALERT",
		Short:   "Delete an alert, with its matches",
		Example: `  ragd alert delete 0198c3a4-0000-7000-8000-000000000001 --yes`,
		Args:    command.Arguments("ALERT"),
	}
	yes := command.YesFlag(cmd)
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		if err := p.Confirm(ctx, *yes, args[0], "Deletes the alert %s with its matches.", args[0]); err != nil {
			return err
		}
		res, err := c.Alerts.DeleteAlert(ctx, &ragdv1.DeleteAlertRequest{AlertId: args[0]})
		if err != nil {
			return err
		}
		return p.Out.Show(res, func(w io.Writer) { output.Field(w, "deleted", args[0]) })
	})
	return cmd
}
