package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func documentCommands(p *command.Program) *cobra.Command {
	return p.ClientFlags(command.Group("document", "Look at the documents of an index", `
A document is one uploaded file or text; "ragd ingest" uploads them. It has an
id, which the service made, and a uri, which the uploader gave it.`,
		documentList(p), documentGet(p), documentChunks(p), documentDownload(p), documentPage(p), documentDelete(p),
		documentDeleted(p), documentRestore(p), documentErase(p),
	))
}

// documentFlags are the flags that identify one document.
type documentFlags struct{ index, namespace, uri *string }

// newDocumentFlags adds the flags to cmd.
func newDocumentFlags(cmd *cobra.Command) documentFlags {
	return documentFlags{
		index:     command.IndexFlag(cmd),
		namespace: cmd.Flags().String("namespace", "", "namespace of the uri (default \"default\")"),
		uri:       cmd.Flags().String("uri", "", "name the document by its uri instead of its id"),
	}
}

// arguments checks that there is one argument, the document's id, or none with --uri.
func (f documentFlags) arguments(cmd *cobra.Command, args []string) error {
	if *f.uri != "" {
		return command.Arguments()(cmd, args)
	}
	return command.Arguments("DOCUMENT")(cmd, args)
}

// find fetches the document that the arguments and flags identify.
func (f documentFlags) find(ctx context.Context, c *client.Client, args []string) (*ragdv1.Document, error) {
	index, err := c.ExistingIndex(ctx, *f.index)
	if err != nil {
		return nil, err
	}
	req := &ragdv1.GetDocumentRequest{IndexName: index, Namespace: *f.namespace, Uri: *f.uri}
	if len(args) > 0 {
		req.DocumentId = args[0]
	}
	return c.Documents.GetDocument(ctx, req)
}

func documentList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List documents",
		Example: `  ragd document list --index handbook
  ragd document list --prefix handbook/
  ragd document list --status needs_ocr
  ragd document list --sort 'byteSize desc' --limit 10
  ragd document list --filter '{"team": "legal"}' --json | jq -r .uri`,
		Args: command.Arguments(),
	}
	name := command.IndexFlag(cmd)
	namespace := cmd.Flags().String("namespace", "", "only documents of this namespace (default of all)")
	status := cmd.Flags().String("status", "", "only documents in this state")
	search := cmd.Flags().String("search", "", "only documents whose path or title contains this text")
	sort := cmd.Flags().String("sort", "", "createTime (default), updateTime, uri, title, contentType, status, byteSize or chunkCount; and \" desc\"")
	filter := command.FilterFlags(cmd.Flags(), "only documents whose metadata match")
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		index, err := c.ExistingIndex(ctx, *name)
		if err != nil {
			return err
		}
		documents := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Document, string, error) {
			page, err := c.Documents.ListDocuments(ctx, &ragdv1.ListDocumentsRequest{
				IndexName: index, Namespace: *namespace, Status: *status, Search: *search, OrderBy: *sort, Filter: filter(), PageSize: size, PageToken: token,
			})
			return page.GetDocuments(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "documents", documents, "DOCUMENT URI STATUS CHUNKS BYTES UPDATED", func(d *ragdv1.Document) []any {
			return []any{
				d.GetDocumentId(), d.GetUri(), d.GetStatus(), d.GetChunkCount(), d.GetByteSize(), output.Stamp(d.GetUpdateTime()),
			}
		})
	})
	return cmd
}

func documentGet(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get DOCUMENT",
		Short: "Show a document's state",
		Example: `  ragd document get 01hx3e8g --index handbook
  ragd document get --uri handbook/travel.md`,
	}
	named := newDocumentFlags(cmd)
	cmd.Args = named.arguments
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Document, error) {
		return named.find(ctx, c, args)
	}, showDocument)
	return cmd
}

func showDocument(document *ragdv1.Document) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "document", document.GetDocumentId())
		output.Field(w, "index", document.GetIndexName())
		output.Field(w, "namespace", document.GetNamespace())
		output.Field(w, "uri", document.GetUri())
		output.Field(w, "title", document.GetTitle())
		output.Field(w, "status", document.GetStatus())
		output.Field(w, "error", document.GetError())
		output.Field(w, "notice", document.GetNotice())
		output.Field(w, "type", document.GetContentType())
		output.Field(w, "bytes", document.GetByteSize())
		output.Field(w, "chunks", document.GetChunkCount())
		output.Field(w, "version", document.GetVersion())
		output.Field(w, "metadata", output.CompactJSON(document.GetMetadata()))
		output.Field(w, "created", output.Stamp(document.GetCreateTime()))
		output.Field(w, "updated", output.Stamp(document.GetUpdateTime()))
	}
}

func documentChunks(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "chunks DOCUMENT",
		Short:   "Print a document's chunks in reading order",
		Example: `  ragd document chunks --uri handbook/travel.md`,
	}
	named := newDocumentFlags(cmd)
	limit := command.LimitFlag(cmd.Flags())
	cmd.Args = named.arguments
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		document, err := named.find(ctx, c, args)
		if err != nil {
			return err
		}
		return printChunks(p, paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Chunk, string, error) {
			page, err := c.Documents.ListChunks(ctx, &ragdv1.ListChunksRequest{
				IndexName: document.GetIndexName(), DocumentId: document.GetDocumentId(), PageSize: size, PageToken: token,
			})
			return page.GetChunks(), page.GetNextPageToken(), err
		}))
	})
	return cmd
}

func documentDelete(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete [DOCUMENT...]",
		Short: "Delete documents and their chunks",
		Long: `Delete documents and their chunks, also while they are being processed: those
that are named by their ids or uris, those whose metadata match a filter, those whose
uris begin with a prefix, or with --namespace alone all of a namespace. --dry-run says
which they are.

Of several that are named, those that are not there are passed over, and it says so.

"ragd document restore" brings deleted documents back, within the retention that the
service keeps them (deleted-retention); "ragd document deleted" lists them.`,
		Example: `  ragd document delete --uri handbook/travel.md --yes
  ragd document delete --filter '{"team": "legal", "year": {"$lt": 2020}}' --dry-run
  ragd document delete --prefix handbook/old/
  ragd document delete --namespace rosa`,
	}
	index := command.IndexFlag(cmd)
	flags := cmd.Flags()
	which := &ragdv1.DeleteDocumentsRequest{}
	flags.StringArrayVar(&which.Uris, "uri", nil, "name a document by its uri instead of its id; may be repeated")
	flags.StringVar(&which.Namespace, "namespace", "", `namespace of the uris (default "default"); with a filter, only documents of it`)
	filter := command.FilterFlags(flags, "documents whose metadata match")
	dryRun := flags.Bool("dry-run", false, "say what would be deleted")
	yes := command.YesFlag(cmd)
	cmd.Args = func(_ *cobra.Command, args []string) error { return checkDeletion(flags, args) }
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		name, err := c.ExistingIndex(ctx, *index)
		if err != nil {
			return err
		}
		which.IndexName = name
		which.DocumentIds, which.Filter, which.DryRun = args, filter(), true
		res, err := c.Documents.DeleteDocuments(ctx, which)
		if err != nil {
			return err
		}
		if err := noteAbsent(p, which, res); err != nil {
			return err
		}
		if !*dryRun && res.GetDeletedCount() > 0 {
			if err := p.Confirm(ctx, *yes, "yes", "This deletes %s.", selectedDocuments(which, res)); err != nil {
				return err
			}
			which.DryRun = false
			if res, err = c.Documents.DeleteDocuments(ctx, which); err != nil {
				return err
			}
		}
		return p.Out.Show(res, showDeleted(which, res))
	})
	return cmd
}

// checkDeletion returns an error unless exactly one selection is given: ids, uris, a
// filter, or a namespace alone.
func checkDeletion(flags *pflag.FlagSet, args []string) error {
	selections := 0
	if flags.Changed("prefix") && flags.Lookup("prefix").Value.String() == "" {
		return errors.New("--prefix is empty; `ragd index truncate` empties an index")
	}
	for _, given := range []bool{len(args) > 0, flags.Changed("uri"), flags.Changed("filter") || flags.Changed("prefix")} {
		if given {
			selections++
		}
	}
	switch {
	case selections > 1:
		return errors.New("DOCUMENT, --uri, and --filter or --prefix exclude each other")
	case selections == 0 && !flags.Changed("namespace"):
		return errors.New("DOCUMENT, --uri, --filter, --prefix or --namespace is missing")
	}
	return nil
}

// noteAbsent prints which of the requested documents do not exist. If none exists it is
// an error.
func noteAbsent(p *command.Program, which *ragdv1.DeleteDocumentsRequest, found *ragdv1.DeleteDocumentsResponse) error {
	named := slices.Concat(which.GetDocumentIds(), which.GetUris())
	if len(named) == 0 || int(found.GetDeletedCount()) > len(found.GetDocuments()) { // the answer lists only some of the documents
		return nil
	}
	present := map[string]bool{}
	for _, d := range found.GetDocuments() {
		present[d.GetDocumentId()], present[d.GetUri()] = true, true
	}
	absent := slices.DeleteFunc(named, func(name string) bool { return present[name] })
	if len(named) == 1 && len(absent) == 1 {
		return fmt.Errorf("document %q not found", absent[0])
	}
	for _, name := range absent {
		output.Note(p.Out.Stderr, "not found: %s", output.OneLine(name))
	}
	if found.GetDeletedCount() == 0 {
		return errors.New("none of the documents was found")
	}
	return nil
}

// selectedDocuments describes the documents that are about to be deleted, for a question
// to the user.
func selectedDocuments(which *ragdv1.DeleteDocumentsRequest, found *ragdv1.DeleteDocumentsResponse) string {
	if documents := found.GetDocuments(); len(documents) == 1 {
		return fmt.Sprintf("document %s (%s)", documents[0].GetDocumentId(), output.OneLine(documents[0].GetUri()))
	}
	const examples = 3
	var uris []string
	for _, d := range found.GetDocuments()[:min(len(found.GetDocuments()), examples)] {
		uris = append(uris, output.OneLine(d.GetUri()))
	}
	text := output.Count(int(found.GetDeletedCount()), "document") + " of index " + which.GetIndexName()
	if len(uris) > 0 {
		text += ", such as " + strings.Join(uris, ", ")
	}
	return text
}

func showDeleted(which *ragdv1.DeleteDocumentsRequest, res *ragdv1.DeleteDocumentsResponse) func(io.Writer) {
	documents, n := res.GetDocuments(), int(res.GetDeletedCount())
	return func(w io.Writer) {
		switch {
		case n == 0:
			fmt.Fprintf(w, "no document of index %s is selected\n", which.GetIndexName())
		case which.GetDryRun():
			for _, d := range documents {
				fmt.Fprintf(w, "%s\t%s\n", d.GetDocumentId(), output.OneLine(d.GetUri()))
			}
			if more := n - len(documents); more > 0 {
				fmt.Fprintf(w, "and %d more\n", more)
			}
			fmt.Fprintf(w, "would delete %s of index %s\n", output.Count(n, "document"), which.GetIndexName())
		case n == 1:
			fmt.Fprintf(w, "deleted document %s (%s)\n", documents[0].GetDocumentId(), output.OneLine(documents[0].GetUri()))
		default:
			fmt.Fprintf(w, "deleted %s of index %s\n", output.Count(n, "document"), which.GetIndexName())
		}
	}
}
