package data

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func countCommand(p *command.Program) *cobra.Command {
	cmd := p.ClientFlags(&cobra.Command{
		Use:   "count [TEXT]",
		Short: "Count passages and documents, by the values of metadata fields too",
		Long: `Count the chunks and documents that a filter selects, exactly. With TEXT, count those
that keyword search matches: with a word of it, or with all that it quotes.

A facet counts the chunks by the values of a metadata field: --facet FIELD for the
most frequent values, FIELD:month for times (minute, hour, day, week, month, quarter
or year), FIELD:5 for up to 5 ranges of numbers, or the JSON of a Facet for more, such
as a field with a colon.`,
		Example: `  ragd count
  ragd count --filter '{"team": "legal"}' --facet kind --facet published:month
  ragd count "notice period" --facet team --facet pages:5
  ragd count --facet '{"field": "price", "ranges": [{"to": 10}, {"from": 10}]}' --json`,
		Args: cobra.MaximumNArgs(1),
	})
	flags := cmd.Flags()
	index := command.IndexFlag(cmd)
	filter := command.FilterFlags(flags, "only chunks whose metadata match")
	namespace := flags.String("namespace", "", "part of the index to count in (default \"default\")")
	facets := flags.StringArray("facet", nil, "a field to count by, see above; may be given several times")
	own := flags.Bool("without-own-filter", false, "let each facet leave out what --filter says of its own field")
	nearest := flags.Int32("nearest", 0, "count only the first chunks of a search for TEXT, up to 1000 (default all that match)")
	mode := flags.String("mode", "", "with --nearest: vector, keyword or hybrid")
	within := command.ContextFlag(flags)
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		req := &ragdv1.CountChunksRequest{
			IndexName: *index, Namespace: *namespace, QueryText: strings.Join(args, ""), SearchMode: *mode,
			Nearest: command.Given(flags, "nearest", nearest),
		}
		if object := filter(); object != nil {
			req.Filter = structpb.NewStructValue(object)
		}
		for _, text := range *facets {
			f, err := facetOf(text)
			if err != nil {
				return err
			}
			f.WithoutOwnFilter = f.GetWithoutOwnFilter() || *own
			req.Facets = append(req.Facets, f)
		}
		counts, err := c.Queries.CountChunks(within(ctx), req)
		if err != nil {
			return err
		}
		return p.Out.Show(counts, showCounts(p, counts))
	})
	return cmd
}

// facetOf reads the flag --facet.
func facetOf(text string) (*ragdv1.Facet, error) {
	f := &ragdv1.Facet{Field: text}
	if strings.HasPrefix(text, "{") {
		f.Reset()
		if err := protojson.Unmarshal([]byte(text), f); err != nil {
			return nil, fmt.Errorf("--facet: %q is not the JSON of a facet, such as {\"field\": \"kind\"}: %w", text, err)
		}
		return f, nil
	}
	at := strings.LastIndexByte(text, ':')
	if at < 0 {
		return f, nil
	}
	f.Field, f.Interval = text[:at], text[at+1:] // the service checks it
	if n, err := strconv.ParseInt(f.GetInterval(), 10, 32); err == nil {
		f.Interval, f.RangeCount = "", int32(n)
	}
	return f, nil
}

func showCounts(p *command.Program, counts *ragdv1.CountChunksResponse) func(io.Writer) {
	return func(w io.Writer) {
		for _, warning := range counts.GetWarnings() {
			output.Note(p.Out.Stderr, "%s", output.OneLine(warning))
		}
		fmt.Fprintf(w, "%d chunks of %d documents\n", counts.GetChunkCount(), counts.GetDocumentCount())
		for _, f := range counts.GetFacets() {
			fmt.Fprintf(w, "\n%s  (%d chunks, %d without it, %d different values)\n", p.Out.Bold(output.OneLine(f.GetField())), f.GetChunkCount(), f.GetMissingCount(), f.GetValueCount())
			for _, v := range f.GetValues() {
				fmt.Fprintf(w, "%8d  %s\n", v.GetChunkCount(), valueText(v.GetValue()))
			}
			for _, r := range f.GetRanges() {
				fmt.Fprintf(w, "%8d  %s to %s\n", r.GetChunkCount(), valueText(r.GetFrom()), valueText(r.GetTo()))
			}
		}
	}
}

// valueText returns a value of a facet on one line; an open side of a range is ....
func valueText(v *structpb.Value) string {
	switch v.GetKind().(type) {
	case nil:
		return "..."
	case *structpb.Value_StringValue:
		return output.OneLine(v.GetStringValue())
	}
	return output.CompactJSON(v)
}
