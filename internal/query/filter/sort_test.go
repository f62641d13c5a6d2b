package filter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// PostgreSQL and Compare sort alike.
func TestOrdersAgreeWithSQL(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	var rows []goldenRow
	for n, text := range []string{
		`{"a": 10}`, `{"a": 9.5}`, `{"a": -3}`, `{"a": 1e3}`, `{"a": 12345678901234567890}`, `{"a": 12345678901234567891}`, `{"a": 10.0}`, `{"a": "10"}`, `{"a": "b"}`, `{"a": "B"}`, `{"a": "é"}`, `{"a": ""}`,
		`{"a": "2026-03-01"}`, `{"a": "2026-03-01T00:30:00+01:00"}`, `{"a": "2026-02-28T23:45:00Z"}`, `{"a": "2025-12-31"}`, `{"a": "2026-13-31"}`, `{"a": true}`, `{"a": false}`, `{"a": null}`, `{}`, `{"a": [1]}`, `{"a": {"b": 1}}`,
	} {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		row := goldenRow{ID: fmt.Sprintf("%02d", n)}
		if err := decoder.Decode(&row.Metadata); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	load(t, conn, rows, nil)
	for _, order := range []Order{{Field: "a"}, {Field: "a", Descending: true}, {Field: "a.b", Descending: true}, {Field: "a.0"}} {
		args := NewArgs()
		found, err := conn.Query(t.Context(), "SELECT id FROM row ORDER BY "+order.SQL("metadata", args)+", id", args.Values()...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := pgx.CollectRows(found, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		sorted := slices.Clone(rows)
		slices.SortStableFunc(sorted, func(a, b goldenRow) int { return order.Compare(a.Metadata, b.Metadata) })
		want := make([]string, len(sorted))
		for n, row := range sorted {
			want[n] = row.ID
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v: (-Compare +SQL)\n%s", order, diff)
		}
	}
	for _, pair := range [][2]string{{`{"a": 9}`, `{"a": 10}`}, {`{"a": 10}`, `{"a": "2026-01-01"}`}, {`{"a": "2026-03-01T00:30:00+01:00"}`, `{"a": "2026-02-28T23:45:00Z"}`}, {`{"a": "x"}`, `{"a": false}`}, {`{"a": true}`, `{}`}} {
		var a, b map[string]any
		if json.Unmarshal([]byte(pair[0]), &a) != nil || json.Unmarshal([]byte(pair[1]), &b) != nil {
			t.Fatal(pair)
		}
		if (Order{Field: "a"}).Compare(a, b) >= 0 {
			t.Errorf("%s does not come before %s", pair[0], pair[1])
		}
	}
}
