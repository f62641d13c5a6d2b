package operate

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) databasesCommands() *cobra.Command {
	return p.ClientFlags(command.Group("databases", "Manage the databases in which tenants live, as the operator", `
When one PostgreSQL is not enough, more are registered by name, and each tenant
lives in one of them. The first database, main, keeps the tenants' list and keys.
A URL is a secret: it is read from standard input or a file, stored encrypted, and
never shown. These commands need the operator's key.`,
		p.databasesAdd(), p.databasesList(), p.databasesUpdate(), p.databasesRemove(),
	))
}

func showDatabase(d *ragdv1.Database) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "database", d.GetDatabaseName())
		output.Field(w, "address", d.GetAddress())
		output.Field(w, "owner", d.GetOwnerTenantId())
		output.Field(w, "state", databaseState(d))
		output.Field(w, "tenants", d.GetTenants())
		output.Field(w, "bytes", int64(d.GetBytes()))
		output.Field(w, "connections", d.GetMaxConnections())
		if d.GetDistribution() != "" {
			output.Field(w, "distribution", d.GetDistribution())
		}
	}
}

// databaseState says in a word or a sentence whether a database answers.
func databaseState(d *ragdv1.Database) string {
	switch {
	case !d.GetAnswers():
		return "down: " + d.GetProblem()
	case d.GetSchemaVersion() < d.GetNewestSchemaVersion():
		return "behind"
	}
	return "ok"
}

func (p *program) databasesAdd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add DATABASE",
		Short: "Register a database",
		Long: `Register an empty PostgreSQL database with pgvector. Its URL,
postgres://user:password@host:port/name, is read from standard input or a file; the
role must be allowed to create roles and schemas.

With --owner it is the database of one tenant, which lives there when it is created
and alone. Connections to it are made by the rules for addresses of tenants.`,
		Example: `  ragd databases add east < east.url
  ragd databases add acme-own --owner acme --file acme.url`,
		Args: command.Arguments("DATABASE"),
	}
	file := cmd.Flags().String("file", "-", "file with the URL, - for standard input")
	owner := cmd.Flags().String("owner", "", "tenant that brings the database (default: none)")
	connections := cmd.Flags().Int32("connections", 0, "connections that each instance opens for requests (default 10)")
	distribution := cmd.Flags().String("distribution", "", "citus: require the coordinator of a Citus cluster with workers (default: tenants are spread over workers if there are any)")
	cmd.RunE = command.Show(p.Program, client.ForOperator, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Database, error) {
		url, err := p.ReadSecret(*file)
		if err != nil {
			return nil, err
		}
		return c.Databases.RegisterDatabase(ctx, &ragdv1.RegisterDatabaseRequest{
			DatabaseName: args[0], Url: url, OwnerTenantId: *owner, MaxConnections: *connections,
			Distribution: *distribution,
		})
	}, showDatabase)
	return cmd
}

func (p *program) databasesList() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the databases, with their tenants, sizes and health",
		Example: `  ragd databases list`,
		Args:    command.Arguments(),
		RunE: p.Call(client.ForOperator, func(ctx context.Context, c *client.Client, _ []string) error {
			res, err := c.Databases.ListDatabases(ctx, &ragdv1.ListDatabasesRequest{})
			if err != nil {
				return err
			}
			return output.List(p.Out, "databases", paging.All(res.GetDatabases()), "DATABASE STATE TENANTS BYTES OWNER ADDRESS", func(d *ragdv1.Database) []any {
				return []any{d.GetDatabaseName(), databaseState(d), d.GetTenants(), int64(d.GetBytes()), d.GetOwnerTenantId(), d.GetAddress()}
			})
		}),
	}
}

func (p *program) databasesUpdate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update DATABASE",
		Short: "Change the URL or the number of connections of a database",
		Long: `Change the number of connections of a registered database, or, with --file, its
URL, as after its password or address has changed. It must be the same database.`,
		Example: `  ragd databases update east --file - < east.url
  ragd databases update east --connections 40`,
		Args: command.Arguments("DATABASE"),
	}
	file := cmd.Flags().String("file", "", "file with the new URL, - for standard input (default: as before)")
	connections := cmd.Flags().Int32("connections", 0, "connections that each instance opens for requests (default: as before)")
	cmd.RunE = command.Show(p.Program, client.ForOperator, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Database, error) {
		req := &ragdv1.UpdateDatabaseRequest{DatabaseName: args[0]}
		if *file != "" {
			url, err := p.ReadSecret(*file)
			if err != nil {
				return nil, err
			}
			req.Url = &url
		}
		if *connections != 0 {
			req.MaxConnections = connections
		}
		return c.Databases.UpdateDatabase(ctx, req)
	}, showDatabase)
	return cmd
}

func (p *program) databasesRemove() *cobra.Command {
	return &cobra.Command{
		Use:     "remove DATABASE",
		Short:   "Remove a database in which no tenant lives; what is in it stays",
		Example: `  ragd databases remove east`,
		Args:    command.Arguments("DATABASE"),
		RunE: p.Call(client.ForOperator, func(ctx context.Context, c *client.Client, args []string) error {
			res, err := c.Databases.DeleteDatabase(ctx, &ragdv1.DeleteDatabaseRequest{DatabaseName: args[0]})
			if err != nil {
				return err
			}
			return p.Out.Show(res, func(w io.Writer) { output.Field(w, "removed", args[0]) })
		}),
	}
}
