// Package migrations holds the SQL that makes and changes our tables, for
// golang-migrate. Names are unqualified: the search path points at the schema
// that is migrated (ragd for control/, the tenant's own for tenant/, run as the
// tenant's role) and at the one that pgvector is installed in.
//
// The chunk tables are not here: internal/index makes one with each index.
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
