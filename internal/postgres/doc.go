// Package postgres is everything about having a database: connection pools,
// the vector extension, the migration runner and the translation of driver
// errors into faults. It knows nothing of tenants, indexes or documents.
//
// Its rooms: embedded runs a private server from the installed binaries, and
// pgtest gives tests a database of their own.
//
//	pool, err := postgres.Open(ctx, postgres.Config{URL: os.Getenv("RAGD_DATABASE_URL")})
//	...
//	m, err := postgres.NewMigrator(ctx, pool, migrations.Control)
//	...
//	applied, err := m.Up(ctx, "ragd")
//
// # Names and the search path
//
// A pool's search_path holds the schema of the vector extension and nothing
// else, so that the operators and types of pgvector are found and every other
// name must be qualified: a forgotten schema is an error and never another
// tenant's row. The migration runner is the one exception; it sets the path
// inside its own transactions.
//
// # Versions
//
// PostgreSQL 15 is the floor: the oldest release that still gets fixes, and
// what Debian 12 ships. pgvector 0.8.0 is the floor, for iterative index scans;
// below 0.8.4, VACUUM may corrupt an HNSW index, which [Open] says loudly.
package postgres
