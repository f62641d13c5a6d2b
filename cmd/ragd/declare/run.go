package declare

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// runner makes the changes of a plan.
type runner struct {
	p      *command.Program
	client *client.Client
	done   func(*change)    // is called with each change that is made
	note   func(string)     // is called with what the user should know
	values map[*change]tree // what references stand for
	folder string           // for the secrets that are made, empty for none
}

// prepare reads the values that the references of a plan stand for, so that nothing is changed if one is missing.
func (r *runner) prepare(plan []*change) error {
	r.values = map[*change]tree{}
	for _, c := range plan {
		if c.action == keep || c.action == remove {
			continue
		}
		if c.kind.refuses != nil {
			if why := c.kind.refuses(c); why != "" {
				return fmt.Errorf("%s: %s: %s", c.declared.at, c, why)
			}
		}
		if err := r.prepareSecret(c); err != nil {
			return fmt.Errorf("%s: %s: %w", c.declared.at, c, err)
		}
		r.values[c] = tree{}
		for _, name := range sortedKeys(c.after) {
			if c.kind.hidden[name] == nil {
				continue
			}
			value, declared := c.declared.fields[name]
			if !declared {
				if c.action == replace || c.kind.whole() {
					return fmt.Errorf("%s: %s: declare %s, which the service does not return, to change %s", c.declared.at, c, name, strings.Join(c.fields, ", "))
				}
				continue
			}
			read, err := referenced(value, name, func(ref reference) (string, error) { return c.declared.resolve(r.p, ref) })
			if err != nil {
				return fmt.Errorf("%s: %s: %s: %s", c.declared.at, c, name, fault.Public(err))
			}
			r.values[c][name] = read
		}
	}
	return nil
}

// run makes the changes in order. One that the service refuses because of what comes later, such as an agent that names
// another one, is tried again after the others.
func (r *runner) run(ctx context.Context, plan []*change) error {
	for len(plan) > 0 {
		var later []*change
		var failed []error
		for _, c := range plan {
			err := r.make(ctx, c)
			if err == nil {
				r.done(c)
				continue
			}
			err = fmt.Errorf("%s: %w", c, err)
			if c.declared != nil {
				err = fmt.Errorf("%s: %w", c.declared.at, err)
			}
			if !mayWait(err) {
				return err
			}
			later, failed = append(later, c), append(failed, err)
		}
		if len(later) == len(plan) {
			return r.all(failed)
		}
		plan = later
	}
	return nil
}

// all returns the one error, or notes the errors and returns how many there are.
func (r *runner) all(failed []error) error {
	if len(failed) == 1 {
		return failed[0]
	}
	for _, err := range failed {
		r.note(output.OneLine(r.p.Describe(err)))
	}
	return fmt.Errorf("%s could not be made as declared", output.Count(len(failed), "object"))
}

// mayWait reports whether a change may succeed once others are made.
func mayWait(err error) bool {
	return slices.Contains([]connect.Code{connect.CodeNotFound, connect.CodeInvalidArgument, connect.CodeFailedPrecondition}, connect.CodeOf(err))
}

// make makes one change.
func (r *runner) make(ctx context.Context, c *change) error {
	switch c.action {
	case keep:
		return nil
	case remove:
		return r.remove(ctx, c)
	case replace:
		if !c.removed {
			if err := r.remove(ctx, c); err != nil {
				return err
			}
			c.removed, c.state = true, nil
		}
		return r.create(ctx, c)
	case create:
		return r.create(ctx, c)
	}
	return r.update(ctx, c, c.fields)
}

// remove deletes an object.
func (r *runner) remove(ctx context.Context, c *change) error {
	_, err := r.call(ctx, c.kind.delete, c.state.identity())
	return err
}

// create creates an object, and then sets what creating it cannot.
func (r *runner) create(ctx context.Context, c *change) error {
	if c.state == nil {
		request := r.sent(c, sortedKeys(c.after))
		for name := range c.kind.also {
			delete(request, name)
		}
		if c.kind.message().Fields().ByJSONName(tenantField) != nil {
			request[tenantField] = r.client.Access.Tenant
		}
		answer, secret, err := r.answer(ctx, c.kind.create, c.kind.wrapped(c.declared, request))
		if err != nil {
			return err
		}
		c.state = c.kind.stateOf(answer)
		r.compare(c, c.state, sortedKeys(c.declared.fields))
		if err := r.keepSecret(c, secret); err != nil {
			return err
		}
	}
	var left []string
	for _, name := range sortedKeys(c.after) {
		if c.kind.also[name] != nil && !reflect.DeepEqual(c.after[name], c.state.fields[name]) {
			left = append(left, name)
		}
	}
	return r.update(ctx, c, left)
}

// update changes fields of an object. A connector pauses before its other fields change, and resumes after that.
func (r *runner) update(ctx context.Context, c *change, fields []string) error {
	var plain []string
	for _, name := range fields {
		if c.kind.switches[name][0].do == nil && c.kind.lists[name].id == "" {
			plain = append(plain, name)
		}
	}
	if err := r.flip(ctx, c, fields, true); err != nil {
		return err
	}
	if err := r.set(ctx, c, plain); err != nil {
		return err
	}
	if err := r.flip(ctx, c, fields, false); err != nil {
		return err
	}
	for _, name := range fields {
		if c.kind.lists[name].id == "" {
			continue
		}
		if err := r.put(ctx, c, name); err != nil {
			return err
		}
	}
	return nil
}

// flip calls the methods of the fields that become on.
func (r *runner) flip(ctx context.Context, c *change, fields []string, on bool) error {
	for _, name := range fields {
		methods, switched := c.kind.switches[name]
		if !switched || on != (c.after[name] == true) {
			continue
		}
		method := methods[0]
		if on {
			method = methods[1]
		}
		answer, err := r.call(ctx, method, c.state.identity())
		if err != nil {
			return err
		}
		c.state.object = answer // with another etag
	}
	return nil
}

// set changes fields with the update of the kind.
func (r *runner) set(ctx context.Context, c *change, fields []string) error {
	if len(fields) == 0 {
		return nil
	}
	request := c.state.identity()
	if c.kind.whole() {
		request = c.kind.wrapped(c.declared, r.sent(c, sortedKeys(c.after)))
	} else {
		maps.Copy(request, c.updated(r.sent(c, fields), fields))
		maps.Copy(request, r.values[c]) // another address may need them again
	}
	if etag := text(c.state.object, "etag"); etag != "" {
		request["etag"] = etag
	}
	answer, err := r.call(ctx, c.kind.update, request)
	if connect.CodeOf(err) == connect.CodeAborted {
		return fmt.Errorf("it was changed in the meantime: look at the difference again: %w", err)
	}
	if err != nil {
		return err
	}
	r.compare(c, c.kind.stateOf(answer), fields)
	return nil
}

// wrapped returns the request that creates an object with these fields.
func (k *kind) wrapped(d *declaration, fields tree) tree {
	fields[k.id] = d.shortName()
	if k.inner != "" {
		return tree{k.inner: fields}
	}
	return fields
}

// compare notes the fields of which the service has made something else than is declared.
func (r *runner) compare(c *change, now *state, fields []string) {
	for _, name := range fields {
		if c.kind.hidden[name] != nil || c.kind.also[name] != nil {
			continue
		}
		made, ok := now.fields[name]
		if !ok {
			made = zero(c.kind.field(name))
		}
		wanted, ok := c.after[name]
		if !ok {
			wanted = zero(c.kind.field(name))
		}
		if !reflect.DeepEqual(made, wanted) {
			r.note(fmt.Sprintf("%s: the service has made something else of %s than is declared: `ragd get %s %s` shows what", c, name, c.kind.name, c.name))
		}
	}
}

// sent returns fields of what an object becomes, with the values that references stand for.
func (r *runner) sent(c *change, fields []string) tree {
	out := tree{}
	for _, name := range fields {
		value, ok := c.after[name]
		switch {
		case c.kind.hidden[name] != nil:
			if read, known := r.values[c][name]; known {
				out[name] = read
			}
		case ok:
			out[name] = value
		}
	}
	return out
}

// updated returns fields as the update of their kind has them: lists that may be empty are in a message of their own.
func (c *change) updated(values tree, fields []string) tree {
	out := tree{}
	message := c.kind.update.request().ProtoReflect().Descriptor().Fields()
	for _, name := range fields {
		value, ok := values[name]
		into := message.ByJSONName(name)
		declared := c.kind.field(name)
		switch {
		case !ok && c.kind.clear[name] != "":
			out[c.kind.clear[name]] = true
			continue
		case !ok && into.ContainingOneof() != nil && !into.ContainingOneof().IsSynthetic():
			continue // another field of the choice takes its place
		case !ok:
			value = zero(declared)
		}
		if (declared.IsList() || declared.IsMap()) && !into.IsList() && !into.IsMap() {
			value = tree{into.Message().Fields().Get(0).JSONName(): value}
		}
		out[name] = value
	}
	return out
}

// put replaces a list of an object.
func (r *runner) put(ctx context.Context, c *change, name string) error {
	entries, _ := c.after[name].([]any)
	list := c.kind.lists[name]
	request := tree{c.kind.id: c.name}
	if len(entries) == 0 {
		request["all"] = true
		_, err := r.call(ctx, list.delete, request)
		return err
	}
	request[name], request["replace"] = entries, true
	_, err := r.call(ctx, list.put, request)
	return err
}

// call calls a method and returns the object in its answer.
func (r *runner) call(ctx context.Context, method rpc, request tree) (tree, error) {
	object, _, err := r.answer(ctx, method, request)
	return object, err
}

// answer calls a method and returns the object in its answer, and the secret that is beside it.
func (r *runner) answer(ctx context.Context, method rpc, request tree) (object tree, secret string, err error) {
	req := method.request()
	if err := decode(request, req); err != nil {
		return nil, "", errors.New(command.ProtoReason(err))
	}
	res, err := method.do(ctx, r.client, req)
	if err != nil {
		return nil, "", err
	}
	if shown, ok := res.(interface{ GetSecret() string }); ok {
		secret = shown.GetSecret()
	}
	object, err = treeOf(objectIn(res))
	return object, secret, err
}

// objectIn returns the object that an answer has inside, or the answer.
func objectIn(answer proto.Message) proto.Message {
	inside := answer
	answer.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if strings.HasSuffix(string(f.ContainingMessage().Name()), "Response") && f.Message() != nil && !f.IsList() && !f.IsMap() {
			inside = v.Message().Interface()
		}
		return true
	})
	return inside
}

// identity returns the fields by which update and delete find an object.
func (s *state) identity() tree {
	key := s.kind.key
	if key == "" {
		key = s.kind.id
	}
	id := tree{key: s.object[key]}
	if s.kind.within != "" {
		id[s.kind.within] = s.object[s.kind.within]
	}
	return id
}

// shortName returns the name without that of the index.
func (d *declaration) shortName() string {
	if d.kind.within == "" {
		return d.name
	}
	_, name, _ := strings.Cut(d.name, "/")
	return name
}

// whole reports whether the update of a kind replaces its objects as a whole.
func (k *kind) whole() bool {
	return k.update.do != nil && k.create.request().ProtoReflect().Descriptor() == k.update.request().ProtoReflect().Descriptor()
}
