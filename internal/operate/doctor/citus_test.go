package doctor

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
)

func TestCitusIsJudgedByItsServers(t *testing.T) {
	t.Parallel()
	coordinator := node{Name: "c:5432", Reachable: true, Prepared: 100}
	worker := node{Name: "w:5432", Worker: true, Reachable: true, Prepared: 100, Tenants: 7}
	down, unprepared := worker, worker
	down.Reachable, down.Prepared = false, 0
	unprepared.Prepared = 0
	for _, tc := range []struct {
		name, version string
		nodes         []node
		status        Status
		want          string
	}{
		{"a healthy cluster", "13.2.1", []node{coordinator, worker}, OK, "w:5432 (tenants: 7)"},
		{"a worker that is down", "13.2.1", []node{coordinator, worker, down}, Fail, "cannot reach w:5432"},
		{"a worker without prepared transactions", "13.2.1", []node{coordinator, unprepared}, Fail, "max_prepared_transactions is 0 at w:5432"},
		{"no workers", "13.2.1", []node{coordinator}, Warn, "no workers"},
		{"an old version", "12.1.4", []node{coordinator, worker}, Warn, "older than 13.2"},
	} {
		got := judgeCitus(tc.version, tc.nodes)
		if got.Status != tc.status || !strings.Contains(got.Detail, tc.want) {
			t.Errorf("%s: %s %q, want %s with %q", tc.name, got.Status, got.Detail, tc.status, tc.want)
		}
	}
}

func TestWhereTenantsOfAClusterAre(t *testing.T) {
	t.Parallel()
	cluster, single := pgtest.Cluster(t)
	citus := func(url string) Finding {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		for _, f := range Database(t.Context(), conn, Config{}) {
			if f.Check == "Citus" {
				return f
			}
		}
		t.Fatal("Citus is not checked")
		return Finding{}
	}
	pool := pgtest.OpenPool(t, cluster)
	for _, schema := range []string{"one", "two", "three"} {
		for _, sql := range []string{`CREATE SCHEMA ` + schema, `CREATE TABLE ` + schema + `.chunks (id int)`, `SELECT citus_schema_distribute('` + schema + `')`} {
			if _, err := pool.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := citus(cluster)
	if got.Status != OK || strings.Count(got.Detail, "(tenants: 0)") != 1 || strings.Count(got.Detail, "(tenants: 1)") != 1 || strings.Count(got.Detail, "(tenants: 2)") != 1 {
		t.Errorf("of a cluster: %+v", got)
	}
	if got := citus(single); got.Status != Warn || !strings.Contains(got.Detail, "no workers") {
		t.Errorf("of a server without workers: %+v", got)
	}
}
