package main

import (
	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) documentChunks() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "chunks DOCUMENT",
		Short:   "Print a document's chunks in reading order",
		Example: `  ragd document chunks --uri handbook/travel.md`,
	}
	named := newDocumentFlags(cmd)
	limit := limitFlag(cmd.Flags())
	cmd.Args = named.arguments
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.connect(credentials.forTenant)
		if err != nil {
			return err
		}
		document, err := named.find(cmd.Context(), c, args)
		if err != nil {
			return err
		}
		return p.printChunks(pages(*limit, func(size int32, token string) ([]*ragdv1.Chunk, string, error) {
			page, err := c.documents.ListChunks(cmd.Context(), &ragdv1.ListChunksRequest{
				IndexName: document.GetIndexName(), DocumentId: document.GetDocumentId(), PageSize: size, PageToken: token,
			})
			return page.GetChunks(), page.GetNextPageToken(), err
		}))
	}
	return cmd
}
