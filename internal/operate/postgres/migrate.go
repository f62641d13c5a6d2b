package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strings"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/source"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Migrator applies a numbered set of migration files to schemas of one database. It is
// safe for concurrent use: a migration of a schema waits until another one of the same
// schema, in any process, has ended.
//
// The files are in golang-migrate's layout: 000001_name.up.sql and 000001_name.down.sql.
// They use unqualified names and run with search_path = <schema>, <vector schema>. A
// file and its version number are written in one transaction: after an error or a crash
// the schema is at the previous version and the next run continues from there.
// Therefore a file cannot contain COMMIT or CREATE INDEX CONCURRENTLY. The version is
// stored in the schema's table schema_migrations, in golang-migrate's format.
type Migrator struct {
	pool         *pgxpool.Pool
	files        source.Driver
	newest       int
	newestSQL    string // all up files in order of version
	vectorSchema string
	record       RecordFunc
}

// RecordFunc stores the new version of a schema elsewhere too, in the transaction that
// migrates the schema, with the rights of the pool's role.
type RecordFunc func(ctx context.Context, tx pgx.Tx, schema string, version int) error

// OnVersion returns a Migrator that calls record with each version that a step reaches.
// CreateSQL does not call it.
func (m *Migrator) OnVersion(record RecordFunc) *Migrator {
	recording := *m
	recording.record = record
	return &recording
}

// NewMigrator reads the file names in the root of files and finds the schema of
// the vector extension.
func NewMigrator(ctx context.Context, pool *pgxpool.Pool, files fs.FS) (*Migrator, error) {
	src, err := iofs.New(files, ".")
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	newest, newestSQL, err := readUp(src)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	vectorSchema, err := VectorSchema(ctx, pool)
	if err != nil {
		return nil, err
	}
	return &Migrator{pool: pool, files: src, newest: newest, newestSQL: newestSQL, vectorSchema: vectorSchema}, nil
}

// readUp returns the newest version and the text of all up files in order of version.
func readUp(src source.Driver) (newest int, sql string, err error) {
	var all strings.Builder
	version, err := src.First()
	for err == nil {
		newest = int(version)
		if err := appendUp(&all, src, version); err != nil {
			return 0, "", err
		}
		version, err = src.Next(version)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return 0, "", err
	}
	return newest, all.String(), nil
}

func appendUp(all *strings.Builder, src source.Driver, version uint) error {
	file, _, err := src.ReadUp(version)
	if err != nil {
		return err
	}
	defer file.Close()
	sql, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	all.Write(sql)
	all.WriteString("\n;\n") // the file may end in a comment or without a semicolon
	return nil
}

// Newest returns the version that Up migrates to; 0 for an empty set of files.
func (m *Migrator) Newest() int { return m.newest }

// Version returns the version of a schema: 0 if no file has run in it or if it does not
// exist. Errors: Precondition for a schema that is marked dirty.
func (m *Migrator) Version(ctx context.Context, schema string) (int, error) {
	var version int
	var dirty bool
	err := pgx.BeginFunc(ctx, m.pool, func(tx pgx.Tx) error {
		return readVersion(ctx, tx, schema, &version, &dirty)
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("read the version of schema %q: %w", schema, Fault(err))
	case dirty:
		return version, dirtyFault(schema, version)
	}
	return max(version, 0), nil
}

// readVersion reads the row of a schema's version table, with the rights of the schema's
// owner. Errors: pgx.ErrNoRows if there is no schema, no table or no row.
func readVersion(ctx context.Context, tx pgx.Tx, schema string, version *int, dirty *bool) error {
	Use(tx.Conn(), schema, "")
	const asOwner = `SELECT set_config('role', pg_get_userbyid(nspowner), true) FROM pg_catalog.pg_namespace WHERE nspname = $1`
	if _, err := tx.Exec(ctx, asOwner, schema); err != nil {
		return err
	}
	table := versionTable(schema)
	var exists bool // checked first: a query on a missing table would add an error to the server's log
	if err := tx.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, table).Scan(&exists); err != nil {
		return err
	}
	if !exists {
		return pgx.ErrNoRows
	}
	// Not prepared: each schema would add a statement to the cache.
	return tx.QueryRow(ctx, `SELECT version, dirty FROM `+table, pgx.QueryExecModeExec).Scan(version, dirty)
}

// dirtyFault returns the error for a schema that is marked dirty. A Migrator never leaves
// that mark, so another program did.
func dirtyFault(schema string, version int) error {
	return fault.New(fault.Precondition,
		"schema %q is marked dirty at version %d: another tool stopped in the middle of a migration; "+
			"compare the schema with the migration files, repair it, set its version in %s and clear dirty",
		schema, version, versionTable(schema))
}

// Up migrates the schema to the newest version and returns the number of files that ran.
// If none is due it runs a few short queries and returns 0. The files run with the rights
// of the schema's owner, whose member the pool's role must be. It leaves a schema unchanged
// whose version is higher than the newest file: a newer release, which is being rolled
// out, migrated it. When ctx ends, the running file is rolled back.
//
// Errors by kind: NotFound for a schema that does not exist, Precondition for a schema
// that is marked dirty, Internal for a file that PostgreSQL rejects; the error names
// schema, version and line.
func (m *Migrator) Up(ctx context.Context, schema string) (applied int, err error) {
	for {
		version, err := m.Version(ctx, schema)
		if err != nil || version >= m.newest {
			return applied, err
		}
		switch err := m.step(ctx, schema, +1); {
		case errors.Is(err, fs.ErrNotExist) && m.reached(ctx, schema):
			return applied, nil // another process ran the last file before this one got the lock
		case err != nil:
			return applied, err
		}
		applied++
	}
}

func (m *Migrator) reached(ctx context.Context, schema string) bool {
	version, err := m.Version(ctx, schema)
	return err == nil && version >= m.newest
}

// CreateSQL returns statements that create a schema at the newest version in one round
// trip. The schema and everything in it belong to the owner. Run them as one simple query
// in a transaction: they change its role and search path until it ends.
func (m *Migrator) CreateSQL(schema, owner string) string {
	return CreateSchemaSQL(schema, owner) + m.FillSQL(schema, owner)
}

// CreateSchemaSQL returns the first statement of CreateSQL, which creates an empty schema.
func CreateSchemaSQL(schema, owner string) string {
	return fmt.Sprintf(`CREATE SCHEMA %s AUTHORIZATION %s;`, pgx.Identifier{schema}.Sanitize(), pgx.Identifier{owner}.Sanitize())
}

// FillSQL returns the other statements of CreateSQL.
func (m *Migrator) FillSQL(schema, owner string) string {
	name, role := pgx.Identifier{schema}.Sanitize(), pgx.Identifier{owner}.Sanitize()
	return fmt.Sprintf(`
		SET LOCAL ROLE %[2]s;
		SET LOCAL search_path = %[1]s, %[3]s;
		SET LOCAL statement_timeout = 0;
		%[4]s;
		%[5]s
		%[6]s`,
		name, role, pgx.Identifier{m.vectorSchema}.Sanitize(), createVersionTable(schema), m.newestSQL, insertVersion(schema, m.newest))
}

// Down runs every down file, newest first, and returns the number of files that ran. It
// destroys the schema's data and is for tests only.
func (m *Migrator) Down(ctx context.Context, schema string) (reverted int, err error) {
	for {
		version, err := m.Version(ctx, schema)
		if err != nil || version == 0 {
			return reverted, err
		}
		if err := m.step(ctx, schema, -1); err != nil {
			return reverted, err
		}
		reverted++
	}
}

// step runs one file, up or down.
func (m *Migrator) step(ctx context.Context, schema string, n int) error {
	conn, err := m.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("migrate schema %q: %w", schema, Fault(err))
	}
	defer conn.Release()
	Use(conn.Conn(), schema, "")
	d := &migrateDriver{ctx: ctx, conn: conn, schema: schema, vectorSchema: m.vectorSchema, record: m.record}
	mig, err := migrate.NewWithInstance("files", m.files, schema, d)
	if err != nil {
		return fmt.Errorf("migrate schema %q: %w", schema, err)
	}
	mig.LockTimeout = math.MaxInt64 // ctx bounds the wait
	err = mig.Steps(n)
	if errDirty := (migrate.ErrDirty{}); errors.As(err, &errDirty) {
		return dirtyFault(schema, errDirty.Version)
	}
	if err != nil {
		return fmt.Errorf("migrate schema %q: %w", schema, Fault(err))
	}
	return nil
}

// EnsureSchema creates the schema unless it exists.
func EnsureSchema(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	_, err := pool.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS `+pgx.Identifier{schema}.Sanitize())
	switch Code(err) {
	case CodeUniqueViolation, codeDuplicateSchema: // another process created it meanwhile
		return nil
	}
	if err != nil {
		return fmt.Errorf("create schema %q: %w", schema, Fault(err))
	}
	return nil
}
