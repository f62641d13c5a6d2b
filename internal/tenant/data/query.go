package data

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Queryer runs queries for Select, Values, Get and Value: a Handle, a Tx or a Session.
type Queryer interface {
	query(ctx context.Context, sql string, args []any, read func(pgx.Rows) error) error
}

// Rows returns a function for Batch.Query that scans the rows into out, by column name.
func Rows[T any](out *[]T) func(pgx.Rows) error { return collect(out, pgx.RowToStructByName[T]) }

// Column returns a function for Batch.Query that scans rows of one column into out.
func Column[T any](out *[]T) func(pgx.Rows) error { return collect(out, pgx.RowTo[T]) }

func collect[T any](out *[]T, scan pgx.RowToFunc[T]) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*out, err = pgx.CollectRows(rows, scan)
		return err
	}
}

// Select returns the rows of a query, scanned into T by column name.
func Select[T any](ctx context.Context, q Queryer, sql string, args ...any) (out []T, err error) {
	err = q.query(ctx, sql, args, Rows(&out))
	return out, err
}

// Values returns the single column of the rows of a query.
func Values[T any](ctx context.Context, q Queryer, sql string, args ...any) (out []T, err error) {
	err = q.query(ctx, sql, args, Column(&out))
	return out, err
}

// Get returns the first row of a query, scanned into T by column name, or
// pgx.ErrNoRows.
func Get[T any](ctx context.Context, q Queryer, sql string, args ...any) (out T, err error) {
	err = q.query(ctx, sql, args, func(rows pgx.Rows) error {
		out, err = pgx.CollectOneRow(rows, pgx.RowToStructByName[T])
		return err
	})
	return out, err
}

// Value returns the single column of the first row of a query, or pgx.ErrNoRows.
func Value[T any](ctx context.Context, q Queryer, sql string, args ...any) (out T, err error) {
	err = q.query(ctx, sql, args, func(rows pgx.Rows) error {
		out, err = pgx.CollectOneRow(rows, pgx.RowTo[T])
		return err
	})
	return out, err
}
