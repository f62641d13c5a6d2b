package data

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func indexCurations(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "curations INDEX",
		Short: "Say what a question finds first, and what it never finds",
		Long: `List the curations of an index, add one or delete some. A curation pins chunks and
documents to the top of the answer to a question, in the order of --pin, and leaves
out those of --hide. Filters and rights hold for them as for others.

What is pinned or hidden is id:ID of a chunk, document:ID or uri:URI.`,
		Example: `  ragd index curations handbook
  ragd index curations handbook --question "parental leave" --pin uri:leave.md --hide uri:leave-2019.md
  ragd index curations handbook --question holidays --contains --pin uri:holidays.md
  ragd index curations handbook --delete 3f2a9c0d11e0b7aa`,
		Args: command.Arguments("INDEX"),
	}
	flags := cmd.Flags()
	question := flags.String("question", "", "add a curation for this question")
	contains := flags.Bool("contains", false, "let the curation hold for questions that contain the words, too")
	pins := flags.StringArray("pin", nil, "what comes first; may be repeated")
	hides := flags.StringArray("hide", nil, "what is never found; may be repeated")
	namespace := flags.String("namespace", "", `namespace of the questions (default "default")`)
	id := flags.String("id", "", "id of the curation; that of another one replaces it (default made of the rest)")
	deleted := flags.StringArray("delete", nil, "delete the curation with this id; may be repeated")
	all := flags.Bool("delete-all", false, "delete all curations")
	limit := command.LimitFlag(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		adds, deletes := *question != "", len(*deleted) > 0 || *all
		switch {
		case adds && deletes:
			return misuse.Errorf("curations are either added or deleted")
		case !adds && (*contains || *id != "" || *namespace != "" || len(*pins)+len(*hides) > 0):
			return misuse.Errorf("--pin, --hide, --contains, --namespace and --id need --question")
		}
		c, err := p.Connect(client.ForTenant)
		if err != nil {
			return err
		}
		ctx := cmd.Context()
		switch {
		case adds:
			entry := &ragdv1.Curation{CurationId: *id, Question: *question, Match: "exact", Pins: curatedOf(*pins), Hides: curatedOf(*hides), Namespace: *namespace}
			if *contains {
				entry.Match = "contains"
			}
			res, err := c.Indexes.PutCurations(ctx, &ragdv1.PutCurationsRequest{IndexName: args[0], Curations: []*ragdv1.Curation{entry}})
			if err != nil {
				return err
			}
			return p.Out.Show(res, func(w io.Writer) {
				output.Field(w, "stored", strings.Join(res.GetCurationIds(), ", "))
				output.Field(w, "curations", res.GetCount())
			})
		case deletes:
			res, err := c.Indexes.DeleteCurations(ctx, &ragdv1.DeleteCurationsRequest{IndexName: args[0], CurationIds: *deleted, All: *all})
			if err != nil {
				return err
			}
			return p.Out.Show(res, func(w io.Writer) { output.Field(w, "deleted", res.GetDeletedCount()) })
		}
		found := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Curation, string, error) {
			page, err := c.Indexes.ListCurations(ctx, &ragdv1.ListCurationsRequest{IndexName: args[0], PageSize: size, PageToken: token})
			return page.GetCurations(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "curations", found, "ID NAMESPACE MATCH QUESTION PINS HIDES", func(c *ragdv1.Curation) []any {
			return []any{c.GetCurationId(), c.GetNamespace(), c.GetMatch(), output.OneLine(c.GetQuestion()), curatedText(c.GetPins()), curatedText(c.GetHides())}
		})
	}
	return cmd
}

// curatedOf returns what a flag pins or hides, in the forms of examples.
func curatedOf(flag []string) (items []*ragdv1.Curated) {
	for _, e := range examplesOf(flag) {
		items = append(items, &ragdv1.Curated{Id: e.GetId(), DocumentId: e.GetDocumentId(), Uri: e.GetUri()})
	}
	return items
}

func curatedText(items []*ragdv1.Curated) string {
	texts := make([]string, len(items))
	for n, i := range items {
		switch {
		case i.GetUri() != "":
			texts[n] = "uri:" + i.GetUri()
		case i.GetDocumentId() != "":
			texts[n] = "document:" + i.GetDocumentId()
		default:
			texts[n] = "id:" + i.GetId()
		}
	}
	return output.OneLine(strings.Join(texts, " "))
}
