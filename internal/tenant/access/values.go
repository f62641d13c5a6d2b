package access

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// Fill adds the keys that the tenant declared with the values that the edge fills, and resolves the
// mandatory filter of the credential. Errors: Invalid for a header that does not match its key.
func (r *Request) Fill(keys []*ContextKey, header http.Header) error {
	r.keys = keys
	for _, k := range keys {
		value, ok, err := r.edgeValue(k, header)
		if err != nil {
			return err
		}
		if ok {
			if r.filled == nil {
				r.filled = map[string]any{}
			}
			r.filled[k.Name] = value
		}
	}
	var err error
	r.Principal.MandatoryFilter, err = r.Principal.MandatoryFilter.Resolve(r.trusted)
	return err
}

// edgeValue returns the value that the edge fills a key with. ok is false if the source has
// none. A claim or an attribute that does not match the schema becomes null, which the default
// does not replace. Errors: Invalid for a header that does not match it.
func (r *Request) edgeValue(k *ContextKey, header http.Header) (value any, ok bool, err error) {
	switch k.Source {
	case FromHeader:
		given := header.Values(k.From)
		switch {
		case len(given) > 1:
			return nil, false, fault.Field(k.From, "is given %d times, but may be given only once", len(given))
		case len(given) == 0:
			return nil, false, nil
		}
		value, err = k.parse(given[0])
		return value, true, err
	case FromClaim:
		value, ok = valueAt(r.Principal.Claims, k.From)
	case FromAttribute:
		value, ok = valueAt(r.Principal.Attributes, k.From)
	}
	if ok && k.Check(k.Name, value) != nil {
		value = nil
	}
	return value, ok, nil
}

// valueAt returns the value at a path of names with dots. Where a name contains dots itself, as
// those of claims may, the longest rest of the path that is a name counts.
func valueAt(object map[string]any, path string) (any, bool) {
	for {
		if value, ok := object[path]; ok {
			return value, true
		}
		name, rest, nested := strings.Cut(path, ".")
		if !nested {
			return nil, false
		}
		if object, nested = object[name].(map[string]any); !nested {
			return nil, false
		}
		path = rest
	}
}

// key returns a declared key, nil if there is none.
func (r *Request) key(name string) *ContextKey {
	for _, k := range r.keys {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// Accept checks the values of declared keys that a caller gives, and returns o with the origin
// that an explanation shows. Errors: Invalid for an unknown key or a value that does not match
// its schema; Denied for a key that callers cannot set.
func (r *Request) Accept(origin string, o Overrides) (Overrides, error) {
	for _, name := range slices.Sorted(maps.Keys(o.Values)) {
		field := "Ragd-Context." + name
		k := r.key(name)
		switch {
		case k == nil:
			return o, fault.Field(field, "is unknown; known keys are %s", strings.Join(r.settable(), ", "))
		case k.Source != FromCaller:
			denied := fault.Field(field, "cannot be set by callers: the tenant's declaration of this key says where its value comes from")
			denied.Kind = fault.Denied
			return o, denied
		}
		if err := k.Check(field, o.Values[name]); err != nil {
			if k.Secret {
				err = fault.Field(field, "does not match the schema of the key")
			}
			return o, err
		}
	}
	return o.From(origin), nil
}

// settable returns the names of the keys that a caller may set.
func (r *Request) settable() []string {
	names := slices.Collect(maps.Keys((&Overrides{}).targets()))
	for _, k := range r.keys {
		if k.Source == FromCaller {
			names = append(names, k.Name)
		}
	}
	slices.Sort(names)
	return names
}

// ContextValue is an effective value of the request context.
type ContextValue struct {
	Name string
	// Value is the value as decoded JSON; nil for a secret.
	Value  any
	Secret bool
	// Origin says where the value comes from, such as "header Ragd-Context" or "default".
	Origin string
}

// originNames are what comes before the name or path in an origin.
var originNames = map[ContextSource]string{FromHeader: "header ", FromClaim: "claim ", FromAttribute: "attribute "}

// Context returns the effective request context in the order of names: what was given of the
// known keys, and the declared keys that have a value.
func (r *Request) Context() []ContextValue {
	var values []ContextValue
	for name := range r.Overrides.targets() {
		if value, ok := r.Overrides.value(name); ok {
			values = append(values, ContextValue{Name: name, Value: value, Origin: r.Overrides.origins[name]})
		}
	}
	for _, k := range r.keys {
		value, origin, ok := r.declaredValue(k)
		if !ok {
			continue
		}
		if k.Secret {
			value = nil
		}
		values = append(values, ContextValue{Name: k.Name, Value: value, Secret: k.Secret, Origin: origin})
	}
	slices.SortFunc(values, func(a, b ContextValue) int { return strings.Compare(a.Name, b.Name) })
	return values
}

// declaredValue returns the effective value of a declared key and its origin.
func (r *Request) declaredValue(k *ContextKey) (value any, origin string, ok bool) {
	switch k.Source {
	case FromCaller:
		value, ok = r.Overrides.Values[k.Name]
		origin = r.Overrides.origins[k.Name]
		if ok && origin == OriginServer && k.Check(k.Name, value) != nil {
			ok = false // stored before the key was declared so
		}
	case Constant:
		return k.Default, string(Constant), k.Default != nil
	default:
		value, ok = r.filled[k.Name]
		origin = originNames[k.Source] + k.From
	}
	if !ok {
		value, origin = k.Default, "default"
	}
	return value, origin, value != nil
}

// Lookup returns the value at a path of the effective request context: context.NAME for known
// and declared keys, claims.NAME, key.NAME for attributes of the API key, tenant, subject and
// server; below an object, more names follow. It includes secrets. Null is missing.
func (r *Request) Lookup(path string) (any, bool) {
	return r.lookup(path, func(*ContextKey) bool { return true })
}

// Show is Lookup for texts that the caller sees: the values of secret keys are missing.
func (r *Request) Show(path string) (any, bool) {
	return r.lookup(path, func(k *ContextKey) bool { return !k.Secret })
}

// CheckShown checks that Show may find a value at a path: a key of the request context is known
// or declared, and not secret. Errors: Invalid, naming the field.
func (r *Request) CheckShown(field, path string) error {
	root, rest, below := strings.Cut(path, ".")
	name, _, _ := strings.Cut(rest, ".")
	single := slices.Contains([]string{"tenant", "subject", "server"}, root)
	k := r.key(name)
	switch {
	case single == below:
		return fault.Field(field, "has the path %s: write context.NAME, claims.NAME, key.NAME, tenant, subject or server", path)
	case root != "context":
		return nil
	case k == nil && (&Overrides{}).targets()[name] == nil:
		return fault.Field(field, "refers to context.%s, which is not declared; declare it with DeclareContextKey, or take one of %s", name, strings.Join(r.shown(), ", "))
	case k != nil && k.Secret:
		return fault.Field(field, "cannot refer to context.%s, which is secret", name)
	}
	return nil
}

// shown returns the names of the known keys and of the declared keys that are not secret.
func (r *Request) shown() []string {
	names := slices.Collect(maps.Keys((&Overrides{}).targets()))
	for _, k := range r.keys {
		if !k.Secret {
			names = append(names, k.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Secrets returns the effective values of secret keys that are texts, by name.
func (r *Request) Secrets() map[string]string {
	values := map[string]string{}
	for _, k := range r.keys {
		if value, _, ok := r.declaredValue(k); ok && k.Secret {
			if text, isText := value.(string); isText {
				values[k.Name] = text
			}
		}
	}
	return values
}

// Resolve replaces the references of a filter that the caller, a tool or a server gave. Values
// of secret keys are missing, because results would tell them. Errors: Invalid.
func (r *Request) Resolve(f filter.Filter) (filter.Filter, error) {
	return f.Resolve(r.Show)
}

// Mandatory returns a filter that gives access, with its references replaced and trusted. It
// matches nothing if that fails.
func (r *Request) Mandatory(f filter.Filter) filter.Filter {
	resolved, err := f.Trusted().Resolve(r.trusted)
	if err != nil {
		return filter.Nothing()
	}
	return resolved
}

// trusted is Lookup for filters that give access: what callers choose is missing.
func (r *Request) trusted(path string) (any, bool) {
	if name, ok := strings.CutPrefix(path, "context."); ok {
		first, _, _ := strings.Cut(name, ".")
		if r.key(first) == nil { // a known key
			return nil, false
		}
	}
	return r.lookup(path, func(k *ContextKey) bool { return k.Trusted() && !k.Secret })
}

// lookup is Lookup with the declared keys that allowed accepts.
func (r *Request) lookup(path string, allowed func(*ContextKey) bool) (value any, ok bool) {
	root, rest, _ := strings.Cut(path, ".")
	switch root {
	case "tenant":
		return text(string(r.Tenant), rest)
	case "subject":
		return text(r.Principal.Subject, rest)
	case "server":
		return text(r.Server, rest)
	case "claims":
		value, ok = valueAt(r.Principal.Claims, rest)
	case "key":
		value, ok = valueAt(r.Principal.Attributes, rest)
	case "context":
		name, below, nested := strings.Cut(rest, ".")
		if k := r.key(name); k == nil {
			value, ok = r.Overrides.value(name)
		} else if allowed(k) {
			value, _, ok = r.declaredValue(k)
		}
		if ok && nested {
			object, _ := value.(map[string]any)
			value, ok = valueAt(object, below)
		}
	}
	return value, ok && value != nil
}

// text returns a text that has nothing below it.
func text(value, below string) (any, bool) { return value, value != "" && below == "" }

// CheckMandatory checks that callers cannot choose what the mandatory filter of a credential of a
// tenant with these declared keys refers to. Errors: Invalid.
func CheckMandatory(keys []*ContextKey, f filter.Filter) error {
	r := &Request{keys: keys}
	for _, path := range f.References() {
		root, rest, _ := strings.Cut(path, ".")
		name, _, _ := strings.Cut(rest, ".")
		var reason string
		switch k := r.key(name); {
		case root == "server":
			reason = "callers choose the server"
		case root != "context":
			continue
		case k == nil:
			reason = "no key of this name is declared"
		case !k.Trusted():
			reason = "callers choose its value; it must come from a claim, an attribute or a constant"
		case k.Secret:
			reason = "it is secret"
		default:
			continue
		}
		return fault.Field("mandatoryFilter", "cannot refer to %s: %s", path, reason)
	}
	return nil
}
