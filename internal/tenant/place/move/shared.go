package move

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// sharedTable is a table with rows of all tenants.
type sharedTable struct {
	Name    string
	Columns []string // without tenant_id and generated ones
	Key     []string // of the primary key, without tenant_id
	Refers  []string // names of the tables that it refers to
}

// Tables with rows of all tenants that are copied after the others, in this order. While there are neither hooks nor
// watchers, the triggers of the others write no events.
const (
	eventsTable     = "events"
	watchersTable   = "event_watchers"
	hooksTable      = "hooks"
	deliveriesTable = "hook_deliveries"
)

var copiedLast = []string{eventsTable, watchersTable, hooksTable, deliveriesTable}

const sharedSQL = `
	SELECT c.relname::text AS name,
		ARRAY(SELECT a.attname::text FROM pg_catalog.pg_attribute AS a
			WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attname <> 'tenant_id' ORDER BY a.attnum) AS columns,
		ARRAY(SELECT a.attname::text FROM pg_catalog.pg_constraint AS k CROSS JOIN unnest(k.conkey) WITH ORDINALITY AS p (attnum, n)
			JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = p.attnum
			WHERE k.conrelid = c.oid AND k.contype = 'p' AND a.attname <> 'tenant_id' ORDER BY p.n) AS key,
		ARRAY(SELECT f.relname::text FROM pg_catalog.pg_constraint AS k JOIN pg_catalog.pg_class AS f ON f.oid = k.confrelid
			WHERE k.conrelid = c.oid AND k.contype = 'f' AND f.relnamespace = c.relnamespace AND f.oid <> c.oid) AS refers
	FROM pg_catalog.pg_class AS c
	WHERE c.relnamespace = '` + tenant.SharedSchema + `'::regnamespace AND c.relkind = 'r' AND c.relrowsecurity AND c.relname <> 'stopped_tenants'`

// sharedTables returns the tables with rows of all tenants, each after those that it refers to.
func sharedTables(ctx context.Context, on queryer) ([]sharedTable, error) {
	found, err := collect[sharedTable](ctx, on, sharedSQL)
	if err != nil {
		return nil, fmt.Errorf("list the tables of the schema %s: %w", tenant.SharedSchema, err)
	}
	slices.SortFunc(found, func(a, b sharedTable) int {
		if last := slices.Index(copiedLast, a.Name) - slices.Index(copiedLast, b.Name); last != 0 {
			return last
		}
		return strings.Compare(a.Name, b.Name)
	})
	var ordered []sharedTable
	done := func(name string) bool {
		return slices.ContainsFunc(ordered, func(t sharedTable) bool { return t.Name == name })
	}
	for len(ordered) < len(found) {
		before := len(ordered)
		for _, t := range found {
			if !done(t.Name) && !slices.ContainsFunc(t.Refers, func(name string) bool { return !done(name) }) {
				ordered = append(ordered, t)
				break
			}
		}
		if len(ordered) == before {
			return nil, fault.New(fault.Internal, "tables of the schema %s refer to each other in a circle", tenant.SharedSchema)
		}
	}
	return ordered, nil
}

func (t sharedTable) relation() string {
	return pgx.Identifier{tenant.SharedSchema, t.Name}.Sanitize()
}

// quoteAll returns a list of names for a statement, each after a prefix.
func quoteAll(prefix string, names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = prefix + pgx.Identifier{name}.Sanitize()
	}
	return strings.Join(quoted, ", ")
}

// numbered are the columns of events and of what refers to them whose values belong to a database: the
// transaction that wrote the event, and a number of the table.
var numbered = []string{"xid", "number"}

// carried returns the columns that are copied as they are.
func (t sharedTable) carried() []string {
	if t.Name != eventsTable && t.Name != deliveriesTable {
		return t.Columns
	}
	return slices.DeleteFunc(slices.Clone(t.Columns), func(name string) bool { return slices.Contains(numbered, name) })
}

// rankedEvents are the events of the tenant with the numbers that they get in another database: negative ones, in the
// same order, so that new events come after them.
const rankedEvents = `(SELECT r.*, row_number() OVER (ORDER BY r.xid, r.number) - 1 - count(*) OVER () AS moved FROM ragd_shared.events AS r)`

// query returns the statement that reads the rows of the tenant as whose role it runs. Those of events and of what refers
// to them end with the number that the event gets.
func (t sharedTable) query() string {
	sql := `SELECT ` + quoteAll("t.", t.carried())
	switch t.Name {
	case eventsTable:
		return sql + `, t.moved FROM ` + rankedEvents + ` AS t ORDER BY t.moved`
	case deliveriesTable:
		return sql + `, e.moved FROM ` + t.relation() + ` AS t JOIN ` + rankedEvents + ` AS e ON e.xid = t.xid AND e.number = t.number`
	}
	return sql + ` FROM ` + t.relation() + ` AS t`
}

// insert returns the statement that inserts such a row.
func (t sharedTable) insert() string {
	columns := t.carried()
	values := make([]string, len(columns))
	for i := range values {
		values[i] = "$" + strconv.Itoa(i+1)
	}
	if t.Name == eventsTable || t.Name == deliveriesTable {
		columns, values = append(columns, "number", "xid"), append(values, "$"+strconv.Itoa(len(values)+1), "pg_current_xact_id()")
	}
	return `INSERT INTO ` + t.relation() + ` (` + quoteAll("", columns) + `) OVERRIDING SYSTEM VALUE VALUES (` + strings.Join(values, ", ") + `)`
}

// shared copies the tenant's rows of the tables with rows of all tenants. Writes have stopped.
func (c *copying) shared(ctx context.Context) error {
	tables, err := sharedTables(ctx, c.source)
	if err != nil {
		return err
	}
	err = c.asTenant(ctx, c.source, readSnapshot, func(from pgx.Tx) error {
		return c.asTenant(ctx, c.target, "BEGIN", func(to pgx.Tx) error {
			for _, t := range tables {
				if err := c.sharedRows(ctx, from, to, t); err != nil {
					return fmt.Errorf("copy the rows of %s: %w", t.Name, err)
				}
			}
			return c.forgetNewEvents(ctx, to)
		})
	})
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := c.compare(ctx, "the rows of "+t.Name, t.query()); err != nil {
			return err
		}
	}
	return nil
}

// insertTogether is how many rows are sent before the results are read.
const insertTogether = 200

// sharedRows copies the tenant's rows of one table. PostgreSQL refuses to COPY into it.
func (c *copying) sharedRows(ctx context.Context, from, to pgx.Tx, t sharedTable) error {
	conn := to.Conn().PgConn()
	prepared, err := conn.Prepare(ctx, "", t.insert(), nil)
	if err != nil {
		return err
	}
	formats := make([]int16, len(prepared.ParamOIDs))
	for i := range formats {
		formats[i] = pgx.BinaryFormatCode
	}
	batch, waiting := &pgconn.Batch{}, 0
	send := func() error {
		if waiting == 0 {
			return nil
		}
		results, err := conn.ExecBatch(ctx, batch).ReadAll()
		for _, r := range results {
			c.rows += r.CommandTag.RowsAffected()
		}
		batch, waiting = &pgconn.Batch{}, 0
		return err
	}
	rows := &reader{each: func(row []byte) error {
		c.bytes += int64(len(row))
		batch.ExecPrepared("", fields(row), formats, nil)
		if waiting++; waiting < insertTogether {
			return nil
		}
		return send()
	}}
	if _, err := from.Conn().PgConn().CopyTo(ctx, rows, `COPY (`+t.query()+`) TO STDOUT (FORMAT binary)`); err != nil {
		return err
	}
	return send()
}

// forgetNewEvents deletes the events that the copy itself has caused in the target.
func (c *copying) forgetNewEvents(ctx context.Context, to pgx.Tx) error {
	_, err := to.Exec(ctx, `DELETE FROM ragd_shared.events AS e WHERE e.number > 0`)
	return err
}

// Conditions of the tenant's rows of tables of the control schema that belong to a database. Its own id is $1.
const (
	ownRows  = `t.tenant_id = $1`
	ownTasks = `t.args ->> 'tenant' = $1 AND t.kind <> '` + string(job.Move) + `' AND t.state IN ('available', 'pending', 'retryable', 'running', 'scheduled')`
)

// waitingTasks are ownTasks that do not run.
const waitingTasks = ownTasks + ` AND t.state <> 'running'`

// holdSQL returns the statement that moves the rows t of a table for which a condition holds to moved_work.
func holdSQL(table, where string) string {
	return `WITH held AS (DELETE FROM ragd.` + table + ` AS t WHERE ` + where + ` RETURNING to_jsonb(t) AS content)
		INSERT INTO ragd.moved_work (tenant_id, relation, content) SELECT $1, '` + table + `', held.content FROM held`
}

// work takes the documents that wait for ingest and the tasks of the tenant out of their tables in the source, and gives them
// to the target, where they wait until the tenant lives there. What is in work stays, and the target has it too:
// whoever works on it finds its writes refused.
func (c *copying) work(ctx context.Context) error {
	for _, sql := range []string{
		holdSQL("backlog", ownRows+` AND t.claimed_by IS NULL`), holdSQL("river_job", waitingTasks),
	} {
		if _, err := c.source.Exec(ctx, sql, string(c.id)); err != nil {
			return fmt.Errorf("hold the work of the tenant: %w", err)
		}
	}
	query := strings.ReplaceAll(`
		SELECT t.tenant_id, t.relation, t.content FROM ragd.moved_work AS t WHERE `+ownRows+`
		UNION ALL SELECT t.tenant_id, 'backlog', to_jsonb(t) FROM ragd.backlog AS t WHERE `+ownRows+`
		UNION ALL SELECT t.tenant_id, 'event_tenants', to_jsonb(t) FROM ragd.event_tenants AS t WHERE `+ownRows+`
		UNION ALL SELECT $1, 'river_job', to_jsonb(t) FROM ragd.river_job AS t WHERE `+ownTasks, "$1", quoteText(string(c.id)))
	return pgx.BeginTxFunc(ctx, c.source, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(from pgx.Tx) error {
		return pgx.BeginFunc(ctx, c.target, func(to pgx.Tx) error {
			return c.rowsOf(ctx, from, to, query, `ragd.moved_work (tenant_id, relation, content)`)
		})
	})
}

// Hold takes the work of a tenant that was deleted out of its tables: the documents that wait for ingest, the tasks that do not run, and
// its events. Tasks that run find the tenant deleted, and wait. Release puts it back.
func Hold(ctx context.Context, tx pgx.Tx, id tenant.ID) error {
	for _, sql := range []string{holdSQL("backlog", ownRows), holdSQL("event_tenants", ownRows), holdSQL("river_job", waitingTasks)} {
		if _, err := tx.Exec(ctx, sql, string(id)); err != nil {
			return fmt.Errorf("hold the work of a tenant: %w", err)
		}
	}
	return nil
}

// release is Release in a transaction of its own.
func release(ctx context.Context, on *pgxpool.Conn, id tenant.ID) error {
	return pgx.BeginFunc(ctx, on, func(tx pgx.Tx) error { return Release(ctx, tx, id) })
}

// Release puts the work of a tenant back into its tables, in the database that serves the tenant.
func Release(ctx context.Context, tx pgx.Tx, id tenant.ID) error {
	columns, err := collectValues[string](ctx, tx, `
		SELECT a.attname::text FROM pg_catalog.pg_attribute AS a
		WHERE a.attrelid = 'ragd.river_job'::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attname <> 'id' ORDER BY a.attnum`)
	if err != nil {
		return err
	}
	for _, sql := range []string{
		`INSERT INTO ragd.backlog SELECT r.* FROM ragd.moved_work AS t
			CROSS JOIN LATERAL jsonb_populate_record(NULL::ragd.backlog, t.content || '{"claimed_by": null}') AS r
			WHERE ` + ownRows + ` AND t.relation = 'backlog' ON CONFLICT DO NOTHING`,
		`INSERT INTO ragd.event_tenants SELECT r.* FROM ragd.moved_work AS t
			CROSS JOIN LATERAL jsonb_populate_record(NULL::ragd.event_tenants, t.content) AS r
			WHERE ` + ownRows + ` AND t.relation = 'event_tenants' ON CONFLICT DO NOTHING`,
		`INSERT INTO ragd.river_job (` + quoteAll("", columns) + `) SELECT ` + quoteAll("r.", columns) + ` FROM ragd.moved_work AS t
			CROSS JOIN LATERAL jsonb_populate_record(NULL::ragd.river_job,
				t.content || CASE t.content ->> 'state' WHEN 'running' THEN '{"state": "available"}'::jsonb ELSE '{}' END) AS r
			WHERE ` + ownRows + ` AND t.relation = 'river_job' ON CONFLICT DO NOTHING`,
		`DELETE FROM ragd.moved_work AS t WHERE ` + ownRows,
	} {
		if _, err := tx.Exec(ctx, sql, string(id)); err != nil {
			return fmt.Errorf("let the work of the tenant go on: %w", err)
		}
	}
	return nil
}

// removeWork deletes the documents that wait for ingest and the tasks of a tenant in a database that does not serve it.
func removeWork(ctx context.Context, on queryExecer, id tenant.ID) error {
	for _, sql := range []string{
		`DELETE FROM ragd.backlog AS t WHERE ` + ownRows,
		`DELETE FROM ragd.event_tenants AS t WHERE ` + ownRows,
		`DELETE FROM ragd.river_job AS t WHERE ` + ownTasks,
		`DELETE FROM ragd.moved_work AS t WHERE ` + ownRows,
	} {
		if _, err := on.Exec(ctx, sql, string(id)); err != nil {
			return fmt.Errorf("remove the work of a tenant: %w", err)
		}
	}
	return nil
}

// queryExecer runs statements: a connection or a transaction.
type queryExecer interface {
	queryer
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// removeCopy deletes what a database that does not serve a tenant has of it: its schema, the kept one, its rows of
// tables with rows of all tenants, its work, and in a registered database its row.
func removeCopy(ctx context.Context, on queryExecer, id tenant.ID, first bool) error {
	for _, schema := range []string{id.Schema(), leftSchema(id)} {
		if err := dropSchema(ctx, on, schema); err != nil {
			return fmt.Errorf("drop the schema %s: %w", schema, err)
		}
	}
	if err := removeWork(ctx, on, id); err != nil {
		return err
	}
	tables, err := sharedTables(ctx, on)
	if err != nil {
		return err
	}
	for _, t := range slices.Backward(tables) {
		if _, err := on.Exec(ctx, `DELETE FROM `+t.relation()+` WHERE tenant_id = $1`, id); err != nil {
			return fmt.Errorf("delete the rows of %s: %w", t.Name, err)
		}
	}
	if _, err := on.Exec(ctx, `DELETE FROM ragd_shared.stopped_tenants WHERE tenant_id = $1`, id); err != nil {
		return err
	}
	if !first {
		if _, err := on.Exec(ctx, `DELETE FROM ragd.tenants WHERE tenant_id = $1`, id); err != nil {
			return fmt.Errorf("delete the row of the tenant: %w", err)
		}
	}
	return nil
}

// leftSchema is the name that the schema of a tenant gets when the tenant has left the database.
func leftSchema(id tenant.ID) string { return "left_" + id.Schema() }

// dropSchema drops a schema, if it is there, table by table: the lock table of the server is small.
func dropSchema(ctx context.Context, on queryExecer, schema string) error {
	tables, err := collectValues[string](ctx, on, `
		SELECT format('%I.%I', n.nspname, c.relname) FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relkind = 'r' ORDER BY c.oid`, schema)
	if err != nil {
		return err
	}
	for _, name := range tables {
		if _, err := on.Exec(ctx, `DROP TABLE IF EXISTS `+name+` CASCADE`); err != nil { // foreign keys of other tables may refer to it
			return err
		}
	}
	_, err = on.Exec(ctx, `DROP SCHEMA IF EXISTS `+pgx.Identifier{schema}.Sanitize()+` CASCADE`)
	return err
}
