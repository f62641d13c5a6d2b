package migrations

import _ "embed"

//go:embed citus/functions.sql
var citus string

// Citus returns statements that replace functions of the shared schema in a database whose
// tenants are distributed by Citus. They are run after the migrations of that schema, each time.
func Citus() string { return citus }
