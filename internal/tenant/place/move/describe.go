package move

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// table is a table of a tenant's own schema, as the catalogs describe it.
type table struct {
	OID     uint32
	Name    string
	Options []string // of storage, such as fillfactor=50
	// Key are columns by which changed rows are found, quoted: those of the primary key, else of an index
	// that has all rows. Several rows may have one key. Without such columns the table is copied whole once
	// writes have stopped.
	Key      []string
	KeyTypes []string
	columns  []column
}

// column is a column of a table.
type column struct {
	Relation    string // name of the table
	Name        string
	Type        string
	Required    bool // not null
	Default     string
	Collation   string // quoted; empty for that of the type
	Identity    string // a: always, d: by default
	Generated   bool
	Storage     string // empty for that of the type
	Compression string
}

// object is something of a table that a statement of its own makes.
type object struct {
	Kind       objectKind
	Relation   string // name of the table
	Name       string
	Definition string // the statement
}

type objectKind string

// The kinds of objects, in the order in which a copy gets them: rows are loaded before the first, and changed
// rows before the triggers.
const (
	constraints objectKind = "constraint"
	indexes     objectKind = "index"
	triggers    objectKind = "trigger"
	references  objectKind = "reference" // foreign keys
)

// description is what a tenant's schema consists of.
type description struct {
	schema  string
	tables  []table
	objects []object
}

// What a move adds to the schema that it copies: the table with keys of changed rows, and triggers whose names
// begin with the prefix.
const (
	keysTable     = "moved_keys"
	triggerPrefix = "moving_"
)

const tablesSQL = `
	SELECT c.oid, c.relname::text AS name, coalesce(c.reloptions, '{}') AS options,
		coalesce((SELECT array_agg(quote_ident(a.attname) ORDER BY k.n) FROM unnest(x.keys) WITH ORDINALITY AS k (attnum, n)
			JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.attnum), '{}') AS key,
		coalesce((SELECT array_agg(pg_catalog.format_type(a.atttypid, a.atttypmod) ORDER BY k.n) FROM unnest(x.keys) WITH ORDINALITY AS k (attnum, n)
			JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.attnum), '{}') AS key_types
	FROM pg_catalog.pg_class AS c
	LEFT JOIN LATERAL (
		SELECT i.indkey::int2[] AS keys FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS ic ON ic.oid = i.indexrelid
		JOIN pg_catalog.pg_am AS m ON m.oid = ic.relam AND m.amname = 'btree'
		WHERE i.indrelid = c.oid AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL AND NOT EXISTS (
			SELECT FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum = ANY(i.indkey) AND NOT a.attnotnull)
		ORDER BY i.indisprimary DESC, i.indisunique DESC, i.indexrelid LIMIT 1) AS x ON true
	WHERE c.relnamespace = $1::regnamespace AND c.relkind = 'r' AND c.relname <> '` + keysTable + `' ORDER BY c.relname`

const columnsSQL = `
	SELECT c.relname::text AS relation, a.attname::text AS name, pg_catalog.format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull AS required,
		coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid), '') AS default,
		CASE WHEN a.attcollation <> t.typcollation AND a.attcollation <> 0
			THEN (SELECT quote_ident(n.nspname) || '.' || quote_ident(l.collname) FROM pg_catalog.pg_collation AS l JOIN pg_catalog.pg_namespace AS n ON n.oid = l.collnamespace WHERE l.oid = a.attcollation)
			ELSE '' END AS collation,
		a.attidentity::text AS identity, a.attgenerated <> '' AS generated,
		CASE WHEN a.attstorage = t.typstorage THEN '' ELSE
			CASE a.attstorage WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL' WHEN 'm' THEN 'MAIN' ELSE 'EXTENDED' END END AS storage,
		CASE a.attcompression WHEN 'l' THEN 'lz4' WHEN 'p' THEN 'pglz' ELSE '' END AS compression
	FROM pg_catalog.pg_class AS c
	JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
	JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
	LEFT JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
	WHERE c.relnamespace = $1::regnamespace AND c.relkind = 'r' ORDER BY c.oid, a.attnum`

const objectsSQL = `
	SELECT CASE k.contype WHEN 'f' THEN 'reference' ELSE 'constraint' END AS kind, c.relname::text AS relation, k.conname::text AS name,
		format('ALTER TABLE %I.%I ADD CONSTRAINT %I %s', $1::text, c.relname, k.conname, pg_catalog.pg_get_constraintdef(k.oid)) AS definition
	FROM pg_catalog.pg_constraint AS k JOIN pg_catalog.pg_class AS c ON c.oid = k.conrelid
	WHERE c.relnamespace = $2::regnamespace AND c.relkind = 'r' AND c.relname <> '` + keysTable + `' AND k.contype IN ('p', 'u', 'c', 'x', 'f')
	UNION ALL
	SELECT 'index', c.relname::text, ic.relname::text, pg_catalog.pg_get_indexdef(i.indexrelid)
	FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indrelid JOIN pg_catalog.pg_class AS ic ON ic.oid = i.indexrelid
	WHERE c.relnamespace = $2::regnamespace AND c.relkind = 'r' AND c.relname <> '` + keysTable + `' AND i.indisvalid
		AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint AS k WHERE k.conindid = i.indexrelid)
	UNION ALL
	SELECT 'trigger', c.relname::text, g.tgname::text, pg_catalog.pg_get_triggerdef(g.oid)
	FROM pg_catalog.pg_trigger AS g JOIN pg_catalog.pg_class AS c ON c.oid = g.tgrelid
	WHERE c.relnamespace = $2::regnamespace AND NOT g.tgisinternal AND NOT starts_with(g.tgname, '` + triggerPrefix + `')`

// othersSQL counts what a move would leave behind: a tenant's schema has none of it.
const othersSQL = `
	SELECT (SELECT count(*) FROM pg_catalog.pg_class AS c WHERE c.relnamespace = $1::regnamespace AND c.relkind NOT IN ('r', 'i', 'S', 't'))
		+ (SELECT count(*) FROM pg_catalog.pg_class AS c WHERE c.relnamespace = $1::regnamespace AND c.relkind = 'S' AND NOT EXISTS (
			SELECT FROM pg_catalog.pg_depend AS d WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'i'))
		+ (SELECT count(*) FROM pg_catalog.pg_proc AS p WHERE p.pronamespace = $1::regnamespace)
		+ (SELECT count(*) FROM pg_catalog.pg_type AS t WHERE t.typnamespace = $1::regnamespace AND t.typrelid = 0 AND t.typelem = 0)
		+ (SELECT count(*) FROM pg_catalog.pg_policy AS p JOIN pg_catalog.pg_class AS c ON c.oid = p.polrelid WHERE c.relnamespace = $1::regnamespace)
		+ (SELECT count(*) FROM pg_catalog.pg_statistic_ext AS s WHERE s.stxnamespace = $1::regnamespace)`

// queryer runs queries: a connection or a transaction.
type queryer interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// describe returns what the schema of a tenant consists of. Errors: Internal for a schema with what cannot be copied.
func describe(ctx context.Context, on queryer, schema string) (d description, err error) {
	d.schema = schema
	quoted := pgx.Identifier{schema}.Sanitize()
	if d.tables, err = collect[table](ctx, on, tablesSQL, quoted); err != nil {
		return d, fmt.Errorf("list the tables of %s: %w", schema, err)
	}
	columns, err := collect[column](ctx, on, columnsSQL, quoted)
	if err != nil {
		return d, fmt.Errorf("list the columns of %s: %w", schema, err)
	}
	for _, c := range columns {
		if at := slices.IndexFunc(d.tables, func(t table) bool { return t.Name == c.Relation }); at >= 0 {
			d.tables[at].columns = append(d.tables[at].columns, c)
		}
	}
	if d.objects, err = collect[object](ctx, on, objectsSQL, schema, quoted); err != nil {
		return d, fmt.Errorf("list the indexes and triggers of %s: %w", schema, err)
	}
	slices.SortFunc(d.objects, func(a, b object) int { // servers have different orders of text
		return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Relation, b.Relation), strings.Compare(a.Name, b.Name))
	})
	others, err := collectValues[int64](ctx, on, othersSQL, quoted)
	if err == nil && others[0] > 0 {
		err = fault.New(fault.Internal, "the schema %s has %d objects that are no tables, indexes or triggers, and would be lost", schema, others[0])
	}
	return d, err
}

// collect returns the rows of a query, by the names of columns; fields without a column stay empty.
func collect[T any](ctx context.Context, on queryer, sql string, args ...any) ([]T, error) {
	rows, err := on.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByNameLax[T])
}

func collectValues[T any](ctx context.Context, on queryer, sql string, args ...any) ([]T, error) {
	rows, err := on.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[T])
}

// table returns a table by its name.
func (d description) table(name string) (table, bool) {
	at := slices.IndexFunc(d.tables, func(t table) bool { return t.Name == name })
	if at < 0 {
		return table{}, false
	}
	return d.tables[at], true
}

// of returns the objects of a kind.
func (d description) of(kind objectKind) []object {
	return slices.DeleteFunc(slices.Clone(d.objects), func(o object) bool { return o.Kind != kind })
}

// name returns the quoted name of a table with that of its schema.
func (d description) name(t table) string { return pgx.Identifier{d.schema, t.Name}.Sanitize() }

// loaded returns the quoted names of the columns that are loaded: all but generated ones.
func (t table) loaded() string {
	var names []string
	for _, c := range t.columns {
		if !c.Generated {
			names = append(names, pgx.Identifier{c.Name}.Sanitize())
		}
	}
	return strings.Join(names, ", ")
}

// create returns the statement that creates a table with its columns, without constraints.
func (d description) create(t table) string {
	var columns, storage []string
	for _, c := range t.columns {
		columns = append(columns, c.definition())
		if c.Storage != "" {
			storage = append(storage, "ALTER "+pgx.Identifier{c.Name}.Sanitize()+" SET STORAGE "+c.Storage)
		}
	}
	sql := "CREATE TABLE " + d.name(t) + " (" + strings.Join(columns, ", ") + ")"
	if len(t.Options) > 0 {
		sql += " WITH (" + strings.Join(t.Options, ", ") + ")"
	}
	if len(storage) > 0 {
		sql += "; ALTER TABLE " + d.name(t) + " " + strings.Join(storage, ", ")
	}
	return sql
}

// definition returns a column as CREATE TABLE has it.
func (c column) definition() string {
	sql := pgx.Identifier{c.Name}.Sanitize() + " " + c.Type
	if c.Compression != "" {
		sql += " COMPRESSION " + c.Compression
	}
	if c.Collation != "" {
		sql += " COLLATE " + c.Collation
	}
	switch {
	case c.Generated:
		sql += " GENERATED ALWAYS AS (" + c.Default + ") STORED"
	case c.Identity == "a":
		sql += " GENERATED ALWAYS AS IDENTITY"
	case c.Identity != "":
		sql += " GENERATED BY DEFAULT AS IDENTITY"
	case c.Default != "":
		sql += " DEFAULT " + c.Default
	}
	if c.Required {
		sql += " NOT NULL"
	}
	return sql
}

// same reports whether rows of one table fit into the other, which has the same name.
func (t table) same(other table) bool {
	return t.OID == other.OID && slices.Equal(t.columns, other.columns)
}
