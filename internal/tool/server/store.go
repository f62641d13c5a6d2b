package server

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
)

type serverRow struct {
	ServerName string
	Definition Definition
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

func (r serverRow) server() *Server {
	return &Server{Name: r.ServerName, Definition: r.Definition, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt}
}

const serverColumns = `server_name, definition, created_at, updated_at`

// get returns a server, nil if there is none.
func get(ctx context.Context, q tenant.Queryer, name string) (*Server, error) {
	row, err := tenant.Get[serverRow](ctx, q, `SELECT `+serverColumns+` FROM ragd_shared.servers WHERE server_name = $1`, name)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return row.server(), nil
}

// list returns at most limit servers whose names follow after, ordered by name.
func list(ctx context.Context, q tenant.Queryer, after string, limit int) ([]*Server, error) {
	rows, err := tenant.Select[serverRow](ctx, q, `
		SELECT `+serverColumns+` FROM ragd_shared.servers WHERE server_name > $1 ORDER BY server_name LIMIT $2`, after, limit)
	servers := make([]*Server, len(rows))
	for i, row := range rows {
		servers[i] = row.server()
	}
	return servers, err
}

// insert stores a new server. A lock makes the limit hold for concurrent calls.
func insert(ctx context.Context, h *tenant.Handle, s *Server) (made *Server, err error) {
	err = h.Tx(ctx, func(tx *tenant.Tx) error {
		if err := tx.Lock(ctx, "servers"); err != nil {
			return err
		}
		have, err := tenant.Value[int](ctx, tx, `SELECT count(*) FROM ragd_shared.servers`)
		if err != nil {
			return err
		}
		if have >= maxServers {
			return fault.New(fault.Exhausted, "a tenant may have %d servers: delete one that is no longer needed", maxServers)
		}
		row, err := tenant.Get[serverRow](ctx, tx, `
			INSERT INTO ragd_shared.servers (server_name, definition)
			VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING `+serverColumns, s.Name, s.Definition)
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.New(fault.Exists, "server %q exists already", s.Name)
		}
		made = row.server()
		return err
	})
	return made, err
}

// update stores a changed server if it was last updated at asOf.
func update(ctx context.Context, h *tenant.Handle, s *Server, asOf time.Time) (*Server, error) {
	row, err := tenant.Get[serverRow](ctx, h, `
		UPDATE ragd_shared.servers SET definition = $2,
			updated_at = greatest(clock_timestamp(), updated_at + interval '1 microsecond')
		WHERE server_name = $1 AND updated_at = $3 RETURNING `+serverColumns, s.Name, s.Definition, asOf)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fault.New(fault.Conflict, "server %q was changed or deleted meanwhile", s.Name)
	}
	return row.server(), err
}
