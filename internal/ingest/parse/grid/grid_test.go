package grid

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// column of cells, written by the values and the type that they get.
func typesOf(t *testing.T, cells ...string) (Column, string) {
	t.Helper()
	var b Builder
	b.Begin(Place{Name: "t", Unit: Line}, []string{"key", "value"})
	for i, c := range cells {
		b.Row(i+2, []Cell{{Text: fmt.Sprint("k", i)}, {Text: c}})
	}
	b.End()
	tables := b.Tables()
	if len(tables) != 1 {
		t.Fatalf("%d tables", len(tables))
	}
	var values []string
	for _, s := range tables[0].Segments {
		for row := range strings.SplitSeq(strings.Trim(string(s), "[]"), "],[") {
			values = append(values, row[strings.Index(row, `",`)+2:])
		}
	}
	return tables[0].Columns[1], strings.Join(values, " ")
}

func TestColumnsHaveTheTypeOfAllTheirCells(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		cells        string
		kind         Type
		unit, values string
	}{
		{"1|2|-3", Number, "", "1 2 -3"},
		{"1,234.50|7", Number, "", "1234.50 7"},
		{"1.234,50|7,25", Number, "", "1234.50 7.25"},
		{"1,234|56", Number, "", "1234 56"},
		{"0,5|1,25", Number, "", "0.5 1.25"},
		{"1 234 567|8", Number, "", "1234567 8"},
		{"$1,200|($300)|-$5.5|", Number, "USD", "1200 -300 -5.5"},
		{"12 EUR|€7", Number, "EUR", "12 7"},
		{"12.5%|n/a|3%", Number, "%", "12.5 null 3"},
		{"1.5e-3|2", Number, "", "1.5e-3 2"},
		{"5 kg|7 kg", Number, "kg", "5 7"},
		{"$5|€7", Text, "", `"$5" "€7"`},
		{"007|12", Text, "", `"007" "12"`},
		{"12|twelve", Text, "", `"12" "twelve"`},
		{"1,23,4|5", Text, "", `"1,23,4" "5"`},
		{"yes|no|Yes", Boolean, "", "true false true"},
		{"2026-03-01|-|2026-02-28", Date, "", `"2026-03-01" null "2026-02-28"`},
		{"2026-03-01T01:00:00+02:00", Date, "", `"2026-02-28T23:00:00"`},
		{"13/04/2026|01/05/2026", Date, "", `"2026-04-13" "2026-05-01"`},
		{"04/13/2026|01/05/2026", Date, "", `"2026-04-13" "2026-01-05"`},
		{"3.4.2026|12 Mar 2026", Date, "", `"2026-04-03" "2026-03-12"`},
		{"03/04/2026|01/05/2026", Text, "", `"03/04/2026" "01/05/2026"`},
		{"13/13/2026", Text, "", `"13/13/2026"`},
		{"2026-02-30", Text, "", `"2026-02-30"`},
		{"A1|B2", Text, "", `"A1" "B2"`},
		{"Jan 5|Feb 6", Text, "", `"Jan 5" "Feb 6"`},
		{"a\x00b|\xff", Text, "", `"ab" "` + "\ufffd" + `"`},
	} {
		c, values := typesOf(t, strings.Split(tc.cells, "|")...)
		if c.Type != tc.kind || c.Unit != tc.unit || !strings.HasPrefix(values, tc.values) {
			t.Errorf("%q are %s in %q: %s", tc.cells, c.Type, c.Unit, values)
		}
	}
}

func TestTheNumbersOfSpreadsheetsAreNotRounded(t *testing.T) {
	t.Parallel()
	var b Builder
	b.Begin(Place{Unit: Row}, []string{"Part", "", "Price (EUR)", "Share"})
	b.Row(4, []Cell{{Text: "00123", Raw: ""}, {Text: "ignored"}, {Text: "1.23", Raw: "1.2345000000000002"}, {Text: "13%", Raw: "0.125"}})
	b.Row(5, []Cell{{Text: "a"}, {}, {Text: "1,000.00", Raw: "1000"}, {Text: "7%", Raw: "7.0000000000000007E-2"}})
	b.End()
	got := b.Tables()[0]
	if diff := cmp.Diff(`[[4,"00123",1.2345,12.5],[5,"a",1000,7]]`, string(got.Segments[0])); diff != "" {
		t.Error(diff)
	}
	if c := got.Columns[1]; c.Name != "price" || c.Unit != "EUR" || c.Number != 3 || got.First != 4 || got.Last != 5 {
		t.Errorf("%+v", got.Description)
	}
}

func TestATotalIsNoRow(t *testing.T) {
	t.Parallel()
	var b Builder
	b.Markdown("# Sales\n\n| Region | Amount |\n| --- | ---: |\n| North | 5 |\n| **South** | [7](https://example.org) |\n| **Total** | 12 |\n\nText | here\n", 0)
	b.Markdown("```\n| a | b |\n|---|---|\n| 1 | 2 |\n```\n\nTable 2: Ports\n\n| Port | Cranes |\n|---|---|\n| A\\|B | 3 |", 0)
	tables := b.Tables()
	if len(tables) != 2 {
		t.Fatalf("%d tables", len(tables))
	}
	first := tables[0]
	if string(first.Segments[0]) != `[[1,"North",5],[2,"South",7]]` || first.RowCount != 2 || first.Name != "Sales" || len(first.Notes) != 1 {
		t.Errorf("%s %+v", first.Segments, first.Description)
	}
	if tables[1].Name != "Table 2: Ports" || string(tables[1].Segments[0]) != `[[1,"A|B",3]]` {
		t.Errorf("%s %+v", tables[1].Segments, tables[1].Description)
	}
}

func TestNamesOfColumns(t *testing.T) {
	t.Parallel()
	got := namesOf([]string{"Unit price (€)", "Group", "2024", "Größe [cm]", "unit-price", "%", "Date"})
	if diff := cmp.Diff([]string{"unit_price", "group_", "_2024", "größe", "unit_price_2", "column_6", "date"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTablesOverALimitAreListedWithoutRows(t *testing.T) {
	t.Parallel()
	var b Builder
	b.Begin(Place{Unit: Line}, []string{"a", "b"})
	long := strings.Repeat("x", 1<<20)
	for i := range 40 {
		b.Row(i+2, []Cell{{Text: long}, {Text: "1"}})
	}
	b.Begin(Place{Unit: Line}, []string{"a", "b"})
	for i := range MaxRows + 1 {
		b.Row(i+2, []Cell{{Text: "x"}, {Text: "1"}})
	}
	b.Begin(Place{Unit: Line}, make([]string, 3))
	for range MaxTables {
		b.Begin(Place{Unit: Line}, []string{"a", "b"})
		b.Row(1, []Cell{{Text: "x"}})
	}
	b.End()
	tables := b.Tables()
	if len(tables) != MaxTables || tables[0].LeftOut == "" || tables[0].Bytes() > 0 || tables[1].LeftOut == "" || tables[1].RowCount != MaxRows+1 || tables[2].LeftOut != "" {
		t.Errorf("%d tables; %+v; %+v", len(tables), tables[0].Description, tables[1].Description)
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add("| a | b |\n|---|---|\n| 1 | $2,000.5 |\n")
	f.Add("a|b\n-|-\n\\|1|2026-01-01\n|||")
	f.Fuzz(func(t *testing.T, text string) {
		var b Builder
		b.Markdown(text, 0)
		for _, table := range b.Tables() {
			if table.RowCount < 1 || len(table.Columns) < 2 || table.StartByte >= table.EndByte || table.EndByte > len(text) {
				t.Errorf("%+v", table.Description)
			}
			for _, s := range table.Segments {
				if !jsonOf(s) {
					t.Errorf("%q", s)
				}
			}
		}
	})
}

func jsonOf(raw []byte) bool {
	var rows [][]any
	return json.Unmarshal(raw, &rows) == nil
}
