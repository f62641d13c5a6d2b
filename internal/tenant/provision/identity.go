package provision

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/postgres"
)

// Identity says which database this is, and to which service it belongs.
type Identity struct {
	DatabaseID string
	ServiceID  string
}

// ReadIdentity returns the identity of a database; the zero value for one that has none yet.
func ReadIdentity(ctx context.Context, pool *pgxpool.Pool) (i Identity, err error) {
	var known bool
	if err := pool.QueryRow(ctx, `SELECT to_regclass('ragd.identity') IS NOT NULL`).Scan(&known); err != nil || !known {
		return i, postgres.Fault(err)
	}
	err = pool.QueryRow(ctx, `SELECT database_id::text, service_id::text FROM ragd.identity`).Scan(&i.DatabaseID, &i.ServiceID)
	if errors.Is(err, pgx.ErrNoRows) {
		return i, nil
	}
	return i, postgres.Fault(err)
}
