package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/quota"
	"github.com/ragdhq/ragd/internal/tool/expression"
	"github.com/ragdhq/ragd/internal/tool/template"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// Service stores the agents of the calling tenant and lets them answer. Safe for concurrent use.
type Service struct {
	Config

	env *expression.Environment
}

// Config are the parts that a Service uses. All are required.
type Config struct {
	DB     *data.DB
	Models *llm.Client
	Logger *slog.Logger
	// Enter waits for a slot of the processor for a long evaluation of an expression. nil is no
	// limit.
	Enter expression.Enter
	// Tools returns the tools that agents call.
	Tools func() *toolset.Set
}

// New returns a Service.
func New(config Config) (*Service, error) {
	env, err := expression.New(config.Enter, variables...)
	return &Service{Config: config, env: env}, err
}

// Create stores a new agent. Errors: Invalid, naming the field; Exists; Exhausted when the tenant
// has too many; Denied for a credential with a mandatory filter or bounds, or without the scope
// write, and if the tenant's plan has no agents.
func (s *Service) Create(ctx context.Context, name string, definition []byte) (Agent, error) {
	r, err := access.RequireUnfiltered(ctx, access.Write)
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
func (s *Service) complete(ctx context.Context, r *access.Request, a Agent, definition []byte) (Agent, error) {
	if err := r.Quotas.Check(quota.Agents); err != nil {
		return Agent{}, err
	}
	var err error
	if a.Definition, err = Parse(definition); err != nil {
		return a, err
	}
	if err := a.check(s.env.For(ctx)); err != nil {
		return a, err
	}
	for _, check := range []func(context.Context, *access.Request, Agent) error{s.checkModels, s.checkContext, s.checkTools} {
		if err := check(ctx, r, a); err != nil {
			return a, fault.Under("definition", err)
		}
	}
	return a, s.DB.Handle(r.Tenant).Admit(ctx, int64(len(definition)))
}

// checkModels checks that the models can be called.
func (s *Service) checkModels(ctx context.Context, r *access.Request, a Agent) error {
	if err := s.Models.Check(ctx, string(r.Tenant), a.Model); err != nil {
		return err
	}
	for i, rule := range a.Rules.Model {
		if err := s.Models.Check(ctx, string(r.Tenant), *rule.Value); err != nil {
			return fault.Rename("model", fmt.Sprintf("rules.model[%d].value", i), err)
		}
	}
	return nil
}

// checkContext checks that the keys of the request context that instructions and conditions name
// are known or declared.
func (s *Service) checkContext(ctx context.Context, r *access.Request, a Agent) error {
	if err := checkPaths(r, "instructions", a.Instructions); err != nil {
		return err
	}
	for i, rule := range a.Rules.Instructions {
		if err := checkPaths(r, fmt.Sprintf("rules.instructions[%d].value", i), *rule.Value); err != nil {
			return err
		}
	}
	env := s.env.For(ctx)
	for _, check := range []error{
		checkKeys(env, r, "rules.instructions", a.Rules.Instructions), checkKeys(env, r, "rules.model", a.Rules.Model), checkKeys(env, r, "rules.tools", a.Rules.Tools),
	} {
		if check != nil {
			return check
		}
	}
	return nil
}

// checkPaths checks the paths of a template.
func checkPaths(r *access.Request, field, text string) error {
	parsed, err := template.Parse(field, text)
	if err != nil {
		return err
	}
	for _, path := range parsed.Paths() {
		if err := r.CheckShown(field, path); err != nil {
			return err
		}
	}
	return nil
}

// checkKeys checks the keys of the request context that conditions name.
func checkKeys[T any](env *expression.Environment, r *access.Request, field string, rules []Rule[T]) error {
	for i, rule := range rules {
		at := fmt.Sprintf("%s[%d].when", field, i)
		when, err := env.CompileCondition(at, rule.When)
		if err != nil {
			return err
		}
		for _, name := range when.Named("context") {
			if err := r.CheckShown(at, "context."+name); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkTools checks that the tools exist, and that each would be offered to the model.
func (s *Service) checkTools(ctx context.Context, _ *access.Request, a Agent) error {
	lists := map[string][]string{"tools": a.Tools}
	for i, rule := range a.Rules.Tools {
		lists[fmt.Sprintf("rules.tools[%d].value", i)] = *rule.Value
	}
	for _, field := range slices.Sorted(maps.Keys(lists)) {
		for _, name := range lists[field] {
			if name == ToolPrefix+a.Name {
				return fault.Field(field, "has %q: an agent cannot ask itself", name)
			}
			d, err := s.Tools().Find(ctx, toolset.View{}, name)
			switch {
			case fault.KindOf(err) == fault.NotFound:
				return fault.Field(field, "%s", fault.Public(err))
			case err != nil:
				return err
			case !d.ReadOnly() && !slices.Contains(a.MayWrite, name):
				return fault.Field("mayWrite", "lacks %q of %s, which may change something: name it here too, or the model is not offered it", name, field)
			}
		}
	}
	return nil
}

// Get returns an agent. Errors: NotFound, also for one that the caller may not use.
func (s *Service) Get(ctx context.Context, name string) (Agent, error) {
	r, err := access.Require(ctx, access.Read)
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
	if all, err := s.all(ctx, r, ""); err == nil {
		for _, a := range all {
			names = append(names, a.Name)
		}
	}
	return Agent{}, agents.NotFoundAmong(name, names)
}

// all returns the agents after a name that the caller may use, in the order of their names.
func (s *Service) all(ctx context.Context, r *access.Request, after string) ([]Agent, error) {
	rows, err := agents.List(ctx, s.DB.Handle(r.Tenant), after, maxAgents)
	all, err := catalog.Decoded(rows, err, row.agent)
	return slices.DeleteFunc(all, func(a Agent) bool { return !r.Bounds.MayUseTool(ToolPrefix + a.Name) }), err
}

// List returns a page of the agents that the caller may use, in the order of their names.
func (s *Service) List(ctx context.Context, pageSize int32, pageToken string) ([]Agent, string, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, "", err
	}
	return catalog.Page(ctx, agents.Plural, pageSize, pageToken, func(a Agent) string { return a.Name }, func(after string, most int) ([]Agent, error) {
		all, err := s.all(ctx, r, after)
		return all[:min(most, len(all))], err
	})
}

// Update replaces the definition of an agent. Errors: as of Create; NotFound; Conflict when another
// call changed it at the same time.
func (s *Service) Update(ctx context.Context, name, etag string, definition []byte) (Agent, error) {
	r, err := access.RequireUnfiltered(ctx, access.Write)
	if err != nil {
		return Agent{}, err
	}
	old, err := s.Get(ctx, name)
	if err != nil {
		return Agent{}, err
	}
	if err := catalog.Expect(agents.Noun, name, etag, old.ETag()); err != nil {
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
	r, err := access.RequireUnfiltered(ctx, access.Write)
	if err != nil {
		return err
	}
	if _, err := s.Get(ctx, name); err != nil {
		return err
	}
	defer s.Tools().ForgetTools(r.Tenant)
	return agents.Delete(ctx, s.DB.Handle(r.Tenant), name)
}

// ETag returns the etag of the agent.
func (a Agent) ETag() string { return catalog.ETag(a.Name, a.UpdatedAt) }

// JSON returns the definition as JSON.
func (a Agent) JSON() ([]byte, error) { return json.Marshal(a.Definition) }
