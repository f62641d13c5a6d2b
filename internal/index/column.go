package index

import (
	"context"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// requireColumn checks that the table of indexes has the column of a setting. Errors: Precondition in a schema that is a migration
// behind.
func requireColumn(ctx context.Context, tx *data.Tx, column, setting string) error {
	there, err := hasColumn(ctx, tx, column)
	if err == nil && !there {
		return fault.New(fault.Precondition, "%s: the database of this tenant is being updated: try again later", setting)
	}
	return err
}

// hasColumn reports whether the table of indexes has a column.
func hasColumn(ctx context.Context, q data.Queryer, column string) (bool, error) {
	return data.Value[bool](ctx, q, `
		SELECT EXISTS (SELECT FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = 'tenant.indexes'::regclass AND a.attname = $1)`, column)
}
