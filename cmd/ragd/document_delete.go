package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) documentDelete() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "delete DOCUMENT",
		Short:   "Delete a document and its chunks",
		Long:    `Delete a document and its chunks, also while it is being processed.`,
		Example: `  ragd document delete --uri handbook/travel.md --yes`,
	}
	named := newDocumentFlags(cmd)
	yes := yesFlag(cmd)
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
		uri := oneLine(document.GetUri())
		if err := p.confirm(cmd.Context(), *yes, "yes", "This deletes document %s (%s).", document.GetDocumentId(), uri); err != nil {
			return err
		}
		res, err := c.documents.DeleteDocument(cmd.Context(), &ragdv1.DeleteDocumentRequest{
			IndexName: document.GetIndexName(), DocumentId: document.GetDocumentId(),
		})
		if err != nil {
			return err
		}
		return p.show(res, func(w io.Writer) {
			fmt.Fprintf(w, "deleted document %s (%s)\n", document.GetDocumentId(), uri)
		})
	}
	return cmd
}
