package main

import (
	"io"

	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) documentGet() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get DOCUMENT",
		Short: "Show a document's state",
		Example: `  ragd document get 01hx3e8g --index handbook
  ragd document get --uri handbook/travel.md`,
	}
	named := newDocumentFlags(cmd)
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
		return p.show(document, showDocument(document))
	}
	return cmd
}

func showDocument(document *ragdv1.Document) func(io.Writer) {
	return func(w io.Writer) {
		field(w, "document", document.GetDocumentId())
		field(w, "index", document.GetIndexName())
		field(w, "namespace", document.GetNamespace())
		field(w, "uri", document.GetUri())
		field(w, "title", document.GetTitle())
		field(w, "status", document.GetStatus())
		field(w, "error", document.GetError())
		field(w, "type", document.GetContentType())
		field(w, "bytes", document.GetByteSize())
		field(w, "chunks", document.GetChunkCount())
		field(w, "version", document.GetVersion())
		field(w, "metadata", compactJSON(document.GetMetadata()))
		field(w, "created", stamp(document.GetCreateTime()))
		field(w, "updated", stamp(document.GetUpdateTime()))
	}
}
