package tool

import (
	"context"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Service stores the tools of the calling tenant. Safe for concurrent use.
type Service struct {
	db      *data.DB
	indexes *index.Service
}

// New returns a Service.
func New(db *data.DB, indexes *index.Service) *Service { return &Service{db, indexes} }

// Create stores a new tool. Errors: Invalid; Exists; Exhausted when the tenant has too
// many tools; NotFound for an index that does not exist.
func (s *Service) Create(ctx context.Context, wanted Tool) (Tool, error) {
	h, err := s.whole(ctx)
	if err != nil {
		return Tool{}, err
	}
	if err := s.complete(ctx, &wanted); err != nil {
		return Tool{}, err
	}
	return insert(ctx, h, wanted)
}

// whole returns a handle of the caller's tenant. Errors: Denied unless the caller may
// change what the whole tenant sees.
func (s *Service) whole(ctx context.Context) (*data.Handle, error) {
	r, err := access.RequireUnfiltered(ctx, access.Write)
	if err != nil {
		return nil, err
	}
	return s.db.Handle(r.Tenant), nil
}

func (s *Service) complete(ctx context.Context, t *Tool) error {
	if err := t.complete(); err != nil {
		return err
	}
	if name, ok := t.Settings["indexName"].(string); ok {
		if _, _, err := s.indexes.Describe(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// Get returns a tool. Errors: NotFound.
func (s *Service) Get(ctx context.Context, name string) (Tool, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return Tool{}, err
	}
	row, err := tools.Get(ctx, s.db.Handle(r.Tenant), name, scope(ctx)...)
	return row.tool(), err
}

// List returns a page of the tools in the order of their names.
func (s *Service) List(ctx context.Context, pageSize int32, pageToken string) ([]Tool, string, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, "", err
	}
	rows, next, err := tools.Page(ctx, s.db.Handle(r.Tenant), pageSize, pageToken, scope(ctx)...)
	found := make([]Tool, len(rows))
	for i, row := range rows {
		found[i] = row.tool()
	}
	return found, next, err
}

// Change holds the fields that Update changes. Nil leaves a field unchanged.
type Change struct {
	// ETag is that of the tool as the caller knows it; empty for any.
	ETag string

	Title       *string
	Description *string
	Settings    map[string]any
	Arguments   []string
	Fixed       *bool
	Annotations *Annotations
	// Meta and OutputSchema replace the old ones; empty maps remove them.
	Meta         map[string]any
	OutputSchema map[string]any
}

// ETag returns the etag of the tool.
func (t Tool) ETag() string { return catalog.ETag(t.Name, t.UpdatedAt) }

// apply changes the tool.
func (c Change) apply(t *Tool) {
	for to, from := range map[*string]*string{&t.Title: c.Title, &t.Description: c.Description} {
		if from != nil {
			*to = *from
		}
	}
	if c.Settings != nil {
		t.Settings = c.Settings
	}
	if len(c.Arguments) > 0 {
		t.Arguments = c.Arguments
	}
	if c.Fixed != nil {
		t.Fixed = *c.Fixed
	}
	if c.Annotations != nil {
		t.Annotations = *c.Annotations
	}
	for to, from := range map[*map[string]any]map[string]any{&t.Meta: c.Meta, &t.OutputSchema: c.OutputSchema} {
		if from != nil {
			*to = from
		}
	}
}

// Update changes a tool. Errors: NotFound; Invalid; Conflict when another call changed it
// at the same time.
func (s *Service) Update(ctx context.Context, name string, c Change) (Tool, error) {
	h, err := s.whole(ctx)
	if err != nil {
		return Tool{}, err
	}
	old, err := tools.Get(ctx, h, name, scope(ctx)...)
	if err != nil {
		return Tool{}, err
	}
	changed := old.tool()
	if err := catalog.Expect(tools.Noun, name, c.ETag, changed.ETag()); err != nil {
		return Tool{}, err
	}
	c.apply(&changed)
	if err := s.complete(ctx, &changed); err != nil {
		return Tool{}, err
	}
	return update(ctx, h, changed, old.UpdatedAt)
}

// TakeOver stores what another MCP server says about its tool, when that has changed, as the
// member tool of the settings. It leaves what the tenant has set, and needs no right to write,
// because the tenant chose the server. Errors: NotFound.
func (s *Service) TakeOver(ctx context.Context, name string, said map[string]any) error {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return err
	}
	h := s.db.Handle(r.Tenant)
	n, err := h.Exec(ctx, `
		UPDATE ragd_shared.tools SET settings = jsonb_set(settings, '{tool}', settings -> 'tool' || $2),
			updated_at = greatest(clock_timestamp(), updated_at + interval '1 microsecond')
		WHERE tool_name = $1 AND kind = 'mcp' AND settings ? 'tool'`, name, said)
	if err == nil && n == 0 {
		err = tools.NotFound(ctx, h, name, scope(ctx)...)
	}
	return err
}

// Delete removes a tool. Errors: NotFound.
func (s *Service) Delete(ctx context.Context, name string) error {
	h, err := s.whole(ctx)
	if err != nil {
		return err
	}
	return tools.Delete(ctx, h, name, scope(ctx)...)
}
