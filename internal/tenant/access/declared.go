package access

import (
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

// ContextKey is a key of the request context that a tenant declared.
type ContextKey struct {
	Name        string
	Description string
	// Schema is the JSON Schema of the values; nil allows all.
	Schema json.RawMessage
	// Default is the value where Source has none, with numbers as json.Number; nil for none.
	// For Constant it is the value.
	Default any
	// Secret hides the value in explanations, and keeps filters from testing it.
	Secret bool
	Source ContextSource
	// From is the name of a header, or the path of a claim or an attribute.
	From string

	compiled *schema.Schema // of Schema
}

// ContextSource says where the values of a declared key come from.
type ContextSource string

// The sources. Callers choose what the first two give.
const (
	FromCaller    ContextSource = "caller"    // Ragd-Context, _meta, CallTool and servers
	FromHeader    ContextSource = "header"    // a header of the request
	FromClaim     ContextSource = "claim"     // a claim of the access token
	FromAttribute ContextSource = "attribute" // an attribute of the API key
	Constant      ContextSource = "constant"
)

// Trusted reports whether no caller can choose the value.
func (k *ContextKey) Trusted() bool { return k.Source != FromCaller && k.Source != FromHeader }

// Check checks a value against the schema. Errors: Invalid, naming the field.
func (k *ContextKey) Check(field string, value any) error {
	if k.compiled == nil {
		return nil
	}
	return k.compiled.Validate(field, value)
}

// Compile compiles the schema of the key. Errors: Invalid, naming the field schema.
func (k *ContextKey) Compile() (err error) {
	if len(k.Schema) > 0 {
		k.compiled, err = schema.Compile("schema", k.Schema)
	}
	return err
}

var contextKeyPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,63}$`)

// reservedContextKeys are names that a reader could take for another root of a path.
var reservedContextKeys = []string{"arguments", "claims", "context", "key", "ragd", "secrets", "server", "subject", "tenant"}

// CheckContextKeyName returns an Invalid error for a name that no declared key may have.
func CheckContextKeyName(field, name string) error {
	reserved := slices.Concat(reservedContextKeys, slices.Collect(maps.Keys((&Overrides{}).targets())))
	switch {
	case !contextKeyPattern.MatchString(name):
		return fault.Field(field, "must be 1 to 64 letters, digits and underscores, and begin with a letter")
	case slices.ContainsFunc(reserved, func(r string) bool { return strings.EqualFold(r, name) }):
		return fault.Field(field, "%q is reserved: choose another name", name)
	}
	return nil
}

// DeclaredFunc returns the keys of the request context that a tenant declared. Do not change them.
type DeclaredFunc func(context.Context, tenant.ID) ([]*ContextKey, error)

// parse returns the value in a header: the text, or if the schema does not allow that, the
// JSON in it.
func (k *ContextKey) parse(text string) (any, error) {
	err := k.Check(k.From, text)
	if err == nil {
		return text, nil
	}
	value, notJSON := schema.Decode([]byte(text))
	if notJSON != nil {
		return nil, err
	}
	return value, k.Check(k.From, value)
}
