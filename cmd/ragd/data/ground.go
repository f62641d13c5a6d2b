package data

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func groundCommand(p *command.Program) *cobra.Command {
	cmd := p.ClientFlags(&cobra.Command{
		Use:   "ground FILE",
		Short: "Check which sentences of an answer rest on sources",
		Long: `Check which sentences of an answer rest on sources: for each sentence the part of a
source that says it, and the numbers, dates and names that no source has. It works by
rules; no language model is asked.

FILE has the answer, or is - for standard input. Sources are files of text (--source),
and chunks of an index: by id (--chunk), of documents (--document), or those that a
search for a question finds (--query).`,
		Example: `  ragd ground answer.txt --source handbook.md --source notes.txt
  ragd ground answer.txt --query "How long is the notice period?" --index handbook
  ragd ask helper "How long is the notice period?" | ragd ground - --query "notice period"`,
		Args: command.Arguments("FILE"),
	})
	flags := cmd.Flags()
	files := flags.StringArray("source", nil, "file of text that is a source; may be repeated")
	index := command.IndexFlag(cmd)
	namespace := flags.String("namespace", "", "part of the index (default \"default\")")
	chunks := flags.StringArray("chunk", nil, "id of a chunk that is a source; may be repeated")
	documents := flags.StringArray("document", nil, "id of a document whose chunks are sources; may be repeated")
	question := flags.String("query", "", "search for this question, whose sources are used")
	topK := flags.Int32P("top-k", "k", 0, "sources of the search, up to 100 (default 10)")
	filter := command.FilterFlags(flags, "only chunks whose metadata match")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		answer, err := readText(ctx, p, args[0])
		if err != nil {
			return err
		}
		req := &ragdv1.CheckGroundingRequest{
			Answer: answer, IndexName: *index, Namespace: *namespace, ChunkIds: *chunks, DocumentIds: *documents, QueryText: *question,
			TopK: command.Given(flags, "top-k", topK),
		}
		for _, file := range *files {
			text, err := readText(ctx, p, file)
			if err != nil {
				return err
			}
			req.Texts = append(req.Texts, &ragdv1.GroundingText{Text: text})
		}
		if object := filter(); object != nil {
			req.Filter = structpb.NewStructValue(object)
		}
		res, err := c.Queries.CheckGrounding(ctx, req)
		if err != nil {
			return err
		}
		if p.Out.JSON {
			return p.Out.Message(res)
		}
		return printGrounding(p, res, *files)
	})
	return cmd
}

// readText returns the text of a file, - for standard input.
func readText(ctx context.Context, p *command.Program, path string) (string, error) {
	in, err := p.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	text, err := command.Await(ctx, func() ([]byte, error) { return io.ReadAll(in) })
	return string(text), err
}

// printGrounding prints each sentence with its state, what it lacks and what supports it. The first sources are files.
func printGrounding(p *command.Program, res *ragdv1.CheckGroundingResponse, files []string) error {
	var b strings.Builder
	for _, s := range res.GetSentences() {
		fmt.Fprintf(&b, "%s", p.Out.Bold(s.GetState()))
		if s.GetState() != "no_claim" {
			fmt.Fprintf(&b, " %.2f", s.GetScore())
		}
		fmt.Fprintf(&b, "  %s\n", output.OneLine(s.GetText()))
		for _, m := range s.GetMissing() {
			where := "in no source"
			switch {
			case m.GetKind() == "negation":
				where = "not as its source says"
			case m.GetElsewhere():
				where = "in another source alone"
			}
			fmt.Fprintf(&b, "  %s %q: %s\n", m.GetKind(), output.OneLine(m.GetText()), where)
		}
		for _, q := range s.GetQuotes() {
			fmt.Fprintf(&b, "  %s: %s\n", output.OneLine(sourceName(res.GetSources()[q.GetSource()], int(q.GetSource()), files)), output.OneLine(q.GetText()))
		}
	}
	fmt.Fprintf(&b, "\nscore %.2f: %d supported, %d partly, %d unsupported\n", res.GetScore(), res.GetSupportedCount(), res.GetPartlyCount(), res.GetUnsupportedCount())
	_, err := fmt.Fprint(p.Out.Stdout, b.String())
	return err
}

// sourceName returns what a source is called: its file, or its title or uri.
func sourceName(s *ragdv1.GroundingSource, n int, files []string) string {
	switch {
	case n < len(files):
		return files[n]
	case s.GetTitle() != "":
		return s.GetTitle()
	case s.GetUri() != "":
		return s.GetUri()
	}
	return s.GetId()
}
