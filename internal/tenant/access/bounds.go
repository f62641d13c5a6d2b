package access

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// Limits of the bounds of a credential.
const (
	maxBoundNames     = 200 // in each list
	maxBoundNameBytes = 200
)

// Bounds lists what a credential or a server may use, by name. A nil list allows all names, an
// empty one none. Names need not exist: a name that is created later is allowed then.
type Bounds struct {
	Servers []string `json:"servers"`
	Indexes []string `json:"indexes"`
	Tools   []string `json:"tools"` // builtin tools and those of the tenant
	Prompts []string `json:"prompts"`
}

// BoundsOf returns the bounds of the request in the context. Without a request, as in jobs, they
// allow everything.
func BoundsOf(ctx context.Context) Bounds {
	if r, ok := FromContext(ctx); ok {
		return r.Bounds
	}
	return Bounds{}
}

// IsZero reports whether the bounds allow everything.
func (b Bounds) IsZero() bool {
	return b.Servers == nil && b.Indexes == nil && b.Tools == nil && b.Prompts == nil
}

// OnlyTools reports whether a credential with these bounds may only list and call tools: a list
// of tools or servers would mean little to one that can do the same in other ways.
func (b Bounds) OnlyTools() bool { return b.Tools != nil || b.Servers != nil }

// Intersect returns the bounds that allow what both b and other allow.
func (b Bounds) Intersect(other Bounds) Bounds {
	return Bounds{
		Servers: both(b.Servers, other.Servers), Indexes: both(b.Indexes, other.Indexes),
		Tools: both(b.Tools, other.Tools), Prompts: both(b.Prompts, other.Prompts),
	}
}

// both returns the names that both lists allow, sorted.
func both(a, b []string) []string {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	common := make([]string, 0, min(len(a), len(b)))
	for _, name := range a {
		if slices.Contains(b, name) {
			common = append(common, name)
		}
	}
	return common
}

// Within reports whether outer allows everything that b allows.
func (b Bounds) Within(outer Bounds) bool {
	within := true
	outer.each(func(list string, allowed *[]string) {
		names := *b.list(list)
		foreign := func(name string) bool { return !slices.Contains(*allowed, name) }
		if *allowed != nil && (names == nil || slices.ContainsFunc(names, foreign)) {
			within = false
		}
	})
	return within
}

// MayUseServer reports whether the bounds allow the MCP server of this name.
func (b Bounds) MayUseServer(name string) bool { return allows(b.Servers, name) }

// MayUseIndex reports whether the bounds allow the index of this name. None allow MemoryIndex.
func (b Bounds) MayUseIndex(name string) bool {
	return name != MemoryIndex && allows(b.Indexes, name)
}

// MayUseTool reports whether the bounds allow the tool of this name.
func (b Bounds) MayUseTool(name string) bool { return allows(b.Tools, name) }

// MayUsePrompt reports whether the bounds allow the prompt of this name.
func (b Bounds) MayUsePrompt(name string) bool { return allows(b.Prompts, name) }

func allows(names []string, name string) bool { return names == nil || slices.Contains(names, name) }

// String returns the bounds as JSON, or "" if they allow everything. Bounds that allow the same
// names in the same order have the same text.
func (b Bounds) String() string {
	if b.IsZero() {
		return ""
	}
	raw, _ := json.Marshal(b) // lists of strings can be written
	return string(raw)
}

// each calls do for each list, with the name of its field in the API.
func (b *Bounds) each(do func(field string, names *[]string)) {
	for _, field := range []string{"servers", "indexes", "tools", "prompts"} {
		do(field, b.list(field))
	}
}

func (b *Bounds) list(field string) *[]string {
	switch field {
	case "servers":
		return &b.Servers
	case "indexes":
		return &b.Indexes
	case "tools":
		return &b.Tools
	}
	return &b.Prompts
}

// Check returns the bounds with their lists sorted and without repetitions. Errors: Invalid,
// naming the list.
func (b Bounds) Check() (Bounds, error) {
	var err error
	b.each(func(field string, names *[]string) {
		if err != nil || *names == nil {
			return
		}
		err = checkNames(field, *names)
		sorted := append([]string{}, *names...)
		slices.Sort(sorted)
		*names = slices.Compact(sorted)
	})
	return b, err
}

func checkNames(field string, names []string) error {
	if len(names) > maxBoundNames {
		return fault.Field(field, "must have at most %d names, got %d", maxBoundNames, len(names))
	}
	for _, name := range names {
		if name == "" {
			return fault.Field(field, "contains an empty name")
		}
		if err := textlimit.Check(field, name, maxBoundNameBytes); err != nil {
			return err
		}
		if strings.ContainsAny(name, ", \t\n") {
			return fault.Field(field, "has %q, which is no name: a list has one name in each item", name)
		}
	}
	return nil
}

// Narrow returns the bounds of a key that a credential with the bounds b creates: the wanted
// ones, and b where nothing is wanted. Errors: Denied for names that b does not allow.
func (b Bounds) Narrow(wanted Bounds) (Bounds, error) {
	var err error
	wanted.each(func(field string, names *[]string) {
		allowed := *b.list(field)
		if *names == nil {
			*names = allowed
		}
		for _, name := range *names {
			if err == nil && !allows(allowed, name) {
				denied := fault.Field(field, "contains %q, which this credential may not use itself", name)
				denied.Kind = fault.Denied
				err = denied
			}
		}
	})
	return wanted, err
}
