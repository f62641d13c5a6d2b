package archive

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// relation returns the name of the table for statements: as a stand-in name where it is the tenant's own.
func (t table) relation() string {
	switch t.place {
	case shared:
		return tenant.SharedSchema + "." + t.name
	case control:
		return tenant.ControlSchema + "." + t.name
	}
	return "tenant." + t.name
}

// columnsOf returns the columns of a table that are archived. A table of an index is that of the transaction's index.
func columnsOf(ctx context.Context, tx *data.Tx, t table) ([]column, error) {
	relation := `to_regclass('` + t.relation() + `')`
	if t.place == control { // a tenant's role may not look names up there
		relation = `(SELECT c.oid FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
			WHERE n.nspname = '` + tenant.ControlSchema + `' AND c.relname = '` + t.name + `')`
	}
	all, err := data.Select[column](ctx, tx, `
		SELECT a.attname::text AS name, t.typname || CASE WHEN a.atttypmod >= 0 THEN '(' || a.atttypmod || ')' ELSE '' END AS type
		FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
		WHERE a.attrelid = `+relation+` AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum`)
	return slices.DeleteFunc(all, func(c column) bool {
		return c.Name == "tenant_id" || leftOutColumns[t.String()+"."+c.Name] != ""
	}), err
}

func names(columns []column) []string {
	all := make([]string, len(columns))
	for i, c := range columns {
		all[i] = c.Name
	}
	return all
}

func quoted(columns []column) string {
	all := make([]string, len(columns))
	for i, c := range columns {
		all[i] = pgx.Identifier{c.Name}.Sanitize()
	}
	return strings.Join(all, ", ")
}

// kept returns which columns of a section are imported, by their positions. here are the columns that the table has
// in this database. Errors: Invalid for a column that is not known, has another type, or is there twice.
func (s section) kept(here []column) ([]int, error) {
	var kept []int
	for i, c := range s.Columns {
		at := slices.IndexFunc(here, func(h column) bool { return h.Name == c.Name })
		switch {
		case slices.ContainsFunc(s.Columns[:i], func(other column) bool { return other.Name == c.Name }):
			return nil, fault.New(fault.Invalid, "the archive has the column %q of %s twice", shorten(c.Name), s.Table)
		case at < 0 && gone[s.Table+"."+c.Name]:
			continue
		case at < 0:
			return nil, fault.New(fault.Invalid, "the archive has the column %q of %s, which this ragd does not know: use the ragd that made it, or a newer one", shorten(c.Name), s.Table)
		case here[at].Type != c.Type:
			return nil, fault.New(fault.Invalid, "the column %s of %s has the type %q in the archive and %s here", c.Name, s.Table, shorten(c.Type), here[at].Type)
		}
		kept = append(kept, i)
	}
	if len(kept) == 0 {
		return nil, fault.New(fault.Invalid, "the archive has no column of %s", s.Table)
	}
	return kept, nil
}

// find returns the position of a section's table in tables. Errors: Invalid for one that is not archived, and for an index where
// there must be none.
func (s section) find() (int, error) {
	at := slices.IndexFunc(tables, func(t table) bool { return t.String() == s.Table })
	if at < 0 {
		return 0, fault.New(fault.Invalid, "the archive has rows of %q, which this ragd does not know: use the ragd that made it, or a newer one", shorten(s.Table))
	}
	if (tables[at].place == ofIndex) != (s.IndexID > 0) || s.IndexID < 0 {
		return 0, fault.New(fault.Invalid, "the archive does not say rightly of which index the rows of %s are", s.Table)
	}
	if len(s.Columns) > maxColumns {
		return 0, fault.New(fault.Invalid, "the archive has %d columns of %s", len(s.Columns), s.Table)
	}
	return at, nil
}

// maxColumns is more columns than any table has.
const maxColumns = 200

// query returns the statement that reads the rows of a table of the tenant's own, or of its rows of a shared one.
func (t table) query(columns []column) string {
	sql := fmt.Sprintf(`SELECT %s FROM %s AS r`, quoted(columns), t.relation())
	if t.where != "" {
		sql += ` WHERE ` + t.where
	}
	if t.order != "" {
		sql += ` ORDER BY ` + t.order
	}
	return sql
}
