package tenant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/filter"
)

// Request is the request context: what a request brings besides its body. It is
// filled once at the edge and read once at the top of a service.
type Request struct {
	Principal Principal
	// Tenant is the one whose data the request may touch: the principal's, or the
	// one that an operator named. Empty for an operator who named none.
	Tenant    ID
	Overrides Overrides
}

// Overrides are the parts of a query that the request context decides instead
// of the body. Nil means not given.
type Overrides struct {
	IndexName       *string
	VectorStoreName *string
	TopK            *int
	Filter          filter.Filter // and-ed with the body's
	IncludeVectors  *bool
	IncludeSources  *bool
	RandomWalkSteps *int
	RestartProb     *float64
	DatabaseConfig  json.RawMessage // as the body's
	Reranker        json.RawMessage // as the body's
}

// maxOverridesBytes bounds the request context a caller may send.
const maxOverridesBytes = 16 << 10

// ParseOverrides reads the JSON object of the Ragd-Context header or of an MCP
// call's _meta. A key that is unknown, misspelt or given twice is refused: a
// filter that went unnoticed would show too much.
func ParseOverrides(raw []byte) (Overrides, error) {
	const field = "Ragd-Context"
	if len(raw) > maxOverridesBytes {
		return Overrides{}, fault.Field(field, "must be at most %d bytes, got %d", maxOverridesBytes, len(raw))
	}
	var o Overrides
	into := map[string]any{
		"indexName": &o.IndexName, "vectorStoreName": &o.VectorStoreName, "topK": &o.TopK,
		"filter": &o.Filter, "includeVectors": &o.IncludeVectors, "includeSources": &o.IncludeSources,
		"databaseConfig": &o.DatabaseConfig, "reranker": &o.Reranker, "randomWalkSteps": &o.RandomWalkSteps, "restartProb": &o.RestartProb,
	}
	err := eachMember(raw, func(key string, value json.RawMessage) error {
		target, ok := into[key]
		if !ok {
			known := slices.Sorted(maps.Keys(into))
			return fmt.Errorf("%q is not known here, or given twice; known are %s", key, strings.Join(known, ", "))
		}
		delete(into, key)
		if key == "filter" {
			var parsed any = []byte(value)
			if text := ""; json.Unmarshal(value, &text) == nil {
				parsed = text // the JSON text of a filter, as bodies may have it too
			}
			var err error
			o.Filter, err = filter.Parse(parsed)
			return err
		}
		if err := json.Unmarshal(value, target); err != nil {
			return fmt.Errorf("%s: %s", key, jsonReason(err))
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

// eachMember calls do for each member of the one JSON object that raw is, in
// order, those with the same key too.
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

// jsonReason is the part of a decoding error that means something to a caller
// who never saw our types.
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

// Require returns the request if its principal holds the scope and a tenant is
// known. Errors: Unauthenticated, Denied, and Invalid for an operator who named
// no tenant.
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

// RequireWhole is Require for what concerns a whole index, with documents that a
// mandatory filter hides: it also refuses credentials that carry one.
func RequireWhole(ctx context.Context, need Scope) (*Request, error) {
	r, err := Require(ctx, need)
	if err != nil {
		return nil, err
	}
	if !r.Principal.MandatoryFilter.IsZero() {
		return nil, fault.New(fault.Denied, "a credential with a mandatory filter cannot change whole indexes")
	}
	return r, nil
}

func requireScope(ctx context.Context, need Scope) (*Request, error) {
	r, ok := FromContext(ctx)
	if !ok {
		return nil, errUnauthenticated
	}
	if !r.Principal.Has(need) {
		return nil, &ScopeError{Need: need}
	}
	return r, nil
}

// ScopeError says which scope a credential lacks. To whoever does not ask which,
// it is Denied.
type ScopeError struct{ Need Scope }

// Error implements error.
func (e *ScopeError) Error() string { return fmt.Sprintf("this credential lacks the scope %s", e.Need) }

// Unwrap returns the fault that callers may see.
func (e *ScopeError) Unwrap() error { return fault.New(fault.Denied, "%s", e.Error()) }

// Challenge is what WWW-Authenticate says of it (RFC 6750), after the scheme.
func (e *ScopeError) Challenge() string {
	return fmt.Sprintf(`error="insufficient_scope", scope="%s"`, scopesUpTo(e.Need))
}

var errUnauthenticated = fault.New(fault.Unauthenticated, "a valid API key is needed: send it as Authorization: Bearer <secret>")
