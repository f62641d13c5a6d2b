package declare

import (
	"path/filepath"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// reference says where a value is that no declaration has.
type reference struct {
	env  string // variable of the environment
	file string // path, relative to the folder of the declaration
}

// referenceIn returns the reference that a value is, if it is one.
func referenceIn(value any) (reference, bool) {
	object, ok := value.(tree)
	if !ok || len(object) != 1 {
		return reference{}, false
	}
	from, ok := object["valueFrom"].(tree)
	if !ok || len(from) != 1 {
		return reference{}, false
	}
	r := reference{env: text(from, "env"), file: text(from, "file")}
	return r, r != reference{}
}

// referenced returns a value with that of read in place of each reference. Errors: Invalid, naming the field, for a
// value that is none.
func referenced(value any, path string, read func(reference) (string, error)) (any, error) {
	if r, ok := referenceIn(value); ok {
		return read(r)
	}
	object, ok := value.(tree)
	if _, broken := object["valueFrom"]; !ok || broken {
		return nil, fault.Field(path, "is a secret, which a file must not have: give valueFrom: {env: NAME} or {file: PATH}")
	}
	out := tree{}
	for _, name := range sortedKeys(object) {
		inner, err := referenced(object[name], path+"."+name, read)
		if err != nil {
			return nil, err
		}
		out[name] = inner
	}
	return out, nil
}

// resolve returns the value that a reference of a declaration stands for.
func (d *declaration) resolve(p *command.Program, r reference) (string, error) {
	if r.file != "" {
		path := r.file
		if !filepath.IsAbs(path) {
			path = filepath.Join(d.folder, path)
		}
		return p.ReadSecret(path)
	}
	if value := p.Getenv(r.env); value != "" {
		return value, nil
	}
	return "", fault.New(fault.Invalid, "%s is not set in the environment", r.env)
}

// sameShape reports whether two values have references at the same fields.
func sameShape(a, b any) bool {
	_, inA := referenceIn(a)
	_, inB := referenceIn(b)
	if inA || inB {
		return inA && inB
	}
	one, ok := a.(tree)
	other, also := b.(tree)
	if !ok || !also || len(one) != len(other) {
		return false
	}
	for name := range one {
		if !sameShape(one[name], other[name]) {
			return false
		}
	}
	return true
}
