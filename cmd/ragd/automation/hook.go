package automation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func hookCommands(p *command.Program) *cobra.Command {
	return p.ClientFlags(command.Group("hook", "Post events to addresses of the tenant", `
A hook is an address to which the service posts events, signed as Standard Webhooks
describes: documents that became ready, jobs that failed, tools that were called.
These commands need a key of the scope admin.`,
		hookCreate(p), hookUpdate(p), hookGet(p), hookList(p), hookTest(p), hookDeliveries(p), hookReplay(p), hookRotate(p), hookDelete(p),
	))
}

// hookFlags are the flags that create and update have in common.
type hookFlags struct {
	flags                  *pflag.FlagSet
	events, tools, indexes *[]string
	description            *string
	headers                *[]string
	content, enabled       *bool
	payload                *int32
}

func newHookFlags(flags *pflag.FlagSet) *hookFlags {
	return &hookFlags{
		flags:       flags,
		events:      flags.StringSlice("event", nil, `type of events, such as document.ready, "document.*" or "*" (repeatable)`),
		tools:       flags.StringSlice("tool", nil, `of the events of tools, only those of this tool (repeatable; "" for all)`),
		indexes:     flags.StringSlice("index", nil, `only events about this index, and those about none (repeatable; "" for all)`),
		description: flags.String("description", "", "what the hook is for"),
		headers:     flags.StringArray("header", nil, `header to send, as "NAME: VALUE"; {{secrets.NAME}} in it stands for a secret (repeatable; "" for none)`),
		content:     flags.Bool("content", true, "send arguments and results of tools, and metadata of documents"),
		enabled:     flags.Bool("enabled", true, "deliver events"),
		payload:     flags.Int32("max-payload", 0, "most bytes of a delivery (default 65536)"),
	}
}

// named returns the names that are not empty.
func named(names []string) []string {
	var out []string
	for _, name := range names {
		if name != "" {
			out = append(out, name)
		}
	}
	return out
}

// headerMap returns the headers of the flag.
func (f *hookFlags) headerMap() (map[string]string, error) {
	headers := map[string]string{}
	for _, line := range named(*f.headers) {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, misuse.Errorf(`--header must be "NAME: VALUE"`)
		}
		headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return headers, nil
}

func showHook(h *ragdv1.Hook, secret string) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "hook", h.GetHookName())
		output.Field(w, "address", h.GetUrl())
		output.Field(w, "description", h.GetDescription())
		output.Field(w, "events", strings.Join(h.GetEvents(), ", "))
		output.Field(w, "tools", strings.Join(h.GetTools(), ", "))
		output.Field(w, "indexes", strings.Join(h.GetIndexes(), ", "))
		for name, value := range h.GetHeaders() {
			output.Field(w, "header", name+": "+value)
		}
		output.Field(w, "content", fmt.Sprint(h.GetIncludeContent()))
		output.Field(w, "most bytes", fmt.Sprint(h.GetMaxPayloadBytes()))
		output.Field(w, "enabled", fmt.Sprint(h.GetEnabled()))
		output.Field(w, "disabled because", h.GetDisabledReason())
		if h.GetFailures() > 0 {
			output.Field(w, "failures", fmt.Sprintf("%d since %s", h.GetFailures(), output.Stamp(h.GetFailingSinceTime())))
		}
		if secret != "" {
			output.Field(w, "secret", secret+" (shown this once)")
		}
		if h.GetPreviousSecretExpireTime() != nil {
			output.Field(w, "old secret until", output.Stamp(h.GetPreviousSecretExpireTime()))
		}
		output.Field(w, "created", output.Stamp(h.GetCreateTime()))
		output.Field(w, "updated", output.Stamp(h.GetUpdateTime()))
	}
}

func hookCreate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create HOOK URL",
		Short: "Make a hook, and print its secret once",
		Long: `Make a hook, and print its secret once: the receiver checks with it that a delivery
comes from the service.`,
		Example: `  ragd hook create ingest https://example.com/ragd --event "document.*" --index docs
  ragd hook create calls https://example.com/ragd --event tool.output,tool.error --tool ask_handbook
  ragd hook create audit https://example.com/ragd --event "key.*" --header "Authorization: Bearer {{secrets.audit}}"`,
		Args: command.Arguments("HOOK", "URL"),
	}
	flags := newHookFlags(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		headers, err := flags.headerMap()
		if err != nil {
			return err
		}
		res, err := c.Hooks.CreateHook(ctx, &ragdv1.CreateHookRequest{
			HookName: args[0], Url: args[1], Events: *flags.events, Description: *flags.description, Tools: named(*flags.tools), Indexes: named(*flags.indexes),
			Headers: headers, IncludeContent: flags.content, Enabled: flags.enabled, MaxPayloadBytes: *flags.payload,
		})
		if err != nil {
			return err
		}
		return p.Out.Show(res, showHook(res.GetHook(), res.GetSecret()))
	})
	return cmd
}

func hookUpdate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update HOOK",
		Short: "Change a hook",
		Long: `Change what is given of a hook and leave the rest. A hook that the service disabled
works again with --enabled; "ragd hook replay" then delivers what has failed.`,
		Example: `  ragd hook update ingest --url https://example.com/new
  ragd hook update ingest --enabled`,
		Args: command.Arguments("HOOK"),
	}
	flags, etag := newHookFlags(cmd.Flags()), command.ETagFlag(cmd)
	url := cmd.Flags().String("url", "", "address")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		given := cmd.Flags()
		req := &ragdv1.UpdateHookRequest{
			HookName: args[0], Etag: *etag, Url: command.Given(given, "url", url), Events: *flags.events, Description: command.Given(given, "description", flags.description),
			IncludeContent: command.Given(given, "content", flags.content), Enabled: command.Given(given, "enabled", flags.enabled),
			MaxPayloadBytes: command.Given(given, "max-payload", flags.payload),
		}
		if given.Changed("tool") {
			req.Tools = &ragdv1.HookFilter{Names: named(*flags.tools)}
		}
		if given.Changed("index") {
			req.Indexes = &ragdv1.HookFilter{Names: named(*flags.indexes)}
		}
		if given.Changed("header") {
			headers, err := flags.headerMap()
			if err != nil {
				return err
			}
			req.Headers = &ragdv1.HookHeaders{Headers: headers}
		}
		h, err := c.Hooks.UpdateHook(ctx, req)
		if err != nil {
			return err
		}
		return p.Out.Show(h, showHook(h, ""))
	})
	return cmd
}

func hookGet(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "get HOOK",
		Short:   "Show a hook, and how its deliveries go",
		Example: `  ragd hook get ingest`,
		Args:    command.Arguments("HOOK"),
		RunE: p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
			h, err := c.Hooks.GetHook(ctx, &ragdv1.GetHookRequest{HookName: args[0]})
			if err != nil {
				return err
			}
			return p.Out.Show(h, showHook(h, ""))
		}),
	}
}

func hookList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the hooks in the order of their names",
		Example: `  ragd hook list`,
		Args:    command.Arguments(),
	}
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		hooks := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Hook, string, error) {
			page, err := c.Hooks.ListHooks(ctx, &ragdv1.ListHooksRequest{PageSize: size, PageToken: token})
			return page.GetHooks(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "hooks", hooks, "HOOK STATE EVENTS ADDRESS", func(h *ragdv1.Hook) []any {
			state := "enabled"
			switch {
			case !h.GetEnabled():
				state = "disabled"
			case h.GetFailures() > 0:
				state = "failing"
			}
			return []any{h.GetHookName(), state, strings.Join(h.GetEvents(), ","), h.GetUrl()}
		})
	})
	return cmd
}

func showDelivery(d *ragdv1.Delivery) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "delivery", d.GetDeliveryId())
		output.Field(w, "event", d.GetType()+" "+d.GetEventId())
		output.Field(w, "status", d.GetStatus())
		output.Field(w, "attempts", d.GetAttempts())
		if d.GetStatusCode() != 0 {
			output.Field(w, "answer", fmt.Sprintf("%d in %d ms", d.GetStatusCode(), d.GetDurationMs()))
		}
		output.Field(w, "error", d.GetError())
		output.Field(w, "response", output.OneLine(d.GetResponse()))
		if d.GetNextAttemptTime() != nil {
			output.Field(w, "next attempt", output.Stamp(d.GetNextAttemptTime()))
		}
	}
}

func hookTest(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "test HOOK",
		Short:   "Post a test event once, and show what happened",
		Example: `  ragd hook test ingest`,
		Args:    command.Arguments("HOOK"),
		RunE: p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
			d, err := c.Hooks.TestHook(ctx, &ragdv1.TestHookRequest{HookName: args[0]})
			if err != nil {
				return err
			}
			if err := p.Out.Show(d, showDelivery(d)); err != nil || d.GetStatus() == "succeeded" {
				return err
			}
			return errors.New("the test was not accepted: " + output.OneLine(d.GetError()))
		}),
	}
}

func hookDeliveries(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "deliveries HOOK",
		Short:   "List the deliveries of a hook, newest first",
		Example: `  ragd hook deliveries ingest --status failed`,
		Args:    command.Arguments("HOOK"),
	}
	limit := command.LimitFlag(cmd.Flags())
	status := cmd.Flags().String("status", "", "pending, succeeded or failed (default all)")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		deliveries := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Delivery, string, error) {
			page, err := c.Hooks.ListDeliveries(ctx, &ragdv1.ListDeliveriesRequest{HookName: args[0], Status: *status, PageSize: size, PageToken: token})
			return page.GetDeliveries(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "deliveries", deliveries, "DELIVERY CREATED TYPE STATUS ATTEMPTS ANSWER MS ERROR", func(d *ragdv1.Delivery) []any {
			return []any{d.GetDeliveryId(), output.Stamp(d.GetCreateTime()), d.GetType(), d.GetStatus(), d.GetAttempts(), d.GetStatusCode(), d.GetDurationMs(), d.GetError()}
		})
	})
	return cmd
}

func hookReplay(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay HOOK [DELIVERY]",
		Short: "Deliver an event again, or all whose deliveries have failed",
		Long: `Deliver an event again, or without DELIVERY all whose deliveries have failed. The
receiver sees the same webhook-id again.`,
		Example: `  ragd hook replay ingest 0e9c3c5c-5e0a-4c43-8c8c-2f6a3a8f4d6b
  ragd hook replay ingest --since 6h`,
		Args: cobra.RangeArgs(1, 2),
	}
	since := cmd.Flags().Duration("since", 0, "only what was to be delivered in the last hours or minutes, such as 6h (default all)")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		if len(args) == 2 {
			d, err := c.Hooks.ReplayDelivery(ctx, &ragdv1.ReplayDeliveryRequest{HookName: args[0], DeliveryId: args[1]})
			if err != nil {
				return err
			}
			return p.Out.Show(d, showDelivery(d))
		}
		req := &ragdv1.ReplayFailedRequest{HookName: args[0]}
		if *since > 0 {
			req.StartTime = timestamppb.New(time.Now().Add(-*since))
		}
		res, err := c.Hooks.ReplayFailed(ctx, req)
		if err != nil {
			return err
		}
		return p.Out.Show(res, func(w io.Writer) { output.Field(w, "replayed", res.GetReplayedCount()) })
	})
	return cmd
}

func hookRotate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rotate HOOK",
		Short: "Give a hook a new secret, and print it once",
		Long: `Give a hook a new secret, and print it once. Until the old one expires, deliveries are
signed with both, so that the receiver can change it meanwhile.`,
		Example: `  ragd hook rotate ingest --grace 48h`,
		Args:    command.Arguments("HOOK"),
	}
	grace := cmd.Flags().Duration("grace", 24*time.Hour, "how long the old secret signs, too; at most 168h")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		seconds := int32(grace.Seconds())
		res, err := c.Hooks.RotateHookSecret(ctx, &ragdv1.RotateHookSecretRequest{HookName: args[0], GraceSeconds: &seconds})
		if err != nil {
			return err
		}
		return p.Out.Show(res, showHook(res.GetHook(), res.GetSecret()))
	})
	return cmd
}

func hookDelete(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "delete HOOK",
		Short:   "Delete a hook, with its deliveries",
		Example: `  ragd hook delete ingest --yes`,
		Args:    command.Arguments("HOOK"),
	}
	yes := command.YesFlag(cmd)
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		if err := p.Confirm(ctx, *yes, args[0], "Deletes the hook %s with its deliveries.", args[0]); err != nil {
			return err
		}
		res, err := c.Hooks.DeleteHook(ctx, &ragdv1.DeleteHookRequest{HookName: args[0]})
		if err != nil {
			return err
		}
		return p.Out.Show(res, func(w io.Writer) { output.Field(w, "deleted", args[0]) })
	})
	return cmd
}
