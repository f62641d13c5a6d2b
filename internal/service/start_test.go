package service_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// failsToStart fails the test unless a service with this configuration does not start, for
// a reason with all of these words.
func failsToStart(t *testing.T, config service.Config, words ...string) {
	t.Helper()
	config.Listen, config.Logger = "127.0.0.1:0", slog.New(slog.DiscardHandler)
	s, err := service.New(t.Context(), config)
	if err == nil {
		t.Errorf("the service starts, want an error with %q", words)
		must(t, s.Close())
		return
	}
	for _, word := range words {
		if fault.KindOf(err) != fault.Precondition || !strings.Contains(fault.Public(err), word) {
			t.Errorf("error %v, want one with %q", err, word)
		}
	}
}

// The control schema would be in one database, and the tenants that it lists in the other.
func TestURLsOfTwoDatabasesAreRefused(t *testing.T) {
	t.Parallel()
	admin, app := pgtest.Pool(t), pgtest.Pool(t)
	failsToStart(t, service.Config{
		DatabaseAdminURL: admin.Config().ConnString(), DatabaseURL: pgtest.ServicePool(t, app).Config().ConnString(),
	}, `database-url names the database "`+app.Config().ConnConfig.Database, `database-admin-url names the database "`+admin.Config().ConnConfig.Database, "let both name the same database")
}

// loginRole makes a role that may log in and has these attributes, and returns it with a
// pool of its own.
func loginRole(t *testing.T, pool *pgxpool.Pool, attributes string) (role string, own *pgxpool.Pool) {
	t.Helper()
	role = fmt.Sprintf("start_%x", time.Now().UnixNano())
	_, err := pool.Exec(t.Context(), `CREATE ROLE `+role+` LOGIN PASSWORD 'ragd-test' `+attributes)
	must(t, err)
	t.Cleanup(func() { _, _ = pool.Exec(context.Background(), `DROP OWNED BY `+role+`; DROP ROLE `+role) })
	return role, pgtest.PoolOf(t, pool, role, "ragd-test")
}

// Without these rights the first tenant could not be created.
func TestAnAdminRoleWithoutItsRightsIsRefused(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	role, admin := loginRole(t, pool, "")
	app := pgtest.ServicePool(t, pool).Config().ConnString()
	database := pool.Config().ConnConfig.Database
	alter, grant := `ALTER ROLE "`+role+`" CREATEROLE`, `GRANT CREATE ON DATABASE "`+database+`" TO "`+role+`"`
	url := admin.Config().ConnString()
	failsToStart(t, service.Config{DatabaseURL: app, DatabaseAdminURL: url}, "the role "+role+" of database-admin-url may not create roles and schemas", alter+"; "+grant)
	failsToStart(t, service.Config{DatabaseURL: url}, "the role "+role+" of database-url may not create roles and schemas", "another role in database-admin-url")
	_, err := pool.Exec(t.Context(), grant)
	must(t, err)
	failsToStart(t, service.Config{DatabaseURL: app, DatabaseAdminURL: url}, "may not create roles, ", "run "+alter+" as a superuser")
	_, err = pool.Exec(t.Context(), alter)
	must(t, err)
	s, err := service.New(t.Context(), service.Config{Listen: "127.0.0.1:0", DatabaseURL: app, DatabaseAdminURL: url})
	must(t, err)
	must(t, s.Close())
}

// The operator has forgotten the second URL: the first one alone cannot migrate what the
// admin role made.
func TestAMigratedDatabaseWithoutTheAdminURLIsRefused(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	config := service.Config{DatabaseURL: s.ServicePool.Config().ConnString()}
	failsToStart(t, config, "in database-admin-url", "the schema ragd belongs to the database role "+s.Pool.Config().ConnConfig.User+",")
	_, err := service.Migrate(t.Context(), config, service.Migration{})
	if fault.KindOf(err) != fault.Precondition || !strings.Contains(err.Error(), "in database-admin-url") {
		t.Errorf("a migration fails with %v, want the setting", err)
	}
}
