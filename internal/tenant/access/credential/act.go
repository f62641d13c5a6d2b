package credential

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Delegate returns the delegation of a request.
func (a *Authenticator) Delegate(ctx context.Context, r *access.Request) (access.Delegation, error) {
	d, err := r.Delegate()
	if err != nil || !d.ByToken {
		return d, err
	}
	own, err := a.ownIssuers(ctx, string(d.Tenant))
	d.OwnIssuer = hasIssuer(own, d.Issuer)
	return d, err
}

func hasIssuer(issuers []OwnIssuer, address string) bool {
	return slices.ContainsFunc(issuers, func(i OwnIssuer) bool { return i.URL == address })
}

// Act returns a request with the rights of a delegation. Its Recheck checks the credential again,
// as Act does. Errors: Unauthenticated when the API key was revoked or has expired, when the access
// token would have expired or its issuer was removed; NotFound when the tenant is gone; Denied for rights that
// are not the tenant's own, of a tenant whose database is its own: it could have written them.
func (a *Authenticator) Act(ctx context.Context, d access.Delegation) (*access.Request, error) {
	settings, err := a.stillValid(ctx, d)
	if err != nil {
		return nil, err
	}
	if err := a.trusts(ctx, d); err != nil {
		return nil, err
	}
	keys, err := a.declaredKeys(ctx, d.Tenant)
	if err != nil {
		return nil, err
	}
	r, err := d.Request(keys, a.pages, func(ctx context.Context) error {
		_, err := a.stillValid(ctx, d)
		return err
	})
	if r != nil {
		r.Quotas, r.Stores = settings.quotas, settings.stores
	}
	return r, err
}

// Ended returns why credentials are no longer valid, by their subjects, given a delegation of each. Those that are
// valid are not in it.
func (a *Authenticator) Ended(ctx context.Context, bySubject map[string]access.Delegation) (map[string]error, error) {
	ended := map[string]error{}
	var keys []string
	for subject, d := range bySubject {
		if !d.ByToken && d.Subject != "operator" {
			keys = append(keys, d.Subject)
		} else if _, err := a.stillValid(ctx, d); fault.KindOf(err) == fault.Unauthenticated && err != nil {
			ended[subject] = err
		} else if err != nil {
			return nil, err
		}
	}
	if len(keys) == 0 {
		return ended, nil
	}
	usable, err := a.store.usableKeys(ctx, keys, a.now())
	for _, id := range keys {
		if home, ok := usable[id]; !ok || home != bySubject[id].Home {
			ended[id] = errKeyEnded
		}
	}
	return ended, err
}

// trusts returns an error for a delegation with rights beyond the tenant's that comes from a database of the
// tenant's own.
func (a *Authenticator) trusts(ctx context.Context, d access.Delegation) error {
	if a.databases == nil || d.Home == d.Tenant && !slices.Contains(d.Scopes, access.Operator) {
		return nil
	}
	own, err := a.databases.Own(ctx, d.Tenant)
	if err == nil && own {
		return fault.New(fault.Denied, "the tenant %q has a database of its own: what outlives a request needs a key of the tenant there", d.Tenant)
	}
	return err
}

// stillValid returns the settings of the tenant if the credential of a delegation is still valid.
func (a *Authenticator) stillValid(ctx context.Context, d access.Delegation) (tenantSettings, error) {
	row, err := a.ready(ctx, string(d.Tenant))
	if err != nil {
		return tenantSettings{}, err
	}
	settings := a.settingsOf(row)
	switch {
	case d.ByToken:
		err = a.tokenStillValid(ctx, d)
	case d.Subject == "operator":
		if a.operatorHash == nil {
			err = fault.New(fault.Unauthenticated, "the operator key that started this is no longer configured")
		}
	default:
		err = a.keyStillValid(ctx, d)
	}
	return settings, err
}

func (a *Authenticator) keyStillValid(ctx context.Context, d access.Delegation) error {
	key, _, _, err := a.store.apiKeyWithHash(ctx, d.Subject)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && (!key.usable(a.now()) || key.TenantID != d.Home) {
		return errKeyEnded
	}
	return err
}

var errKeyEnded = fault.New(fault.Unauthenticated, "the API key that started this has expired or was revoked")

func (a *Authenticator) tokenStillValid(ctx context.Context, d access.Delegation) error {
	expired, err := d.Expired(a.now())
	if err != nil {
		return err
	}
	if expired {
		return fault.New(fault.Unauthenticated, "the access token that started this has expired: use an API key for what takes longer")
	}
	if !d.OwnIssuer {
		return nil
	}
	own, err := a.ownIssuers(ctx, string(d.Tenant))
	if err == nil && !hasIssuer(own, d.Issuer) {
		return fault.New(fault.Unauthenticated, "the issuer of the access token that started this was removed")
	}
	return err
}
