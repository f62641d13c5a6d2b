package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/tenant/place/move"
)

func showMove(m *ragdv1.TenantMove) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "move", m.GetMoveId())
		output.Field(w, "tenant", m.GetTenantId())
		output.Field(w, "from", m.GetFromDatabaseName())
		output.Field(w, "to", m.GetDatabaseName())
		output.Field(w, "phase", m.GetPhase())
		output.Field(w, "step", m.GetStep())
		output.Field(w, "attempts", m.GetAttempts())
		output.Field(w, "rows", fmt.Sprintf("%.0f", m.GetRows()))
		output.Field(w, "bytes", fmt.Sprintf("%.0f", m.GetBytes()))
		if m.GetKeepUntilTime() != nil {
			output.Field(w, "writes refused for", time.Duration(m.GetWritePauseMs())*time.Millisecond)
			output.Field(w, "old copy until", output.Stamp(m.GetKeepUntilTime()))
		}
		output.Field(w, "error", m.GetError())
		output.Field(w, "begun", output.Stamp(m.GetCreateTime()))
		output.Field(w, "updated", output.Stamp(m.GetUpdateTime()))
	}
}

func (p *program) tenantMove() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "move TENANT DATABASE",
		Short: "Move a tenant to another database",
		Long: `Move a tenant to another database of the service, while it is used. DATABASE is
main for the first database, or one of "ragd databases list".

The service copies the tenant in the background. Its reads go on; its writes are
refused for a moment before the switch, and callers try them again. The old database
keeps its copy for the time of the setting keep-moved. With --wait the command
shows how far the move is, until the tenant lives in the new database.`,
		Example: `  ragd tenant move acme east --wait`,
		Args:    command.Arguments("TENANT", "DATABASE"),
	}
	wait := cmd.Flags().Bool("wait", false, "wait until the tenant lives in the new database")
	cmd.RunE = p.Call(client.ForOperator, func(ctx context.Context, c *client.Client, args []string) error {
		m, err := c.Tenants.MoveTenant(ctx, &ragdv1.MoveTenantRequest{TenantId: args[0], DatabaseName: args[1]})
		if err == nil && *wait {
			m, err = p.awaitMove(ctx, c, m)
		}
		if err != nil {
			return err
		}
		if err := p.Out.Show(m, showMove(m)); err != nil {
			return err
		}
		if m.GetPhase() == string(move.Failed) {
			return fmt.Errorf("the move has failed: %s", m.GetError())
		}
		return nil
	})
	return cmd
}

// movePoll is how often the command asks how far a move is.
const movePoll = 500 * time.Millisecond

// awaitMove shows how far a move is until the tenant lives in its new database, or the move has failed.
func (p *program) awaitMove(ctx context.Context, c *client.Client, m *ragdv1.TenantMove) (*ragdv1.TenantMove, error) {
	shown := ""
	for m.GetPhase() == string(move.Copying) {
		if line := m.GetPhase() + ": " + m.GetStep(); line != shown {
			shown = line
			fmt.Fprintln(p.Out.Stderr, line)
		}
		select {
		case <-ctx.Done():
			return m, ctx.Err()
		case <-time.After(movePoll):
		}
		now, err := c.Tenants.GetTenantMove(ctx, &ragdv1.GetTenantMoveRequest{MoveId: m.GetMoveId()})
		var failed *connect.Error
		if errors.As(err, &failed) && failed.Code() == connect.CodeUnavailable {
			continue // the service is restarting
		}
		if err != nil {
			return m, err
		}
		m = now
	}
	return m, nil
}

func (p *program) tenantMoves() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "moves [TENANT]",
		Short:   "List moves of tenants between databases, newest first",
		Example: `  ragd tenant moves --json | jq -r 'select(.phase == "failed")'`,
		Args:    cobra.MaximumNArgs(1),
	}
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForOperator, func(ctx context.Context, c *client.Client, args []string) error {
		of := ""
		if len(args) > 0 {
			of = args[0]
		}
		moves := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.TenantMove, string, error) {
			page, err := c.Tenants.ListTenantMoves(ctx, &ragdv1.ListTenantMovesRequest{TenantId: of, PageSize: size, PageToken: token})
			return page.GetMoves(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "moves", moves, "TENANT FROM TO PHASE BEGUN ERROR", func(m *ragdv1.TenantMove) []any {
			return []any{m.GetTenantId(), m.GetFromDatabaseName(), m.GetDatabaseName(), m.GetPhase(), output.Stamp(m.GetCreateTime()), m.GetError()}
		})
	})
	return cmd
}
