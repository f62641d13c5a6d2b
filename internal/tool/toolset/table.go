package toolset

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func tablesText(_ *ragdv1.ListTablesRequest, res *ragdv1.ListTablesResponse) string {
	if len(res.GetTables()) == 0 {
		return "There are no tables."
	}
	var b strings.Builder
	for _, t := range res.GetTables() {
		fmt.Fprintf(&b, "- %s (%s; %s of %s; tableId %s)", t.GetName(), count(t.GetRowCount(), "row"), oneLine(place(t.GetSheet(), t.GetRange())), oneLine(t.GetUri()), t.GetTableId())
		if t.GetLeftOut() != "" {
			fmt.Fprintf(&b, ", cannot be queried: %s\n", oneLine(t.GetLeftOut()))
			continue
		}
		b.WriteString(": ")
		for i, c := range t.GetColumns() {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(c.GetName() + " " + c.GetType())
			if c.GetUnit() != "" {
				b.WriteString(" in " + oneLine(c.GetUnit()))
			}
			if len(c.GetSamples()) > 0 {
				b.WriteString(" (such as " + oneLine(strings.Join(c.GetSamples(), " | ")) + ")")
			}
		}
		b.WriteString("\n")
		for _, note := range t.GetNotes() {
			b.WriteString("  Note: " + oneLine(note) + ".\n")
		}
	}
	writeNextPage(&b, res.GetNextPageToken())
	return b.String()
}

// place returns where cells are, with the name of their sheet.
func place(sheet, cells string) string {
	if sheet == "" {
		return cells
	}
	return sheet + "!" + cells
}

func tableText(_ *ragdv1.QueryTableRequest, res *ragdv1.QueryTableResponse) string {
	var b strings.Builder
	var names []string
	for _, c := range res.GetColumns() {
		name := oneLine(c.GetName())
		if c.GetUnit() != "" {
			name += " (" + oneLine(c.GetUnit()) + ")"
		}
		names = append(names, name)
	}
	b.WriteString(strings.Join(names, " | ") + "\n")
	for _, row := range res.GetRows() {
		var values []string
		for _, v := range row.GetValues() {
			values = append(values, cellText(v))
		}
		b.WriteString(strings.Join(values, " | "))
		var cells []string
		for i, c := range row.GetCells() {
			if c != "" {
				cells = append(cells, res.GetSources()[i].GetName()+" "+c)
			}
		}
		fmt.Fprintf(&b, "  [%s]\n", oneLine(strings.Join(cells, "; ")))
	}
	switch {
	case len(res.GetRows()) == 0:
		b.WriteString("No rows match.\n")
	case res.GetTruncated():
		b.WriteString("There are more rows: raise the limit, or aggregate.\n")
	}
	for _, s := range res.GetSources() {
		fmt.Fprintf(&b, "%s is %s of %s\n", s.GetName(), oneLine(place(s.GetSheet(), s.GetRange())), oneLine(s.GetUri()))
		for _, note := range s.GetNotes() {
			b.WriteString("Note: " + oneLine(note) + ".\n")
		}
	}
	return b.String()
}

// cellText returns a value of an answer on one line: texts without quotes, null as empty.
func cellText(v *structpb.Value) string {
	switch v.GetKind().(type) {
	case nil, *structpb.Value_NullValue:
		return ""
	case *structpb.Value_StringValue:
		return oneLine(v.GetStringValue())
	}
	return facetText(v)
}
