package provision

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/migrations"
)

// Database is an opened database in which tenants live. Safe for concurrent use.
type Database struct {
	Name           string // empty for the first one
	Requests, Work *pgxpool.Pool
	store          *store
	migrator       *postgres.Migrator // for the tenants' schemas
	site           *data.Site
}

// NewDatabase returns a registered database, whose schemas MigrateControl has migrated. Its pools are
// not closed. Tenants are created and deleted through that of requests.
func NewDatabase(ctx context.Context, name string, requests, work *pgxpool.Pool) (*Database, error) {
	d, err := newDatabase(ctx, name, requests, requests, nil)
	if err != nil {
		return nil, err
	}
	d.Work = work
	return d, nil
}

func newDatabase(ctx context.Context, name string, pool, admin *pgxpool.Pool, files fs.FS) (*Database, error) {
	d := &Database{Name: name, Requests: pool, Work: pool, store: &store{pool: pool, admin: admin}, site: data.NewSite(name, pool, 0)}
	var err error
	if d.store.roles, err = findRoles(ctx, admin, pool); err != nil {
		return nil, err
	}
	if files == nil {
		files = migrations.Tenant()
	}
	migrator, err := postgres.NewMigrator(ctx, pool, files)
	if err != nil {
		return nil, err
	}
	d.migrator = migrator.OnVersion(recordVersion)
	return d, nil
}

// Databases are the registered databases. Safe for concurrent use.
type Databases interface {
	// Open returns a registered database. Errors: NotFound, Unavailable when it does not answer.
	Open(ctx context.Context, name string) (*Database, error)
	// Opened returns those that answer, ordered by name, and the others.
	Opened() (answer []*Database, silent []LeftOut)
	// Own reports whether a tenant lives in a database that it brought.
	Own(ctx context.Context, id tenant.ID) (bool, error)
	// Choose returns the name of the database for a new tenant, empty for the first one: the
	// wanted one, or if wanted is empty the one that the tenant brought, or else the smallest.
	// Errors: NotFound, Precondition for one that another tenant brought.
	Choose(ctx context.Context, wanted string, id tenant.ID) (string, error)
}

// LeftOut is a registered database that a call about all tenants left out.
type LeftOut struct {
	Database string
	Err      error // why it was left out
}

// Database returns a database by the name that callers give it. Errors: NotFound, Unavailable.
func (s *Service) Database(ctx context.Context, name string) (*Database, error) {
	if name == "" || name == tenant.FirstDatabase {
		return s.first, nil
	}
	if s.others == nil {
		return nil, fault.New(fault.NotFound, "database %q not found", name)
	}
	return s.others.Open(ctx, name)
}

// DatabaseOf returns the name of the database in which a tenant lives, of any status, as rows have it.
// Errors: NotFound.
func (s *Service) DatabaseOf(ctx context.Context, id tenant.ID) (string, error) {
	row, err := tenant.Find(ctx, s.store.pool, id)
	return row.DatabaseName, err
}

// databaseOf returns the database in which a tenant lives; the first one for a tenant that does not
// exist. Errors: Unavailable.
func (s *Service) databaseOf(ctx context.Context, id tenant.ID) (*Database, error) {
	name, err := s.DatabaseOf(ctx, id)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return nil, err
	}
	return s.Database(ctx, name)
}

// eachDatabase calls do for the first database and for the others that answer. Only an error with the
// first one is returned: those that are left out are passed to Config.OnLeftOut.
func (s *Service) eachDatabase(ctx context.Context, do func(*Database) error) error {
	if err := do(s.first); err != nil || s.others == nil {
		return postgres.Fault(err)
	}
	answer, silent := s.others.Opened()
	for _, d := range answer {
		if err := do(d); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "a database was left out, because it fails", "database", d.Name, "err", err)
			silent = append(silent, LeftOut{d.Name, postgres.Fault(err)})
		}
	}
	if s.onLeftOut != nil {
		for _, d := range silent {
			s.onLeftOut(d)
		}
	}
	return ctx.Err()
}

// CountIn returns how many tenants live in registered databases of these names.
func (s *Service) CountIn(ctx context.Context, databases []string) (tenants int, err error) {
	err = s.store.pool.QueryRow(ctx, `SELECT count(*) FROM ragd.tenants WHERE status = 'ready' AND database_name = ANY ($1)`, databases).Scan(&tenants)
	return tenants, postgres.Fault(err)
}

// inOther calls do with a connection to the database in which a tenant lives, unless that is the first
// one. conn is a connection to the first.
func (s *Service) inOther(ctx context.Context, conn *pgxpool.Conn, id tenant.ID, do func(context.Context, *Database, *pgxpool.Conn, tenant.ID) error) error {
	row, err := tenant.Find(ctx, conn, id)
	if fault.KindOf(err) == fault.NotFound || err == nil && row.DatabaseName == "" {
		return nil
	}
	if err != nil {
		return err
	}
	d, err := s.Database(ctx, row.DatabaseName)
	if err != nil {
		return err
	}
	there, err := d.store.admin.Acquire(ctx)
	if err != nil {
		return d.site.Fault(err)
	}
	defer there.Release()
	postgres.Use(there.Conn(), id.Schema(), "")
	return do(ctx, d, there, id)
}

// lockedIn is store.locked of the first database, whose lock keeps all other calls from the tenant, with a
// connection to the database in which the tenant lives.
func (s *Service) lockedIn(ctx context.Context, d *Database, id tenant.ID, do func(conn *pgxpool.Conn) error) error {
	return s.store.locked(ctx, id, func(conn *pgxpool.Conn) error {
		if d == s.first {
			return do(conn)
		}
		return s.inOther(ctx, conn, id, func(_ context.Context, _ *Database, there *pgxpool.Conn, _ tenant.ID) error { return do(there) })
	})
}

// choose returns the database for a new tenant.
func (s *Service) choose(ctx context.Context, wanted string, id tenant.ID) (*Database, error) {
	if s.others == nil {
		return s.Database(ctx, wanted)
	}
	name, err := s.others.Choose(ctx, wanted, id)
	if err != nil {
		return nil, err
	}
	return s.Database(ctx, name)
}

// provisionIn creates a tenant in another database than the first and returns its row. conn is a
// connection to the first, whose row of the tenant is there first and is ready last: a creation that
// was interrupted is completed by another call, in the same database.
func (s *Service) provisionIn(ctx context.Context, conn *pgxpool.Conn, d *Database, wanted Tenant) (row tenant.Record, err error) {
	id := wanted.TenantID
	if row, err = place(ctx, conn, d.Name, wanted); err != nil {
		return row, err
	}
	wanted.Plan = nil // plans are in the first database alone
	err = d.store.locked(ctx, id, func(there *pgxpool.Conn) error {
		local, err := tenant.Find(ctx, there, id)
		switch {
		case err == nil && local.DatabaseName != "":
			return fault.New(fault.Precondition, "the database %q still has what a tenant %q left there: try again later, or choose another database", d.Name, id)
		case err == nil && local.Status == tenant.StatusReady: // an earlier call was interrupted after this
			return nil
		}
		_, err = d.provision(ctx, there, wanted)
		return err
	})
	if err != nil {
		return row, d.site.Fault(err)
	}
	row, err = setReady(ctx, conn, id, d.migrator.Newest())
	return row, postgres.Fault(err)
}

// place makes the row of a tenant that is created in a registered database. Errors: Exists,
// Precondition while the tenant is being deleted or can be restored, or after a creation in another database was
// interrupted.
func place(ctx context.Context, conn *pgxpool.Conn, database string, wanted Tenant) (row tenant.Record, err error) {
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO ragd.tenants (tenant_id, display_name, settings, status, database_name)
			SELECT $1, $2, $3, 'creating', d.database_name FROM ragd.databases AS d WHERE d.database_name = $4 FOR SHARE
			ON CONFLICT DO NOTHING`, wanted.TenantID, wanted.DisplayName, wanted.Settings, database)
		if err != nil {
			return err
		}
		row, err = tenant.Find(ctx, tx, wanted.TenantID)
		switch {
		case fault.KindOf(err) == fault.NotFound:
			return fault.New(fault.NotFound, "database %q not found", database)
		case err != nil:
			return err
		case row.Status != tenant.StatusCreating:
			return occupied(row)
		case row.DatabaseName != database:
			return fault.New(fault.Precondition, "the creation of tenant %q in the database %q was interrupted: name that one, or delete the tenant first",
				wanted.TenantID, cmp.Or(row.DatabaseName, tenant.FirstDatabase))
		}
		if wanted.Plan != nil {
			return setPlan(ctx, tx, wanted.TenantID, wanted.Plan.Name)
		}
		return nil
	})
	return row, postgres.Fault(err)
}

// updateTenant changes a tenant: its row first in the database in which it lives, which has a copy of
// it.
func (s *Service) updateTenant(ctx context.Context, id tenant.ID, change Change) error {
	d, err := s.databaseOf(ctx, id)
	if err != nil {
		return err
	}
	if d != s.first {
		if err := updateTenant(ctx, d.store.pool, id, change); err != nil {
			return d.site.Fault(err)
		}
	}
	return postgres.Fault(pgx.BeginFunc(ctx, s.store.pool, func(tx pgx.Tx) error {
		if change.PlanName != nil {
			if err := setPlan(ctx, tx, id, *change.PlanName); err != nil {
				return err
			}
		}
		return updateTenant(ctx, tx, id, change)
	}))
}

// measure returns what a tenant has in the database in which it lives and in the first one.
func (s *Service) measure(ctx context.Context, conn *pgxpool.Conn, id tenant.ID) (done Deletion, err error) {
	if done, err = measure(ctx, conn, id); err != nil {
		return done, err
	}
	err = s.inOther(ctx, conn, id, func(ctx context.Context, _ *Database, there *pgxpool.Conn, id tenant.ID) error {
		more, err := measure(ctx, there, id)
		done = done.plus(more)
		return err
	})
	return done, err
}

// verifyIn looks for what is left of a deleted tenant in the registered database in which it lived.
func (s *Service) verifyIn(ctx context.Context, name string, id tenant.ID) error {
	d, err := s.Database(ctx, name)
	if err != nil {
		return err
	}
	conn, err := d.store.admin.Acquire(ctx)
	if err != nil {
		return d.site.Fault(err)
	}
	defer conn.Release()
	_, err = verify(ctx, conn, id)
	return d.site.Fault(err)
}

// published are the tables of which an import may have left rows in the database of the tenant, which
// belong in the first one. Rows with other scopes than a tenant may have are left out: the database may be
// the tenant's own.
var published = []string{"ragd.api_keys", "ragd.issuers"}

const publishedRows = `
	INSERT INTO %[1]s SELECT * FROM json_populate_recordset(NULL::%[1]s, $1) AS r
	WHERE r.tenant_id = $2 AND r.scopes <@ ARRAY['read', 'write', 'admin'] ON CONFLICT DO NOTHING`

// publish lets the first database know a tenant whose import has ended in another one: its row, keys and
// issuers. It does nothing for any other tenant.
func (s *Service) publish(ctx context.Context, d *Database, id tenant.ID) error {
	if d == s.first {
		return nil
	}
	local, err := tenant.Find(ctx, d.store.pool, id)
	if fault.KindOf(err) == fault.NotFound || err == nil && (local.Status != tenant.StatusReady || local.DatabaseName != "") {
		return nil
	}
	if err != nil {
		return d.site.Fault(err)
	}
	rows := make([]string, len(published))
	for i, table := range published {
		err := d.store.pool.QueryRow(ctx, `SELECT coalesce(json_agg(t), '[]')::text FROM `+table+` AS t WHERE t.tenant_id = $1`, id).Scan(&rows[i])
		if err != nil {
			return d.site.Fault(err)
		}
	}
	err = pgx.BeginFunc(ctx, s.store.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE ragd.tenants SET status = 'ready', display_name = $2, settings = $3, vector_store_names = $4, created_at = $5, updated_at = now()
			WHERE tenant_id = $1 AND status = 'importing'`, id, local.DisplayName, local.Settings, local.VectorStoreNames, local.CreatedAt)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		for i, table := range published {
			if _, err := tx.Exec(ctx, fmt.Sprintf(publishedRows, table), rows[i], id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return postgres.Fault(err)
	}
	for _, table := range published {
		if _, err := d.store.pool.Exec(ctx, `DELETE FROM `+table+` WHERE tenant_id = $1`, id); err != nil {
			return d.site.Fault(err)
		}
	}
	return nil
}

// Sizes returns how many tenants a database serves, and how many bytes it has.
func (d *Database) Sizes(ctx context.Context) (tenants int, bytes int64, err error) {
	if err := d.store.pool.QueryRow(ctx, `SELECT count(*) FROM ragd.tenants WHERE database_name = '' AND status <> 'deleting'`).Scan(&tenants); err != nil {
		return 0, 0, d.site.Fault(err)
	}
	bytes, err = postgres.Bytes(ctx, d.store.pool)
	return tenants, bytes, err
}

// Admin returns the pool of the database whose role creates and drops schemas and roles. Its role owns the schemas
// ragd and ragd_shared.
func (d *Database) Admin() *pgxpool.Pool { return d.store.admin }

// Distributed reports whether the schemas of tenants there are distributed by Citus.
func (d *Database) Distributed() bool { return d.store.roles.distributed }

// Title returns the name that callers give the database.
func (d *Database) Title() string { return cmp.Or(d.Name, tenant.FirstDatabase) }
