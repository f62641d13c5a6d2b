// Package tenanttest makes a database with the service of tenants for tests.
package tenanttest

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/ragdhq/ragd/internal/ingest/backlog"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/schematest"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

// Fixture is a migrated database with the services of tenants and of their credentials.
type Fixture struct {
	Pool        *pgxpool.Pool // of a superuser
	Service     *pgxpool.Pool // of the role of requests and jobs
	Tenants     *provision.Service
	Credentials *credential.Service
	Operator    context.Context // of a request with the scope operator
}

// Setup returns a Fixture in a database of its own.
func Setup(t testing.TB) Fixture {
	t.Helper()
	pool := schematest.Pool(t)
	return SetupOn(t, pool, pgtest.ServicePool(t, pool))
}

// SetupOn migrates the database of two pools, which may be the same.
func SetupOn(t testing.TB, pool, service *pgxpool.Pool) Fixture {
	t.Helper()
	must(t, provision.MigrateControl(t.Context(), pool))
	must(t, job.Migrate(t.Context(), riverpgxv5.New(pool)))
	must(t, provision.GrantService(t.Context(), pool, service))
	queue, err := job.NewQueue(job.QueueConfig{Driver: riverpgxv5.New(service), Instance: "test", Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	credentials, err := credential.New(t.Context(), service, credential.Config{})
	must(t, err)
	tenants, err := provision.New(t.Context(), service, provision.Config{
		Admin: pool, Changed: credentials.Auth.Forget, OnErase: []provision.RowsFunc{queue.DeleteTenant, backlog.DeleteTenant},
	})
	must(t, err)
	operator := access.NewContext(t.Context(), &access.Request{Principal: access.Principal{Scopes: []access.Scope{access.Operator}}})
	return Fixture{pool, service, tenants, credentials, operator}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Unique returns a tenant name that no other test uses: roles belong to the whole server,
// which tests share.
func Unique(name string) string {
	return fmt.Sprintf("%s-%x", name, time.Now().UnixNano()&0xffffffff)
}

// CreateAll creates tenants whose names begin so, and returns their ids in order.
func (f Fixture) CreateAll(t testing.TB, names ...string) (ids []tenant.ID) {
	t.Helper()
	for _, name := range names {
		created, err := f.Tenants.Create(f.Operator, Unique(name), "", nil)
		must(t, err)
		ids = append(ids, created.TenantID)
	}
	return ids
}

// Remove deletes a tenant.
func (f Fixture) Remove(t testing.TB, name string) {
	t.Helper()
	_, err := f.Tenants.Delete(f.Operator, name)
	must(t, err)
}

// Count returns the number in the only row of a query.
func (f Fixture) Count(t testing.TB, sql string, args ...any) (n int) {
	t.Helper()
	must(t, f.Pool.QueryRow(t.Context(), sql, args...).Scan(&n))
	return n
}
