package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// usedKey is the key of the set of tables that a connection has used, in its custom data.
const usedKey = "ragd used tables"

// tables are the tables of one index, or with an empty index the others of a schema.
type tables struct{ schema, index string }

// Use notes that the caller's connection is about to use the tables of an index, or with an
// empty index the others of a schema. A server process keeps what it has read about each
// table until it ends, so a pool of Open replaces a connection that has used those of
// Config.MaxIndexes.
func Use(conn *pgx.Conn, schema, index string) {
	data := conn.PgConn().CustomData()
	used, ok := data[usedKey].(map[tables]struct{})
	if !ok {
		used = map[tables]struct{}{}
		data[usedKey] = used
	}
	used[tables{schema, index}] = struct{}{}
}

// fresh returns a function for pgxpool.Config.PrepareConn that accepts connections which
// have used the tables of fewer than most indexes.
func fresh(most int) func(context.Context, *pgx.Conn) (bool, error) {
	return func(_ context.Context, conn *pgx.Conn) (bool, error) {
		used, _ := conn.PgConn().CustomData()[usedKey].(map[tables]struct{})
		return len(used) < most, nil
	}
}
