package agent

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"

	"github.com/ragdhq/ragd/internal/expression"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/llm"
	"github.com/ragdhq/ragd/internal/nearest"
	"github.com/ragdhq/ragd/internal/pagination"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/toolset"
)

// Service stores the agents of the calling tenant and lets them answer. Safe for concurrent use.
type Service struct {
	Config

	env *expression.Environment
}

// Config are the parts that a Service uses. All are required.
type Config struct {
	DB     *tenant.DB
	Models *llm.Client
	Logger *slog.Logger
	// Tools returns the tools that agents call.
	Tools func() *toolset.Set
}

// New returns a Service.
func New(config Config) (*Service, error) {
	env, err := expression.New(variables...)
	return &Service{Config: config, env: env}, err
}

// Create stores a new agent. Errors: Invalid, naming the field; Exists; Exhausted when the tenant
// has too many; Denied for a credential with a mandatory filter or bounds, or without the scope
// write.
func (s *Service) Create(ctx context.Context, name string, definition []byte) (Agent, error) {
	r, err := tenant.RequireUnfiltered(ctx, tenant.Write)
	if err != nil {
		return Agent{}, err
	}
	a, err := s.complete(ctx, r, Agent{Name: name}, definition)
	if err != nil {
		return Agent{}, err
	}
	defer s.Tools().ForgetTools(r.Tenant)
	return insert(ctx, s.DB.Handle(r.Tenant), a)
}

// complete returns an agent with a definition that has been checked.
func (s *Service) complete(ctx context.Context, r *tenant.Request, a Agent, definition []byte) (Agent, error) {
	var err error
	if a.Definition, err = Parse(definition); err != nil {
		return a, err
	}
	if err := a.check(s.env); err != nil {
		return a, err
	}
	for _, model := range a.models() {
		if err := s.Models.Check(ctx, string(r.Tenant), model); err != nil {
			return a, fault.Under("definition", err)
		}
	}
	return a, s.DB.Handle(r.Tenant).Admit(ctx, int64(len(definition)))
}

// Get returns an agent. Errors: NotFound, also for one that the caller may not use.
func (s *Service) Get(ctx context.Context, name string) (Agent, error) {
	r, err := tenant.Require(ctx, tenant.Read)
	if err != nil {
		return Agent{}, err
	}
	h := s.DB.Handle(r.Tenant)
	if r.Bounds.MayUseTool(ToolPrefix + name) {
		if a, ok, err := find(ctx, h, name); ok || err != nil {
			return a, err
		}
	}
	var names []string
	if all, err := s.all(ctx, r); err == nil {
		for _, a := range all {
			names = append(names, a.Name)
		}
	}
	return Agent{}, fault.New(fault.NotFound, "agent %q not found%s", name, nearest.Hint(name, names))
}

// all returns the agents that the caller may use, in the order of their names.
func (s *Service) all(ctx context.Context, r *tenant.Request) ([]Agent, error) {
	all, err := list(ctx, s.DB.Handle(r.Tenant))
	return slices.DeleteFunc(all, func(a Agent) bool { return !r.Bounds.MayUseTool(ToolPrefix + a.Name) }), err
}

// List returns a page of the agents that the caller may use, in the order of their names.
func (s *Service) List(ctx context.Context, pageSize int32, pageToken string) ([]Agent, string, error) {
	r, err := tenant.Require(ctx, tenant.Read)
	if err != nil {
		return nil, "", err
	}
	return pagination.List(tenant.Pages(ctx, "agents"), pageSize, pageToken, "", func(a Agent) string { return a.Name }, func(after string, most int) ([]Agent, error) {
		all, err := s.all(ctx, r)
		all = slices.DeleteFunc(all, func(a Agent) bool { return a.Name <= after })
		return all[:min(most, len(all))], err
	})
}

// Update replaces the definition of an agent. Errors: as of Create; NotFound; Conflict when another
// call changed it at the same time.
func (s *Service) Update(ctx context.Context, name string, definition []byte) (Agent, error) {
	r, err := tenant.RequireUnfiltered(ctx, tenant.Write)
	if err != nil {
		return Agent{}, err
	}
	old, err := s.Get(ctx, name)
	if err != nil {
		return Agent{}, err
	}
	changed, err := s.complete(ctx, r, old, definition)
	if err != nil {
		return Agent{}, err
	}
	defer s.Tools().ForgetTools(r.Tenant)
	return update(ctx, s.DB.Handle(r.Tenant), changed)
}

// Delete deletes an agent with its threads. Errors: NotFound.
func (s *Service) Delete(ctx context.Context, name string) error {
	r, err := tenant.RequireUnfiltered(ctx, tenant.Write)
	if err != nil {
		return err
	}
	if _, err := s.Get(ctx, name); err != nil {
		return err
	}
	defer s.Tools().ForgetTools(r.Tenant)
	return remove(ctx, s.DB.Handle(r.Tenant), name)
}

// JSON returns the definition as JSON.
func (a Agent) JSON() ([]byte, error) { return json.Marshal(a.Definition) }
