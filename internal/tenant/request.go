package tenant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
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
}

// maxOverridesBytes bounds the request context a caller may send.
const maxOverridesBytes = 16 << 10

// ParseOverrides reads the JSON object of the Ragd-Context header or of an MCP
// call's _meta. An unknown key is refused, because a misspelt filter that is
// ignored would show too much.
func ParseOverrides(raw []byte) (Overrides, error) {
	const field = "Ragd-Context"
	if len(raw) > maxOverridesBytes {
		return Overrides{}, fault.Field(field, "must be at most %d bytes, got %d", maxOverridesBytes, len(raw))
	}
	var wire struct {
		IndexName       *string `json:"indexName"`
		VectorStoreName *string `json:"vectorStoreName"`
		TopK            *int    `json:"topK"`
		Filter          any     `json:"filter"`
		IncludeVectors  *bool   `json:"includeVectors"`
		IncludeSources  *bool   `json:"includeSources"`

		RandomWalkSteps *int     `json:"randomWalkSteps"`
		RestartProb     *float64 `json:"restartProb"`
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&wire); err != nil {
		return Overrides{}, fault.Field(field, "must be a JSON object with some of indexName, vectorStoreName, topK, filter, includeVectors, includeSources, randomWalkSteps, restartProb: %s", jsonReason(err))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Overrides{}, fault.Field(field, "must be one JSON object, but more follows it")
	}
	parsed, err := filter.Parse(wire.Filter)
	if err != nil {
		return Overrides{}, fault.Under(field, err)
	}
	return Overrides{
		IndexName:       wire.IndexName,
		VectorStoreName: wire.VectorStoreName,
		TopK:            wire.TopK,
		Filter:          parsed,
		IncludeVectors:  wire.IncludeVectors,
		IncludeSources:  wire.IncludeSources,
		RandomWalkSteps: wire.RandomWalkSteps,
		RestartProb:     wire.RestartProb,
	}, nil
}

// jsonReason is the part of a decoding error that means something to a caller
// who never saw our types.
func jsonReason(err error) string {
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		return wrongType.Field + " cannot be a " + wrongType.Value
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

func requireScope(ctx context.Context, need Scope) (*Request, error) {
	r, ok := FromContext(ctx)
	if !ok {
		return nil, errUnauthenticated
	}
	if !r.Principal.Has(need) {
		return nil, fault.New(fault.Denied, "this credential lacks the scope %s", need)
	}
	return r, nil
}

var errUnauthenticated = fault.New(fault.Unauthenticated, "a valid API key is needed: send it as Authorization: Bearer <secret>")
