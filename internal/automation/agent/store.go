package agent

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
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

// agents is the table of agents.
var agents = catalog.Table[row]{
	Noun: "agent", Plural: "agents", Most: maxAgents, Shown: 100,
	Name:      func(r row) string { return r.AgentName },
	CountSQL:  `SELECT count(*) FROM ragd_shared.agents`,
	FindSQL:   `SELECT ` + columns + ` FROM ragd_shared.agents WHERE agent_name = $1`,
	ListSQL:   `SELECT ` + columns + ` FROM ragd_shared.agents WHERE agent_name > $1 ORDER BY agent_name LIMIT $2`,
	DeleteSQL: `DELETE FROM ragd_shared.agents WHERE agent_name = $1 RETURNING agent_name`, // with its threads
}

// find returns an agent. ok is false if there is none.
func find(ctx context.Context, q data.Queryer, name string) (a Agent, ok bool, err error) {
	r, ok, err := agents.Find(ctx, q, name)
	if ok && err == nil {
		a, err = r.agent()
	}
	return a, ok && err == nil, err
}

// insert stores a new agent.
func insert(ctx context.Context, h *data.Handle, a Agent) (made Agent, err error) {
	err = h.Tx(ctx, func(tx *data.Tx) error {
		if err := agents.CheckFree(ctx, tx, a.Name); err != nil {
			return err
		}
		stored, err := agents.Insert(ctx, tx, a.Name, `
			INSERT INTO ragd_shared.agents (agent_name, definition) VALUES ($1, $2) RETURNING `+columns, a.Name, a.Definition)
		if err == nil {
			made, err = stored.agent()
		}
		return err
	})
	return made, err
}

// update stores the definition of an agent that was last changed at a.UpdatedAt.
func update(ctx context.Context, h *data.Handle, a Agent) (Agent, error) {
	stored, err := agents.Update(ctx, h, a.Name, `
		UPDATE ragd_shared.agents SET definition = $3, updated_at = clock_timestamp() WHERE agent_name = $1 AND updated_at = $2 RETURNING `+columns, a.Name, a.UpdatedAt, a.Definition)
	if err != nil {
		return Agent{}, err
	}
	return stored.agent()
}
