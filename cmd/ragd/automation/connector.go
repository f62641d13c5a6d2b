package automation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func connectorCommands(p *command.Program) *cobra.Command {
	return p.ClientFlags(command.Group("connector", "Keep documents the same as a website, a feed, an MCP server, a repository, a bucket, a folder, a query or a web API", `
A connector keeps documents of an index the same as the items of a source, such as the
pages of a website: it adds new ones, updates changed ones and deletes those that are gone.
These commands need a key of the scope admin.`,
		connectorCreate(p), connectorUpdate(p), connectorGet(p), connectorList(p), connectorTest(p), connectorSync(p), connectorItems(p), connectorRecipes(p),
		connectorPause(p), connectorResume(p), connectorAuthorize(p), connectorDelete(p),
	))
}

func connectorCreate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create CONNECTOR",
		Short: "Make a connector, which runs at once",
		Example: `  ragd connector create handbook --index docs --url https://example.com/handbook/ --include "/handbook/*" --schedule @daily
  ragd connector create site --index docs --sitemap https://example.com/sitemap.xml --metadata 'team="web"'
  ragd connector create news --index docs --feed https://example.com/feed.xml --schedule @hourly
  ragd connector create guides --index docs --git https://example.com/team/guides.git --include "docs/*.md" --secret git-token --schedule @hourly
  ragd connector create files --index docs --bucket files --endpoint https://s3.example.com --access-key AKEXAMPLE --secret s3-key --schedule @hourly
  ragd connector create handbook --index docs --folder /srv/handbook --schedule @hourly --tenant acme
  ragd connector create wiki --index docs --mcp https://mcp.example.com/mcp --header "Authorization: Bearer {{secrets.wiki}}"
  ragd connector create issues --index docs --recipe github --param repo=example/harbour --param token="{{secrets.github}}" --schedule @hourly
  ragd connector create articles --index docs --query "SELECT id, updated_at, body AS text FROM articles" --secret articles-db --schedule @hourly`,
		Args: command.Arguments("CONNECTOR"),
	}
	flags := newConnectorFlags(p, cmd.Flags())
	index := cmd.Flags().String("index", "", "index of the documents (default the only one)")
	namespace := cmd.Flags().String("namespace", "", "namespace of the documents")
	paused := cmd.Flags().Bool("paused", false, "do not run yet")
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Connector, error) {
		source, err := flags.source()
		if err != nil {
			return nil, err
		}
		metadata, err := flags.expressions()
		if err != nil {
			return nil, err
		}
		req := &ragdv1.CreateConnectorRequest{
			ConnectorName: args[0], IndexName: *index, Namespace: *namespace, Description: *flags.description, Schedule: *flags.schedule,
			Metadata: metadata, MaxItems: *flags.maxItems, Paused: *paused, PushSecretName: *flags.pushSecret,
		}
		switch source := source.GetSource().(type) {
		case *ragdv1.Connector_Web:
			req.Source = &ragdv1.CreateConnectorRequest_Web{Web: source.Web}
		case *ragdv1.Connector_Feed:
			req.Source = &ragdv1.CreateConnectorRequest_Feed{Feed: source.Feed}
		case *ragdv1.Connector_Git:
			req.Source = &ragdv1.CreateConnectorRequest_Git{Git: source.Git}
		case *ragdv1.Connector_S3:
			req.Source = &ragdv1.CreateConnectorRequest_S3{S3: source.S3}
		case *ragdv1.Connector_Folder:
			req.Source = &ragdv1.CreateConnectorRequest_Folder{Folder: source.Folder}
		case *ragdv1.Connector_Mcp:
			req.Source = &ragdv1.CreateConnectorRequest_Mcp{Mcp: source.Mcp}
		case *ragdv1.Connector_Postgres:
			req.Source = &ragdv1.CreateConnectorRequest_Postgres{Postgres: source.Postgres}
		case *ragdv1.Connector_Mysql:
			req.Source = &ragdv1.CreateConnectorRequest_Mysql{Mysql: source.Mysql}
		case *ragdv1.Connector_Sqlite:
			req.Source = &ragdv1.CreateConnectorRequest_Sqlite{Sqlite: source.Sqlite}
		case *ragdv1.Connector_Http:
			req.Source = &ragdv1.CreateConnectorRequest_Http{Http: source.Http}
		}
		return c.Connectors.CreateConnector(ctx, req)
	}, showConnector)
	return cmd
}

func connectorUpdate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update CONNECTOR",
		Short: "Change a connector, and run it",
		Long: `Change what is given of a connector and leave the rest. The flags of the source replace
the whole source. A run follows that reads all items again.`,
		Example: `  ragd connector update handbook --schedule "0 3 * * *"`,
		Args:    command.Arguments("CONNECTOR"),
	}
	flags, etag := newConnectorFlags(p, cmd.Flags()), command.ETagFlag(cmd)
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Connector, error) {
		source, err := flags.source()
		if err != nil {
			return nil, err
		}
		req := &ragdv1.UpdateConnectorRequest{
			ConnectorName: args[0], Etag: *etag, Description: command.Given(flags.flags, "description", flags.description),
			Schedule: command.Given(flags.flags, "schedule", flags.schedule), MaxItems: command.Given(flags.flags, "max-items", flags.maxItems),
			PushSecretName: command.Given(flags.flags, "push-secret", flags.pushSecret),
		}
		switch source := source.GetSource().(type) {
		case *ragdv1.Connector_Web:
			req.Source = &ragdv1.UpdateConnectorRequest_Web{Web: source.Web}
		case *ragdv1.Connector_Feed:
			req.Source = &ragdv1.UpdateConnectorRequest_Feed{Feed: source.Feed}
		case *ragdv1.Connector_Git:
			req.Source = &ragdv1.UpdateConnectorRequest_Git{Git: source.Git}
		case *ragdv1.Connector_S3:
			req.Source = &ragdv1.UpdateConnectorRequest_S3{S3: source.S3}
		case *ragdv1.Connector_Folder:
			req.Source = &ragdv1.UpdateConnectorRequest_Folder{Folder: source.Folder}
		case *ragdv1.Connector_Mcp:
			req.Source = &ragdv1.UpdateConnectorRequest_Mcp{Mcp: source.Mcp}
		case *ragdv1.Connector_Postgres:
			req.Source = &ragdv1.UpdateConnectorRequest_Postgres{Postgres: source.Postgres}
		case *ragdv1.Connector_Mysql:
			req.Source = &ragdv1.UpdateConnectorRequest_Mysql{Mysql: source.Mysql}
		case *ragdv1.Connector_Sqlite:
			req.Source = &ragdv1.UpdateConnectorRequest_Sqlite{Sqlite: source.Sqlite}
		case *ragdv1.Connector_Http:
			req.Source = &ragdv1.UpdateConnectorRequest_Http{Http: source.Http}
		}
		if flags.flags.Changed("metadata") {
			metadata, err := flags.expressions()
			if err != nil {
				return nil, err
			}
			req.Metadata = &ragdv1.ConnectorMetadata{Metadata: metadata}
		}
		return c.Connectors.UpdateConnector(ctx, req)
	}, showConnector)
	return cmd
}

// connectorCall is a command that calls a method with the name of a connector and shows the answer.
func connectorCall(p *command.Program, use, short, example string, do func(ctx context.Context, c *client.Client, name string) (*ragdv1.Connector, error)) *cobra.Command {
	return &cobra.Command{
		Use: use + " CONNECTOR", Short: short, Example: example, Args: command.Arguments("CONNECTOR"),
		RunE: command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Connector, error) {
			return do(ctx, c, args[0])
		}, showConnector),
	}
}

func connectorGet(p *command.Program) *cobra.Command {
	return connectorCall(p, "get", "Show a connector, and its last run", "  ragd connector get handbook", func(ctx context.Context, c *client.Client, name string) (*ragdv1.Connector, error) {
		return c.Connectors.GetConnector(ctx, &ragdv1.GetConnectorRequest{ConnectorName: name})
	})
}

func connectorPause(p *command.Program) *cobra.Command {
	return connectorCall(p, "pause", "End a run soon, and start no others", "  ragd connector pause handbook", func(ctx context.Context, c *client.Client, name string) (*ragdv1.Connector, error) {
		return c.Connectors.PauseConnector(ctx, &ragdv1.PauseConnectorRequest{ConnectorName: name})
	})
}

func connectorResume(p *command.Program) *cobra.Command {
	var accept *bool
	cmd := connectorCall(p, "resume", "End a pause, and run", "  ragd connector resume handbook --accept-deletions", func(ctx context.Context, c *client.Client, name string) (*ragdv1.Connector, error) {
		return c.Connectors.ResumeConnector(ctx, &ragdv1.ResumeConnectorRequest{ConnectorName: name, AcceptDeletions: *accept})
	})
	accept = cmd.Flags().Bool("accept-deletions", false, "let the next run delete what is gone, even if it is more than half")
	return cmd
}

func connectorSync(p *command.Program) *cobra.Command {
	var wait *bool
	cmd := connectorCall(p, "sync", "Run now", "  ragd connector sync handbook --wait", func(ctx context.Context, c *client.Client, name string) (*ragdv1.Connector, error) {
		started, err := c.Connectors.SyncConnector(ctx, &ragdv1.SyncConnectorRequest{ConnectorName: name})
		if err != nil || !*wait {
			return started, err
		}
		return awaitRun(ctx, c, started)
	})
	wait = cmd.Flags().Bool("wait", false, "wait until the run has ended, and fail if it failed")
	return cmd
}

// awaitRun waits until a run ended that started after the one that is shown.
func awaitRun(ctx context.Context, c *client.Client, before *ragdv1.Connector) (*ragdv1.Connector, error) {
	const pause = 500 * time.Millisecond
	for {
		now, err := c.Connectors.GetConnector(ctx, &ragdv1.GetConnectorRequest{ConnectorName: before.GetConnectorName()})
		if err != nil {
			return nil, err
		}
		began := now.GetStartTime() != nil && (before.GetStartTime() == nil || now.GetStartTime().AsTime().After(before.GetStartTime().AsTime()))
		switch {
		case began && now.GetStatus() == "failed":
			return nil, errors.New("the run failed: " + output.OneLine(now.GetError()))
		case began && now.GetStatus() == "succeeded":
			return now, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

func connectorList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the connectors in the order of their names",
		Example: `  ragd connector list`,
		Args:    command.Arguments(),
	}
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		connectors := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Connector, string, error) {
			page, err := c.Connectors.ListConnectors(ctx, &ragdv1.ListConnectorsRequest{PageSize: size, PageToken: token})
			return page.GetConnectors(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "connectors", connectors, "CONNECTOR INDEX STATE SEEN FAILED SOURCE", func(c *ragdv1.Connector) []any {
			return []any{c.GetConnectorName(), c.GetIndexName(), connectorState(c), c.GetCounts().GetSeen(), c.GetCounts().GetFailed(), c.GetWeb().GetUrl() + c.GetFeed().GetUrl() + c.GetMcp().GetUrl() + c.GetGit().GetUrl() + c.GetS3().GetBucket() + c.GetFolder().GetPath() + c.GetPostgres().GetSecretName() + c.GetMysql().GetSecretName() + c.GetSqlite().GetPath() + apiName(c)}
		})
	})
	return cmd
}

func connectorRecipes(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "recipes",
		Short:   "List the recipes of web APIs, with their parameters and streams",
		Example: `  ragd connector recipes`,
		Args:    command.Arguments(),
		RunE: p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
			res, err := c.Connectors.ListConnectorRecipes(ctx, &ragdv1.ListConnectorRecipesRequest{})
			if err != nil {
				return err
			}
			return p.Out.Show(res, func(w io.Writer) {
				for _, r := range res.GetRecipes() {
					output.Field(w, "recipe", r.GetName()+": "+output.OneLine(r.GetDescription()))
					output.Field(w, "streams", strings.Join(r.GetStreams(), ", "))
					for _, one := range r.GetParameters() {
						output.Field(w, "param", describeParameter(one))
					}
				}
			})
		}),
	}
}

// describeParameter returns a line about a parameter of a recipe.
func describeParameter(p *ragdv1.ConnectorRecipeParameter) string {
	text := p.GetName() + ": " + p.GetDescription()
	switch {
	case p.GetRequired():
		text += " (required)"
	case p.GetDefaultValue() != "":
		text += " (default " + p.GetDefaultValue() + ")"
	}
	return text
}

func connectorItems(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "items CONNECTOR",
		Short:   "List the items that a connector knows",
		Example: `  ragd connector items handbook --status failed`,
		Args:    command.Arguments("CONNECTOR"),
	}
	limit := command.LimitFlag(cmd.Flags())
	status := cmd.Flags().String("status", "", "stored, skipped or failed (default all)")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		items := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.ConnectorItem, string, error) {
			page, err := c.Connectors.ListConnectorItems(ctx, &ragdv1.ListConnectorItemsRequest{ConnectorName: args[0], Status: *status, PageSize: size, PageToken: token})
			return page.GetItems(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "items", items, "ITEM STATUS UPDATED REASON", func(i *ragdv1.ConnectorItem) []any {
			return []any{i.GetId(), i.GetStatus(), output.Stamp(i.GetUpdateTime()), i.GetReason()}
		})
	})
	return cmd
}

func connectorTest(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "test CONNECTOR",
		Short:   "Show what the first 20 items of the source would become",
		Example: `  ragd connector test handbook`,
		Args:    command.Arguments("CONNECTOR"),
		RunE: p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
			res, err := c.Connectors.TestConnector(ctx, &ragdv1.TestConnectorRequest{ConnectorName: args[0]})
			if err != nil {
				return err
			}
			return p.Out.Show(res, func(w io.Writer) {
				for _, i := range res.GetItems() {
					output.Field(w, i.GetStatus(), strings.TrimSpace(i.GetId()+" "+i.GetReason()))
				}
				output.Field(w, "all", fmt.Sprint(res.GetComplete()))
			})
		}),
	}
}

func connectorDelete(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "delete CONNECTOR",
		Short:   "Delete a connector, and its documents if asked",
		Example: `  ragd connector delete handbook --documents --yes`,
		Args:    command.Arguments("CONNECTOR"),
	}
	documents := cmd.Flags().Bool("documents", false, "delete its documents too")
	yes := command.YesFlag(cmd)
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		what := "Deletes the connector %s; its documents stay."
		if *documents {
			what = "Deletes the connector %s and its documents."
		}
		if err := p.Confirm(ctx, *yes, args[0], what, args[0]); err != nil {
			return err
		}
		res, err := c.Connectors.DeleteConnector(ctx, &ragdv1.DeleteConnectorRequest{ConnectorName: args[0], DeleteDocuments: *documents})
		if err != nil {
			return err
		}
		return p.Out.Show(res, func(w io.Writer) {
			output.Field(w, "deleted", args[0])
			output.Field(w, "documents", fmt.Sprint(res.GetDeletedCount()))
			if slot := res.GetKeptSlot(); slot != "" {
				output.Field(w, "kept slot", fmt.Sprintf("%s could not be dropped, and its database keeps its log until it is: SELECT pg_drop_replication_slot('%s')", slot, slot))
			}
		})
	})
	return cmd
}
