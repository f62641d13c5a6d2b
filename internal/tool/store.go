package tool

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
)

type toolRow struct {
	ToolName     string
	Kind         Kind
	Title        string
	Description  string
	Settings     map[string]any
	Arguments    []string
	Fixed        bool
	Annotations  Annotations
	Meta         map[string]any
	OutputSchema map[string]any
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

func (r toolRow) tool() Tool {
	return Tool{
		Name: r.ToolName, Kind: r.Kind, Title: r.Title, Description: r.Description, Settings: r.Settings,
		Arguments: r.Arguments, Fixed: r.Fixed, Annotations: r.Annotations, Meta: r.Meta, OutputSchema: r.OutputSchema,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

// visible is the condition that a tool is within the bounds of a caller, the tools $1 and the
// indexes $2: a tool of an index that the caller may not use does not exist for it.
const visible = `($1::text[] IS NULL OR tool_name = ANY($1))
	AND ($2::text[] IS NULL OR settings->>'indexName' IS NULL OR settings->>'indexName' = ANY($2))`

const toolColumns = `tool_name, kind, title, description, settings, arguments, fixed, annotations, meta, output_schema, created_at, updated_at`

func get(ctx context.Context, q tenant.Queryer, name string) (Tool, error) {
	may := tenant.BoundsOf(ctx)
	row, err := tenant.Get[toolRow](ctx, q, `SELECT `+toolColumns+` FROM ragd_shared.tools WHERE `+visible+` AND tool_name = $3`, may.Tools, may.Indexes, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return Tool{}, notFound(ctx, q, name)
	}
	return row.tool(), err
}

// list returns at most limit tools within the bounds of the caller whose names follow after,
// ordered by name.
func list(ctx context.Context, q tenant.Queryer, after string, limit int) ([]Tool, error) {
	may := tenant.BoundsOf(ctx)
	rows, err := tenant.Select[toolRow](ctx, q, `
		SELECT `+toolColumns+` FROM ragd_shared.tools WHERE `+visible+` AND tool_name > $3 ORDER BY tool_name LIMIT $4`, may.Tools, may.Indexes, after, limit)
	tools := make([]Tool, len(rows))
	for i, row := range rows {
		tools[i] = row.tool()
	}
	return tools, err
}

// insert stores a new tool. A lock makes the limit hold for concurrent calls.
func insert(ctx context.Context, h *tenant.Handle, t Tool) (made Tool, err error) {
	err = h.Tx(ctx, func(tx *tenant.Tx) error {
		if err := tx.Lock(ctx, "tools"); err != nil {
			return err
		}
		have, err := tenant.Value[int](ctx, tx, `SELECT count(*) FROM ragd_shared.tools`)
		if err != nil {
			return err
		}
		if have >= maxTools {
			return fault.New(fault.Exhausted, "a tenant may have %d tools: delete one that is no longer needed", maxTools)
		}
		row, err := tenant.Get[toolRow](ctx, tx, `
			INSERT INTO ragd_shared.tools (tool_name, kind, title, description, settings, arguments, fixed, annotations, meta, output_schema)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING RETURNING `+toolColumns,
			t.Name, t.Kind, t.Title, t.Description, t.Settings, t.Arguments, t.Fixed, t.Annotations, object(t.Meta), object(t.OutputSchema))
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.New(fault.Exists, "tool %q exists already", t.Name)
		}
		made = row.tool()
		return err
	})
	return made, err
}

// object returns a column's value: SQL NULL for a nil map, which would be JSON null.
func object(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}

// update stores a changed tool if it was last updated at asOf.
func update(ctx context.Context, h *tenant.Handle, t Tool, asOf time.Time) (Tool, error) {
	row, err := tenant.Get[toolRow](ctx, h, `
		UPDATE ragd_shared.tools SET title = $2, description = $3, settings = $4, arguments = $5, fixed = $6,
			annotations = $8, meta = $9, output_schema = $10,
			updated_at = greatest(clock_timestamp(), updated_at + interval '1 microsecond')
		WHERE tool_name = $1 AND updated_at = $7 RETURNING `+toolColumns,
		t.Name, t.Title, t.Description, t.Settings, t.Arguments, t.Fixed, asOf, t.Annotations, object(t.Meta), object(t.OutputSchema))
	if errors.Is(err, pgx.ErrNoRows) {
		return Tool{}, fault.New(fault.Conflict, "tool %q was changed or deleted meanwhile", t.Name)
	}
	return row.tool(), err
}
