package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Import is the progress of the import of a tenant that has not ended. Nothing but the import and
// a deletion uses the tenant.
type Import struct {
	TenantID  tenant.ID
	Database  string `db:"-"` // in which it is stored: tenant.FirstDatabase or a registered one
	Frames    int64  // of the archive that are stored
	Chain     []byte // checksum of these
	State     json.RawMessage
	CreatedAt time.Time
	UpdatedAt time.Time
}

const importColumns = `i.tenant_id, i.frames, i.chain, i.state, i.created_at, i.updated_at`

// BeginImport makes a tenant that is being imported, with a role and an empty schema at the newest version, in
// the database, which may be empty as for CreateIn. Errors: NotFound for the database; Exists, also while the
// tenant is being imported; Precondition while it is being deleted, or if its schema is there without it;
// Exhausted without space on the disk.
func (s *Service) BeginImport(ctx context.Context, database, name string, begun Import) (Import, error) {
	if _, err := access.RequireScope(ctx, access.Operator); err != nil {
		return Import{}, err
	}
	id, err := tenant.ParseID(name)
	if err != nil {
		return Import{}, err
	}
	if err := s.storage.Disk(); err != nil {
		return Import{}, err
	}
	d, err := s.choose(ctx, database, id)
	if err != nil {
		return Import{}, err
	}
	begun.TenantID, begun.Database = id, d.Title()
	err = s.store.locked(ctx, id, func(conn *pgxpool.Conn) error {
		if d.Name == "" {
			return d.beginImport(ctx, conn, begun)
		}
		return s.beginImportIn(ctx, conn, d, begun)
	})
	if err != nil {
		return Import{}, fmt.Errorf("begin the import of the tenant %s: %w", id, err)
	}
	return begun, nil
}

// beginImportIn is beginImport in another database than the first, to which conn is a connection.
func (s *Service) beginImportIn(ctx context.Context, conn *pgxpool.Conn, d *Database, begun Import) error {
	row, err := tenant.Find(ctx, conn, begun.TenantID)
	if err == nil {
		if err := importable(row, provisioned{}); err != nil {
			return err
		}
	}
	if _, err := place(ctx, conn, d.Name, Tenant{TenantID: begun.TenantID, Settings: map[string]any{}}); err != nil {
		return err
	}
	err = d.store.locked(ctx, begun.TenantID, func(there *pgxpool.Conn) error { return d.beginImport(ctx, there, begun) })
	if err != nil {
		return d.site.Fault(err)
	}
	_, err = conn.Exec(ctx, `UPDATE ragd.tenants SET status = 'importing', schema_version = $2 WHERE tenant_id = $1`, begun.TenantID, d.migrator.Newest())
	return postgres.Fault(err)
}

// beginImport makes the tenant of an import in the database.
func (d *Database) beginImport(ctx context.Context, conn *pgxpool.Conn, begun Import) error {
	id, r := begun.TenantID, d.store.roles
	made, err := r.prepare(ctx, conn, id)
	if err != nil {
		return err
	}
	return withRole(ctx, conn, func(tx pgx.Tx) error {
		row, has, err := insertTenant(ctx, tx, id, "", map[string]any{})
		if err != nil {
			return err
		}
		has.HasSchema = has.HasSchema && !made
		if err := importable(row, has); err != nil {
			return err
		}
		sql := r.rolesSQL(id, has.HasRole) + r.schemaSQL(id, d.migrator) + r.visibility(id)
		if _, err := tx.Exec(ctx, sql); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE ragd.tenants SET status = 'importing', schema_version = $2 WHERE tenant_id = $1`, id, d.migrator.Newest())
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO ragd.imports (tenant_id, frames, chain, state) VALUES ($1, $2, $3, $4)`, id, begun.Frames, begun.Chain, begun.State)
		return err
	})
}

// importable returns an error unless the row of a tenant was just made and it had no schema.
func importable(row tenant.Record, has provisioned) error {
	switch id := row.TenantID; {
	case row.Status == tenant.StatusDeleting:
		return fault.New(fault.Precondition, "tenant %q is being deleted: delete it again to wait for the end of that, then import it", id)
	case row.Status == tenant.StatusImporting:
		return fault.New(fault.Exists, "tenant %q is being imported already: go on with that import, or delete the tenant to begin anew", id)
	case row.Status == tenant.StatusCreating && has.HasSchema:
		return fault.New(fault.Precondition, "the schema %s exists without its tenant: create the tenant to use it, or delete it", id.Schema())
	case row.Status == tenant.StatusDeleted:
		return occupied(row)
	case row.Status != tenant.StatusCreating:
		return fault.New(fault.Exists, "tenant %q exists already: import the archive under another name, or delete the tenant first", id)
	}
	return nil
}

// Importing returns the progress of the import of a tenant. Errors: NotFound, also when the import has ended.
func (s *Service) Importing(ctx context.Context, name string) (Import, error) {
	if _, err := access.RequireScope(ctx, access.Operator); err != nil {
		return Import{}, err
	}
	id, err := tenant.ParseID(name)
	if err != nil {
		return Import{}, err
	}
	d, err := s.databaseOf(ctx, id)
	if err != nil {
		return Import{}, err
	}
	rows, _ := d.store.pool.Query(ctx, `
		SELECT `+importColumns+` FROM ragd.imports AS i JOIN ragd.tenants AS t USING (tenant_id) WHERE i.tenant_id = $1 AND t.status = 'importing'`, id)
	found, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[Import])
	if errors.Is(err, pgx.ErrNoRows) {
		if err := s.publish(ctx, d, id); err != nil { // a call that ended the import may have been interrupted
			return Import{}, err
		}
		return Import{}, fault.New(fault.NotFound, "no import of a tenant %q is under way", id)
	}
	found.Database = d.Title()
	return found, d.site.Fault(err)
}

// Advance stores the progress of the import of the transaction's tenant, which was at the given
// frame and checksum. Two imports of one tenant cannot both advance it. Errors: Conflict when it was
// not there, or is no longer.
func Advance(ctx context.Context, t *data.Tx, from, to Import) error {
	return t.AsService(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE ragd.imports AS i SET frames = $4, chain = $5, state = $6, updated_at = now() FROM ragd.tenants AS t
			WHERE i.tenant_id = $1 AND i.frames = $2 AND i.chain = $3 AND t.tenant_id = $1 AND t.status IN ('importing', 'waking')`,
			t.Tenant(), from.Frames, from.Chain, to.Frames, to.Chain, to.State)
		if err == nil && tag.RowsAffected() == 0 {
			return fault.New(fault.Conflict, "another call goes on with the import of tenant %q, or it was deleted: ask how far the import is before you go on", t.Tenant())
		}
		return err
	})
}

// Imported is what the row of an imported tenant gets from the archive.
type Imported struct {
	DisplayName      string
	Settings         map[string]any
	VectorStoreNames []string
	CreatedAt        *time.Time // nil for the present time
}

// check validates what an archive says. Errors: Invalid.
func (i Imported) check() error {
	if err := checkTenant(i.DisplayName, i.Settings); err != nil {
		return err
	}
	if len(i.VectorStoreNames) > tenant.MaxStores {
		return fault.Field("vectorStoreNames", "must be at most %d, got %d", tenant.MaxStores, len(i.VectorStoreNames))
	}
	for _, name := range i.VectorStoreNames {
		if err := tenant.CheckStore("vectorStoreNames", name); err != nil {
			return err
		}
	}
	return nil
}

// EndImport ends the import of the transaction's tenant: when the transaction commits, the tenant
// is there. Call Ready after that. Errors: Conflict when the import is no longer under way.
func EndImport(ctx context.Context, t *data.Tx, has Imported) error {
	if err := has.check(); err != nil {
		return err
	}
	return t.AsService(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `DELETE FROM ragd.imports WHERE tenant_id = $1`, t.Tenant())
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return fault.New(fault.Conflict, "another call has ended the import of tenant %q", t.Tenant())
		}
		settings, names := has.Settings, has.VectorStoreNames
		if settings == nil {
			settings = map[string]any{}
		}
		if names == nil {
			names = []string{}
		}
		tag, err = tx.Exec(ctx, `
			UPDATE ragd.tenants SET status = 'ready', display_name = $2, settings = $3, vector_store_names = $4, created_at = coalesce($5, now()), updated_at = now()
			WHERE tenant_id = $1 AND status = 'importing'`, t.Tenant(), has.DisplayName, settings, names, has.CreatedAt)
		if err == nil && tag.RowsAffected() == 0 {
			return fault.New(fault.Conflict, "tenant %q was deleted while it was imported", t.Tenant())
		}
		return err
	})
}

// Ready lets this instance know a tenant whose import has ended, and returns the tenant.
func (s *Service) Ready(ctx context.Context, id tenant.ID) (Tenant, error) {
	d, err := s.databaseOf(ctx, id)
	if err != nil {
		return Tenant{}, err
	}
	if err := s.publish(ctx, d, id); err != nil {
		return Tenant{}, err
	}
	s.changed()
	return s.tenant(ctx, id)
}
