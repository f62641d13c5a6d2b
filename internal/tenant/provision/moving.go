package provision

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Unshared runs do while no other call on any instance creates, deletes, repairs or moves the tenant. conn is a
// connection to the first database, with the right to create and drop schemas and roles. Errors: Conflict if another
// call does so.
func (s *Service) Unshared(ctx context.Context, id tenant.ID, do func(conn *pgxpool.Conn) error) error {
	ran := false
	err := s.store.unlessLocked(ctx, id, func(conn *pgxpool.Conn) error {
		ran = true
		return do(conn)
	})
	if err == nil && !ran {
		return fault.New(fault.Conflict, "another call is changing the tenant %q", id)
	}
	return err
}

// DatabaseFor returns a database by the name that callers give it, if the tenant may move there. Errors: NotFound,
// Unavailable, Precondition for one that another tenant brought, and for a tenant in a database that it brought:
// whoever has that database says what is in it, and it would become statements elsewhere.
func (s *Service) DatabaseFor(ctx context.Context, name string, id tenant.ID) (*Database, error) {
	if s.others != nil {
		own, err := s.others.Own(ctx, id)
		if err != nil {
			return nil, err
		}
		if own {
			return nil, fault.New(fault.Precondition, "the tenant %q lives in a database that it brought, from which nothing is copied: export the tenant, and import the archive under another name", id)
		}
	}
	return s.choose(ctx, name, id)
}

// MakeRoom makes the role of a tenant and an empty schema of it in a database to which the tenant is moved. conn is one of
// Admin. row is the row of the tenant in the first database as JSON, of which the database gets a copy that says that
// the tenant is served elsewhere; nil in the first database, which has it. Errors: Precondition if there is a schema.
func (d *Database) MakeRoom(ctx context.Context, conn *pgxpool.Conn, id tenant.ID, elsewhere string, row json.RawMessage) error {
	r := d.store.roles
	err := withRole(ctx, conn, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, provisionedSQL, id.Schema())
		if err != nil {
			return err
		}
		has, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[provisioned])
		if err != nil {
			return err
		}
		if has.HasSchema {
			return fault.New(fault.Precondition, "the schema %s exists there already", id.Schema())
		}
		if _, err := tx.Exec(ctx, r.makeRole(id, has.HasRole)+`CREATE SCHEMA `+id.Quoted()+` AUTHORIZATION `+id.Quoted()+`;`+r.visibility(id)); err != nil {
			return err
		}
		if row == nil {
			return nil
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO ragd.tenants SELECT (jsonb_populate_record(NULL::ragd.tenants, $1::jsonb || jsonb_build_object('status', 'importing', 'database_name', $2::text))).*`, row, elsewhere)
		return err
	})
	if err != nil {
		return fmt.Errorf("make the role and the schema of tenant %s: %w", id, d.site.Fault(err))
	}
	return nil
}
