package move

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/index/analyzer"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

const (
	// lockTimeout is how long a statement waits for the lock of a table: the tenant's statements wait behind it.
	lockTimeout = 2 * time.Second
	// lockAttempts is how often a statement is tried that does not get its lock.
	lockAttempts = 30
	// buildMemory is the memory of PostgreSQL for a Postgres index that is built on copied rows.
	buildMemory = "256MB"
)

// copying is the copy of one tenant under way.
type copying struct {
	id     tenant.ID
	from   *provision.Database
	to     *provision.Database
	source *pgxpool.Conn
	target *pgxpool.Conn
	report func(ctx context.Context, step string, rows, bytes int64) error

	was    description // what was copied while the tenant was used
	logged []uint32    // tables whose changed keys are noted, by OID
	rows   int64
	bytes  int64
}

func (c *copying) schema() string { return pgx.Identifier{c.id.Schema()}.Sanitize() }

// checkTarget returns an error if the target lacks what the tenant's tables need. Errors: Precondition.
func (c *copying) checkTarget(ctx context.Context) error {
	const version = `SELECT coalesce((SELECT e.extversion::text FROM pg_catalog.pg_extension AS e WHERE e.extname = 'vector'), '')`
	var needs, has string
	if err := c.source.QueryRow(ctx, version).Scan(&needs); err != nil {
		return postgres.Fault(err)
	}
	if err := c.target.QueryRow(ctx, version).Scan(&has); err != nil {
		return postgres.Fault(err)
	}
	if has == "" {
		return fault.New(fault.Precondition, "the database %s lacks the extension vector: run CREATE EXTENSION vector there, with version %s or newer", c.to.Title(), needs)
	}
	missing, err := collectValues[string](ctx, c.source, `
		SELECT DISTINCT i.text_language FROM `+c.schema()+`.indexes AS i ORDER BY 1`)
	if err != nil {
		return postgres.Fault(err)
	}
	for _, language := range missing {
		if analyzer.Knows(language) {
			continue
		}
		var there bool
		if err := c.target.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_ts_config AS t WHERE t.cfgname = $1)`, language).Scan(&there); err != nil {
			return postgres.Fault(err)
		}
		if !there {
			return fault.New(fault.Precondition, "the database %s lacks the text search configuration %q, which an index of the tenant uses: add it there", c.to.Title(), language)
		}
	}
	return nil
}

// asTenant runs do in a transaction with the role of the tenant.
func (c *copying) asTenant(ctx context.Context, conn *pgxpool.Conn, begin string, do func(tx pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{BeginQuery: begin + "; SET LOCAL ROLE " + c.schema()}, do)
}

// patiently runs do in a transaction with the role of the tenant whose statements wait for locks for lockTimeout, and
// tries again if they do not get them.
func (c *copying) patiently(ctx context.Context, conn *pgxpool.Conn, do func(tx pgx.Tx) error) error {
	begin := fmt.Sprintf("BEGIN; SET LOCAL lock_timeout = '%dms'", lockTimeout.Milliseconds())
	for attempt := 1; ; attempt++ {
		err := c.asTenant(ctx, conn, begin, do)
		if code := postgres.Code(err); code != codeLockNotAvailable && code != postgres.CodeDeadlock {
			return err
		}
		if attempt == lockAttempts {
			return fault.Wrap(fault.Unavailable, err, "the tables of the tenant are locked, perhaps by the build of an index: try again later")
		}
		if err := pause(ctx, lockTimeout/4); err != nil {
			return err
		}
	}
}

const codeLockNotAvailable = "55P03"

func pause(ctx context.Context, wait time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(wait):
		return nil
	}
}

// quoteText returns a text as a literal of SQL.
func quoteText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// readSnapshot begins a transaction that sees the rows of one moment.
const readSnapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

// first copies the tenant's own tables as they are at one moment, while the tenant is used, and builds their
// Postgres indexes.
func (c *copying) first(ctx context.Context) error {
	return c.asTenant(ctx, c.source, readSnapshot, func(from pgx.Tx) (err error) {
		if c.was, err = describe(ctx, from, c.id.Schema()); err != nil {
			return err
		}
		for i, t := range c.was.tables {
			if err := c.report(ctx, fmt.Sprintf("copying table %d of %d", i+1, len(c.was.tables)), c.rows, c.bytes); err != nil {
				return err
			}
			if err := c.load(ctx, from, c.was, t); err != nil {
				return fmt.Errorf("copy the table %s: %w", t.Name, err)
			}
		}
		return nil
	})
}

// load makes a table in the target, with its rows and Postgres indexes.
func (c *copying) load(ctx context.Context, from pgx.Tx, d description, t table) error {
	err := c.asTenant(ctx, c.target, "BEGIN", func(to pgx.Tx) error {
		if _, err := to.Exec(ctx, d.create(t), pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		return c.rowsOf(ctx, from, to, `SELECT `+t.loaded()+` FROM `+d.name(t), d.name(t)+` (`+t.loaded()+`)`)
	})
	if err != nil {
		return err
	}
	for _, kind := range []objectKind{constraints, indexes} {
		for _, o := range d.of(kind) {
			if o.Relation != t.Name {
				continue
			}
			if err := c.build(ctx, o); err != nil {
				return err
			}
		}
	}
	return c.asTenant(ctx, c.target, "BEGIN", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `ANALYZE `+d.name(t))
		return err
	})
}

// build makes a constraint or index of a table in the target.
func (c *copying) build(ctx context.Context, o object) error {
	err := c.asTenant(ctx, c.target, "BEGIN; SET LOCAL maintenance_work_mem = '"+buildMemory+"'", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, o.Definition, pgx.QueryExecModeSimpleProtocol)
		return err
	})
	if err != nil {
		return fmt.Errorf("make the %s %s of the table %s: %w", o.Kind, o.Name, o.Relation, err)
	}
	return nil
}

// rowsOf copies the rows of a query into a table.
func (c *copying) rowsOf(ctx context.Context, from, to pgx.Tx, query, into string) error {
	reader, writer := io.Pipe()
	var group errgroup.Group
	group.Go(func() error {
		_, err := from.Conn().PgConn().CopyTo(ctx, writer, `COPY (`+query+`) TO STDOUT (FORMAT binary)`)
		return errors.Join(err, writer.CloseWithError(err))
	})
	counted := &counter{from: reader}
	tag, err := to.Conn().PgConn().CopyFrom(ctx, counted, `COPY `+into+` FROM STDIN (FORMAT binary)`)
	_ = reader.CloseWithError(err) // never fails
	if read := group.Wait(); err == nil {
		err = read
	}
	c.rows += tag.RowsAffected()
	c.bytes += counted.bytes
	return err
}

// counter counts the bytes that are read.
type counter struct {
	from  io.Reader
	bytes int64
}

// Read implements io.Reader.
func (c *counter) Read(data []byte) (int, error) {
	n, err := c.from.Read(data)
	c.bytes += int64(n)
	return n, err
}

// second copies what has changed since the first copy, after writes were stopped, and completes the tables.
func (c *copying) second(ctx context.Context) (description, error) {
	now, err := describe(ctx, c.source, c.id.Schema())
	if err != nil {
		return now, err
	}
	for _, t := range now.tables {
		if !slices.Contains(c.logged, t.OID) { // was made meanwhile
			if err := c.refuseWrites(ctx, now.name(t)); err != nil {
				return now, err
			}
		}
	}
	err = c.asTenant(ctx, c.source, readSnapshot, func(from pgx.Tx) error {
		for _, t := range c.was.tables {
			if is, there := now.table(t.Name); !there || !is.same(t) {
				if err := c.dropCopy(ctx, t); err != nil {
					return err
				}
			}
		}
		for _, t := range now.tables {
			if err := c.renew(ctx, from, now, t); err != nil {
				return fmt.Errorf("copy the changes of the table %s: %w", t.Name, err)
			}
		}
		return c.sequences(ctx, from, now)
	})
	if err != nil {
		return now, err
	}
	return now, c.complete(ctx, now)
}

func (c *copying) dropCopy(ctx context.Context, t table) error {
	return c.asTenant(ctx, c.target, "BEGIN", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `DROP TABLE `+c.was.name(t))
		return err
	})
}

// renew copies the changes of a table, or all of it if it is new or its changes are not known.
func (c *copying) renew(ctx context.Context, from pgx.Tx, now description, t table) error {
	if was, there := c.was.table(t.Name); !there || !was.same(t) {
		return c.load(ctx, from, now, t)
	}
	if len(t.Key) == 0 || !slices.Contains(c.logged, t.OID) {
		return c.again(ctx, from, now, t)
	}
	type noted struct{ Keys, Emptied int64 }
	found, err := collect[noted](ctx, from, `SELECT count(k.key) AS keys, count(*) FILTER (WHERE k.key IS NULL) AS emptied FROM `+c.keys()+` AS k WHERE k.relation = $1`, t.Name)
	switch {
	case err != nil:
		return err
	case found[0].Emptied > 0:
		return c.again(ctx, from, now, t)
	case found[0].Keys == 0:
		return nil
	}
	return c.changes(ctx, from, now, t)
}

// again copies a table once more, whole.
func (c *copying) again(ctx context.Context, from pgx.Tx, now description, t table) error {
	return c.asTenant(ctx, c.target, "BEGIN", func(to pgx.Tx) error {
		if _, err := to.Exec(ctx, `TRUNCATE `+now.name(t)); err != nil {
			return err
		}
		return c.rowsOf(ctx, from, to, `SELECT `+t.loaded()+` FROM `+now.name(t), now.name(t)+` (`+t.loaded()+`)`)
	})
}

// changes copies the rows of a table whose keys were noted, and deletes those that are gone.
func (c *copying) changes(ctx context.Context, from pgx.Tx, now description, t table) error {
	var parts, on []string
	for i, column := range t.Key {
		parts = append(parts, fmt.Sprintf(`(m.key ->> %d)::%s AS k%[1]d`, i, t.KeyTypes[i]))
		on = append(on, fmt.Sprintf(`t.%s = k.k%d`, column, i))
	}
	keys := `(SELECT DISTINCT ` + strings.Join(parts, ", ") + ` FROM ` + c.keys() + ` AS m WHERE m.relation = ` + quoteText(t.Name) + `) AS k`
	match := strings.Join(on, " AND ")
	return c.asTenant(ctx, c.target, "BEGIN", func(to pgx.Tx) error {
		if _, err := to.Exec(ctx, `CREATE TABLE `+c.keys()+` (relation text COLLATE "C" NOT NULL, key jsonb)`); err != nil {
			return err
		}
		noted := `SELECT DISTINCT m.relation, m.key FROM ` + c.keys() + ` AS m WHERE m.relation = ` + quoteText(t.Name)
		rows, bytes := c.rows, c.bytes
		if err := c.rowsOf(ctx, from, to, noted, c.keys()+` (relation, key)`); err != nil {
			return err
		}
		c.rows, c.bytes = rows, bytes
		if _, err := to.Exec(ctx, `DELETE FROM `+now.name(t)+` AS t USING `+keys+` WHERE `+match); err != nil {
			return err
		}
		columns := make([]string, 0, len(t.columns))
		for _, column := range t.columns {
			if !column.Generated {
				columns = append(columns, "t."+pgx.Identifier{column.Name}.Sanitize())
			}
		}
		query := `SELECT ` + strings.Join(columns, ", ") + ` FROM ` + now.name(t) + ` AS t JOIN ` + keys + ` ON ` + match
		if err := c.rowsOf(ctx, from, to, query, now.name(t)+` (`+t.loaded()+`)`); err != nil {
			return err
		}
		_, err := to.Exec(ctx, `DROP TABLE `+c.keys())
		return err
	})
}

// sequences lets the numbers of identity columns go on where they are in the source.
func (c *copying) sequences(ctx context.Context, from pgx.Tx, now description) error {
	for _, t := range now.tables {
		for _, column := range t.columns {
			if column.Identity == "" {
				continue
			}
			type position struct {
				Sequence  string
				LastValue int64
				IsCalled  bool
			}
			name, err := collectValues[string](ctx, from, `SELECT pg_get_serial_sequence($1, $2)`, now.name(t), column.Name)
			if err != nil {
				return err
			}
			at, err := collect[position](ctx, from, `SELECT last_value, is_called FROM `+name[0])
			if err != nil {
				return err
			}
			err = c.asTenant(ctx, c.target, "BEGIN", func(to pgx.Tx) error {
				_, err := to.Exec(ctx, `SELECT setval(pg_get_serial_sequence($1, $2)::regclass, $3, $4)`, now.name(t), column.Name, at[0].LastValue, at[0].IsCalled)
				return err
			})
			if err != nil {
				return fmt.Errorf("set the numbers of the table %s: %w", t.Name, err)
			}
		}
	}
	return nil
}

// complete makes the target's tables have the Postgres indexes, foreign keys and triggers of the source's.
func (c *copying) complete(ctx context.Context, now description) error {
	there, err := describe(ctx, c.target, c.id.Schema())
	if err != nil {
		return err
	}
	for _, o := range there.objects {
		if slices.Contains(now.objects, o) {
			continue
		}
		sql := `DROP INDEX ` + pgx.Identifier{c.id.Schema(), o.Name}.Sanitize()
		if o.Kind != indexes {
			sql = `ALTER TABLE ` + pgx.Identifier{c.id.Schema(), o.Relation}.Sanitize() + ` DROP CONSTRAINT ` + pgx.Identifier{o.Name}.Sanitize()
		}
		err := c.asTenant(ctx, c.target, "BEGIN", func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, sql)
			return err
		})
		if err != nil {
			return fmt.Errorf("remove the %s %s: %w", o.Kind, o.Name, err)
		}
	}
	for _, kind := range []objectKind{constraints, indexes, references, triggers} {
		for _, o := range now.of(kind) {
			if slices.Contains(there.objects, o) {
				continue
			}
			if err := c.build(ctx, o); err != nil {
				return err
			}
		}
	}
	return nil
}
