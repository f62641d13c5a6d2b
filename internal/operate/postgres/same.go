package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// SameDatabase reports whether two pools lead to one database of one running server, by
// whatever addresses and as whatever roles. It takes a lock through one of them and looks
// for it through the other: a copy of a server has the same identifiers, but not its locks.
func SameDatabase(ctx context.Context, a, b *pgxpool.Pool) (same bool, err error) {
	key := rand.Int64()
	err = pgx.BeginFunc(ctx, a, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, key); err != nil {
			return err
		}
		var free bool
		err := b.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, key).Scan(&free)
		same = !free
		return err
	})
	return same, Fault(err)
}

// Describe returns the database of a pool with its address, for errors.
func Describe(pool *pgxpool.Pool) string {
	cc := pool.Config().ConnConfig
	return fmt.Sprintf("the database %q at %s", cc.Database, addresses(cc))
}

// Address returns host, port and name of the database of a pool, without user and password.
func Address(pool *pgxpool.Pool) string {
	cc := pool.Config().ConnConfig
	return addresses(cc) + "/" + cc.Database
}
