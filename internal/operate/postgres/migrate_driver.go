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

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// migrateDriver implements golang-migrate's database driver for one schema, on a
// connection of the pool. golang-migrate's own pgx driver opens a database/sql pool for
// each schema, accepts no context, and runs a file and writes its version in separate
// transactions: after a crash between them a person must repair a "dirty" schema. This
// driver uses one transaction:
//
//	SetVersion(v, dirty)   BEGIN; lock the version table; set the search path
//	Run(file)              the file                        (on error: ROLLBACK)
//	SetVersion(v, clean)   write and record the version; COMMIT
type migrateDriver struct {
	ctx          context.Context // the driver is made for one step, so it may keep the step's context
	conn         *pgxpool.Conn
	schema       string
	vectorSchema string
	record       RecordFunc // may be nil
	version      int        // the version of the running file
	tx           pgx.Tx
}

var _ database.Driver = (*migrateDriver)(nil)

// lockWait is how long a file's statements wait for the lock of a table. While DDL waits,
// every later query on the table waits behind it, so it is better to fail and retry.
const lockWait = 10 * time.Second

func versionTable(schema string) string {
	return pgx.Identifier{schema, "schema_migrations"}.Sanitize()
}

func createVersionTable(schema string) string {
	return `CREATE TABLE IF NOT EXISTS ` + versionTable(schema) + ` (version bigint NOT NULL, dirty boolean NOT NULL)`
}

func insertVersion(schema string, version int) string {
	return fmt.Sprintf(`INSERT INTO %s (version, dirty) VALUES (%d, false)`, versionTable(schema), version)
}

// Lock takes the advisory lock of the schema, sets the role to the schema's owner, so
// that new objects belong to it, and creates the version table.
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

// Unlock rolls back the transaction of an interrupted step, releases the advisory lock
// and resets the role. If it fails it closes the connection, which releases the lock too.
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

// Version returns the version in the version table; [database.NilVersion] if it is empty.
func (d *migrateDriver) Version() (version int, dirty bool, err error) {
	err = d.conn.QueryRow(d.ctx, `SELECT version, dirty FROM `+versionTable(d.schema), pgx.QueryExecModeExec).
		Scan(&version, &dirty)
	if errors.Is(err, pgx.ErrNoRows) {
		return database.NilVersion, false, nil
	}
	return version, dirty, err
}

// SetVersion begins the step's transaction if dirty is true; otherwise it writes the
// version and commits.
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
	if err := d.recordVersion(max(version, 0)); err != nil {
		return fmt.Errorf("record version %d: %w", version, err)
	}
	tx := d.tx
	d.tx = nil
	return tx.Commit(d.ctx)
}

func (d *migrateDriver) recordVersion(version int) error {
	if d.record == nil {
		return nil
	}
	if _, err := d.tx.Exec(d.ctx, `SET LOCAL ROLE NONE`); err != nil {
		return err
	}
	return d.record(d.ctx, d.tx, d.schema, version)
}

// begin begins the step's transaction and locks the version table. While it is locked the
// schema cannot be dropped; without the lock, the file's unqualified names could refer to
// the next schema of the path.
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

// Run executes one file as one simple query. The file may have several statements.
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

// lineOf returns the number of the line that a character is in. Lines and positions are
// counted from 1, positions in characters.
func lineOf(text string, position int) int {
	runes := []rune(text)
	return 1 + strings.Count(string(runes[:min(position-1, len(runes))]), "\n")
}

// errUnused is returned by the methods that migrate.Steps never calls.
var errUnused = errors.New("not supported by the migration driver")

// Open is not used: NewWithInstance gets a driver that is connected.
func (d *migrateDriver) Open(string) (database.Driver, error) { return nil, errUnused }

// Close is not used: the connection belongs to the pool.
func (d *migrateDriver) Close() error { return errUnused }

// Drop is not used: internal/tenant drops schemas.
func (d *migrateDriver) Drop() error { return errUnused }
