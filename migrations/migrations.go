// Package migrations holds the SQL that makes the control schema (control/) and the
// schema of a tenant (tenant/), as files of golang-migrate.
//
// Migrations are only added: a file that has been released is never changed, renamed or
// removed. A change of the tables is a new pair of files with the next number.
//
// Names in the files are unqualified. The search path is the schema that is migrated
// and the one of the extension pgvector; a tenant's files run as the tenant's role.
//
// The tables of an index are not here: internal/index makes them with the index. A file
// runs in one transaction, so it must not change the tables of all indexes: it would lock
// a number of relations that grows with data, and the lock table of the server is small.
package migrations

import (
	"embed"
	"io/fs"
)

//go:embed control/*.sql tenant/*.sql
var files embed.FS

// Control returns the migrations of the control schema.
func Control() fs.FS { return sub("control") }

// Tenant returns the migrations of a tenant's schema.
func Tenant() fs.FS { return sub("tenant") }

func sub(dir string) fs.FS {
	tree, err := fs.Sub(files, dir)
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return tree
}
