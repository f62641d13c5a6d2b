package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) documentCommands() *cobra.Command {
	return p.clientFlags(p.group("document", "Look at the documents of an index", `
A document is one uploaded file or text; "ragd ingest" uploads them. It has an
id, which the service made, and a uri, which the uploader gave it.`,
		p.documentList(), p.documentGet(), p.documentChunks(), p.documentDelete(),
	))
}

// documentFlags are how a command names one document.
type documentFlags struct{ index, namespace, uri *string }

func newDocumentFlags(cmd *cobra.Command) documentFlags {
	return documentFlags{
		index:     indexFlag(cmd),
		namespace: cmd.Flags().String("namespace", "", "namespace of the uri (default \"default\")"),
		uri:       cmd.Flags().String("uri", "", "name the document by its uri instead of its id"),
	}
}

func indexFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("index", "", "name of the index (default the tenant's only index)")
}

// existingIndex is onlyIndex for a command that cannot do without one.
func (c *client) existingIndex(ctx context.Context, name string) (string, error) {
	name, err := c.onlyIndex(ctx, name)
	if err == nil && name == "" {
		err = errors.New("there is no index yet: `ragd ingest` or `ragd index create` makes one")
	}
	return name, err
}

// arguments takes DOCUMENT, or nothing where --uri names it.
func (f documentFlags) arguments(cmd *cobra.Command, args []string) error {
	if *f.uri != "" {
		return arguments()(cmd, args)
	}
	return arguments("DOCUMENT")(cmd, args)
}

// find returns the document that the arguments and flags name.
func (f documentFlags) find(ctx context.Context, c *client, args []string) (*ragdv1.Document, error) {
	index, err := c.existingIndex(ctx, *f.index)
	if err != nil {
		return nil, err
	}
	req := &ragdv1.GetDocumentRequest{IndexName: index, Namespace: *f.namespace, Uri: *f.uri}
	if len(args) > 0 {
		req.DocumentId = args[0]
	}
	return c.documents.GetDocument(ctx, req)
}
