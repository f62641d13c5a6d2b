package main

import (
	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) indexList() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the indexes in the order of their names",
		Example: `  ragd index list`,
		Args:    arguments(),
	}
	limit := limitFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := p.connect(credentials.forTenant)
		if err != nil {
			return err
		}
		indexes := pages(*limit, func(size int32, token string) ([]*ragdv1.Index, string, error) {
			page, err := c.indexes.ListIndexes(cmd.Context(), &ragdv1.ListIndexesRequest{PageSize: size, PageToken: token})
			return page.GetIndexes(), page.GetNextPageToken(), err
		})
		return list(p, "indexes", indexes, "INDEX MODEL DIMENSION READY PENDING FAILED CHUNKS STATUS", func(i *ragdv1.Index) []any {
			return []any{
				i.GetIndexName(), i.GetEmbeddingModel(), i.GetDimension(), i.GetDocumentCount(),
				i.GetPendingDocumentCount(), i.GetFailedDocumentCount(), i.GetCount(), i.GetStatus(),
			}
		})
	}
	return cmd
}
