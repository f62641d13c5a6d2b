package main

import (
	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) documentList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List documents in the order in which they were made",
		Example: `  ragd document list --index handbook
  ragd document list --filter '{"team": "legal"}' --json | jq -r .uri`,
		Args: arguments(),
	}
	name := indexFlag(cmd)
	namespace := cmd.Flags().String("namespace", "", "only documents of this namespace (default of all)")
	filter := objectFlag(cmd.Flags(), "filter", "only documents whose metadata match")
	limit := limitFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := p.connect(credentials.forTenant)
		if err != nil {
			return err
		}
		index, err := c.existingIndex(cmd.Context(), *name)
		if err != nil {
			return err
		}
		documents := pages(*limit, func(size int32, token string) ([]*ragdv1.Document, string, error) {
			page, err := c.documents.ListDocuments(cmd.Context(), &ragdv1.ListDocumentsRequest{
				IndexName: index, Namespace: *namespace, Filter: filter(), PageSize: size, PageToken: token,
			})
			return page.GetDocuments(), page.GetNextPageToken(), err
		})
		return list(p, "documents", documents, "DOCUMENT URI STATUS CHUNKS BYTES UPDATED", func(d *ragdv1.Document) []any {
			return []any{
				d.GetDocumentId(), d.GetUri(), d.GetStatus(), d.GetChunkCount(), d.GetByteSize(), stamp(d.GetUpdateTime()),
			}
		})
	}
	return cmd
}
