package declare

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
)

// pageSize is the size of the pages in which lists are read.
const pageSize = 500

// state is an object as the service has it.
type state struct {
	kind   *kind
	name   string // with that of its index, as index/profile, if it has one
	object tree   // the whole message
	fields tree   // what can be declared
}

// states reads all objects of a kind in the order of their names. Objects without a name are not among them, but
// counted.
func (k *kind) states(ctx context.Context, c *client.Client) (all []*state, nameless int, err error) {
	each := k.each
	if each == nil {
		each = func(ctx context.Context, c *client.Client) ([]tree, error) { return page(ctx, c, k.list, tree{}) }
	}
	objects, err := each(ctx, c)
	if err != nil {
		return nil, 0, fmt.Errorf("list what there is of the kind %s: %w", k.name, err)
	}
	for _, object := range objects {
		if text(object, k.id) == "" {
			nameless++
			continue
		}
		all = append(all, k.stateOf(object))
	}
	slices.SortFunc(all, func(a, b *state) int { return strings.Compare(a.name, b.name) })
	return all, nameless, nil
}

// stateOf returns the state of an object of the service.
func (k *kind) stateOf(object tree) *state {
	s := &state{kind: k, name: k.fullName(object, text(object, k.id)), object: object, fields: tree{}}
	for _, f := range k.declarable() {
		name := f.JSONName()
		value, ok := object[name]
		switch {
		case k.hidden[name] != nil:
			if shape := k.hidden[name](object); shape != nil {
				s.fields[name] = shape
			}
		case ok:
			s.fields[name] = value
		case f.HasOptionalKeyword() && f.Message() == nil: // left out because it is zero, which is not the default
			s.fields[name] = zero(f)
		}
	}
	if k.tidy != nil {
		k.tidy(object, s.fields)
	}
	return s
}

// fullName returns the name by which an object is told apart from others of its kind.
func (k *kind) fullName(fields tree, name string) string {
	if k.within == "" {
		return name
	}
	return text(fields, k.within) + "/" + name
}

// load adds the lists of an object that methods of their own return, those of only if it is not nil.
func (s *state) load(ctx context.Context, c *client.Client, only tree) error {
	for name, list := range s.kind.lists {
		if _, wanted := only[name]; !wanted && only != nil {
			continue
		}
		entries, err := page(ctx, c, list.list, tree{s.kind.id: s.name})
		if err != nil {
			return fmt.Errorf("list the %s of %s: %w", name, s.name, err)
		}
		if len(entries) > 0 {
			s.fields[name] = anys(entries)
		}
	}
	return nil
}

// page reads all pages of a list. The entries are in the first repeated field with messages of its answer.
func page(ctx context.Context, c *client.Client, list rpc, request tree) (all []tree, err error) {
	for token := ""; ; {
		req := list.request()
		fields := req.ProtoReflect().Descriptor().Fields()
		if fields.ByName("page_size") != nil {
			request["pageSize"], request["pageToken"] = pageSize, token
		}
		if err := decode(request, req); err != nil {
			return nil, err
		}
		res, err := list.do(ctx, c, req)
		if err != nil {
			return nil, err
		}
		answer, err := treeOf(res)
		if err != nil {
			return nil, err
		}
		entries, _ := answer[entriesOf(res.ProtoReflect().Descriptor())].([]any)
		for _, entry := range entries {
			all = append(all, entry.(tree))
		}
		if token = text(answer, "nextPageToken"); token == "" {
			return all, nil
		}
	}
}

// entriesOf returns the name of the field of a list's answer that has the entries.
func entriesOf(answer protoreflect.MessageDescriptor) string {
	for i := range answer.Fields().Len() {
		if f := answer.Fields().Get(i); f.IsList() && f.Message() != nil {
			return f.JSONName()
		}
	}
	return ""
}

// treeOf returns a message as JSON has it.
func treeOf(m proto.Message) (tree, error) {
	encoded, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	out := tree{}
	return out, json.Unmarshal(encoded, &out)
}

// decode reads a message from its JSON.
func decode(from tree, into proto.Message) error {
	encoded, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return protojson.Unmarshal(encoded, into)
}

// zero returns the value of a field that JSON leaves out.
func zero(f protoreflect.FieldDescriptor) any {
	switch {
	case f.IsList():
		return []any{}
	case f.IsMap(), f.Message() != nil:
		return tree{}
	}
	switch f.Kind() {
	case protoreflect.BoolKind:
		return false
	case protoreflect.StringKind, protoreflect.BytesKind:
		return ""
	}
	return float64(0)
}

// anys returns a list of objects as JSON has it.
func anys(objects []tree) []any {
	list := make([]any, len(objects))
	for i, object := range objects {
		list[i] = object
	}
	return list
}

// variable returns the reference to the environment that stands for a value that the service does not return.
func variable(words ...string) tree {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.Join(words, "_"))
	return tree{"valueFrom": tree{"env": strings.ToUpper(name)}}
}
