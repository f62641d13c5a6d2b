// Package postgres connects to the database: it has the connection pool, the
// set-up of the vector extension, the migration runner and the translation of
// driver errors into faults. It knows nothing of tenants, indexes or documents.
//
// The package embedded below it runs a private server from installed binaries.
//
//	pool, err := postgres.Open(ctx, postgres.Config{URL: os.Getenv("RAGD_DATABASE_URL")})
//	...
//	m, err := postgres.NewMigrator(ctx, pool, migrations.Control)
//	...
//	applied, err := m.Up(ctx, "ragd")
//
// # Names and the search path
//
// A pool's search_path holds only the schema of the vector extension. The
// operators and types of pgvector are found, and every other name must be
// qualified: a statement that omits the schema fails instead of reading another
// tenant's row. Only the migration runner sets another path, inside its own
// transactions.
//
// # Versions
//
// The minimum is PostgreSQL 15, the version that Debian 12 ships, and pgvector
// 0.8.0, the first with iterative index scans. Before pgvector 0.8.4 VACUUM may
// corrupt an HNSW index; [Open] logs a warning then.
package postgres
