package data

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	// dropIndexes is how many Postgres indexes one transaction drops at most.
	dropIndexes = 16
	// maxConflicts is how often the transactions of one table may deadlock with users of
	// the table and are tried again.
	maxConflicts = 10
)

// DropTables drops tables of the tenant's schema, those of them that exist. A transaction
// locks one table and few of its Postgres indexes, because the lock table of the server is
// small and all tenants use it. If DropTables is interrupted, a repeated call drops the
// rest. Statements of the service that use a table are cancelled if they take longer than
// overtakeDelay.
func (h *Handle) DropTables(ctx context.Context, tables ...string) error {
	return h.placed(ctx, func(h *Handle) (begun bool, err error) {
		release, err := h.acquire(ctx)
		if err != nil {
			return false, err
		}
		defer release()
		return false, h.dropTables(ctx, h.site.Pool, tables)
	})
}

// dropTables is DropTables on a connection that the caller has.
func (h *Handle) dropTables(ctx context.Context, on beginner, tables []string) error {
	for _, table := range tables {
		for more, conflicts := true, 0; more; {
			var err error
			more, err = h.dropSome(ctx, on, table)
			if fault.KindOf(err) == fault.Conflict && conflicts < maxConflicts {
				more, conflicts = true, conflicts+1
			} else if err != nil {
				return fmt.Errorf("drop table %s: %w", table, err)
			}
		}
	}
	return nil
}

// dropSome drops dropIndexes of the Postgres indexes of a table, or the table if it has no
// more than that. It reports whether the table is still there.
func (h *Handle) dropSome(ctx context.Context, on beginner, table string) (more bool, err error) {
	quoted := pgx.Identifier{h.id.Schema(), table}.Sanitize()
	err = h.overtaking(ctx, on, anyStatement, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT x.indexrelid::regclass::text FROM pg_catalog.pg_index AS x
			WHERE x.indrelid = to_regclass($1)
				AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint AS c WHERE c.conindid = x.indexrelid)
			ORDER BY x.indexrelid LIMIT $2`, quoted, dropIndexes+1)
		if err != nil {
			return err
		}
		indexes, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		if more = len(indexes) > dropIndexes; more {
			return h.dropIndexes(ctx, tx, indexes[:dropIndexes])
		}
		_, err = tx.Exec(ctx, `DROP TABLE IF EXISTS `+quoted+` CASCADE`) // foreign keys of other tables may refer to it
		return err
	})
	return more, err
}

// dropIndexes drops Postgres indexes. Citus takes one in a statement.
func (h *Handle) dropIndexes(ctx context.Context, tx pgx.Tx, indexes []string) error {
	if !h.site.distributed {
		indexes = []string{strings.Join(indexes, ", ")}
	}
	for _, list := range indexes {
		if _, err := tx.Exec(ctx, `DROP INDEX IF EXISTS `+list); err != nil {
			return err
		}
	}
	return nil
}

// listTables is how many tables dropSchema lists at a time.
const listTables = 1000

// DropSchema drops the schema of a tenant with everything in it, on a connection whose role may do so. If
// it is interrupted, a repeated call drops the rest.
func (s *Site) DropSchema(ctx context.Context, on *pgxpool.Conn, id tenant.ID) error {
	return (&DB{first: s}).Handle(id).dropSchema(ctx, on)
}

// dropSchema drops the schema of the tenant with everything in it: its tables one by one,
// then the schema with its functions and types, whose number does not grow with data. The
// oldest tables go first; these are the ones that every request reads, so that requests
// in flight end. If it is interrupted, a repeated call drops the rest.
func (h *Handle) dropSchema(ctx context.Context, on *pgxpool.Conn) error {
	for {
		rows, err := on.Query(ctx, `
			SELECT c.relname::text FROM pg_catalog.pg_class AS c
			WHERE c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname = $1) AND c.relkind = 'r'
			ORDER BY c.oid LIMIT $2`, h.id.Schema(), listTables)
		if err != nil {
			return postgres.Fault(err)
		}
		tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return postgres.Fault(err)
		}
		if len(tables) == 0 {
			break
		}
		if err := h.dropTables(ctx, on, tables); err != nil {
			return err
		}
	}
	return h.overtaking(ctx, on, anyStatement, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `DROP SCHEMA IF EXISTS `+h.schema+` CASCADE`)
		return err
	})
}
