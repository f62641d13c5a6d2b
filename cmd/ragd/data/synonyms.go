package data

import (
	"bufio"
	"fmt"
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

func indexSynonyms(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "synonyms INDEX",
		Short: "List, add or delete the synonyms of an index",
		Long: `List the synonyms of an index, add some or delete some. Keyword and hybrid search for
a question with a term also search for its synonyms, which count less.

"k8s, kubernetes" stand for each other. "heart attack => myocardial infarction" goes one
way: who asks for the first also finds the second. A file has one entry a line; empty
lines and what follows # are left out.`,
		Example: `  ragd index synonyms handbook
  ragd index synonyms handbook --add 'k8s, kubernetes' --add 'MI => myocardial infarction'
  ragd index synonyms handbook --file glossary.txt --replace
  ragd index synonyms handbook --delete 3f2a9c0d11e0b7aa`,
		Args: command.Arguments("INDEX"),
	}
	flags := cmd.Flags()
	added := flags.StringArray("add", nil, "an entry, see above; may be repeated")
	file := flags.String("file", "", "add the entries of a file; - for stdin")
	language := flags.String("language", "", "text language in which the added entries are read (default all of the index)")
	replace := flags.Bool("replace", false, "delete all entries but those that are added")
	deleted := flags.StringArray("delete", nil, "delete the entry with this id; may be repeated")
	all := flags.Bool("delete-all", false, "delete all entries")
	limit := command.LimitFlag(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		adds, deletes := len(*added) > 0 || *file != "", len(*deleted) > 0 || *all
		switch {
		case adds && deletes:
			return misuse.Errorf("entries are either added or deleted")
		case !adds && (*replace || *language != ""):
			return misuse.Errorf("--replace and --language need --add or --file")
		}
		entries, err := synonymEntries(p, *added, *file)
		if err != nil {
			return err
		}
		c, err := p.Connect(client.ForTenant)
		if err != nil {
			return err
		}
		ctx := cmd.Context()
		switch {
		case adds:
			for _, entry := range entries {
				entry.Language = *language
			}
			res, err := c.Indexes.PutSynonyms(ctx, &ragdv1.PutSynonymsRequest{IndexName: args[0], Synonyms: entries, Replace: *replace})
			if err != nil {
				return err
			}
			return p.Out.Show(res, func(w io.Writer) {
				output.Field(w, "stored", len(res.GetSynonymIds()))
				output.Field(w, "synonyms", res.GetCount())
			})
		case deletes:
			res, err := c.Indexes.DeleteSynonyms(ctx, &ragdv1.DeleteSynonymsRequest{IndexName: args[0], SynonymIds: *deleted, All: *all})
			if err != nil {
				return err
			}
			return p.Out.Show(res, func(w io.Writer) { output.Field(w, "deleted", res.GetDeletedCount()) })
		}
		found := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Synonym, string, error) {
			page, err := c.Indexes.ListSynonyms(ctx, &ragdv1.ListSynonymsRequest{IndexName: args[0], PageSize: size, PageToken: token})
			return page.GetSynonyms(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "synonyms", found, "ID LANGUAGE ENTRY", func(s *ragdv1.Synonym) []any {
			entry := strings.Join(s.GetTerms(), ", ")
			if len(s.GetTargets()) > 0 {
				entry += " => " + strings.Join(s.GetTargets(), ", ")
			}
			return []any{s.GetSynonymId(), s.GetLanguage(), output.OneLine(entry)}
		})
	}
	return cmd
}

// synonymEntries returns the entries of lines and of a file, if one is named.
func synonymEntries(p *command.Program, lines []string, file string) (entries []*ragdv1.Synonym, err error) {
	if file != "" {
		opened, err := p.Open(file)
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		scanner := bufio.NewScanner(opened)
		for scanner.Scan() {
			if line, _, _ := strings.Cut(scanner.Text(), "#"); strings.TrimSpace(line) != "" {
				lines = append(lines, line)
			}
		}
		if err := scanner.Err(); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
	}
	for _, line := range lines {
		terms, targets, oneWay := strings.Cut(line, "=>")
		entry := &ragdv1.Synonym{Terms: listed(terms), Targets: listed(targets)}
		if oneWay && len(entry.GetTargets()) == 0 {
			return nil, misuse.Errorf("%q has nothing after =>", line)
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// listed returns the parts of a text between commas, without spaces around them.
func listed(text string) (parts []string) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}
