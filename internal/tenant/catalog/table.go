// Package catalog stores what tenants give names to, such as tools, agents and hooks: within a quota, in
// the order of the names, with the same errors for a name that is taken, unknown or changed by another
// call.
//
// The package that owns a table writes its statements:
//
//	var hooks = catalog.Table[row]{
//		Noun: "hook", Plural: "hooks", Most: maxHooks,
//		Name:      func(r row) string { return r.HookName },
//		CountSQL:  `SELECT count(*) FROM ragd_shared.hooks`,
//		NamesSQL:  `SELECT hook_name FROM ragd_shared.hooks ORDER BY hook_name`,
//		FindSQL:   `SELECT ` + columns + ` FROM ragd_shared.hooks WHERE hook_name = $1`,
//		ListSQL:   `SELECT ` + columns + ` FROM ragd_shared.hooks WHERE hook_name > $1 ORDER BY hook_name LIMIT $2`,
//		DeleteSQL: `DELETE FROM ragd_shared.hooks WHERE hook_name = $1 RETURNING hook_name`,
//	}
package catalog

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/nearest"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Table is a table whose rows have names that are unique in a tenant. Its statements are constants;
// names and other values are their parameters. The parameters of a scope, which the methods take, come
// first. Methods return rows of the type R, scanned by column name. Safe for concurrent use.
type Table[R any] struct {
	Noun   string         // "tool", in errors
	Plural string         // "tools", in errors; also the name of the table's lock and list
	Most   int            // rows that a tenant may have
	Shown  int            // bytes of an unknown name in errors; 0 for all
	Name   func(R) string // the name of a row

	CountSQL  string // counts what Most limits; has no parameters
	NamesSQL  string // the names in a scope; empty if errors name no other one
	FindSQL   string // the row with a name
	ListSQL   string // the rows after a name, ordered by name, up to a number
	DeleteSQL string // deletes the row with a name and returns the name
}

// Find returns a row. ok is false if there is none.
func (t *Table[R]) Find(ctx context.Context, q data.Queryer, name string, scope ...any) (row R, ok bool, err error) {
	row, err = data.Get[R](ctx, q, t.FindSQL, with(scope, name)...)
	if errors.Is(err, pgx.ErrNoRows) {
		return row, false, nil
	}
	return row, err == nil, err
}

// Get returns a row. Errors: NotFound.
func (t *Table[R]) Get(ctx context.Context, q data.Queryer, name string, scope ...any) (R, error) {
	row, ok, err := t.Find(ctx, q, name, scope...)
	if err == nil && !ok {
		err = t.NotFound(ctx, q, name, scope...)
	}
	return row, err
}

// List returns at most so many rows whose names follow after, ordered by name.
func (t *Table[R]) List(ctx context.Context, q data.Queryer, after string, most int, scope ...any) ([]R, error) {
	return data.Select[R](ctx, q, t.ListSQL, with(scope, after, most)...)
}

// Page returns a page of the rows, ordered by name, and the token of the next page. Errors: Invalid for
// pageSize and pageToken.
func (t *Table[R]) Page(ctx context.Context, q data.Queryer, pageSize int32, pageToken string, scope ...any) ([]R, string, error) {
	return Page(ctx, t.Plural, pageSize, pageToken, t.Name, func(after string, most int) ([]R, error) {
		return t.List(ctx, q, after, most, scope...)
	})
}

// Page returns a page of a list that is ordered by name, and the token of the next page. read returns
// at most so many of those that follow a name. Errors: Invalid for pageSize and pageToken; those of read.
func Page[T any](ctx context.Context, list string, pageSize int32, pageToken string, name func(T) string, read func(after string, most int) ([]T, error)) ([]T, string, error) {
	return pagination.List(access.Pages(ctx, list), pageSize, pageToken, "", name, read)
}

// Decoded returns what decode makes of rows that were read without err. It ends with the first error.
func Decoded[R, T any](rows []R, err error, decode func(R) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	all := make([]T, len(rows))
	for i, row := range rows {
		if all[i], err = decode(row); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Insert stores a new row with a statement that returns it, and returns no row if the name is taken. It
// locks the table, so that the quota holds for concurrent calls. Errors: Exhausted; Exists.
func (t *Table[R]) Insert(ctx context.Context, tx *data.Tx, name, sql string, args ...any) (R, error) {
	if err := t.CheckQuota(ctx, tx); err != nil {
		var none R
		return none, err
	}
	row, err := data.Get[R](ctx, tx, sql, args...)
	if errors.Is(err, pgx.ErrNoRows) {
		err = t.Exists(name)
	}
	return row, err
}

// Lock waits until no other transaction of the tenant changes the table.
func (t *Table[R]) Lock(ctx context.Context, tx *data.Tx) error { return tx.Lock(ctx, t.Plural) }

// CheckQuota locks the table and checks that the tenant may have one more row. Errors: Exhausted.
func (t *Table[R]) CheckQuota(ctx context.Context, tx *data.Tx) error {
	if err := t.Lock(ctx, tx); err != nil {
		return err
	}
	have, err := data.Value[int](ctx, tx, t.CountSQL)
	if err == nil && have >= t.Most {
		err = fault.New(fault.Exhausted, "a tenant may have %d %s: delete one that is no longer needed", t.Most, t.Plural)
	}
	return err
}

// CheckFree locks the table and checks that no row has the name. Errors: Exists.
func (t *Table[R]) CheckFree(ctx context.Context, tx *data.Tx, name string) error {
	if err := t.Lock(ctx, tx); err != nil {
		return err
	}
	_, taken, err := t.Find(ctx, tx, name)
	if taken {
		return t.Exists(name)
	}
	return err
}

// Update changes a row with a statement that returns it, and returns no row if the stored one is not
// the one that was read. Errors: Conflict.
func (t *Table[R]) Update(ctx context.Context, q data.Queryer, name, sql string, args ...any) (R, error) {
	row, err := data.Get[R](ctx, q, sql, args...)
	if errors.Is(err, pgx.ErrNoRows) {
		err = t.Changed(name)
	}
	return row, err
}

// Delete deletes a row. Errors: NotFound.
func (t *Table[R]) Delete(ctx context.Context, q data.Queryer, name string, scope ...any) error {
	_, err := data.Value[string](ctx, q, t.DeleteSQL, with(scope, name)...)
	if errors.Is(err, pgx.ErrNoRows) {
		err = t.NotFound(ctx, q, name, scope...)
	}
	return err
}

// NotFound returns the error for a name that no row in the scope has. It names the nearest one.
func (t *Table[R]) NotFound(ctx context.Context, q data.Queryer, name string, scope ...any) error {
	var names []string
	if t.NamesSQL != "" {
		names, _ = data.Values[string](ctx, q, t.NamesSQL, scope...) // without them the error has no hint
	}
	return t.NotFoundAmong(name, names)
}

// NotFoundAmong returns the error for a name that is none of those which the caller may know. It names
// the nearest one.
func (t *Table[R]) NotFoundAmong(name string, known []string) error {
	shown := name
	if t.Shown > 0 {
		shown = textlimit.Shorten(name, t.Shown)
	}
	return fault.New(fault.NotFound, "%s %q not found%s", t.Noun, shown, nearest.Hint(name, known))
}

// Exists returns the error for a name that is taken.
func (t *Table[R]) Exists(name string) error {
	return fault.New(fault.Exists, "%s %q exists already", t.Noun, name)
}

// Changed returns the error for a row that is no longer as it was read.
func (t *Table[R]) Changed(name string) error {
	return fault.New(fault.Conflict, "%s %q was changed or deleted meanwhile", t.Noun, name)
}

// with returns the parameters of a statement: those of the scope and others.
func with(scope []any, others ...any) []any { return slices.Concat(scope, others) }
