package server

import (
	"context"
	"time"

	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
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

// servers is the table of servers.
var servers = catalog.Table[serverRow]{
	Noun: "server", Plural: "servers", Most: maxServers,
	Name:      func(r serverRow) string { return r.ServerName },
	CountSQL:  `SELECT count(*) FROM ragd_shared.servers`,
	FindSQL:   `SELECT ` + serverColumns + ` FROM ragd_shared.servers WHERE server_name = $1`,
	ListSQL:   `SELECT ` + serverColumns + ` FROM ragd_shared.servers WHERE server_name > $1 ORDER BY server_name LIMIT $2`,
	DeleteSQL: `DELETE FROM ragd_shared.servers WHERE server_name = $1 RETURNING server_name`,
}

// get returns a server, nil if there is none.
func get(ctx context.Context, q data.Queryer, name string) (*Server, error) {
	row, ok, err := servers.Find(ctx, q, name)
	if !ok || err != nil {
		return nil, err
	}
	return row.server(), nil
}

// insert stores a new server.
func insert(ctx context.Context, h *data.Handle, s *Server) (made *Server, err error) {
	err = h.Tx(ctx, func(tx *data.Tx) error {
		row, err := servers.Insert(ctx, tx, s.Name, `
			INSERT INTO ragd_shared.servers (server_name, definition)
			VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING `+serverColumns, s.Name, s.Definition)
		made = row.server()
		return err
	})
	return made, err
}

// update stores a changed server if it was last updated at asOf.
func update(ctx context.Context, h *data.Handle, s *Server, asOf time.Time) (*Server, error) {
	row, err := servers.Update(ctx, h, s.Name, `
		UPDATE ragd_shared.servers SET definition = $2,
			updated_at = greatest(clock_timestamp(), updated_at + interval '1 microsecond')
		WHERE server_name = $1 AND updated_at = $3 RETURNING `+serverColumns, s.Name, s.Definition, asOf)
	if err != nil {
		return nil, err
	}
	return row.server(), nil
}
