package ingest_test

import (
	"fmt"
	"strings"
	"testing"
)

// A first upload of many documents looks each of them up by its name, not among all documents of the index: PostgreSQL has statistics
// of the documents before it is over.
func TestAFirstUploadRenewsTheStatistics(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const plan = `EXPLAIN SELECT FROM unnest($1::text[]) AS given (uri) CROSS JOIN LATERAL (
		SELECT FROM tenant_acme.documents AS d WHERE d.index_id = $2 AND d.namespace = 'default' AND d.uri = given.uri OFFSET 0) AS d`
	byName := func() bool {
		t.Helper()
		rows, err := f.service.Pool.Query(t.Context(), plan, []string{"doc/1"}, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(line, "uri_key") {
				return true
			}
		}
		return false
	}
	if byName() {
		t.Fatal("the planner uses the unique index of an empty table: the statistics are needed no more")
	}
	f.ingest(t, numbered(200, func(i int) string { return fmt.Sprint("text ", i) }))
	if !byName() {
		t.Error("the planner does not know the documents of an upload of 200")
	}
}
