package filter

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// planRows returns 20,000 rows on which every filter of TestSQLUsesTheIndexes is
// selective enough for an index scan.
func planRows() []goldenRow {
	rows := make([]goldenRow, 20000)
	for i := range rows {
		rows[i] = goldenRow{strconv.Itoa(i), map[string]any{
			"category": "c" + strconv.Itoa(i%500),
			"price":    float64(i),
			"added":    fmt.Sprintf("2024-%02d-%02dT%02d:00:00Z", 1+i%12, 1+i%28, i%24),
			"tags":     []any{"t" + strconv.Itoa(i%700), "even" + strconv.Itoa(i%2)},
			"maker":    map[string]any{"name": "m" + strconv.Itoa(i%600)},
			"reviews":  []any{map[string]any{"by": "u" + strconv.Itoa(i%900), "stars": float64(i % 5)}},
		}}
	}
	return rows
}

func TestSQLUsesTheIndexes(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	load(t, conn, planRows(), []string{"price", "added", "maker.name"})
	gin, text, number, instant := "row_metadata", "row_text_", "row_number_", "row_instant_"
	for _, tc := range []struct {
		filter  string
		indexed []string
		want    []string // Postgres indexes that the plan scans
	}{
		{`{"category": "c7"}`, nil, []string{gin}},
		{`{"price": 77}`, nil, []string{gin}},
		{`{"price": 77}`, []string{"price"}, []string{text + "0", number + "0"}},
		{`{"maker.name": "m5"}`, nil, []string{gin}},
		{`{"maker.name": "m5"}`, []string{"maker.name"}, []string{text + "2"}},
		{`{"category": "c7", "maker": {"name": "m5"}}`, nil, []string{gin}},
		{`{"category": {"$in": ["c7", "c8", "c9"]}}`, nil, []string{gin}},
		{`{"tags": {"$in": ["t9"]}}`, nil, []string{gin}},
		{`{"tags": {"$all": ["t9", "even1"]}}`, nil, []string{gin}},
		{`{"tags": {"$eq": ["t9", "even1"]}}`, nil, []string{gin}},
		{`{"reviews": {"$elemMatch": {"by": "u3", "stars": {"$gt": 1}}}}`, nil, []string{gin}},
		{`{"$or": [{"category": "c7"}, {"maker.name": "m5"}]}`, nil, []string{gin}},
		{`{"$or": [{"category": "c7"}, {"maker.name": "m5"}]}`, []string{"maker.name"}, []string{gin, text + "2"}},
		{`{"$not": {"category": {"$ne": "c7"}}}`, nil, []string{gin}},
		{`{"price": {"$gte": 100, "$lt": 200}}`, nil, []string{number + "0"}},
		{`{"price": {"$not": {"$gt": 100}}}`, nil, []string{number + "0"}},
		{`{"added": {"$gte": "2024-12-01", "$lt": "2024-12-05"}}`, nil, []string{instant + "1"}},
		{`{"added": {"$gte": {"$date": "2024-12-01T00:00:00+02:00"}, "$lt": "2024-12-05"}, "price": {"$gte": 0}}`, nil, []string{instant + "1"}},
		{`{"added": "2024-12-04T06:00:00Z"}`, nil, []string{instant + "1"}},
		{`{"added": ["2024-12-04T06:00:00Z", "2024-12-04"]}`, nil, []string{"Scan on \"row\""}},
		{`{"added": {"$gte": "2024-12"}}`, nil, []string{text + "1"}},
		{`{"category": "c7", "price": {"$lt": 5000}}`, nil, []string{gin}},
	} {
		f, err := Parse(tc.filter)
		if err != nil {
			t.Fatal(err)
		}
		plan := explain(t, conn, f, tc.indexed)
		for _, index := range tc.want {
			if !strings.Contains(plan, index) {
				t.Errorf("%s with %v indexed: the plan does not scan %s:\n%s", tc.filter, tc.indexed, index, plan)
			}
		}
	}
}

// explain returns the plan of a prepared statement that has run often enough for
// the server to consider a generic plan.
func explain(t *testing.T, conn *pgx.Conn, f Filter, indexed []string) string {
	t.Helper()
	args := NewArgs()
	where := f.SQL("c.metadata", args, indexed...)
	execute(t, conn, "PREPARE p AS SELECT id FROM row AS c WHERE "+where)
	literals := make([]string, len(args.Values()))
	for i, v := range args.Values() {
		switch v := v.(type) {
		case string:
			literals[i] = quoteSQL(v)
		case []string:
			for j, element := range v {
				v[j] = quoteSQL(element)
			}
			literals[i] = "ARRAY[" + strings.Join(v, ",") + "]"
		}
	}
	call := "EXECUTE p"
	if len(literals) > 0 {
		call += "(" + strings.Join(literals, ", ") + ")"
	}
	defer execute(t, conn, "DEALLOCATE p")
	for range 7 {
		execute(t, conn, call)
	}
	rows, err := conn.Query(t.Context(), "EXPLAIN "+call)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}
