package tool

import (
	"context"
	"time"

	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
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

// tools is the table of tools. Its scope is that of a caller.
var tools = catalog.Table[toolRow]{
	Noun: "tool", Plural: "tools", Most: maxTools,
	Name:      func(r toolRow) string { return r.ToolName },
	CountSQL:  `SELECT count(*) FROM ragd_shared.tools`,
	NamesSQL:  `SELECT tool_name FROM ragd_shared.tools WHERE ` + visible + ` ORDER BY tool_name`,
	FindSQL:   `SELECT ` + toolColumns + ` FROM ragd_shared.tools WHERE ` + visible + ` AND tool_name = $3`,
	ListSQL:   `SELECT ` + toolColumns + ` FROM ragd_shared.tools WHERE ` + visible + ` AND tool_name > $3 ORDER BY tool_name LIMIT $4`,
	DeleteSQL: `DELETE FROM ragd_shared.tools WHERE ` + visible + ` AND tool_name = $3 RETURNING tool_name`,
}

// scope returns the parameters of visible for the caller.
func scope(ctx context.Context) []any {
	may := access.BoundsOf(ctx)
	return []any{may.Tools, may.Indexes}
}

// insert stores a new tool.
func insert(ctx context.Context, h *data.Handle, t Tool) (made Tool, err error) {
	err = h.Tx(ctx, func(tx *data.Tx) error {
		row, err := tools.Insert(ctx, tx, t.Name, `
			INSERT INTO ragd_shared.tools (tool_name, kind, title, description, settings, arguments, fixed, annotations, meta, output_schema)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING RETURNING `+toolColumns,
			t.Name, t.Kind, t.Title, t.Description, t.Settings, t.Arguments, t.Fixed, t.Annotations, object(t.Meta), object(t.OutputSchema))
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
func update(ctx context.Context, h *data.Handle, t Tool, asOf time.Time) (Tool, error) {
	row, err := tools.Update(ctx, h, t.Name, `
		UPDATE ragd_shared.tools SET title = $2, description = $3, settings = $4, arguments = $5, fixed = $6,
			annotations = $8, meta = $9, output_schema = $10,
			updated_at = greatest(clock_timestamp(), updated_at + interval '1 microsecond')
		WHERE tool_name = $1 AND updated_at = $7 RETURNING `+toolColumns,
		t.Name, t.Title, t.Description, t.Settings, t.Arguments, t.Fixed, asOf, t.Annotations, object(t.Meta), object(t.OutputSchema))
	return row.tool(), err
}
