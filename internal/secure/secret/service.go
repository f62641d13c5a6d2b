package secret

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/automation/webhook"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Service manages the secrets of the calling tenant. Safe for concurrent use.
type Service struct {
	db   *data.DB
	keys *seal.Keys
}

// New returns a Service. Without keys it refuses to store secrets.
func New(db *data.DB, keys *seal.Keys) *Service { return &Service{db, keys} }

// Set stores a secret, or replaces its value and, unless hosts is nil, its hosts. Errors:
// Denied without the scope admin; Invalid; Exhausted when the tenant has too many;
// Precondition without master key.
func (s *Service) Set(ctx context.Context, name, value string, hosts []string) (Secret, error) {
	r, err := access.RequireUnfiltered(ctx, access.Admin)
	if err != nil {
		return Secret{}, err
	}
	if err := CheckName("secretName", name); err != nil {
		return Secret{}, err
	}
	if err := checkValue(value); err != nil {
		return Secret{}, err
	}
	if hosts != nil {
		if hosts, err = checkHosts(hosts); err != nil {
			return Secret{}, err
		}
	}
	if s.keys == nil {
		return Secret{}, fault.New(fault.Precondition, "this server cannot store secrets: its operator sets RAGD_MASTER_KEY, with which they are encrypted")
	}
	stored, err := put(ctx, s.db.Handle(r.Tenant), name, hosts, func(hosts []string) []byte {
		return s.keys.Seal([]byte(value), belongsTo(r.Tenant, name, hosts)...)
	})
	return stored.secret(), err
}

// Generate stores a random secret for the signatures of webhooks, as Set does, and returns
// its value, which cannot be read later. Errors: as Set.
func (s *Service) Generate(ctx context.Context, name string, hosts []string) (Secret, string, error) {
	value := webhook.NewSecret().Text()
	stored, err := s.Set(ctx, name, value, hosts)
	if err != nil {
		return Secret{}, "", err
	}
	return stored, value, nil
}

// belongsTo says to what a value belongs. It does not open in the row of another tenant or
// name, nor for other hosts, to which it would be sent.
func belongsTo(id tenant.ID, name string, hosts []string) []string {
	return append([]string{"secret", string(id), name}, hosts...)
}

// Sealed is the column with the values of secrets.
var Sealed = seal.Column{
	Table: "ragd_shared.secrets", Name: "value", Row: "'secrets/' || secret_name",
	BelongsTo: "ARRAY['secret', tenant_id, secret_name] || hosts",
}

// List returns a page of the secrets in the order of their names. Errors: Denied without the
// scope admin.
func (s *Service) List(ctx context.Context, pageSize int32, pageToken string) ([]Secret, string, error) {
	r, err := access.RequireUnfiltered(ctx, access.Admin)
	if err != nil {
		return nil, "", err
	}
	rows, next, err := secrets.Page(ctx, s.db.Handle(r.Tenant), pageSize, pageToken)
	found := make([]Secret, len(rows))
	for i, r := range rows {
		found[i] = r.secret()
	}
	return found, next, err
}

// Delete removes a secret. Tools that name it fail from then on. Errors: Denied without the
// scope admin; NotFound.
func (s *Service) Delete(ctx context.Context, name string) error {
	r, err := access.RequireUnfiltered(ctx, access.Admin)
	if err != nil {
		return err
	}
	return secrets.Delete(ctx, s.db.Handle(r.Tenant), name)
}

// CheckUse checks whether the caller may define something that sends these secrets to an
// address: any caller if the secrets name the host of the address, else callers with the
// scope admin, who could set the secrets. Errors: NotFound; Denied.
func (s *Service) CheckUse(ctx context.Context, names []string, to *url.URL) error {
	r, err := access.Require(ctx, access.Read)
	if err != nil || len(names) == 0 {
		return err
	}
	rows, err := s.rows(ctx, r.Tenant, names)
	if err != nil {
		return err
	}
	for _, found := range rows {
		switch {
		case !found.secret().Allows(to):
			return hostRefused(found.secret(), to)
		case len(found.Hosts) == 0 && !r.Principal.Has(access.Admin):
			return fault.New(fault.Denied, "the secret %q may be sent to any host, so that only a key with the scope admin may use it in a definition; or an admin names its hosts: ragd secret set %s --host %s", found.SecretName, found.SecretName, to.Host)
		}
	}
	return nil
}

func hostRefused(s Secret, to *url.URL) error {
	return fault.New(fault.Denied, "the secret %q may not be sent to %s, only to %s", s.Name, to.Host, strings.Join(s.Hosts, ", "))
}

// Values returns the values of the tenant's secrets by their names, to be sent to an address.
// Errors: NotFound; Denied for an address that a secret does not allow; Precondition for a
// value that cannot be decrypted.
func (s *Service) Values(ctx context.Context, id tenant.ID, names []string, to *url.URL) (map[string]string, error) {
	values := map[string]string{}
	if len(names) == 0 {
		return values, nil
	}
	rows, err := s.rows(ctx, id, names)
	if err != nil {
		return nil, err
	}
	for _, found := range rows {
		if !found.secret().Allows(to) {
			return nil, hostRefused(found.secret(), to)
		}
		value, err := s.opened(id, found)
		if err != nil {
			return nil, err
		}
		values[found.SecretName] = value
	}
	return values, nil
}

// Value returns the value of a secret of the tenant that is sent nowhere, such as one by which signatures are checked.
// Errors: NotFound; Precondition for a value that cannot be decrypted.
func (s *Service) Value(ctx context.Context, id tenant.ID, name string) (string, error) {
	rows, err := s.rows(ctx, id, []string{name})
	if err != nil {
		return "", err
	}
	return s.opened(id, rows[0])
}

// Address returns the value of a secret that is an address with a user and a password, for a caller with the
// scope admin. Errors: NotFound; Denied for a host that the secret does not allow; Precondition for another value.
func (s *Service) Address(ctx context.Context, name string) (*url.URL, error) {
	r, err := access.RequireUnfiltered(ctx, access.Admin)
	if err != nil {
		return nil, err
	}
	rows, err := s.rows(ctx, r.Tenant, []string{name})
	if err != nil {
		return nil, err
	}
	value, err := s.opened(r.Tenant, rows[0])
	if err != nil {
		return nil, err
	}
	address, err := url.Parse(strings.TrimSpace(value))
	if err != nil || address.Hostname() == "" {
		return nil, fault.New(fault.Precondition, "the secret %q has no address such as postgres://user:password@db.example.com:5432/name", name) // err shows it
	}
	if !rows[0].secret().Allows(address) {
		return nil, hostRefused(rows[0].secret(), address)
	}
	return address, nil
}

// opened returns the value of a secret. Errors: Precondition.
func (s *Service) opened(id tenant.ID, r row) (string, error) {
	value, err := s.open(id, r)
	if err != nil {
		return "", fault.Wrap(fault.Precondition, err, "the secret %q cannot be decrypted, because the operator of this server no longer has its master key: an admin must set it again", r.SecretName)
	}
	return string(value), nil
}

func (s *Service) open(id tenant.ID, r row) ([]byte, error) {
	return s.keys.Open(r.Value, belongsTo(id, r.SecretName, r.Hosts)...)
}

// rows returns the secrets with these names. Errors: NotFound.
func (s *Service) rows(ctx context.Context, id tenant.ID, names []string) ([]row, error) {
	h := s.db.Handle(id)
	rows, err := find(ctx, h, names)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.SecretName == name }) {
			return nil, secrets.NotFound(ctx, h, name)
		}
	}
	return rows, nil
}
