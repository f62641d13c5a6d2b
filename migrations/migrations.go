// Package migrations holds the SQL that makes the control schema (control/), the schema
// that tenants share (shared/) and the schema of a tenant (tenant/), as files of
// golang-migrate. They are run in this order.
//
// Migrations are only added: a file that has been released is never changed, renamed or
// removed. A change of the tables is a new pair of files with the next number.
//
// A change of a tenant's tables expands, migrates and contracts: a release serves tenants
// that are one file behind its newest one or ahead of it, because thousands of tenants are
// not migrated at once and instances of two releases may run. So a file adds what the
// release before can ignore (a table, a nullable column, a column with a constant default,
// an index), the code of the same release works with and without it for what it did before,
// and a file that drops or renames comes two releases after the last code that used it.
// TestTenantsOneMigrationAwayAreServed checks it.
//
// Names in the files are unqualified, except for those of another schema. The search path
// is the schema that is migrated and the one of the extension pgvector; a tenant's files run
// as the tenant's role.
//
// The functions and types of the shared schema serve tenants at the newest version and at
// the one before, and instances of both releases. So they are never changed or dropped while
// a tenant may use them: what has to change gets a new name, beside the old one, and the old
// one is dropped by a later release.
//
// A table of the shared schema holds rows of all tenants. Each has a column tenant_id, which
// refers to ragd.tenants ON DELETE CASCADE and defaults to current_tenant(), a primary key
// that begins with it, row level security, and the policy own_rows. It suits nouns of which
// most tenants have few rows or none. Tenants' roles are granted the rows of such tables, and
// of no others, when the service starts.
//
// The tables of an index are not here: internal/index makes them with the index. A file
// runs in one transaction, so it must not change the tables of all indexes: it would lock
// a number of relations that grows with data, and the lock table of the server is small.
package migrations

import (
	"embed"
	"io/fs"
	"strconv"
	"strings"
)

//go:embed control/*.sql shared/*.sql tenant/*.sql
var files embed.FS

// Control returns the migrations of the control schema.
func Control() fs.FS { return sub("control") }

// Shared returns the migrations of the schema that tenants share.
func Shared() fs.FS { return sub("shared") }

// Tenant returns the migrations of a tenant's schema.
func Tenant() fs.FS { return sub("tenant") }

// Newest returns the highest version of a set of migrations; 0 if it is empty.
func Newest(files fs.FS) (newest int) {
	names, err := fs.Glob(files, "*.up.sql")
	if err != nil {
		panic(err) // the pattern is well formed
	}
	for _, name := range names {
		number, _, _ := strings.Cut(name, "_")
		if n, err := strconv.Atoi(number); err == nil {
			newest = max(newest, n)
		}
	}
	return newest
}

func sub(dir string) fs.FS {
	tree, err := fs.Sub(files, dir)
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return tree
}
