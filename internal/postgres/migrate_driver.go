package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/fault"
)

// migrateDriver is golang-migrate's view of one schema, on a connection of the
// pool. Its own pgx driver opens a database/sql pool per schema, takes no
// context, and writes version and file in separate transactions, so that a crash
// between them leaves a schema "dirty" for a person to repair. Here they are one:
//
//	SetVersion(v, dirty)   BEGIN; hold the version table; set the search path
//	Run(file)              the file                        (on error: ROLLBACK)
//	SetVersion(v, clean)   write the version; COMMIT
type migrateDriver struct {
	ctx          context.Context // of the one step that the driver lives for
	conn         *pgxpool.Conn
	schema       string
	vectorSchema string
	version      int // being run
	tx           pgx.Tx
}

var _ database.Driver = (*migrateDriver)(nil)

// lockWait is how long a file's statements wait for a table that queries use.
// While DDL waits, every later query on the table queues behind it, so it is
// better to fail and be run again.
const lockWait = 10 * time.Second

func versionTable(schema string) string {
	return pgx.Identifier{schema, "schema_migrations"}.Sanitize()
}

func createVersionTable(schema string) string {
	return `CREATE TABLE IF NOT EXISTS ` + versionTable(schema) + ` (version bigint PRIMARY KEY, dirty boolean NOT NULL)`
}

func insertVersion(schema string, version int) string {
	return fmt.Sprintf(`INSERT INTO %s (version, dirty) VALUES (%d, false)`, versionTable(schema), version)
}

// Lock makes others that migrate this schema wait, acts from here on as the
// schema's owner, who shall own all that is made in it, and makes the version
// table.
func (d *migrateDriver) Lock() error {
	if _, err := d.conn.Exec(d.ctx, `SELECT pg_advisory_lock(hashtextextended($1, 0))`, d.lockName()); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	if err := d.prepare(); err != nil {
		return errors.Join(err, d.Unlock())
	}
	return nil
}

func (d *migrateDriver) prepare() error {
	var owner string
	err := d.conn.QueryRow(d.ctx, `SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = $1`, d.schema).Scan(&owner)
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.New(fault.NotFound, "schema %q does not exist", d.schema)
	}
	if err != nil {
		return fmt.Errorf("find the owner: %w", err)
	}
	_, err = d.conn.Exec(d.ctx, `SET ROLE `+pgx.Identifier{owner}.Sanitize()+`; `+createVersionTable(d.schema))
	if err != nil {
		return fmt.Errorf("make the version table as %s: %w", owner, err)
	}
	return nil
}

// Unlock also ends what an interrupted step left open. If that fails the
// connection is closed, which makes the server let go.
func (d *migrateDriver) Unlock() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.ctx), lockWait)
	defer cancel()
	if d.tx != nil {
		_ = d.tx.Rollback(ctx) // the step's own error says more
		d.tx = nil
	}
	_, err := d.conn.Exec(ctx, `SELECT pg_advisory_unlock(hashtextextended($1, 0))`, d.lockName())
	if err == nil {
		_, err = d.conn.Exec(ctx, `RESET ROLE`)
	}
	if err != nil {
		_ = d.conn.Conn().Close(ctx)
	}
	return nil
}

func (d *migrateDriver) lockName() string { return "ragd migrate " + d.schema }

// Version returns the version in the table, [database.NilVersion] if none.
func (d *migrateDriver) Version() (version int, dirty bool, err error) {
	err = d.conn.QueryRow(d.ctx, `SELECT version, dirty FROM `+versionTable(d.schema), pgx.QueryExecModeExec).
		Scan(&version, &dirty)
	if errors.Is(err, pgx.ErrNoRows) {
		return database.NilVersion, false, nil
	}
	return version, dirty, err
}

// SetVersion opens the step's transaction when dirty, and ends it when not.
func (d *migrateDriver) SetVersion(version int, dirty bool) error {
	if dirty {
		return d.begin(version)
	}
	sql := `DELETE FROM ` + versionTable(d.schema)
	if version != database.NilVersion {
		sql += `; ` + insertVersion(d.schema, version)
	}
	if _, err := d.tx.Exec(d.ctx, sql); err != nil {
		return fmt.Errorf("write version %d: %w", version, err)
	}
	tx := d.tx
	d.tx = nil
	return tx.Commit(d.ctx)
}

// begin holds the version table, so that the schema cannot be dropped before the
// file has run: its unqualified names would then land in the next schema of the
// path.
func (d *migrateDriver) begin(version int) error {
	tx, err := d.conn.Begin(d.ctx)
	if err != nil {
		return err
	}
	d.tx, d.version = tx, version
	_, err = tx.Exec(d.ctx, fmt.Sprintf(
		`LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE; SET LOCAL search_path = %s, %s; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = %d`,
		versionTable(d.schema), pgx.Identifier{d.schema}.Sanitize(), pgx.Identifier{d.vectorSchema}.Sanitize(),
		lockWait.Milliseconds()))
	return err
}

// Run runs one file, as one simple query of any number of statements.
func (d *migrateDriver) Run(file io.Reader) error {
	sql, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	_, err = d.tx.Exec(d.ctx, string(sql))
	var pe *pgconn.PgError
	if errors.As(err, &pe) && pe.Position > 0 {
		return fmt.Errorf("version %d, line %d: %w", d.version, lineOf(string(sql), int(pe.Position)), err)
	}
	if err != nil {
		return fmt.Errorf("version %d: %w", d.version, err)
	}
	return nil
}

// lineOf returns the line, from 1, of the position-th character, from 1.
func lineOf(text string, position int) int {
	runes := []rune(text)
	return 1 + strings.Count(string(runes[:min(position-1, len(runes))]), "\n")
}

// errUnused answers the methods that Steps never calls.
var errUnused = errors.New("not part of migrating a schema")

// Open is not used: the driver is made for one step.
func (d *migrateDriver) Open(string) (database.Driver, error) { return nil, errUnused }

// Close is not used: the connection is the pool's.
func (d *migrateDriver) Close() error { return errUnused }

// Drop is not used: a schema is dropped by whoever owns it.
func (d *migrateDriver) Drop() error { return errUnused }
