package declare

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
)

// What is done with an object.
const (
	keep    = "unchanged"
	create  = "created"
	update  = "changed"
	replace = "replaced"
	remove  = "deleted"
)

// change is what a plan does with an object.
type change struct {
	action   string
	kind     *kind
	name     string
	declared *declaration // nil if the object is deleted
	state    *state       // nil if the object is created
	before   tree         // the fields of the object as it is
	after    tree         // and as it becomes
	fields   []string     // those that differ
	fixed    []string     // and of them those that no update can change
	removed  bool         // an object that is replaced is deleted
	lost     []string     // what is not declared and is deleted with an index that is replaced
}

// String returns the kind and the name of the object.
func (c *change) String() string { return c.kind.name + " " + c.name }

// scope is what a plan may delete.
type scope struct {
	prune bool
	kinds []string // kinds of which objects are deleted; empty for those that are declared
}

// planner makes a plan.
type planner struct {
	client   *client.Client
	scope    scope
	plan     []*change
	deleted  []*change          // in the order of kinds
	replaced map[string]*change // indexes, by their names
	notes    []string           // about objects that are left alone
}

// planOf returns what makes the tenant as it is declared: the changes in the order of kinds, then what is deleted in the
// reverse order. notes are about objects that have no name and are left alone.
func planOf(ctx context.Context, c *client.Client, all []*declaration, s scope) (plan []*change, notes []string, err error) {
	p := &planner{client: c, scope: s, replaced: map[string]*change{}}
	for _, k := range kinds {
		mine := slices.DeleteFunc(slices.Clone(all), func(d *declaration) bool { return d.kind != k })
		if err := p.add(ctx, k, mine); err != nil {
			return nil, nil, err
		}
	}
	slices.Reverse(p.deleted)
	return append(p.plan, p.deleted...), p.notes, nil
}

// add plans the objects of a kind, of which those are declared.
func (p *planner) add(ctx context.Context, k *kind, declared []*declaration) error {
	prunes := p.scope.prune && (slices.Contains(p.scope.kinds, k.name) || len(p.scope.kinds) == 0 && len(declared) > 0)
	goes := k.ofIndex && len(p.replaced) > 0
	if len(declared) == 0 && !prunes && !goes {
		return nil
	}
	found, nameless, err := k.states(ctx, p.client)
	if err != nil {
		return err
	}
	if nameless > 0 && prunes {
		p.notes = append(p.notes, fmt.Sprintf("%d of the kind %s without a name cannot be declared, and stay", nameless, k.name))
	}
	present, gone := map[string][]*state{}, map[string]*change{}
	for _, s := range found {
		if index := p.replaced[text(s.object, "indexName")]; goes && index != nil {
			gone[s.name] = index
			continue
		}
		present[s.name] = append(present[s.name], s)
	}
	for _, d := range declared {
		if len(present[d.name]) > 1 {
			return fmt.Errorf("%s: the tenant has %d objects %s %s: rename all but one", d.at, len(present[d.name]), k.name, d.name)
		}
		next, err := changeOf(ctx, p.client, d, present[d.name])
		if err != nil {
			return err
		}
		if k.name == "index" && next.action == replace {
			p.replaced[d.name] = next
		}
		p.plan = append(p.plan, next)
		delete(present, d.name)
		delete(gone, d.name)
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		gone[name].lost = append(gone[name].lost, k.name+" "+name)
	}
	if !prunes {
		return nil
	}
	return p.prune(ctx, slices.DeleteFunc(found, func(s *state) bool { return present[s.name] == nil }))
}

// prune plans to delete objects.
func (p *planner) prune(ctx context.Context, objects []*state) error {
	for _, s := range objects {
		if err := s.load(ctx, p.client, nil); err != nil {
			return err
		}
		p.deleted = append(p.deleted, &change{action: remove, kind: s.kind, name: s.name, state: s, before: s.fields, after: tree{}})
	}
	return nil
}

// changeOf returns the change that makes an object as it is declared; present is the object, or nothing.
func changeOf(ctx context.Context, c *client.Client, d *declaration, present []*state) (*change, error) {
	next := &change{action: create, kind: d.kind, name: d.name, declared: d, before: tree{}, after: tree{}}
	if len(present) == 1 {
		next.action, next.state = keep, present[0]
		if err := next.state.load(ctx, c, d.fields); err != nil {
			return nil, err
		}
		next.before, next.after = maps.Clone(next.state.fields), maps.Clone(next.state.fields)
	}
	for _, name := range sortedKeys(d.fields) {
		next.merge(d.kind.field(name), d.fields[name])
	}
	if next.state == nil {
		return next, nil
	}
	for _, name := range sortedKeys(next.before, next.after) {
		if !reflect.DeepEqual(next.before[name], next.after[name]) {
			next.action, next.fields = update, append(next.fields, name)
		}
	}
	next.fixed = d.kind.fixed(next.fields)
	if len(next.fixed) > 0 {
		return next, next.replaced(ctx, c)
	}
	return next, nil
}

// replaced makes a change one that deletes the object and creates it anew, with all that is not declared.
func (c *change) replaced(ctx context.Context, from *client.Client) error {
	c.action = replace
	if err := c.state.load(ctx, from, nil); err != nil {
		return err
	}
	for name := range c.kind.lists {
		if entries, ok := c.state.fields[name]; ok && c.declared.fields[name] == nil {
			c.before[name], c.after[name] = entries, entries
		}
	}
	return nil
}

// merge puts a declared value into what the object becomes.
func (c *change) merge(field protoreflect.FieldDescriptor, value any) {
	name := field.JSONName()
	current, present := c.before[name]
	switch {
	case c.kind.hidden[name] != nil:
		if present && sameShape(value, current) {
			c.before[name] = value // the service cannot tell whether it is another one
		}
	case field.IsList() && c.kind.lists[name].id != "":
		value = matched(settled(field, value), current, c.kind.lists[name].id)
	case value != nil:
		value = settled(field, value)
	}
	absent := c.state != nil && !isBound(field) && reflect.DeepEqual(value, zero(field)) // as the API writes it
	if choice := field.ContainingOneof(); choice != nil && !choice.IsSynthetic() {
		for i := range choice.Fields().Len() {
			delete(c.after, choice.Fields().Get(i).JSONName())
		}
		absent = false
	}
	if value == nil || !present && absent {
		delete(c.after, name)
		return
	}
	c.after[name] = value
}

// isBound reports whether a field lists what is allowed: without it everything is, and with an empty list nothing.
func isBound(field protoreflect.FieldDescriptor) bool {
	return field.Message() != nil && field.Message().FullName() == "ragd.v1.AllowedNames"
}

// settled returns a declared value with what the service fills in where nested messages leave it out.
func settled(field protoreflect.FieldDescriptor, value any) any {
	message := field.Message()
	if message == nil || field.IsMap() || strings.HasPrefix(string(message.FullName()), "google.") {
		return value
	}
	list, ok := value.([]any)
	if !ok || !field.IsList() {
		return settledMessage(message, value)
	}
	out := make([]any, len(list))
	for i, element := range list {
		out[i] = settledMessage(message, element)
	}
	return out
}

func settledMessage(message protoreflect.MessageDescriptor, value any) any {
	object, ok := value.(tree)
	if !ok {
		return value
	}
	out := maps.Clone(object)
	for i := range message.Fields().Len() {
		f := message.Fields().Get(i)
		inner, given := out[f.JSONName()]
		if fill := filled[f.FullName()]; !given && fill != nil {
			inner = fill(out)
		}
		if inner != nil {
			out[f.JSONName()] = settled(f, inner)
		}
	}
	return out
}

// matched returns the entries of a declared list in the order of the present ones, which the service keeps; those that
// are new come last. An entry without the id that the service makes is the present one with the same other fields.
func matched(declared, current any, id string) any {
	list, _ := declared.([]any)
	present, _ := current.([]any)
	left := slices.Clone(list)
	out := []any{}
	for _, entry := range present {
		at := slices.IndexFunc(left, func(d any) bool {
			candidate := maps.Clone(d.(tree))
			if _, given := candidate[id]; !given {
				candidate[id] = entry.(tree)[id]
			}
			return reflect.DeepEqual(candidate, entry)
		})
		if at >= 0 {
			out, left = append(out, entry), slices.Delete(left, at, at+1)
		}
	}
	return append(out, left...)
}

// fixed returns which of the fields no update can change.
func (k *kind) fixed(fields []string) []string {
	if k.update.do == nil {
		return fields
	}
	var fixed []string
	updated := k.update.request().ProtoReflect().Descriptor().Fields()
	for _, name := range fields {
		_, switched := k.switches[name]
		_, listed := k.lists[name]
		partner := k.together[name]
		switch {
		case switched, listed, k.inner != "":
		case updated.ByJSONName(name) == nil, partner != "" && !slices.Contains(fields, partner):
			fixed = append(fixed, name)
		}
	}
	return fixed
}

// sortedKeys returns the names of the fields of objects in order.
func sortedKeys(objects ...tree) []string {
	names := map[string]bool{}
	for _, object := range objects {
		for name := range object {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
