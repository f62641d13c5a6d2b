package move

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/postgres"
)

// watch lets the source note what changes from now on, and refuse writes once they are stopped.
func (c *copying) watch(ctx context.Context) error {
	err := c.asTenant(ctx, c.source, "BEGIN", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `CREATE TABLE `+c.keys()+` (relation text COLLATE "C" NOT NULL, key jsonb)`)
		return err
	})
	if err != nil {
		return fmt.Errorf("make the table of changed keys: %w", err)
	}
	d, err := describe(ctx, c.source, c.id.Schema())
	if err != nil {
		return err
	}
	for _, t := range d.tables {
		if err := c.watchTable(ctx, d.name(t), t); err != nil {
			return fmt.Errorf("watch the table %s: %w", t.Name, err)
		}
		c.logged = append(c.logged, t.OID)
	}
	return nil
}

func (c *copying) keys() string { return c.schema() + "." + keysTable }

// watchTable makes the triggers of a table that watch needs.
func (c *copying) watchTable(ctx context.Context, name string, t table) error {
	sql := stopTrigger(name)
	if len(t.Key) > 0 {
		key := make([]string, len(t.Key))
		for i, column := range t.Key {
			key[i] = "c." + column
		}
		call := ` FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.record_keys(` + quoteText(strings.Join(key, ", ")) + `);`
		sql += `CREATE TRIGGER ` + triggerPrefix + `insert AFTER INSERT ON ` + name + ` REFERENCING NEW TABLE AS changed` + call +
			`CREATE TRIGGER ` + triggerPrefix + `update AFTER UPDATE ON ` + name + ` REFERENCING OLD TABLE AS before NEW TABLE AS changed` + call +
			`CREATE TRIGGER ` + triggerPrefix + `delete AFTER DELETE ON ` + name + ` REFERENCING OLD TABLE AS changed` + call +
			`CREATE TRIGGER ` + triggerPrefix + `truncate AFTER TRUNCATE ON ` + name + call
	}
	return c.patiently(ctx, c.source, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
		return err
	})
}

// stopTrigger returns the statement that makes the trigger of a table that refuses writes once they are stopped.
func stopTrigger(name string) string {
	return `CREATE TRIGGER ` + triggerPrefix + `stop BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON ` + name + `
		FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();`
}

// refuseWrites makes the trigger of a table that refuses writes once they are stopped, and waits for those under way.
func (c *copying) refuseWrites(ctx context.Context, name string) error {
	return c.patiently(ctx, c.source, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, stopTrigger(name), pgx.QueryExecModeSimpleProtocol)
		return err
	})
}

// unwatch removes what watch and stop made, so that the tenant's writes go on in the source.
func unwatch(ctx context.Context, c *copying) error {
	if _, err := c.source.Exec(ctx, `DELETE FROM ragd_shared.stopped_tenants WHERE tenant_id = $1`, c.id); err != nil {
		return err
	}
	if _, err := c.source.Exec(ctx, `UPDATE ragd.tenants SET database_name = '' WHERE tenant_id = $1 AND database_name <> '' AND $2`, c.id, c.from.Name != ""); err != nil {
		return err
	}
	if err := release(ctx, c.source, c.id); err != nil {
		return err
	}
	type trigger struct{ Relation, Name string }
	found, err := collect[trigger](ctx, c.source, `
		SELECT c.relname::text AS relation, quote_ident(g.tgname) AS name FROM pg_catalog.pg_trigger AS g JOIN pg_catalog.pg_class AS c ON c.oid = g.tgrelid
		WHERE c.relnamespace = to_regnamespace($1) AND NOT g.tgisinternal AND starts_with(g.tgname, '`+triggerPrefix+`') ORDER BY 1, 2`, c.schema())
	if err != nil {
		return err
	}
	for _, t := range found {
		err := c.patiently(ctx, c.source, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `DROP TRIGGER IF EXISTS `+t.Name+` ON `+pgx.Identifier{c.id.Schema(), t.Relation}.Sanitize())
			return err
		})
		if err != nil && postgres.Code(err) != postgres.CodeUndefinedTable {
			return fmt.Errorf("remove a trigger of the table %s: %w", t.Relation, err)
		}
	}
	return c.patiently(ctx, c.source, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `DROP TABLE IF EXISTS `+c.keys()+`; GRANT CREATE ON SCHEMA `+c.schema()+` TO `+c.schema(), pgx.QueryExecModeSimpleProtocol)
		return err
	})
}

// stop stops the writes of the tenant in the source and waits for those under way.
func (c *copying) stop(ctx context.Context) error {
	if _, err := c.source.Exec(ctx, `INSERT INTO ragd_shared.stopped_tenants (tenant_id) VALUES ($1) ON CONFLICT DO NOTHING`, c.id); err != nil {
		return fmt.Errorf("stop writes: %w", err)
	}
	return c.patiently(ctx, c.source, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `REVOKE CREATE ON SCHEMA `+c.schema()+` FROM `+c.schema()); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, c.id.Schema()+"/writes")
		return err
	})
}
