package own

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Config configures a Service.
type Config struct {
	DB *data.DB
	// Operator has the operator's endpoints.
	Operator *endpoint.Directory
	// Guard checks the addresses that tenants give.
	Guard *outbound.Guard
	// Keys encrypts secrets. Nil refuses them.
	Keys *seal.Keys
	// IndexOf returns the name of an index with a model of the endpoint, empty if there is
	// none.
	IndexOf func(ctx context.Context, q data.Queryer, endpointName string) (string, error)
}

// Service manages the endpoints of the calling tenant. Safe for concurrent use.
type Service struct {
	config Config
	loaded *loaded
	try    Try
}

// New returns a Service.
func New(config Config) *Service {
	return &Service{config: config, loaded: newLoaded()}
}

// Create stores a new endpoint. Errors: Invalid; Exists; Exhausted when the tenant has too
// many; Precondition for an address that is not allowed, or a secret without master key.
func (s *Service) Create(ctx context.Context, wanted Endpoint, secret Secret) (Endpoint, error) {
	h, err := s.admin(ctx)
	if err != nil {
		return Endpoint{}, err
	}
	if err := wanted.complete(s.config.Guard); err != nil {
		return Endpoint{}, err
	}
	if s.config.Operator.Operator(wanted.Name) != nil {
		return Endpoint{}, fault.New(fault.Exists, "endpoint %q is one of the operator's: take another name", wanted.Name)
	}
	sealed, err := s.seal(h.Tenant(), &wanted, &secret)
	if err != nil {
		return Endpoint{}, err
	}
	made, err := insert(ctx, h, wanted, sealed)
	s.loaded.forget(h.Tenant())
	return made.endpoint(), err
}

// admin returns a handle of the caller's tenant. Errors: Denied unless the caller may
// administrate the tenant.
func (s *Service) admin(ctx context.Context) (*data.Handle, error) {
	r, err := access.RequireUnfiltered(ctx, access.Admin)
	if err != nil {
		return nil, err
	}
	return s.config.DB.Handle(r.Tenant), nil
}

// seal checks a secret, notes in the endpoint what there is of it, and returns it encrypted
// for the row of the endpoint, nil if it is empty.
func (s *Service) seal(id tenant.ID, e *Endpoint, secret *Secret) ([]byte, error) {
	if err := secret.complete(); err != nil {
		return nil, err
	}
	e.HasAPIKey, e.HeaderNames = secret.APIKey != "", secret.headerNames()
	if secret.empty() {
		return nil, nil
	}
	if s.config.Keys == nil {
		return nil, fault.New(fault.Precondition, "this server cannot store keys of endpoints: its operator sets RAGD_MASTER_KEY, with which they are encrypted")
	}
	return s.config.Keys.Seal(secret.encode(), belongsTo(id, e.Name, e.BaseURL)...), nil
}

// belongsTo says to what a secret belongs. It does not open in the row of another tenant or
// endpoint, nor for another address, to which it would be sent.
func belongsTo(id tenant.ID, name, baseURL string) []string {
	return []string{"endpoint", string(id), name, baseURL}
}

// Sealed is the column with the secrets of endpoints.
var Sealed = seal.Column{
	Table: "ragd_shared.endpoints", Name: "secret", Row: "'endpoints/' || endpoint_name",
	BelongsTo: "ARRAY['endpoint', tenant_id, endpoint_name, base_url]",
}

// open decrypts the secret of a row. Errors: Precondition.
func (s *Service) open(id tenant.ID, r row) (Secret, error) {
	var secret Secret
	if r.Secret == nil {
		return secret, nil
	}
	raw, err := s.config.Keys.Open(r.Secret, belongsTo(id, r.EndpointName, r.BaseURL)...)
	if errors.Is(err, seal.ErrUnknownKey) {
		return secret, fault.Wrap(fault.Precondition, err, "the key of the endpoint %q cannot be read, because the operator of this server no longer has the master key: give the key again", r.EndpointName)
	}
	if err == nil {
		err = json.Unmarshal(raw, &secret)
	}
	if err != nil {
		return secret, fault.Wrap(fault.Precondition, fmt.Errorf("open the secret of an endpoint: %w", err), "the key of the endpoint %q is damaged: give it again", r.EndpointName)
	}
	return secret, nil
}

// Get returns an endpoint of the tenant, or of the operator. Errors: NotFound.
func (s *Service) Get(ctx context.Context, name string) (Endpoint, error) {
	h, err := s.admin(ctx)
	if err != nil {
		return Endpoint{}, err
	}
	r, err := stored.Get(ctx, h, name)
	if operators := s.config.Operator.Operator(name); operators != nil && fault.KindOf(err) == fault.NotFound {
		return shown(operators), nil
	}
	return r.endpoint(), err
}

// shown returns what tenants see of an endpoint of the operator.
func shown(e *endpoint.Endpoint) Endpoint {
	out := Endpoint{Name: e.Name, Kind: e.Kind, HasAPIKey: e.Config.APIKey != "", Models: []endpoint.Model{}, Operator: true}
	for _, pattern := range e.Config.Models {
		out.Models = append(out.Models, endpoint.Model{Name: pattern})
	}
	return out
}

// List returns a page of the tenant's endpoints in the order of their names, and on the
// first page those of the operator.
func (s *Service) List(ctx context.Context, pageSize int32, pageToken string) (own []Endpoint, next string, operators []Endpoint, err error) {
	h, err := s.admin(ctx)
	if err != nil {
		return nil, "", nil, err
	}
	rows, next, err := stored.Page(ctx, h, pageSize, pageToken)
	for _, r := range rows {
		own = append(own, r.endpoint())
	}
	if pageToken == "" && err == nil {
		for _, e := range s.config.Operator.Operators() {
			operators = append(operators, shown(e))
		}
	}
	return own, next, operators, err
}

// Usable returns the endpoints whose models a tenant may use, as it sees them: its own, and those of
// the operator whose names it has not taken. It checks no scope.
func (s *Service) Usable(ctx context.Context, id tenant.ID) ([]Endpoint, error) {
	rows, err := stored.List(ctx, s.config.DB.Handle(id), "", maxEndpoints)
	if err != nil {
		return nil, err
	}
	var all []Endpoint
	taken := map[string]bool{}
	for _, r := range rows {
		all = append(all, r.endpoint())
		taken[r.EndpointName] = true
	}
	for _, e := range s.config.Operator.Operators() {
		if !taken[e.Name] {
			all = append(all, shown(e))
		}
	}
	return all, nil
}

// Change holds the fields that Update changes. Nil leaves a field unchanged.
type Change struct {
	BaseURL            *string
	APIKey             *string
	Headers            map[string]string
	MaxConcurrentCalls *int
	RequestsPerSecond  *float64
	Timeout            *time.Duration
	Models             []endpoint.Model
}

// Update changes an endpoint. Errors: NotFound; those of Create; Invalid for another address
// without the key and headers; Conflict when another call changed it at the same time.
func (s *Service) Update(ctx context.Context, name string, c Change) (Endpoint, error) {
	h, err := s.admin(ctx)
	if err != nil {
		return Endpoint{}, err
	}
	old, err := stored.Get(ctx, h, name)
	if err != nil {
		return Endpoint{}, err
	}
	changed := c.apply(old.endpoint())
	if err := changed.complete(s.config.Guard); err != nil {
		return Endpoint{}, err
	}
	sealed := old.Secret
	if moved := changed.BaseURL != old.BaseURL; moved || c.APIKey != nil || c.Headers != nil {
		if moved && (old.HasAPIKey && c.APIKey == nil || len(old.HeaderNames) > 0 && c.Headers == nil) {
			return Endpoint{}, fault.Field("baseUrl", "a new address needs the key and the headers again, because they would be sent there")
		}
		if sealed, err = s.reseal(h.Tenant(), old, &changed, c); err != nil {
			return Endpoint{}, err
		}
	}
	stored, err := update(ctx, h, changed, sealed, old)
	s.loaded.forget(h.Tenant())
	return stored.endpoint(), err
}

func (c Change) apply(e Endpoint) Endpoint {
	set(&e.BaseURL, c.BaseURL)
	set(&e.MaxConcurrentCalls, c.MaxConcurrentCalls)
	set(&e.RequestsPerSecond, c.RequestsPerSecond)
	set(&e.Timeout, c.Timeout)
	if c.Models != nil {
		e.Models = c.Models
	}
	return e
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// reseal returns the encrypted secret of a changed endpoint.
func (s *Service) reseal(id tenant.ID, old row, changed *Endpoint, c Change) ([]byte, error) {
	var secret Secret
	if c.APIKey == nil || c.Headers == nil { // the rest is kept
		var err error
		if secret, err = s.open(id, old); err != nil {
			return nil, err
		}
	}
	set(&secret.APIKey, c.APIKey)
	if c.Headers != nil {
		secret.Headers = c.Headers
	}
	return s.seal(id, changed, &secret)
}

// Delete removes an endpoint. Errors: NotFound; Precondition, naming an index, while one has
// a model of the endpoint.
func (s *Service) Delete(ctx context.Context, name string) error {
	h, err := s.admin(ctx)
	if err != nil {
		return err
	}
	err = remove(ctx, h, name, func(q data.Queryer) error {
		index, err := s.config.IndexOf(ctx, q, name)
		if err == nil && index != "" {
			err = fault.New(fault.Precondition, "endpoint %q is in use: the index %q has a model of it; delete the index, or give it another model first", name, index)
		}
		return err
	})
	s.loaded.forget(h.Tenant())
	return err
}
