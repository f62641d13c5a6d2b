package tenant

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// Request is the request context: the data of a request outside its body. It is filled by
// Middleware and read once at the top of a service.
type Request struct {
	Principal Principal
	// Tenant is the tenant whose data the request may use: the principal's, or the one
	// that an operator named. Empty for an operator who named none.
	Tenant ID
	Quotas Quotas // of Tenant
	// Stores are the tenant's own names of its vector store, which a vectorStoreName may be
	// beside those that the service knows. Do not change them; see WithStore.
	Stores []string
	// Server is the name of the tenant's MCP server that the request came through; empty
	// for none.
	Server string
	// Bounds are what the request may use: the principal's.
	Bounds    Bounds
	Overrides Overrides
	// Fixed are overrides that the caller cannot change: those of Server, without a filter,
	// which is part of the principal's mandatory filter instead.
	Fixed Overrides
	// Depth is how many calls of tools the request is within, which call this service in
	// turn: the value of the header Ragd-Depth.
	Depth int
	// WriteToken is the value of the header Ragd-Write-Token: what the request reads contains the
	// writes before it, unless its body has another one.
	WriteToken string

	keys   []*ContextKey  // that the tenant declared
	filled map[string]any // values of declared keys that the edge has filled

	recheck func(context.Context) error // see Recheck; nil in calls without a credential
	pages   pagination.Tokens           // of the service
}

// DepthHeader is the name of the header with the depth of a request.
const DepthHeader = "Ragd-Depth"

// WriteTokenHeader is the name of the header with the write token: of an answer, for what was
// written before it; of a request, for what it has to read.
const WriteTokenHeader = "Ragd-Write-Token"

// depthOf returns the depth in a header, 0 if there is none. What is no number is as deep as
// can be, because a caller that sends it is no tool of ours.
func depthOf(header string) int {
	if header == "" {
		return 0
	}
	depth, err := strconv.ParseUint(header, 10, 16)
	if err != nil {
		return math.MaxInt16
	}
	return int(depth)
}

// Pages returns the page tokens of a list for the caller of the request in the context. They
// are not accepted from other credentials, nor for another list or other values, which are
// all arguments that select the list's rows.
func Pages(ctx context.Context, list string, values ...string) pagination.Tokens {
	r, ok := FromContext(ctx)
	if !ok {
		r = &Request{}
	}
	return r.pages.For(append([]string{string(r.Tenant), r.Principal.Issuer, r.Principal.Subject, r.Principal.MandatoryFilter.String(), r.Bounds.String(), list}, values...)...)
}

// Recheck returns an error if the credential of the request in the context is no longer
// valid, for calls that last: what is open when a key is revoked must end. The errors are
// those of Middleware.
func Recheck(ctx context.Context) error {
	if r, ok := FromContext(ctx); ok && r.recheck != nil {
		return r.recheck(ctx)
	}
	return nil
}

// WhileValid returns a context that ends when a check says that the credential is no longer
// valid, with the error of the check as its cause. It runs check at intervals until the
// context or stop ends it. An error that says nothing about the credential, such as that of
// a database that does not answer, does not end the context.
func WhileValid(ctx context.Context, every time.Duration, check func(context.Context) error) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				if err := check(ctx); isInvalid(err) {
					cancel(err)
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// isInvalid reports whether the error of a check says that the credential is not valid.
func isInvalid(err error) bool {
	switch fault.KindOf(err) {
	case fault.Unauthenticated, fault.Denied, fault.NotFound:
		return err != nil
	}
	return false
}

// Overrides are parameters of a query that take precedence over those in the body. Nil
// means not given.
type Overrides struct {
	IndexName       *string
	VectorStoreName *string
	TopK            *int
	Filter          filter.Filter // combined with the body's filter by AND
	IncludeVectors  *bool
	IncludeSources  *bool
	RandomWalkSteps *int
	RestartProb     *float64
	MinScore        *float64
	MinSimilarity   *float64
	DatabaseConfig  json.RawMessage // JSON of the field in the body
	Reranker        json.RawMessage // JSON of the field in the body
	// Values are those of other keys, as decoded JSON. Accept checks them.
	Values map[string]any

	origins map[string]string // of the keys that are given, see From
}

// Or returns the overrides with those of other where none are given. Filters are combined by
// AND.
func (o Overrides) Or(other Overrides) Overrides {
	o.IndexName = cmp.Or(o.IndexName, other.IndexName)
	o.VectorStoreName = cmp.Or(o.VectorStoreName, other.VectorStoreName)
	o.TopK = cmp.Or(o.TopK, other.TopK)
	o.Filter = filter.And(other.Filter, o.Filter)
	o.IncludeVectors = cmp.Or(o.IncludeVectors, other.IncludeVectors)
	o.IncludeSources = cmp.Or(o.IncludeSources, other.IncludeSources)
	o.RandomWalkSteps = cmp.Or(o.RandomWalkSteps, other.RandomWalkSteps)
	o.RestartProb = cmp.Or(o.RestartProb, other.RestartProb)
	o.MinScore = cmp.Or(o.MinScore, other.MinScore)
	o.MinSimilarity = cmp.Or(o.MinSimilarity, other.MinSimilarity)
	if o.DatabaseConfig == nil {
		o.DatabaseConfig = other.DatabaseConfig
	}
	if o.Reranker == nil {
		o.Reranker = other.Reranker
	}
	o.Values, o.origins = mergeMaps(o.Values, other.Values), mergeMaps(o.origins, other.origins)
	return o
}

// maxOverridesBytes is the most bytes of overrides that a request may have.
const maxOverridesBytes = 16 << 10

// ParseOverrides parses the JSON object of the Ragd-Context header or of an MCP call's
// _meta. Other keys may be declared ones, which Request.Accept checks. Errors: Invalid, also
// for repeated keys, as an ignored filter would show too many documents.
func ParseOverrides(raw []byte) (Overrides, error) {
	const field = "Ragd-Context"
	if len(raw) > maxOverridesBytes {
		return Overrides{}, fault.Field(field, "must be at most %d bytes, got %d", maxOverridesBytes, len(raw))
	}
	var o Overrides
	into, seen := o.targets(), map[string]bool{}
	err := eachMember(raw, func(key string, value json.RawMessage) error {
		if seen[key] {
			return fault.Field(key, "is given twice")
		}
		seen[key] = true
		target, ok := into[key]
		if !ok {
			err := o.readValue(key, value)
			if errors.Is(err, errUnknownKey) {
				known := slices.Sorted(maps.Keys(into))
				return fault.Field(key, "is unknown; known keys are %s", strings.Join(known, ", "))
			}
			if err != nil {
				return fault.Field(key, "%s", err)
			}
			return nil
		}
		if key == "filter" {
			var parsed any = []byte(value)
			if text := ""; json.Unmarshal(value, &text) == nil {
				parsed = text // the filter as JSON in a string, which bodies allow too
			}
			var err error
			o.Filter, err = filter.Parse(parsed)
			return err
		}
		if err := json.Unmarshal(value, target); err != nil {
			return fault.Field(key, "%s", jsonReason(err))
		}
		return nil
	})
	var invalid *fault.Error
	switch {
	case errors.As(err, &invalid):
		return Overrides{}, fault.Under(field, err)
	case err != nil:
		return Overrides{}, fault.Field(field, "must be one JSON object: %s", err)
	}
	return o, nil
}

// eachMember calls do for each member of a JSON object in order, including members with the
// same key.
func eachMember(raw []byte, do func(key string, value json.RawMessage) error) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return errors.New("it does not begin with {")
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return errors.New(jsonReason(err))
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return errors.New(jsonReason(err))
		}
		if err := do(key.(string), value); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return errors.New("it does not end with }")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows it")
	}
	return nil
}

// jsonReason returns the text of a decoding error for a caller, without names of Go types.
func jsonReason(err error) string {
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		return "cannot be a " + wrongType.Value
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

type contextKey struct{}

// NewContext returns a context that carries the request.
func NewContext(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// FromContext returns the request that the context carries, or false when the
// call did not come through Middleware.
func FromContext(ctx context.Context) (*Request, bool) {
	r, ok := ctx.Value(contextKey{}).(*Request)
	return r, ok
}

// Require returns the request in the context if its principal has the scope and it has a
// tenant. Errors: Unauthenticated, Denied, and Invalid for an operator who named no tenant.
func Require(ctx context.Context, need Scope) (*Request, error) {
	r, err := requireScope(ctx, need)
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
func RequireAll(ctx context.Context, what string) (*ID, error) {
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

// Caller returns the request in the context, whatever its principal may do. Errors:
// Unauthenticated.
func Caller(ctx context.Context) (*Request, error) {
	r, ok := FromContext(ctx)
	if !ok {
		return nil, errNoCredential
	}
	return r, nil
}

func requireScope(ctx context.Context, need Scope) (*Request, error) {
	r, err := Caller(ctx)
	if err != nil {
		return nil, err
	}
	if !r.Principal.Has(need) {
		return nil, &ScopeError{need, r.Principal.ScopePrefix}
	}
	return r, nil
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

var (
	errNoCredential = fault.New(fault.Unauthenticated, "no API key was sent: send one as Authorization: Bearer <secret>")
	// errUnauthenticated does not say which of the reasons it is.
	errUnauthenticated = fault.New(fault.Unauthenticated, "the API key is not valid: it is wrong, has expired or was revoked; send another as Authorization: Bearer <secret>")
)
