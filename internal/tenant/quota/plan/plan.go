// Package plan manages the plans of a service: named sets of quotas and features that the operator gives to tenants.
//
// A plan is a row of the control schema, in the first database alone. What a tenant may use by its settings and its plan
// is a quota.Limits, which the packages that read the row of a tenant make themselves: credential for requests, usage for
// the tokens of a month, sleep for sleepAfter. They cache it for some seconds, so that a change of a plan needs nothing but
// the change of its row.
//
// Package provision says which tenant has which plan.
package plan

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/nearest"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/quota"
)

const (
	// MaxPlans is how many plans a service may have.
	MaxPlans = 200
	// maxModels is how many patterns of models a plan may have.
	maxModels = 100
	// maxModelBytes is the length of such a pattern.
	maxModelBytes = 200
)

// Plan is a quota.Plan as the operator sees it.
type Plan struct {
	quota.Plan
	DisplayName string
	Tenants     int // that have it
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Change changes a plan; nil leaves a field unchanged.
type Change struct {
	DisplayName *string
	Settings    map[string]any
	Features    *Features
}

// Features are what the tenants of a plan may use besides its quotas, as in quota.Plan.
type Features struct {
	Without []quota.Feature
	Models  []string
}

// Config configures a Service.
type Config struct {
	// Control is the first database. Required.
	Control Control
	// Changed, if set, is called after a plan has changed: what is cached with it is forgotten.
	Changed func()
	// Standard are the quotas of tenants whose settings and plan say nothing, by key. Default: no limits.
	Standard map[string]int64
	// Contact is where a tenant gets a larger plan; empty for none.
	Contact string
	// Used returns what a tenant uses of its quotas, by key. Required for Quotas.
	Used func(ctx context.Context, id tenant.ID) (map[string]int64, error)
}

// Service manages plans. Safe for concurrent use.
type Service struct {
	config Config
	store  store
}

// New returns a Service.
func New(config Config) *Service {
	if config.Changed == nil {
		config.Changed = func() {}
	}
	return &Service{config: config, store: store{config.Control}}
}

// Create creates a plan. Errors: Denied unless the caller is the operator; Invalid; Exists; Exhausted with MaxPlans plans.
func (s *Service) Create(ctx context.Context, wanted Plan) (Plan, error) {
	if err := access.RequireOperator(ctx); err != nil {
		return Plan{}, err
	}
	if err := tenant.CheckPlanName(wanted.Name); err != nil {
		return Plan{}, err
	}
	if err := check(wanted); err != nil {
		return Plan{}, err
	}
	return s.store.insert(ctx, wanted)
}

// Get returns a plan. Errors: Denied unless the caller is the operator; NotFound.
func (s *Service) Get(ctx context.Context, name string) (Plan, error) {
	if err := access.RequireOperator(ctx); err != nil {
		return Plan{}, err
	}
	return s.store.find(ctx, name)
}

// List returns a page of the plans by name, and the token of the next page. Errors: Denied unless the caller is the operator.
func (s *Service) List(ctx context.Context, pageSize int32, pageToken string) ([]Plan, string, error) {
	if err := access.RequireOperator(ctx); err != nil {
		return nil, "", err
	}
	name := func(p Plan) string { return p.Name }
	return pagination.List(access.Pages(ctx, "plans"), pageSize, pageToken, "", name, func(after string, most int) ([]Plan, error) {
		return s.store.list(ctx, after, most)
	})
}

// Update changes a plan. Errors: Denied unless the caller is the operator; Invalid; NotFound.
func (s *Service) Update(ctx context.Context, name string, change Change) (Plan, error) {
	if err := access.RequireOperator(ctx); err != nil {
		return Plan{}, err
	}
	var p Plan
	if change.DisplayName != nil {
		p.DisplayName = *change.DisplayName
	}
	if p.Settings = change.Settings; change.Features != nil {
		p.Without, p.Models = change.Features.Without, change.Features.Models
	}
	if err := check(p); err != nil {
		return Plan{}, err
	}
	if err := s.store.update(ctx, name, change); err != nil {
		return Plan{}, err
	}
	s.config.Changed()
	return s.store.find(ctx, name)
}

// Delete deletes a plan that no tenant has. Errors: Denied unless the caller is the operator; NotFound; Precondition while
// tenants have it.
func (s *Service) Delete(ctx context.Context, name string) error {
	if err := access.RequireOperator(ctx); err != nil {
		return err
	}
	return s.store.delete(ctx, name)
}

// Used is a quota of a tenant, and what it uses of it.
type Used struct {
	quota.Effective
	Used *int64 // nil for a quota of which nothing is kept
}

// Quotas are what the caller's tenant may use.
type Quotas struct {
	Plan    *quota.Plan // nil for none
	Contact string
	Quotas  []Used
}

// Quotas returns what the caller's tenant may use. Errors: Invalid for an operator who named no tenant; Denied for
// credentials that see only some of the tenant.
func (s *Service) Quotas(ctx context.Context) (Quotas, error) {
	if _, err := access.RequireAll(ctx, "the quotas"); err != nil {
		return Quotas{}, err
	}
	r, err := access.Require(ctx, access.Admin)
	if err != nil {
		return Quotas{}, err
	}
	row, err := tenant.Find(ctx, s.config.Control, r.Tenant)
	if err != nil {
		return Quotas{}, err
	}
	used, err := s.config.Used(ctx, r.Tenant)
	if err != nil {
		return Quotas{}, err
	}
	found := Quotas{Plan: row.Plan, Contact: s.config.Contact}
	for _, e := range s.Effective(row.Settings, row.Plan) {
		u := Used{Effective: e}
		if n, ok := used[e.Key]; ok {
			u.Used = &n
		}
		found.Quotas = append(found.Quotas, u)
	}
	return found, nil
}

// Effective returns the quotas of a tenant with these settings and this plan, which may be nil.
func (s *Service) Effective(settings map[string]any, p *quota.Plan) []quota.Effective {
	return quota.EffectiveOf(settings, p, s.config.Standard)
}

// check checks all of a plan but its name. Errors: Invalid.
func check(p Plan) error {
	if err := tenant.CheckDisplayName(p.DisplayName); err != nil {
		return err
	}
	if err := checkSettings(p.Settings); err != nil {
		return err
	}
	return Features{p.Without, p.Models}.check()
}

// checkSettings returns an error for settings that are neither quotas nor sleepAfter: those of a plan are not free-form.
func checkSettings(settings map[string]any) error {
	raw, err := json.Marshal(settings)
	if err != nil {
		return fault.Field("settings", "cannot be written as JSON")
	}
	if len(raw) > tenant.MaxSettingsBytes {
		return fault.Field("settings", "must be at most %d bytes of JSON, got %d", tenant.MaxSettingsBytes, len(raw))
	}
	if err := quota.Check(settings); err != nil {
		return err
	}
	known := append(quota.Keys(), tenant.SleepAfterKey, quota.DeletedRetention)
	for key := range settings {
		if !slices.Contains(known, key) {
			return fault.Field("settings", "the settings of a plan may have %v, got %q%s", known, textlimit.Shorten(key, 40), nearest.Hint(key, known))
		}
	}
	return tenant.CheckSleepAfter(settings)
}

// check checks features. Errors: Invalid.
func (f Features) check() error {
	for i, feature := range f.Without {
		if !slices.Contains(quota.Features, feature) || slices.Contains(f.Without[:i], feature) {
			return fault.Field("features.without", "must be some of %v, each once, got %q", quota.Features, textlimit.Shorten(string(feature), 40))
		}
	}
	if len(f.Models) > maxModels {
		return fault.Field("features.models", "must be at most %d patterns, got %d", maxModels, len(f.Models))
	}
	for _, pattern := range f.Models {
		if pattern == "" {
			return fault.Field("features.models", "must not have an empty pattern")
		}
		if err := textlimit.Check("features.models", pattern, maxModelBytes); err != nil {
			return err
		}
	}
	return nil
}
