package graph_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/graph"
)

// planNode is a node of a plan as EXPLAIN (FORMAT JSON) has it.
type planNode struct {
	Type      string     `json:"Node Type"`
	IndexName string     `json:"Index Name"`
	Cond      string     `json:"Index Cond"`
	Rows      float64    `json:"Actual Rows"`
	Hit       int        `json:"Shared Hit Blocks"`
	Read      int        `json:"Shared Read Blocks"`
	Plans     []planNode `json:"Plans"`
}

// scans returns the scans of tables, as texts, and checks that each looks rows up by key
// and reads few.
func (n planNode) scans(t *testing.T, most float64) (found []string) {
	if strings.Contains(n.Type, "Scan") && !slices.Contains([]string{"Function Scan", "Values Scan", "Subquery Scan", "CTE Scan"}, n.Type) {
		found = append(found, n.Type+" "+n.IndexName+" "+n.Cond)
		if n.Cond == "" || n.Rows > most {
			t.Errorf("%s with %s %q reads %v rows at once", n.Type, n.IndexName, n.Cond, n.Rows)
		}
	}
	for _, plan := range n.Plans {
		found = append(found, plan.scans(t, most)...)
	}
	return found
}

// TestLoadingEdgesHasOnePlan loads the edges of many chunks, which mention rare names and some that very many
// chunks have or mention. Whatever the planner knows of the tables, it looks up each chunk and each
// name, and of frequent names reads a bounded number of rows.
func TestLoadingEdgesHasOnePlan(t *testing.T) {
	t.Parallel()
	const chunks, names, mentioned = 1500, 400, 12
	g := newTestGraph(t)
	g.upload(t, "first", "Watch bell", "It rings.") // makes the table
	documents := make([]graph.Document, chunks)
	for i := range documents {
		documents[i] = graph.Document{DocumentID: uuid.Must(uuid.NewV7()).String(), Title: fmt.Sprint(i), URI: fmt.Sprint(i), Texts: []string{"-"}}
	}
	g.store(t, documents)
	// The n-th name is in about 1/n of the chunks. The first one is a heading of them all.
	for _, statement := range []string{
		`INSERT INTO tenant.edge (document_id, ordinal, type, key, kind, name)
		SELECT d.document_id, 0, 'name', n.key, 'heading', 'name ' || n.key
		FROM (SELECT d.document_id, row_number() OVER (ORDER BY d.document_id) AS n FROM tenant.documents AS d) AS d
		JOIN generate_series(1, $1::int) AS n (key) ON n.key = 1 OR d.n % 1000 = n.key WHERE $2::int > 0`,
		`INSERT INTO tenant.edge (document_id, ordinal, type, key)
		SELECT DISTINCT d.document_id, 0, 'mention'::ragd_shared.edge_type, floor($1::int ^ (((hashint8(d.n * 31 + i) % 1000 + 1000) % 1000) / 1000.0))::bigint
		FROM (SELECT d.document_id, row_number() OVER (ORDER BY d.document_id) AS n FROM tenant.documents AS d) AS d, generate_series(1, $2::int) AS i`,
	} {
		if _, err := g.handle.Exec(t.Context(), statement, names, mentioned); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := g.service.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for name, value := range graph.Lookups() {
		execute(t, conn, fmt.Sprintf("SET %s = '%s'", name, value))
	}
	execute(t, conn, `PREPARE adjacent(uuid[], int[]) AS `+g.handle.SQL(graph.AdjacentSQL))
	execute(t, conn, `PREPARE followed(bigint[]) AS `+g.handle.SQL(graph.FollowedSQL))
	array := func(query string) (text string) {
		if err := conn.QueryRow(t.Context(), g.handle.SQL(`SELECT ARRAY(`+query+`)::text`)).Scan(&text); err != nil {
			t.Fatal(err)
		}
		return text
	}
	calls := []string{
		`EXECUTE adjacent('` + array(`SELECT document_id FROM tenant.documents ORDER BY 1 LIMIT 300`) + `', array_fill(0, ARRAY[300]))`,
		`EXECUTE followed('` + array(`SELECT DISTINCT key FROM tenant.edge WHERE key IS NOT NULL`) + `')`,
	}
	var want []string
	for _, known := range []string{"", `ANALYZE tenant.edge, tenant.chunk`, `DELETE FROM pg_catalog.pg_statistic WHERE starelid IN ('tenant.edge'::regclass, 'tenant.chunk'::regclass)`} {
		execute(t, conn, `SET allow_system_table_mods = on`)
		execute(t, conn, g.handle.SQL(known))
		for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
			execute(t, conn, `SET plan_cache_mode = `+mode)
			var found []string
			buffers := 0
			for _, call := range calls {
				var text string
				if err := conn.QueryRow(t.Context(), `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) `+call).Scan(&text); err != nil {
					t.Fatal(err)
				}
				var plans []struct{ Plan planNode }
				if err := json.Unmarshal([]byte(text), &plans); err != nil {
					t.Fatal(err)
				}
				found = append(found, plans[0].Plan.scans(t, 201)...)
				buffers += plans[0].Plan.Hit + plans[0].Plan.Read
			}
			t.Logf("after %.10q, %s: %d buffers", known, mode, buffers)
			if want == nil {
				want = found
			}
			if diff := cmp.Diff(want, found); diff != "" {
				t.Errorf("after %q, %s (-want +got):\n%s", known, mode, diff)
			}
		}
	}
}

func execute(t *testing.T, conn *pgxpool.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
