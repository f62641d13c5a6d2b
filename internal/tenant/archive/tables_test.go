package archive_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/tenant/archive"
)

// A table with rows of tenants is archived, or listed as left out with the reason. So are tables of indexes, which are made when
// they are first used: their definitions are looked for in the source.
func TestEveryTableIsArchivedOrLeftOut(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme")
	rows, err := s.Pool.Query(t.Context(), `
		SELECT CASE n.nspname WHEN 'ragd' THEN 'control' WHEN 'ragd_shared' THEN 'shared' ELSE 'tenant' END || '/' || c.relname
		FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p') AND (n.nspname = 'tenant_acme' OR n.nspname IN ('ragd', 'ragd_shared') AND EXISTS (
			SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped)) ORDER BY 1`)
	must(t, err)
	want, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	sources, err := filepath.Glob("../../index/*.go")
	must(t, err)
	made := regexp.MustCompile(`CREATE TABLE tenant\.(\w+)`)
	for _, path := range sources {
		text, err := os.ReadFile(path)
		must(t, err)
		for _, match := range made.FindAllStringSubmatch(string(text), -1) {
			want = append(want, "index/"+match[1])
		}
	}
	if len(want) < 45 {
		t.Fatalf("only %d tables were found: %v", len(want), want)
	}
	archived := archive.Tables()
	for _, table := range want {
		reason, left := archive.LeftOut[table]
		switch {
		case slices.Contains(archived, table) == left:
			t.Errorf("%s must be archived, or be in LeftOut with the reason", table)
		case left && reason == "":
			t.Errorf("%s is left out without a reason", table)
		}
	}
	for _, table := range archived {
		if !slices.Contains(want, table) {
			t.Errorf("%s does not exist", table)
		}
	}
	for table := range archive.LeftOut {
		if !slices.Contains(want, table) {
			t.Errorf("%s is left out, but does not exist", table)
		}
	}
	// Tables with a name for a page of the documentation.
	page, err := os.ReadFile("../../../docs/reference/archive.md")
	must(t, err)
	for _, table := range archived {
		if place, name, _ := strings.Cut(table, "/"); place != "shared" && !strings.Contains(string(page), "`"+name+"`") && !strings.Contains(string(page), "`"+table+"`") {
			t.Errorf("docs/reference/archive.md does not name %s", table)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
