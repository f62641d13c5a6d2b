package service_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/testing/pgtest"
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
