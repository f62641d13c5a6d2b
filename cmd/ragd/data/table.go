package data

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func tableCommands(p *command.Program) *cobra.Command {
	cmd := p.ClientFlags(&cobra.Command{Use: "table", Short: "List tables in documents, and compute from them"})
	cmd.AddCommand(tableList(p), tableQuery(p))
	return cmd
}

func tableList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list [TEXT]",
		Short: "List the tables in documents, with their columns",
		Long: `List the tables in the documents of an index whose rows are kept as typed columns.
With TEXT, only those with it in their name, that of a column, or the uri or title of
their document.`,
		Example: `  ragd table list
  ragd table list price --index prices --json`,
		Args: cobra.MaximumNArgs(1),
	}
	flags := cmd.Flags()
	index := command.IndexFlag(cmd)
	filter := command.FilterFlags(flags, "only tables of documents whose metadata match")
	namespace := flags.String("namespace", "", "namespace of the documents (default all)")
	document := flags.String("document", "", "id of the document")
	limit := command.LimitFlag(flags)
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		req := &ragdv1.ListTablesRequest{IndexName: *index, Namespace: *namespace, DocumentId: *document, Search: strings.Join(args, "")}
		if object := filter(); object != nil {
			req.Filter = structpb.NewStructValue(object)
		}
		var all ragdv1.ListTablesResponse
		for table, err := range paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Table, string, error) {
			req.PageSize, req.PageToken = size, token
			page, err := c.Queries.ListTables(ctx, req)
			return page.GetTables(), page.GetNextPageToken(), err
		}) {
			if err != nil {
				return err
			}
			all.Tables = append(all.Tables, table)
		}
		return p.Out.Show(&all, func(w io.Writer) { showTables(p, w, all.GetTables()) })
	})
	return cmd
}

func showTables(p *command.Program, w io.Writer, tables []*ragdv1.Table) {
	for _, t := range tables {
		fmt.Fprintf(w, "%s  (%d rows, %s of %s)\n  id %s\n", p.Out.Bold(output.OneLine(t.GetName())), t.GetRowCount(), output.OneLine(placeOf(t.GetSheet(), t.GetRange())), output.OneLine(t.GetUri()), t.GetTableId())
		for _, c := range t.GetColumns() {
			fmt.Fprintf(w, "  %-24s %-8s %-6s %s\n", c.GetName(), c.GetType(), output.OneLine(c.GetUnit()), output.OneLine(strings.Join(c.GetSamples(), " | ")))
		}
		if t.GetLeftOut() != "" {
			fmt.Fprintf(w, "  its rows are not kept: %s\n", output.OneLine(t.GetLeftOut()))
		}
		for _, note := range t.GetNotes() {
			output.Note(p.Out.Stderr, "%s: %s", output.OneLine(t.GetName()), output.OneLine(note))
		}
	}
}

// placeOf returns where cells are, with the name of their sheet.
func placeOf(sheet, cells string) string {
	if sheet == "" {
		return cells
	}
	return sheet + "!" + cells
}

func tableQuery(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "query [SQL]",
		Short: "Compute from tables: totals, averages, top rows, joins",
		Long: `Compute an answer from tables, with one SELECT in a subset of SQL, or with --plan and
the JSON of a TablePlan. Each row of the answer names the cells that it was computed
from. See docs/reference/tables.md.`,
		Example: `  ragd table query "SELECT region, sum(amount) AS total FROM sales GROUP BY region ORDER BY total DESC"
  ragd table query --plan '{"table": "sales", "groupBy": ["region"], "select": [{"value": "amount", "aggregate": "sum"}]}' --json`,
		Args: cobra.MaximumNArgs(1),
	}
	flags := cmd.Flags()
	index := command.IndexFlag(cmd)
	namespace := flags.String("namespace", "", "namespace in which tables are found by name (default all)")
	plan := flags.String("plan", "", "JSON of a TablePlan, instead of SQL")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		req := &ragdv1.QueryTableRequest{IndexName: *index, Namespace: *namespace, Sql: strings.Join(args, "")}
		if *plan != "" {
			req.Plan = &ragdv1.TablePlan{}
			if err := protojson.Unmarshal([]byte(*plan), req.GetPlan()); err != nil {
				return fmt.Errorf("--plan: is not the JSON of a TablePlan, such as {\"table\": \"sales\"}: %w", err)
			}
		}
		answer, err := c.Queries.QueryTable(ctx, req)
		if err != nil {
			return err
		}
		return p.Out.Show(answer, func(w io.Writer) { showAnswer(p, w, answer) })
	})
	return cmd
}

func showAnswer(p *command.Program, w io.Writer, answer *ragdv1.QueryTableResponse) {
	var names []string
	for _, c := range answer.GetColumns() {
		name := output.OneLine(c.GetName())
		if c.GetUnit() != "" {
			name += " (" + output.OneLine(c.GetUnit()) + ")"
		}
		names = append(names, name)
	}
	fmt.Fprintln(w, p.Out.Bold(strings.Join(names, "\t")))
	for _, row := range answer.GetRows() {
		var values []string
		for _, v := range row.GetValues() {
			if _, isNull := v.GetKind().(*structpb.Value_NullValue); isNull {
				values = append(values, "")
				continue
			}
			values = append(values, valueText(v))
		}
		fmt.Fprintf(w, "%s\t%s\n", strings.Join(values, "\t"), output.OneLine(strings.Join(row.GetCells(), "; ")))
	}
	for _, s := range answer.GetSources() {
		output.Note(p.Out.Stderr, "%s is %s of %s", s.GetName(), output.OneLine(placeOf(s.GetSheet(), s.GetRange())), output.OneLine(s.GetUri()))
		for _, note := range s.GetNotes() {
			output.Note(p.Out.Stderr, "%s", output.OneLine(note))
		}
	}
	if answer.GetTruncated() {
		output.Note(p.Out.Stderr, "there are more rows: raise the limit")
	}
}
