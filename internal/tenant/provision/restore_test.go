package provision_test

import (
	"context"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/tenanttest"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

// keeping returns a Service in the database of a fixture whose deleted tenants can be restored.
func (f fixture) keeping(t *testing.T, c provision.Config) *provision.Service {
	t.Helper()
	c.Retention = time.Hour
	s, err := provision.New(t.Context(), f.Pool, c)
	must(t, err)
	return s
}

// A tenant whose retention has ended is erased by itself, once, whatever number of instances look for it; one that can still be
// restored stays.
func TestADeletedTenantIsErasedAfterItsRetention(t *testing.T) {
	t.Parallel()
	f := setup(t)
	s := f.keeping(t, provision.Config{})
	over, kept := tenanttest.Unique("over"), tenanttest.Unique("kept")
	for _, name := range []string{over, kept} {
		f.create(t, name, 1)
		_, err := s.Delete(f.Operator, name)
		must(t, err)
	}
	_, err := f.Pool.Exec(t.Context(), `UPDATE ragd.tenants SET erase_at = now() WHERE tenant_id = $1`, over)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	for range cap(ended) {
		go func() { ended <- s.Run(ctx) }()
	}
	f.await(t, `SELECT NOT EXISTS (SELECT FROM ragd.tenants WHERE tenant_id = $1)`, over)
	f.await(t, `SELECT NOT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)`, tenant.ID(over).Schema())
	cancel()
	must(t, <-ended)
	must(t, <-ended)
	if n := f.relations(t, over); n != 0 {
		t.Errorf("%d relations are left", n)
	}
	restored, err := s.Restore(f.Operator, kept)
	if err != nil || restored.State != provision.Active || f.relations(t, kept) == 0 {
		t.Errorf("got %v, %v", restored, err)
	}
}

// An instance that has not heard of a deletion neither reads nor writes: the database itself refuses the statements.
func TestTheDatabaseRefusesStatementsOfADeletedTenant(t *testing.T) {
	t.Parallel()
	f := setup(t)
	name, other := tenanttest.Unique("gone"), tenanttest.Unique("there")
	h, theirs := f.create(t, name, 1), f.create(t, other, 1)
	s := f.keeping(t, provision.Config{})
	_, err := s.Delete(f.Operator, name)
	must(t, err)
	if _, err := h.Exec(t.Context(), `INSERT INTO tenant.table_0 (id) VALUES (1)`); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a write: %v", err)
	}
	if _, err := theirs.Exec(t.Context(), `INSERT INTO tenant.table_0 (id) VALUES (1)`); err != nil {
		t.Errorf("a write of another tenant: %v", err)
	}
	_, err = s.Restore(f.Operator, name)
	must(t, err)
	if _, err := h.Exec(t.Context(), `INSERT INTO tenant.table_0 (id) VALUES (1)`); err != nil {
		t.Errorf("a write after the restore: %v", err)
	}
}

// A schema that got behind while its tenant was deleted is migrated with those of the others.
func TestADeletedTenantIsMigrated(t *testing.T) {
	t.Parallel()
	f := setup(t)
	name := tenanttest.Unique("late")
	f.create(t, name, 0)
	s := f.keeping(t, provision.Config{})
	_, err := s.Delete(f.Operator, name)
	must(t, err)
	_, err = f.Pool.Exec(t.Context(), `UPDATE ragd.tenants SET schema_version = schema_version - 1 WHERE tenant_id = $1`, name)
	must(t, err)
	behind, n, err := s.Behind(t.Context())
	if err != nil || n != 1 || len(behind) != 1 {
		t.Fatalf("%d tenants, behind %v, %v", n, behind, err)
	}
	failed, err := s.Migrate(t.Context(), behind, 1, func(provision.Migrated) {})
	must(t, err)
	if behind, _, err := s.Behind(t.Context()); err != nil || failed != 0 || len(behind) != 0 {
		t.Errorf("behind %v after the migration, %v", behind, err)
	}
}
