package policy

import (
	"context"
	"time"

	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

type row struct {
	PolicyName string
	Definition Definition
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

func (r row) policy() Policy {
	return Policy{Name: r.PolicyName, Definition: r.Definition, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt}
}

const columns = `policy_name, definition, created_at, updated_at`

// policies is the table of policies.
var policies = catalog.Table[row]{
	Noun: "policy", Plural: "policies", Most: maxPolicies, Shown: maxNameBytes,
	Name:      func(r row) string { return r.PolicyName },
	CountSQL:  `SELECT count(*) FROM ragd_shared.tool_policies`,
	NamesSQL:  `SELECT policy_name FROM ragd_shared.tool_policies ORDER BY policy_name`,
	FindSQL:   `SELECT ` + columns + ` FROM ragd_shared.tool_policies WHERE policy_name = $1`,
	ListSQL:   `SELECT ` + columns + ` FROM ragd_shared.tool_policies WHERE policy_name > $1 ORDER BY policy_name LIMIT $2`,
	DeleteSQL: `DELETE FROM ragd_shared.tool_policies WHERE policy_name = $1 RETURNING policy_name`,
}

// insert stores a new policy.
func insert(ctx context.Context, h *data.Handle, p Policy) (made Policy, err error) {
	err = h.Tx(ctx, func(tx *data.Tx) error {
		stored, err := policies.Insert(ctx, tx, p.Name, `
			INSERT INTO ragd_shared.tool_policies (policy_name, definition) VALUES ($1, $2)
			ON CONFLICT DO NOTHING RETURNING `+columns, p.Name, p.Definition)
		made = stored.policy()
		return err
	})
	return made, err
}

// update stores a changed policy if it was last updated at asOf.
func update(ctx context.Context, h *data.Handle, p Policy, asOf time.Time) (Policy, error) {
	stored, err := policies.Update(ctx, h, p.Name, `
		UPDATE ragd_shared.tool_policies SET definition = $2, updated_at = greatest(clock_timestamp(), updated_at + interval '1 microsecond')
		WHERE policy_name = $1 AND updated_at = $3 RETURNING `+columns, p.Name, p.Definition, asOf)
	return stored.policy(), err
}
