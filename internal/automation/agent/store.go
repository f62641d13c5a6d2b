package agent

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
)

type row struct {
	AgentName  string
	Definition json.RawMessage
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

const columns = `agent_name, definition, created_at, updated_at`

func (r row) agent() (Agent, error) {
	a := Agent{Name: r.AgentName, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt}
	return a, json.Unmarshal(r.Definition, &a.Definition)
}

// find returns an agent. ok is false if there is none.
func find(ctx context.Context, q tenant.Queryer, name string) (a Agent, ok bool, err error) {
	r, err := tenant.Get[row](ctx, q, `SELECT `+columns+` FROM ragd_shared.agents WHERE agent_name = $1`, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return a, false, nil
	}
	if err == nil {
		a, err = r.agent()
	}
	return a, err == nil, err
}

// list returns all agents in the order of their names.
func list(ctx context.Context, q tenant.Queryer) ([]Agent, error) {
	rows, err := tenant.Select[row](ctx, q, `SELECT `+columns+` FROM ragd_shared.agents ORDER BY agent_name LIMIT $1`, maxAgents)
	if err != nil {
		return nil, err
	}
	all := make([]Agent, len(rows))
	for i, r := range rows {
		if all[i], err = r.agent(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// insert stores a new agent. A lock makes the limit hold for concurrent calls.
func insert(ctx context.Context, h *tenant.Handle, a Agent) (made Agent, err error) {
	err = h.Tx(ctx, func(tx *tenant.Tx) error {
		if err := tx.Lock(ctx, "agents"); err != nil {
			return err
		}
		names, err := tenant.Values[string](ctx, tx, `SELECT agent_name FROM ragd_shared.agents`)
		if err != nil {
			return err
		}
		for _, name := range names {
			if name == a.Name {
				return fault.New(fault.Exists, "agent %q exists already", a.Name)
			}
		}
		if len(names) >= maxAgents {
			return fault.New(fault.Exhausted, "a tenant may have %d agents: delete one that is no longer needed", maxAgents)
		}
		stored, err := tenant.Get[row](ctx, tx, `
			INSERT INTO ragd_shared.agents (agent_name, definition) VALUES ($1, $2) RETURNING `+columns, a.Name, a.Definition)
		if err == nil {
			made, err = stored.agent()
		}
		return err
	})
	return made, err
}

// update stores the definition of an agent that was last changed at a.UpdatedAt.
func update(ctx context.Context, h *tenant.Handle, a Agent) (Agent, error) {
	stored, err := tenant.Get[row](ctx, h, `
		UPDATE ragd_shared.agents SET definition = $3, updated_at = clock_timestamp() WHERE agent_name = $1 AND updated_at = $2 RETURNING `+columns, a.Name, a.UpdatedAt, a.Definition)
	if errors.Is(err, pgx.ErrNoRows) {
		return Agent{}, fault.New(fault.Conflict, "agent %q was changed or deleted meanwhile", a.Name)
	}
	if err != nil {
		return Agent{}, err
	}
	return stored.agent()
}

// remove deletes an agent with its threads.
func remove(ctx context.Context, h *tenant.Handle, name string) error {
	_, err := h.Exec(ctx, `DELETE FROM ragd_shared.agents WHERE agent_name = $1`, name)
	return err
}
