package filter

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/migrations"
)

// connect returns a connection to a new database for this test.
func connect(t testing.TB) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	instant, err := fs.ReadFile(migrations.Shared(), "000023_instants.up.sql")
	if err != nil {
		t.Fatal(err)
	}
	execute(t, conn, "CREATE SCHEMA ragd_shared; SET search_path = ragd_shared; "+string(instant)+"; RESET search_path", pgx.QueryExecModeSimpleProtocol)
	return conn
}

func execute(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// load fills the temporary table row (id text, metadata jsonb) and creates the
// Postgres indexes that filters can use.
func load(t testing.TB, conn *pgx.Conn, rows []goldenRow, indexed []string) {
	t.Helper()
	execute(t, conn, "SET jit = off") // it compiles for longer than these statements run
	execute(t, conn, "DROP TABLE IF EXISTS row")
	execute(t, conn, "CREATE TEMP TABLE row (id text, metadata jsonb)")
	i := -1
	_, err := conn.CopyFrom(t.Context(), pgx.Identifier{"row"}, []string{"id", "metadata"},
		pgx.CopyFromFunc(func() ([]any, error) {
			if i++; i == len(rows) {
				return nil, nil
			}
			metadata, err := json.Marshal(rows[i].Metadata)
			return []any{rows[i].ID, string(metadata)}, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	execute(t, conn, "CREATE INDEX row_metadata ON row USING gin (metadata jsonb_path_ops)")
	for i, field := range indexed {
		execute(t, conn, fmt.Sprintf("CREATE INDEX row_text_%d ON row (%s)", i, TextIndex("metadata", field)))
		execute(t, conn, fmt.Sprintf("CREATE INDEX row_number_%d ON row (%s)", i, NumberIndex("metadata", field)))
		execute(t, conn, fmt.Sprintf("CREATE INDEX row_instant_%d ON row (%s)", i, InstantIndex("metadata", field)))
	}
	execute(t, conn, "ANALYZE row")
}

// selectIDs returns the ids of the rows that the filter selects in the database.
// $1 belongs to the statement, as in real statements; the filter's parameters
// follow.
func selectIDs(ctx context.Context, conn *pgx.Conn, mode pgx.QueryExecMode, f Filter, indexed ...string) ([]string, error) {
	args := NewArgs(-1)
	if mode == constants {
		args.Constants()
		mode = pgx.QueryExecModeExec
	}
	sql := "SELECT id FROM row AS c WHERE " + f.SQL("c.metadata", args, indexed...) + " AND $1::int < 0 ORDER BY id"
	rows, err := conn.Query(ctx, sql, append([]any{mode}, args.Values()...)...)
	if err != nil {
		return nil, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return append([]string{}, ids...), err
}

// executions are the plans and parameter encodings under which a filter must
// select the same rows.
var executions = []struct {
	name    string
	seqscan string
	mode    pgx.QueryExecMode
	indexed bool
}{
	{"scan", "on", pgx.QueryExecModeCacheStatement, false},
	{"GIN index", "off", pgx.QueryExecModeExec, false},
	{"indexes of the fields", "off", pgx.QueryExecModeDescribeExec, true},
	{"simple protocol", "on", pgx.QueryExecModeSimpleProtocol, true},
	{"constants", "off", constants, true},
}

// constants is the mode of a statement in which the filter has no parameters.
const constants pgx.QueryExecMode = 0

func TestSQLSelectsTheGoldenRows(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	golden := readGolden(t)
	for collection, rows := range golden.Collections {
		load(t, conn, rows, nil)
		for _, execution := range executions {
			execute(t, conn, "SET enable_seqscan = "+execution.seqscan)
			for _, tc := range golden.Cases {
				if tc.Collection != collection || tc.Refused == "parse" {
					continue
				}
				f, err := Parse([]byte(tc.Filter))
				if err != nil {
					t.Errorf("%s: %v", tc.Name, err)
					continue
				}
				var indexed []string
				if execution.indexed {
					indexed = f.Fields()
				}
				got, err := selectIDs(t.Context(), conn, execution.mode, f, indexed...)
				if tc.Refused == "database" {
					if err == nil {
						t.Errorf("%s by %s: accepted", tc.Name, execution.name)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s by %s: %v", tc.Name, execution.name, err)
					continue
				}
				if diff := cmp.Diff(append([]string{}, tc.IDs...), got); diff != "" {
					t.Errorf("%s by %s: %s (-want +got):\n%s", tc.Name, execution.name, tc.Filter, diff)
				}
			}
		}
	}
}
