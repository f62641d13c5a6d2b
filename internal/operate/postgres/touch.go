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

// startKey is the key of the settings that the server reported when the connection was opened, in
// its custom data.
const startKey = "ragd settings at the start"

// reported are settings that change what statements mean, and of whose changes the server tells
// the driver by itself.
var reported = []string{"DateStyle", "IntervalStyle", "TimeZone", "client_encoding", "default_transaction_read_only", "search_path", "session_authorization", "standard_conforming_strings"}

// settingsOf returns the present values of the reported settings, empty for those of which the
// server does not tell.
func settingsOf(conn *pgx.Conn) (values [8]string) {
	for i, name := range reported {
		values[i] = conn.PgConn().ParameterStatus(name)
	}
	return values
}

// fresh returns a function for pgxpool.Config.PrepareConn that accepts connections which
// have used the tables of fewer than most indexes, and whose reported settings are still those of
// the start, so that a statement which leaves others spoils none of the next.
func fresh(most int) func(context.Context, *pgx.Conn) (bool, error) {
	return func(_ context.Context, conn *pgx.Conn) (bool, error) {
		data := conn.PgConn().CustomData()
		used, _ := data[usedKey].(map[tables]struct{})
		start, known := data[startKey].([8]string)
		return len(used) < most && (!known || start == settingsOf(conn)) && knowsWorkers(conn), nil
	}
}
