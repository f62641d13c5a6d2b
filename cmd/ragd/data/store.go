package data

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func storeCommands(p *command.Program) *cobra.Command {
	return p.ClientFlags(command.Group("store", "Name a tenant's vector store", `
A tenant has one vector store. Clients that name theirs, as in vectorStoreName,
may call it ragd, pgvector, pinecone or chroma, and by the tenant's own names.`,
		storeSet(p), storeList(p),
	))
}

func storeSet(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "set [NAME...]",
		Short: "Replace the tenant's own names of its vector store",
		Long: `Replace the tenant's own names of its vector store: up to 16 of 1 to 64 letters,
digits, _, - and dots; none removes them all. It needs a key with the scope admin.`,
		Example: `  ragd store set postgres my-store`,
		Args:    cobra.ArbitraryArgs,
		RunE: p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
			res, err := c.Tenants.SetVectorStoreNames(ctx, &ragdv1.SetVectorStoreNamesRequest{VectorStoreNames: args})
			if err != nil {
				return err
			}
			return p.Out.Show(res, showStores(res.GetVectorStoreNames()))
		}),
	}
}

func storeList(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the tenant's own names of its vector store",
		Example: `  ragd store list`,
		Args:    command.Arguments(),
		RunE: p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
			res, err := c.Tenants.GetVectorStoreNames(ctx, &ragdv1.GetVectorStoreNamesRequest{})
			if err != nil {
				return err
			}
			return p.Out.Show(res, showStores(res.GetVectorStoreNames()))
		}),
	}
}

func showStores(names []string) func(io.Writer) {
	return func(w io.Writer) {
		for _, name := range names {
			_, _ = fmt.Fprintln(w, name)
		}
	}
}
