package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

const (
	// extensionSchema is the schema in which the extension is created if it is missing.
	extensionSchema = "extensions"
	// extensionLock is the advisory lock that replicas take to create the extension.
	extensionLock = 0x72616764_76656374 // "ragdvect"
)

var (
	minVector  = vectorVersion{0, 8, 0} // the first with iterative index scans
	safeVector = vectorVersion{0, 8, 4} // the first whose VACUUM does not corrupt HNSW indexes
)

// Querier runs a query of one row. A pool, a connection and a transaction implement it.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// VectorSchema returns the schema that the vector extension is in. A role needs USAGE on
// it to use vectors. Errors: Precondition for a database without the extension.
func VectorSchema(ctx context.Context, q Querier) (string, error) {
	ext, err := findVector(ctx, q)
	if err != nil {
		return "", err
	}
	if ext.schema == "" {
		return "", fault.New(fault.Precondition, "this database does not have the extension vector")
	}
	return ext.schema, nil
}

// vectorExtension describes the vector extension as the catalogue has it.
type vectorExtension struct {
	schema    string // empty if the database does not have the extension
	created   string // version of the SQL objects; empty if the database does not have it
	available string // version of the files on the server; empty if they are not installed
}

func findVector(ctx context.Context, q Querier) (vectorExtension, error) {
	const sql = `
		SELECT coalesce(n.nspname, ''), coalesce(e.extversion, ''), coalesce(a.default_version, '')
		FROM (VALUES ('vector')) AS want (name)
		LEFT JOIN pg_catalog.pg_extension AS e ON e.extname = want.name
		LEFT JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace
		LEFT JOIN pg_catalog.pg_available_extensions AS a ON a.name = want.name`
	var ext vectorExtension
	if err := q.QueryRow(ctx, sql).Scan(&ext.schema, &ext.created, &ext.available); err != nil {
		return ext, fmt.Errorf("look for the vector extension: %w", Fault(err))
	}
	return ext, nil
}

// ensureVector creates the vector extension if it is missing, updates it if it is older
// than minVector and newer files are installed, and returns its schema.
func ensureVector(ctx context.Context, conn *pgx.Conn, log *slog.Logger) (string, error) {
	ext, err := findVector(ctx, conn)
	if err != nil {
		return "", err
	}
	if ext.schema == "" {
		if err := createVector(ctx, conn, ext); err != nil {
			return "", err
		}
		// Another replica may have created it first, in another schema.
		if ext, err = findVector(ctx, conn); err != nil {
			return "", err
		}
	} else if parseVectorVersion(ext.created).less(minVector) && ext.created != ext.available {
		if ext, err = updateVector(ctx, conn, ext, log); err != nil {
			return "", err
		}
	}
	if err := checkVector(ext, log); err != nil {
		return "", err
	}
	return ext.schema, openToAll(ctx, conn, ext.schema)
}

// openToAll lets every role use the names in the schema of the extension, such as those of
// tenants. A backup that was restored without privileges lacks that grant.
func openToAll(ctx context.Context, conn *pgx.Conn, schema string) error {
	var open bool
	if err := conn.QueryRow(ctx, `SELECT pg_catalog.has_schema_privilege('public', $1, 'USAGE')`, schema).Scan(&open); err != nil || open {
		return Fault(err)
	}
	grant := `GRANT USAGE ON SCHEMA ` + pgx.Identifier{schema}.Sanitize() + ` TO PUBLIC`
	_, err := conn.Exec(ctx, grant)
	if Code(err) == CodeInsufficientPrivilege {
		return fault.Wrap(fault.Precondition, err, "the database roles of tenants may not use the schema of the extension vector: as its owner, run in this database: %s", grant)
	}
	return Fault(err)
}

func createVector(ctx context.Context, conn *pgx.Conn, ext vectorExtension) error {
	if ext.available == "" {
		return fault.New(fault.Precondition,
			"pgvector is not installed on the PostgreSQL server: install its package there (Debian and Ubuntu: postgresql-NN-pgvector, NN being PostgreSQL's major version; Fedora: pgvector), or run `ragd doctor --fix`")
	}
	if v := parseVectorVersion(ext.available); v.less(minVector) {
		return tooOld(ext.available)
	}
	schema := pgx.Identifier{extensionSchema}.Sanitize()
	sql := fmt.Sprintf(`
		SELECT pg_advisory_xact_lock(%d);
		CREATE SCHEMA IF NOT EXISTS %s;
		GRANT USAGE ON SCHEMA %[2]s TO PUBLIC;
		CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA %[2]s`, int64(extensionLock), schema)
	if _, err := conn.Exec(ctx, sql); err != nil {
		if Code(err) == CodeInsufficientPrivilege {
			return fault.Wrap(fault.Precondition, err,
				"the database role may not create the extension vector: as a superuser, run in this database: "+
					"CREATE SCHEMA %s; GRANT USAGE ON SCHEMA %[1]s TO PUBLIC; CREATE EXTENSION vector SCHEMA %[1]s", extensionSchema)
		}
		return fmt.Errorf("create the vector extension: %w", Fault(err))
	}
	return nil
}

// updateVector updates the extension to the version of the installed files. If the
// database refuses, because the role does not own the extension, it logs a warning and
// returns ext; checkVector then returns the error.
func updateVector(ctx context.Context, conn *pgx.Conn, ext vectorExtension, log *slog.Logger) (vectorExtension, error) {
	if _, err := conn.Exec(ctx, `ALTER EXTENSION vector UPDATE`); err != nil {
		if ctx.Err() != nil {
			return ext, ctx.Err()
		}
		log.WarnContext(ctx, "the vector extension could not be updated: run ALTER EXTENSION vector UPDATE as its owner",
			"from", ext.created, "to", ext.available, "err", err)
		return ext, nil
	}
	return findVector(ctx, conn)
}

// checkVector returns an error for a version that is too old, and logs a warning for one
// that may corrupt indexes. That bug is in the library, so the warning depends on the
// version of the files if they are newer than the SQL objects.
func checkVector(ext vectorExtension, log *slog.Logger) error {
	if parseVectorVersion(ext.created).less(minVector) {
		return tooOld(ext.created)
	}
	library := ext.created
	if parseVectorVersion(library).less(parseVectorVersion(ext.available)) {
		library = ext.available
	}
	if !SafeVector(library) {
		log.Warn("THIS PGVECTOR CAN CORRUPT HNSW INDEXES DURING VACUUM: upgrade it (`ragd doctor --fix` on the server), then REINDEX every HNSW index",
			"installed", library, "fixed_in", safeVector.String())
	}
	return nil
}

// SafeVector reports whether a version of pgvector is free of the bug of versions before
// 0.8.4, whose VACUUM may corrupt HNSW indexes.
func SafeVector(version string) bool { return !parseVectorVersion(version).less(safeVector) }

func tooOld(version string) error {
	return fault.New(fault.Precondition,
		"pgvector %s is too old: ragd needs %s or newer; run `ragd doctor --fix` on the database server, then ALTER EXTENSION vector UPDATE",
		version, minVector)
}

// vectorVersion is major, minor, patch.
type vectorVersion [3]int

// parseVectorVersion parses a version such as "0.8.6". Numbers that it cannot parse are 0,
// so a version of an unknown form is rejected as too old.
func parseVectorVersion(s string) vectorVersion {
	var v vectorVersion
	for i, number := range strings.SplitN(s, ".", len(v)) {
		n, err := strconv.Atoi(number)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			break
		}
		v[i] = n
	}
	return v
}

func (v vectorVersion) less(w vectorVersion) bool {
	for i := range v {
		if v[i] != w[i] {
			return v[i] < w[i]
		}
	}
	return false
}

func (v vectorVersion) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }
