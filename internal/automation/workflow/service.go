package workflow

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/automation/agent"
	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/quota"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
	"github.com/ragdhq/ragd/internal/tool/expression"
	"github.com/ragdhq/ragd/internal/tool/httptool"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// Service stores and runs the workflows of the calling tenant. Safe for concurrent use.
type Service struct {
	Config

	env   *expression.Environment
	plans *cache.Cache[[sha256.Size]byte, *plan]
	slots *limit.Limiter[tenant.ID] // runs of this instance

	watcher watcher
}

// Config are the parts that a Service uses. All are required.
type Config struct {
	DB *data.DB
	// Work is the database for background work.
	Work   *data.DB
	Queue  *job.Queue
	Gate   *admission.Gate // limits the memory of runs
	Auth   *credential.Authenticator
	HTTP   *httptool.Runner
	Logger *slog.Logger
	// Enter waits for a slot of the processor for a long evaluation of an expression. nil is no
	// limit.
	Enter expression.Enter
	// Tools returns the tools that steps call.
	Tools func() *toolset.Set
}

const (
	// maxPlans is how many definitions are kept ready to run.
	maxPlans = 500
	// maxTenantRuns is how many runs of one tenant an instance works on at once; others wait.
	maxTenantRuns = 256
)

// New returns a Service.
func New(config Config) (*Service, error) {
	env, err := expression.New(config.Enter, variables...)
	return &Service{
		Config: config, env: env,
		plans: cache.New(cache.Config[[sha256.Size]byte, *plan]{Entries: maxPlans}),
		slots: limit.New[tenant.ID](0, maxTenantRuns),
	}, err
}

// planOf returns the plan of a stored workflow.
func (s *Service) planOf(ctx context.Context, w Workflow) (*plan, error) {
	raw, err := json.Marshal(w.Definition)
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256(raw)
	if p, ok := s.plans.Get(key); ok {
		return p, nil
	}
	p, err := compile(s.env.For(ctx), w.Definition, func(string, Step) (shape, shape, error) { return nil, nil, nil }, func(string, string) error { return nil })
	if err == nil {
		s.plans.Put(key, p)
	}
	return p, err
}

// Create stores a new workflow as its version 1. Errors: Invalid, naming the field; NotFound for
// a tool, workflow or secret that does not exist; Exists; Exhausted when the tenant has too many;
// Denied for a credential with a mandatory filter or bounds, or without the scope write, and if the tenant's plan has no
// workflows.
func (s *Service) Create(ctx context.Context, name string, definition []byte) (Workflow, error) {
	r, err := access.RequireUnfiltered(ctx, access.Write)
	if err != nil {
		return Workflow{}, err
	}
	return s.store(ctx, r, Workflow{Name: name}, definition)
}

// Update stores a definition as the next version of a workflow, unless it is the same. Errors: as
// of Create; NotFound; Conflict when another call changed it at the same time.
func (s *Service) Update(ctx context.Context, name, etag string, definition []byte) (Workflow, error) {
	r, err := access.RequireUnfiltered(ctx, access.Write)
	if err != nil {
		return Workflow{}, err
	}
	h := s.DB.Handle(r.Tenant)
	old, ok, err := version(ctx, h, name, 0)
	if err != nil || !ok {
		return Workflow{}, s.orNotFound(ctx, h, r, name, err)
	}
	if err := catalog.Expect(workflows.Noun, name, etag, old.ETag()); err != nil {
		return Workflow{}, err
	}
	return s.store(ctx, r, old, definition)
}

// store checks a definition and stores it as the version after that of w.
func (s *Service) store(ctx context.Context, r *access.Request, w Workflow, definition []byte) (Workflow, error) {
	if err := r.Quotas.Check(quota.Workflows); err != nil {
		return Workflow{}, err
	}
	h := s.DB.Handle(r.Tenant)
	old, err := json.Marshal(w.Definition)
	if err != nil {
		return Workflow{}, err
	}
	if w.Definition, err = Parse(definition); err != nil {
		return Workflow{}, err
	}
	if err := w.check(); err != nil {
		return Workflow{}, err
	}
	if _, err := compile(s.env.For(ctx), w.Definition, s.callable(ctx, h), r.CheckShown); err != nil {
		return Workflow{}, err
	}
	if err := checkCycles(ctx, h, w); err != nil {
		return Workflow{}, err
	}
	if same, err := json.Marshal(w.Definition); err == nil && w.Version > 0 && string(same) == string(old) {
		return w, nil
	}
	if err := h.Admit(ctx, int64(len(definition))); err != nil {
		return Workflow{}, err
	}
	made, err := insert(ctx, h, w)
	if err == nil {
		s.Tools().ForgetTools(h.Tenant())
	}
	return made, err
}

// callable returns the schemas of what steps call, and checks that it exists.
func (s *Service) callable(ctx context.Context, h *data.Handle) schemas {
	return func(field string, step Step) (in, out shape, err error) {
		switch step.Kind {
		case Nested:
			w, ok, err := version(ctx, h, step.Workflow, 0)
			if err == nil && !ok {
				err = fault.Field(field+".workflow", "%s", fault.Public(workflows.NotFoundAmong(step.Workflow, names(ctx, h))))
			}
			return shapeOf(w.InputSchema), shapeOf(w.OutputSchema), err
		case HTTP:
			d, err := s.HTTP.Check(ctx, step.Settings)
			if err != nil {
				return nil, nil, fault.Under(field, err)
			}
			return shapeOf(d.Input), shapeOf(d.Output), nil
		}
		if step.Kind == Tool && strings.HasPrefix(step.Tool, ToolPrefix) {
			return nil, nil, fault.Field(field+".tool", "%q runs a workflow: use a step of kind workflow", step.Tool)
		}
		name := toolOf(step)
		d, err := s.Tools().Find(ctx, toolset.View{}, name)
		if fault.KindOf(err) == fault.NotFound {
			said := fault.Public(err)
			if step.Kind == Agent { // it is known to authors by its own name
				said = strings.ReplaceAll(strings.Replace(said, "tool", "agent", 1), agent.ToolPrefix, "")
			}
			return nil, nil, fault.Field(field+"."+string(step.Kind), "%s", said)
		}
		if err != nil {
			return nil, nil, err
		}
		in, out = shapeOf(slices.Concat(d.WholeInputSchema)), shapeOf(slices.Concat(d.WholeOutputSchema))
		if step.Kind == Agent {
			return shapeOf(promptInput), shapeOf(d.OutputSchema), nil
		}
		if in == nil {
			in, out = shapeOf(d.InputSchema), shapeOf(d.OutputSchema)
		}
		return in, out, nil
	}
}

// promptInput is the input of a step of kind agent.
var promptInput = json.RawMessage(`{"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]}`)

// checkCycles returns an error if a workflow would run itself. Errors: Invalid.
func checkCycles(ctx context.Context, q data.Queryer, w Workflow) error {
	all, err := latest(ctx, q, "", maxWorkflows)
	if err != nil {
		return err
	}
	runs := map[string][]string{}
	for _, other := range all {
		runs[other.Name] = nestedIn(other.Steps)
	}
	runs[w.Name] = nestedIn(w.Steps)
	seen := map[string]bool{}
	var visit func(name string, path []string) error
	visit = func(name string, path []string) error {
		path = append(path, name)
		if name == w.Name && len(path) > 1 {
			return fault.Field("definition.steps", "the workflow would run itself: %s", strings.Join(path, " -> "))
		}
		if seen[name] {
			return nil
		}
		seen[name] = true
		for _, next := range runs[name] {
			if err := visit(next, path); err != nil {
				return err
			}
		}
		return nil
	}
	return visit(w.Name, nil)
}

// nestedIn returns the names of the workflows that steps run.
func nestedIn(steps []Step) []string {
	var found []string
	for _, s := range steps {
		if s.Kind == Nested {
			found = append(found, s.Workflow)
		}
		for _, inner := range [][]Step{s.Otherwise, s.Steps, s.OnError} {
			found = append(found, nestedIn(inner)...)
		}
		for _, b := range s.Branches {
			found = append(found, nestedIn(b.Steps)...)
		}
	}
	return found
}

func names(ctx context.Context, q data.Queryer) []string {
	all, err := latest(ctx, q, "", maxWorkflows)
	if err != nil {
		return nil
	}
	found := make([]string, len(all))
	for i, w := range all {
		found[i] = w.Name
	}
	return found
}

// orNotFound returns err, or the error for a workflow that does not exist or that the caller may
// not use. It names the nearest one that the caller may use.
func (s *Service) orNotFound(ctx context.Context, q data.Queryer, r *access.Request, name string, err error) error {
	if err != nil {
		return err
	}
	usable := slices.DeleteFunc(names(ctx, q), func(name string) bool { return !r.Bounds.MayUseTool(ToolPrefix + name) })
	return workflows.NotFoundAmong(name, usable)
}

// Get returns a version of a workflow, the latest for 0. Errors: NotFound, also for one that the
// caller may not use.
func (s *Service) Get(ctx context.Context, name string, number int) (Workflow, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return Workflow{}, err
	}
	h := s.DB.Handle(r.Tenant)
	if !r.Bounds.MayUseTool(ToolPrefix + name) {
		return Workflow{}, s.orNotFound(ctx, h, r, name, nil)
	}
	w, ok, err := version(ctx, h, name, number)
	if err != nil {
		return Workflow{}, err
	}
	if !ok && number > 0 {
		if newest, ok, err := version(ctx, h, name, 0); err == nil && ok {
			return Workflow{}, fault.New(fault.NotFound, "workflow %q has no version %d; the latest is %d", name, number, newest.Version)
		}
	}
	if !ok {
		return Workflow{}, s.orNotFound(ctx, h, r, name, nil)
	}
	w.Versions, err = numbers(ctx, h, name)
	return w, err
}

// List returns a page of the latest versions of the workflows that the caller may use, in the order
// of their names.
func (s *Service) List(ctx context.Context, pageSize int32, pageToken string) ([]Workflow, string, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, "", err
	}
	return catalog.Page(ctx, workflows.Plural, pageSize, pageToken, func(w Workflow) string { return w.Name }, func(after string, most int) ([]Workflow, error) {
		return s.usable(ctx, r, after, most)
	})
}

// usable returns the latest versions of workflows after a name that the caller may use.
func (s *Service) usable(ctx context.Context, r *access.Request, after string, most int) ([]Workflow, error) {
	all, err := latest(ctx, s.DB.Handle(r.Tenant), after, maxWorkflows)
	all = slices.DeleteFunc(all, func(w Workflow) bool { return !r.Bounds.MayUseTool(ToolPrefix + w.Name) })
	return all[:min(len(all), most)], err
}

// Delete deletes a workflow with all its versions, or one version that is not the latest, and
// cancels their runs. Errors: NotFound; Precondition for the latest of several versions.
func (s *Service) Delete(ctx context.Context, name string, number int) error {
	r, err := access.RequireUnfiltered(ctx, access.Write)
	if err != nil {
		return err
	}
	found, err := s.Get(ctx, name, number)
	if err != nil {
		return err
	}
	if number > 0 && number == found.Versions[0] {
		return fault.New(fault.Precondition, "version %d of workflow %q is the latest: delete the workflow, or update it first", number, name)
	}
	defer s.Tools().ForgetTools(r.Tenant)
	return remove(ctx, s.DB.Handle(r.Tenant), name, number)
}
