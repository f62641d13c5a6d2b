package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) storeCommands() *cobra.Command {
	return p.clientFlags(group("store", "Name a tenant's vector store", `
A tenant has one vector store. Clients that name theirs, as in vectorStoreName,
may call it ragd, pgvector, pinecone or chroma, and by the tenant's own names.`,
		p.storeSet(), p.storeList(),
	))
}

func (p *program) storeSet() *cobra.Command {
	return &cobra.Command{
		Use:   "set [NAME...]",
		Short: "Replace the tenant's own names of its vector store",
		Long: `Replace the tenant's own names of its vector store: up to 16 of 1 to 64 letters,
digits, _, - and dots; none removes them all. It needs a key with the scope admin.`,
		Example: `  ragd store set postgres my-store`,
		Args:    cobra.ArbitraryArgs,
		RunE: p.call(forTenant, func(ctx context.Context, c *client, args []string) error {
			res, err := c.tenants.SetVectorStoreNames(ctx, &ragdv1.SetVectorStoreNamesRequest{VectorStoreNames: args})
			if err != nil {
				return err
			}
			return p.out.Show(res, showStores(res.GetVectorStoreNames()))
		}),
	}
}

func (p *program) storeList() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the tenant's own names of its vector store",
		Example: `  ragd store list`,
		Args:    arguments(),
		RunE: p.call(forTenant, func(ctx context.Context, c *client, _ []string) error {
			res, err := c.tenants.GetVectorStoreNames(ctx, &ragdv1.GetVectorStoreNamesRequest{})
			if err != nil {
				return err
			}
			return p.out.Show(res, showStores(res.GetVectorStoreNames()))
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
