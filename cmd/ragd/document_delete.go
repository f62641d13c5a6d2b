package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) documentDelete() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete [DOCUMENT...]",
		Short: "Delete documents and their chunks",
		Long: `Delete documents and their chunks, also while they are being processed: those
that are named by their ids or uris, those whose metadata match a filter, or with
--namespace alone all of a namespace. --dry-run says which they are.

Of several that are named, those that are not there are passed over, and it says so.`,
		Example: `  ragd document delete --uri handbook/travel.md --yes
  ragd document delete --filter '{"team": "legal", "year": {"$lt": 2020}}' --dry-run
  ragd document delete --namespace rosa`,
	}
	index := indexFlag(cmd)
	flags := cmd.Flags()
	which := &ragdv1.DeleteDocumentsRequest{}
	flags.StringArrayVar(&which.Uris, "uri", nil, "name a document by its uri instead of its id; may be repeated")
	flags.StringVar(&which.Namespace, "namespace", "", `namespace of the uris (default "default"); with a filter, only documents of it`)
	filter := objectFlag(flags, "filter", "documents whose metadata match")
	dryRun := flags.Bool("dry-run", false, "say what would be deleted")
	yes := yesFlag(cmd)
	cmd.Args = func(_ *cobra.Command, args []string) error { return checkDeletion(flags, args) }
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.connect(credentials.forTenant)
		if err != nil {
			return err
		}
		if which.IndexName, err = c.existingIndex(cmd.Context(), *index); err != nil {
			return err
		}
		which.DocumentIds, which.Filter, which.DryRun = args, filter(), true
		res, err := c.documents.DeleteDocuments(cmd.Context(), which)
		if err != nil {
			return err
		}
		if err := p.noteAbsent(which, res); err != nil {
			return err
		}
		if !*dryRun && res.GetDeletedCount() > 0 {
			if err := p.confirm(cmd.Context(), *yes, "yes", "This deletes %s.", selectedDocuments(which, res)); err != nil {
				return err
			}
			which.DryRun = false
			if res, err = c.documents.DeleteDocuments(cmd.Context(), which); err != nil {
				return err
			}
		}
		return p.show(res, showDeleted(which, res))
	}
	return cmd
}

// checkDeletion refuses flags that select nothing, or in two ways.
func checkDeletion(flags *pflag.FlagSet, args []string) error {
	ways := 0
	for _, given := range []bool{len(args) > 0, flags.Changed("uri"), flags.Changed("filter")} {
		if given {
			ways++
		}
	}
	switch {
	case ways > 1:
		return errors.New("DOCUMENT, --uri and --filter exclude each other")
	case ways == 0 && !flags.Changed("namespace"):
		return errors.New("DOCUMENT, --uri, --filter or --namespace is missing")
	}
	return nil
}

// noteAbsent says which of the documents that were named are not there. That none is
// there is an error.
func (p *program) noteAbsent(which *ragdv1.DeleteDocumentsRequest, found *ragdv1.DeleteDocumentsResponse) error {
	named := slices.Concat(which.GetDocumentIds(), which.GetUris())
	if len(named) == 0 || int(found.GetDeletedCount()) > len(found.GetDocuments()) { // not all that were found are known
		return nil
	}
	there := map[string]bool{}
	for _, d := range found.GetDocuments() {
		there[d.GetDocumentId()], there[d.GetUri()] = true, true
	}
	absent := slices.DeleteFunc(named, func(name string) bool { return there[name] })
	if len(named) == 1 && len(absent) == 1 {
		return fmt.Errorf("document %q not found", absent[0])
	}
	for _, name := range absent {
		note(p.stderr, "not found: %s", oneLine(name))
	}
	if found.GetDeletedCount() == 0 {
		return errors.New("none of the documents was found")
	}
	return nil
}

// selectedDocuments names the documents that are to be deleted.
func selectedDocuments(which *ragdv1.DeleteDocumentsRequest, found *ragdv1.DeleteDocumentsResponse) string {
	if documents := found.GetDocuments(); len(documents) == 1 {
		return fmt.Sprintf("document %s (%s)", documents[0].GetDocumentId(), oneLine(documents[0].GetUri()))
	}
	const most = 3
	var uris []string
	for _, d := range found.GetDocuments()[:min(len(found.GetDocuments()), most)] {
		uris = append(uris, oneLine(d.GetUri()))
	}
	text := count(int(found.GetDeletedCount()), "document") + " of index " + which.GetIndexName()
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
				fmt.Fprintf(w, "%s\t%s\n", d.GetDocumentId(), oneLine(d.GetUri()))
			}
			if more := n - len(documents); more > 0 {
				fmt.Fprintf(w, "and %d more\n", more)
			}
			fmt.Fprintf(w, "would delete %s of index %s\n", count(n, "document"), which.GetIndexName())
		case n == 1:
			fmt.Fprintf(w, "deleted document %s (%s)\n", documents[0].GetDocumentId(), oneLine(documents[0].GetUri()))
		default:
			fmt.Fprintf(w, "deleted %s of index %s\n", count(n, "document"), which.GetIndexName())
		}
	}
}
