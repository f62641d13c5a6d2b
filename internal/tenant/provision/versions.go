package provision

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/migrations"
)

// recordVersion stores the version of a tenant's schema in the tenant's row. It is a
// postgres.RecordFunc.
func recordVersion(ctx context.Context, tx pgx.Tx, schema string, version int) error {
	id, ok := tenant.OfSchema(schema)
	if !ok {
		return fmt.Errorf("schema %q is not of a tenant", schema)
	}
	_, err := tx.Exec(ctx, `UPDATE ragd.tenants SET schema_version = $2, migration_error = NULL WHERE tenant_id = $1`, id, version)
	return err
}

// Migrated is the result of migrating one tenant.
type Migrated struct {
	Tenant  tenant.ID
	Applied int   // migrations that ran; 0 if none was due
	Err     error // nil if the tenant is now up to date
}

// Behind returns the tenants whose recorded version is lower than the newest one, ordered
// by id, and the number of all tenants. It is one query of each database.
func (s *Service) Behind(ctx context.Context) (behind []tenant.ID, tenants int, err error) {
	err = s.eachDatabase(ctx, func(d *Database) error {
		rows, err := d.store.pool.Query(ctx, `
			SELECT t.tenant_id FROM ragd.tenants AS t WHERE `+tenant.HasSchema+` AND t.database_name = '' AND t.schema_version < $1`, s.first.migrator.Newest())
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, pgx.RowTo[tenant.ID])
		behind = append(behind, found...)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	slices.Sort(behind)
	err = s.store.pool.QueryRow(ctx, `SELECT count(*) FROM ragd.tenants AS t WHERE `+tenant.HasSchema).Scan(&tenants)
	return behind, tenants, postgres.Fault(err)
}

// Migrate migrates the schemas of tenants to the newest version, at most parallel at a
// time, and calls report for each, one call at a time. A tenant whose migration fails does
// not stop the others: its error is stored for ReadVersions, and another call retries it.
// failed is the number of such tenants. Tenants that were deleted meanwhile are skipped.
// When ctx ends, the tenants that are not yet migrated are left as they are, and its error
// is returned.
//
// It checks no principal: it is for commands of an operator, not for requests.
func (s *Service) Migrate(ctx context.Context, tenants []tenant.ID, parallel int, report func(Migrated)) (failed int, err error) {
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(max(1, min(parallel, int(s.store.pool.Config().MaxConns)/2)))
	for _, id := range tenants {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			applied, err := s.migrate(ctx, id)
			if ctx.Err() != nil || fault.KindOf(err) == fault.NotFound && s.gone(ctx, id) {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed++
			}
			report(Migrated{id, applied, err})
			return nil
		})
	}
	_ = group.Wait() // its functions return no errors
	return failed, ctx.Err()
}

// migrate migrates one tenant and stores its error.
func (s *Service) migrate(ctx context.Context, id tenant.ID) (applied int, err error) {
	d, err := s.databaseOf(ctx, id)
	if err != nil {
		return 0, err
	}
	applied, err = d.migrator.Up(ctx, id.Schema())
	if err == nil && applied > 0 || ctx.Err() != nil {
		return applied, err
	}
	if err == nil { // the row was behind the schema
		var version int
		if version, err = d.migrator.Version(ctx, id.Schema()); err == nil {
			_, err = d.store.pool.Exec(ctx, `UPDATE ragd.tenants SET schema_version = $2, migration_error = NULL WHERE tenant_id = $1`, id, version)
			return 0, postgres.Fault(err)
		}
	}
	_, failed := d.store.pool.Exec(ctx, `UPDATE ragd.tenants SET migration_error = $2 WHERE tenant_id = $1`, id, err.Error())
	if failed != nil {
		s.log.WarnContext(ctx, "the error of a migration could not be stored", "tenant", id, "err", failed)
	}
	return applied, err
}

// gone reports whether there is no such tenant, or it is being deleted.
func (s *Service) gone(ctx context.Context, id tenant.ID) bool {
	row, err := tenant.Find(ctx, s.store.pool, id)
	return fault.KindOf(err) == fault.NotFound || err == nil && row.Status != tenant.StatusReady && row.Status != tenant.StatusDeleted
}

// CorrectVersions compares the recorded versions of all tenants with those in their schemas,
// which differ after a schema was restored or changed by another tool, and corrects them. It
// returns how many differed.
func (s *Service) CorrectVersions(ctx context.Context) (corrected int, err error) {
	err = s.eachDatabase(ctx, func(d *Database) error {
		n, err := correctVersions(ctx, d.store.admin)
		corrected += n
		return err
	})
	return corrected, err
}

// correctVersions is CorrectVersions for the tenants of one database.
func correctVersions(ctx context.Context, admin *pgxpool.Pool) (corrected int, err error) {
	var wrong []string
	var versions []int
	err = eachVersion(ctx, admin, func(v tenantVersion) {
		if v.Actual != nil && *v.Actual != v.Recorded {
			wrong, versions = append(wrong, string(v.Tenant)), append(versions, *v.Actual)
		}
	})
	if err != nil || len(wrong) == 0 {
		return 0, err
	}
	tag, err := admin.Exec(ctx, `
		UPDATE ragd.tenants AS t SET schema_version = v.version
		FROM unnest($1::text[], $2::int[]) AS v (tenant_id, version) WHERE t.tenant_id = v.tenant_id`, wrong, versions)
	return int(tag.RowsAffected()), postgres.Fault(err)
}

// tenantVersion is the version of one tenant.
type tenantVersion struct {
	Tenant   tenant.ID
	Recorded int
	Actual   *int // in the schema; nil if it cannot be read
	Dirty    bool
	Error    string // of the last migration, empty if it succeeded
}

// versionsAtOnce is the number of tenants whose versions one statement reads. It locks a
// table of each, and all tenants use the server's table of locks.
const versionsAtOnce = 200

// eachVersion calls do for each tenant that is ready, or will be when it is restored, ordered by id. The versions are those
// in the schemas' own tables, read by few statements. The pool's role should have the rights
// of the tenants' roles.
func eachVersion(ctx context.Context, pool *pgxpool.Pool, do func(tenantVersion)) error {
	for after, more := "", true; more; {
		found, err := readVersions(ctx, pool, after)
		if err != nil {
			return fmt.Errorf("read the versions of tenants: %w", postgres.Fault(err))
		}
		for _, v := range found {
			after = string(v.Tenant)
			do(v)
		}
		more = len(found) == versionsAtOnce
	}
	return nil
}

// readVersions returns the versions of the next tenants after one.
func readVersions(ctx context.Context, pool *pgxpool.Pool, after string) ([]tenantVersion, error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	rows, err := conn.Query(ctx, `
		WITH batch AS MATERIALIZED (
			SELECT t.tenant_id, t.schema_version, t.migration_error FROM ragd.tenants AS t
			WHERE `+tenant.HasSchema+` AND t.database_name = '' AND t.tenant_id > $1 ORDER BY t.tenant_id LIMIT $2
		), readable AS MATERIALIZED (
			SELECT batch.*, n.nspname, has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') AS may
			FROM batch LEFT JOIN pg_catalog.pg_namespace AS n ON n.nspname = 'tenant_' || batch.tenant_id
			LEFT JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid AND c.relname = 'schema_migrations'
		), raw AS (
			SELECT r.*, CASE WHEN r.may THEN
				query_to_xml(format('SELECT version, dirty FROM %I.schema_migrations', r.nspname), false, true, '')::text END AS actual
			FROM readable AS r
		)
		SELECT tenant_id, schema_version, substring(actual FROM '<version>(\d+)</version>')::int AS actual,
			coalesce(actual LIKE '%<dirty>true</dirty>%', false), coalesce(migration_error, '')
		FROM raw ORDER BY tenant_id`, after, versionsAtOnce)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[tenantVersion])
	for _, v := range found {
		postgres.Use(conn.Conn(), v.Tenant.Schema(), "")
	}
	return found, err
}

// Versions are the versions of the schemas of a database.
type Versions struct {
	// Service has the schemas of the service itself. Before the control schema, the first of
	// them, is at its newest version, nothing is known of the tenants.
	Service []SchemaVersion `json:"service"`
	// Newest is the newest version of a tenant's schema that this ragd has.
	Newest  int `json:"newest"`
	Tenants int `json:"tenants"`
	// Behind is the number of tenants below Newest.
	Behind int `json:"behind"`
	// ByVersion counts the tenants, by ascending version.
	ByVersion []VersionCount `json:"byVersion"`
	// Databases are the registered databases, ordered by name. Their tenants are counted above too.
	Databases []DatabaseVersion `json:"databases,omitempty"`
	// Failed are the tenants whose last migration failed, or that another tool left
	// dirty, ordered by id.
	Failed []FailedTenant `json:"failed"`
}

// DatabaseVersion is the version of the schemas of the service in a registered database.
type DatabaseVersion struct {
	Database string          `json:"database"`
	Service  []SchemaVersion `json:"service"`
	Problem  string          `json:"problem,omitempty"` // why it is not known
}

// And returns the versions of the first database with those of a registered one.
func (v Versions) And(database string, there Versions, err error) Versions {
	of := DatabaseVersion{Database: database, Service: there.Service}
	if err != nil {
		of.Problem = fault.Public(postgres.Fault(err))
	}
	v.Databases = append(v.Databases, of)
	v.Tenants, v.Behind, v.Failed = v.Tenants+there.Tenants, v.Behind+there.Behind, append(v.Failed, there.Failed...)
	for _, n := range there.ByVersion {
		if i := slices.IndexFunc(v.ByVersion, func(o VersionCount) bool { return o.Version == n.Version }); i >= 0 {
			v.ByVersion[i].Tenants += n.Tenants
		} else {
			v.ByVersion = append(v.ByVersion, n)
		}
	}
	slices.SortFunc(v.ByVersion, func(a, b VersionCount) int { return cmp.Compare(a.Version, b.Version) })
	slices.SortFunc(v.Failed, func(a, b FailedTenant) int { return cmp.Compare(a.Tenant, b.Tenant) })
	return v
}

// SchemaVersion is the version of a schema of the service, and the newest one that this
// ragd has.
type SchemaVersion struct {
	Schema  string `json:"schema"`
	Version int    `json:"version"`
	Newest  int    `json:"newest"`
}

// VersionCount is the number of tenants at one version.
type VersionCount struct {
	Version int `json:"version"`
	Tenants int `json:"tenants"`
}

// FailedTenant is a tenant that could not be migrated.
type FailedTenant struct {
	Tenant  tenant.ID `json:"tenant"`
	Version int       `json:"version"`
	Dirty   bool      `json:"dirty"`
	Error   string    `json:"error"`
}

// UpToDate reports whether nothing has to be migrated. A schema of a newer ragd counts as
// up to date.
func (v Versions) UpToDate() bool {
	behind := func(s SchemaVersion) bool { return s.Version < s.Newest }
	if slices.ContainsFunc(v.Service, behind) {
		return false
	}
	for _, d := range v.Databases {
		if d.Problem != "" || slices.ContainsFunc(d.Service, behind) {
			return false
		}
	}
	return v.Behind == 0 && len(v.Failed) == 0
}

// ReadVersions returns the versions of all schemas and changes nothing. The pool's role
// should have the rights of the tenants' roles, as the admin's has.
func ReadVersions(ctx context.Context, pool *pgxpool.Pool) (Versions, error) {
	v := Versions{Newest: migrations.Newest(migrations.Tenant()), ByVersion: []VersionCount{}, Failed: []FailedTenant{}}
	for _, schema := range serviceSchemas() {
		migrator, err := postgres.NewMigrator(ctx, pool, schema.files)
		if err != nil {
			return v, err
		}
		version, err := migrator.Version(ctx, schema.name)
		if err != nil {
			return v, err
		}
		v.Service = append(v.Service, SchemaVersion{schema.name, version, migrator.Newest()})
	}
	if control := v.Service[0]; control.Version < control.Newest {
		return v, nil
	}
	at := map[int]int{}
	err := eachVersion(ctx, pool, func(t tenantVersion) {
		version := t.Recorded
		if t.Actual != nil {
			version = *t.Actual
		}
		v.Tenants++
		at[version]++
		if version < v.Newest {
			v.Behind++
		}
		if t.Dirty || t.Error != "" && version < v.Newest {
			v.Failed = append(v.Failed, FailedTenant{t.Tenant, version, t.Dirty, t.Error})
		}
	})
	for version, n := range at {
		v.ByVersion = append(v.ByVersion, VersionCount{version, n})
	}
	slices.SortFunc(v.ByVersion, func(a, b VersionCount) int { return cmp.Compare(a.Version, b.Version) })
	return v, err
}

// Registers reports whether the control schema knows registered databases.
func (v Versions) Registers() bool { return v.Service[0].Version >= registersFrom }

// registersFrom is the version of the control schema with the table of registered databases.
const registersFrom = 12
