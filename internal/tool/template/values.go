package template

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Values are what the placeholders of one call stand for.
type Values struct {
	// Arguments are those of the call, decoded by schema.Decode.
	Arguments any
	// Call are what the client has sent with the call, for paths that begin with call.
	Call map[string]any
	// Request returns values of the request context: paths that begin with context, claims,
	// key, tenant, subject or server.
	Request func(path string) (any, bool)
	// Secrets are the values of the secrets that the definition names.
	Secrets map[string]string
}

// Lookup returns the value of a path. Null is missing.
func (v Values) Lookup(path string) (any, bool) {
	root, rest, _ := strings.Cut(path, ".")
	switch root {
	case "arguments":
		value, ok := Below(v.Arguments, rest)
		return value, ok && value != nil
	case "call":
		value, ok := Below(v.Call, rest)
		return value, ok && value != nil
	case "secrets":
		value, ok := v.Secrets[rest]
		return value, ok
	}
	if v.Request == nil {
		return nil, false
	}
	value, ok := v.Request(path)
	return value, ok && value != nil
}

// RequestValues returns the function that looks up values of the request in ctx: tenant,
// subject, server, the request context, claims of an access token and, below key, attributes of an
// API key.
func RequestValues(ctx context.Context) func(path string) (any, bool) {
	return requestValues(ctx, (*access.Request).Lookup)
}

// ShownValues is RequestValues for texts that the caller sees, without secrets.
func ShownValues(ctx context.Context) func(path string) (any, bool) {
	return requestValues(ctx, (*access.Request).Show)
}

func requestValues(ctx context.Context, lookup func(*access.Request, string) (any, bool)) func(path string) (any, bool) {
	r, ok := access.FromContext(ctx)
	if !ok {
		return nil
	}
	return func(path string) (any, bool) {
		if value, ok := lookup(r, path); ok {
			return value, true
		}
		switch root, rest, _ := strings.Cut(path, "."); { // an item of a list
		case root == "claims" && rest != "":
			return Below(r.Principal.Claims, rest)
		case root == "key" && rest != "":
			return Below(r.Principal.Attributes, rest)
		}
		return nil, false
	}
}

// Below returns the value at a path of names and positions, separated by dots, in a JSON
// value; the value itself for an empty path.
func Below(value any, path string) (any, bool) {
	if path == "" {
		return value, true
	}
	for name := range strings.SplitSeq(path, ".") {
		var ok bool
		if value, ok = Child(value, name); !ok {
			return nil, false
		}
	}
	return value, true
}

// Child returns the member of an object, or the item of an array at a position from 0.
func Child(value any, name string) (any, bool) {
	switch in := value.(type) {
	case map[string]any:
		inner, ok := in[name]
		return inner, ok
	case []any:
		at, err := strconv.Atoi(name)
		if err != nil || at < 0 || at >= len(in) {
			return nil, false
		}
		return in[at], true
	}
	return nil, false
}

// Text returns the text of a value: a string as it is, others as JSON.
func Text(value any) (string, error) {
	if text, ok := value.(string); ok {
		return text, nil
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return "", fault.New(fault.Invalid, "a value cannot be written as JSON")
	}
	return string(raw), nil
}
