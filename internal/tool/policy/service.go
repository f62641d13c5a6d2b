package policy

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tool/expression"
)

const (
	// cacheTTL is how long policies are used on an instance that misses the event of their change.
	cacheTTL     = 30 * time.Second
	cacheEntries = 10_000 // tenants
)

// Outcome is what a policy did to a call, for the audit log.
type Outcome string

// The outcomes.
const (
	Denied   Outcome = "denied"
	Redacted Outcome = "redacted"
	Approved Outcome = "approved"
	Declined Outcome = "declined" // by the user, or because no user could be asked
)

// Config configures a Service. DB is required.
type Config struct {
	DB *data.DB
	// Enter waits for a slot of the processor for long evaluations; nil for no limit.
	Enter expression.Enter
	// Record hears what a policy did to a call of a tool of the caller in ctx; nil for nobody. It must not block.
	Record func(ctx context.Context, policyName, toolName string, did Outcome)
}

// Service stores the policies of tenants and applies them to calls. It is the toolset.Policies of a service.
// Safe for concurrent use.
type Service struct {
	db     *data.DB
	enter  expression.Enter
	record func(ctx context.Context, policyName, toolName string, did Outcome)

	environments map[Phase]*expression.Environment

	mu        sync.Mutex // guards changes of known
	known     *cache.Cache[tenant.ID, []*rule]
	forgotten uint64 // how often Forget was called
}

// New returns a Service.
func New(cfg Config) (*Service, error) {
	s := &Service{
		db: cfg.DB, enter: cfg.Enter, record: cfg.Record, environments: map[Phase]*expression.Environment{},
		known: cache.New(cache.Config[tenant.ID, []*rule]{Entries: cacheEntries, TTL: cacheTTL}),
	}
	if s.record == nil {
		s.record = func(context.Context, string, string, Outcome) {}
	}
	for phase, variables := range map[Phase][]string{
		Before: {"tool", "arguments", "caller", "server"},
		After:  {"tool", "arguments", "caller", "server", "result"},
	} {
		var err error
		if s.environments[phase], err = expression.New(cfg.Enter, variables...); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Forget drops the cached policies of a tenant, of all tenants for an empty id.
func (s *Service) Forget(id tenant.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgotten++
	if id == "" {
		s.known.Clear()
		return
	}
	s.known.Remove(id)
}

// rules returns the policies of a tenant that are not disabled, in the order in which they are applied.
func (s *Service) rules(ctx context.Context, id tenant.ID) ([]*rule, error) {
	if known, ok := s.known.Get(id); ok {
		return known, nil
	}
	s.mu.Lock()
	asked, forgotten := time.Now(), s.forgotten
	s.mu.Unlock()
	rows, err := policies.List(ctx, s.db.Handle(id), "", maxPolicies)
	if err != nil {
		return nil, err
	}
	all := []*rule{}
	for _, r := range rows {
		if r.Definition.Disabled {
			continue
		}
		made, err := s.compile(ctx, r.policy())
		switch {
		case fault.KindOf(err) == fault.Invalid: // no longer
			made = &rule{Policy: r.policy(), invalid: err}
		case err != nil:
			return nil, err
		}
		all = append(all, made)
	}
	slices.SortStableFunc(all, func(a, b *rule) int { return cmp.Compare(a.Order, b.Order) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forgotten == forgotten { // else the rows may be older than a change
		s.known.PutLoaded(id, all, asked)
	}
	return all, nil
}

// Create stores a new policy. Errors: Invalid; Exists; Exhausted when the tenant has too many; Denied without
// the scope admin, with a mandatory filter or with bounds.
func (s *Service) Create(ctx context.Context, wanted Policy) (Policy, error) {
	r, err := access.RequireUnfiltered(ctx, access.Admin)
	if err != nil {
		return Policy{}, err
	}
	if err := s.check(ctx, &wanted); err != nil {
		return Policy{}, err
	}
	defer s.Forget(r.Tenant)
	return insert(ctx, s.db.Handle(r.Tenant), wanted)
}

// check completes and compiles a policy. Errors: Invalid.
func (s *Service) check(ctx context.Context, p *Policy) error {
	if err := p.complete(); err != nil {
		return err
	}
	_, err := s.compile(ctx, *p)
	return err
}

// Get returns a policy. Errors: NotFound; Denied.
func (s *Service) Get(ctx context.Context, name string) (Policy, error) {
	r, err := access.RequireUnfiltered(ctx, access.Read)
	if err != nil {
		return Policy{}, err
	}
	found, err := policies.Get(ctx, s.db.Handle(r.Tenant), name)
	return found.policy(), err
}

// List returns a page of the policies in the order of their names. Errors: Denied.
func (s *Service) List(ctx context.Context, pageSize int32, pageToken string) ([]Policy, string, error) {
	r, err := access.RequireUnfiltered(ctx, access.Read)
	if err != nil {
		return nil, "", err
	}
	rows, next, err := policies.Page(ctx, s.db.Handle(r.Tenant), pageSize, pageToken)
	found := make([]Policy, len(rows))
	for i, r := range rows {
		found[i] = r.policy()
	}
	return found, next, err
}

// Update changes a policy: change gets a copy of its definition. Errors: NotFound; Invalid; Conflict when the
// etag is not the current one, and when another call changed the policy at the same time; Denied.
func (s *Service) Update(ctx context.Context, name, etag string, change func(*Definition)) (Policy, error) {
	r, err := access.RequireUnfiltered(ctx, access.Admin)
	if err != nil {
		return Policy{}, err
	}
	h := s.db.Handle(r.Tenant)
	old, err := policies.Get(ctx, h, name)
	if err != nil {
		return Policy{}, err
	}
	changed := old.policy()
	if err := catalog.Expect(policies.Noun, name, etag, changed.ETag()); err != nil {
		return Policy{}, err
	}
	change(&changed.Definition)
	if err := s.check(ctx, &changed); err != nil {
		return Policy{}, err
	}
	defer s.Forget(r.Tenant)
	return update(ctx, h, changed, old.UpdatedAt)
}

// Delete removes a policy. Errors: NotFound; Denied.
func (s *Service) Delete(ctx context.Context, name string) error {
	r, err := access.RequireUnfiltered(ctx, access.Admin)
	if err != nil {
		return err
	}
	defer s.Forget(r.Tenant)
	return policies.Delete(ctx, s.db.Handle(r.Tenant), name)
}
