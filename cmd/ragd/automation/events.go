package automation

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func eventCommands(p *command.Program) *cobra.Command {
	req := &ragdv1.WatchEventsRequest{}
	cmd := &cobra.Command{
		Use:   "events [TYPE...]",
		Short: "Print what happens to the tenant, as it happens",
		Long: `Print what happens to the tenant, as it happens: a line for each event, until it
is interrupted. With --json each line is a message with an event and a cursor;
--cursor continues after it. TYPE is a type of events such as document.ready,
all of a kind such as "document.*", or "*". By default all are printed.`,
		Example: `  ragd events
  ragd events document.ready document.failed --index docs
  ragd events "tool.*" --json`,
		RunE: p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
			req.Types = args
			return printEvents(ctx, p, c, req)
		}),
	}
	cmd.Flags().StringSliceVar(&req.Indexes, "index", nil, "only events about this index, and those about none (repeatable)")
	cmd.Flags().StringSliceVar(&req.Tools, "tool", nil, "of the events of tools, only those of this tool (repeatable)")
	cmd.Flags().StringVar(&req.Cursor, "cursor", "", "continue after this cursor of an earlier stream")
	return p.ClientFlags(cmd)
}

// printEvents prints events until the stream ends.
func printEvents(ctx context.Context, p *command.Program, c *client.Client, req *ragdv1.WatchEventsRequest) error {
	stream, err := c.Events.WatchEvents(ctx, req)
	if err != nil {
		return err
	}
	defer stream.Close()
	for stream.Receive() {
		msg := stream.Msg()
		e := msg.GetEvent()
		switch {
		case e == nil:
		case p.Out.JSON:
			err = p.Out.MessageLine(msg)
		default:
			_, err = fmt.Fprintln(p.Out.Stdout, output.Stamp(e.GetCreateTime()), output.OneLine(e.GetType()), output.CompactJSON(e.GetData()))
		}
		if err != nil {
			return err
		}
	}
	return stream.Err()
}
