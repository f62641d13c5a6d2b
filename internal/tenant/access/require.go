package access

import (
	"context"
	"fmt"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/quota"
)

// Require returns the request in the context if its principal has the scope and it has a
// tenant. Errors: Unauthenticated, Denied, and Invalid for an operator who named no tenant.
func Require(ctx context.Context, need Scope) (*Request, error) {
	r, err := RequireScope(ctx, need)
	if err != nil {
		return nil, err
	}
	if r.Tenant == "" {
		return nil, fault.Field("Ragd-Tenant", "an operator credential has no tenant of its own: name one in this header")
	}
	return r, nil
}

// RequireUnfiltered is like Require, for operations on what the whole tenant uses, such as its
// tools. It returns Denied for credentials with a mandatory filter or with bounds.
func RequireUnfiltered(ctx context.Context, need Scope) (*Request, error) {
	r, err := RequireWholeIndexes(ctx, need)
	if err != nil {
		return nil, err
	}
	if !r.Bounds.IsZero() {
		return nil, fault.New(fault.Denied, "a credential that is bound to servers, indexes, tools or prompts cannot change what the whole tenant uses")
	}
	return r, nil
}

// RequireWholeIndexes is like Require, for operations on whole indexes, which include documents
// that a mandatory filter hides. It returns Denied for credentials with such a filter.
func RequireWholeIndexes(ctx context.Context, need Scope) (*Request, error) {
	r, err := Require(ctx, need)
	if err != nil {
		return nil, err
	}
	if !r.Principal.MandatoryFilter.IsZero() {
		return nil, fault.New(fault.Denied, "a credential with a mandatory filter cannot change whole indexes")
	}
	return r, nil
}

// RequireAll returns the tenant of which the caller may see all, nil for all tenants: for an
// operator who named none. what is in the message of an error, such as "the usage". Errors: Denied
// for credentials without the scope admin, with a mandatory filter or with bounds.
func RequireAll(ctx context.Context, what string) (*tenant.ID, error) {
	r, err := Caller(ctx)
	if err != nil {
		return nil, err
	}
	if r.Tenant == "" && r.Principal.Has(Operator) {
		return nil, nil
	}
	if r, err = Require(ctx, Admin); err != nil {
		return nil, err
	}
	if !r.Principal.MandatoryFilter.IsZero() || !r.Bounds.IsZero() {
		return nil, fault.New(fault.Denied, "a credential with a mandatory filter or with bounds cannot see %s of the whole tenant", what)
	}
	return &r.Tenant, nil
}

// CheckFeature returns an error unless the plan of the caller's tenant has a feature. Errors: Denied, naming both.
func CheckFeature(ctx context.Context, f quota.Feature) error {
	r, ok := FromContext(ctx)
	if !ok {
		return nil // what does the work asks for the caller
	}
	return r.Quotas.Check(f)
}

// Caller returns the request in the context, whatever its principal may do. Errors:
// Unauthenticated.
func Caller(ctx context.Context) (*Request, error) {
	r, ok := FromContext(ctx)
	if !ok {
		return nil, ErrNoCredential
	}
	return r, nil
}

// RequireScope returns the request in the context if its principal has the scope, whether or not it
// has a tenant. Errors: Unauthenticated, Denied.
func RequireScope(ctx context.Context, need Scope) (*Request, error) {
	r, err := Caller(ctx)
	if err != nil {
		return nil, err
	}
	if !r.Principal.Has(need) {
		return nil, &ScopeError{need, r.Principal.ScopePrefix}
	}
	return r, nil
}

// RequireOperator returns an error unless the caller has the scope operator. Errors: Denied, Unauthenticated.
func RequireOperator(ctx context.Context) error {
	_, err := RequireScope(ctx, Operator)
	return err
}

// ScopeError is the error for a credential that lacks a scope. It wraps a fault of the kind
// Denied.
type ScopeError struct {
	Need Scope
	// Prefix is what the scopes of the caller's issuer begin with.
	Prefix string
}

// Error implements error.
func (e *ScopeError) Error() string {
	return fmt.Sprintf("this credential lacks the scope %s: use a key that has it, such as one of ragd key create --scopes %s", e.Need, e.Need)
}

// Unwrap returns the fault that callers may see.
func (e *ScopeError) Unwrap() error { return fault.New(fault.Denied, "%s", e.Error()) }

// Challenge returns the parameters of the header WWW-Authenticate (RFC 6750, section 3).
func (e *ScopeError) Challenge() string {
	return fmt.Sprintf(`error="insufficient_scope", scope="%s"`, ScopesUpTo(e.Need, e.Prefix))
}

// ErrNoCredential is the error for a call without a credential.
var ErrNoCredential = fault.New(fault.Unauthenticated, "no API key was sent: send one as Authorization: Bearer <secret>")
