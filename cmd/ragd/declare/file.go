package declare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/internal/api/jsonmessage"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/nearest"
)

// maxFileBytes is the size up to which a file of declarations is read.
const maxFileBytes = 16 << 20

// maxNesting is the depth up to which the values of a declaration are nested.
const maxNesting = 100

// declaration is an object as a file declares it.
type declaration struct {
	kind   *kind
	name   string // with that of its index, as index/profile, if it has one
	fields tree   // those that are declared, as the API writes them; nil restores the default
	at     string // file and line, for messages
	folder string // which the paths of references are relative to
}

// read reads the declarations of files, and of the files of folders in YAML and JSON, in the order of their paths; - is
// standard input. Errors name the file and the line.
func read(p *command.Program, paths []string) ([]*declaration, error) {
	if len(paths) == 0 {
		return nil, misuse.Errorf("--file is missing")
	}
	var all []*declaration
	first := map[string]string{}
	for _, path := range paths {
		files, err := filesOf(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			found, err := readFile(p, file)
			if err != nil {
				return nil, err
			}
			for _, d := range found {
				id := d.kind.name + " " + d.name
				if before := first[id]; before != "" {
					return nil, fmt.Errorf("%s: %s is declared twice, before in %s", d.at, id, before)
				}
				first[id] = d.at
			}
			all = append(all, found...)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: there are no declarations", strings.Join(paths, ", "))
	}
	return all, nil
}

// filesOf returns the path of a file, or those of the files of a folder and the folders below it. Hidden ones are left out.
func filesOf(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	var files []string
	err := filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		hidden := at != path && strings.HasPrefix(entry.Name(), ".")
		switch {
		case err != nil:
			return err
		case hidden && entry.IsDir():
			return filepath.SkipDir
		case hidden, entry.IsDir():
		case at == path, slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(at)):
			files = append(files, at)
		}
		return nil
	})
	return files, err
}

// readFile reads the documents of a file.
func readFile(p *command.Program, path string) ([]*declaration, error) {
	in, err := p.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	raw, err := io.ReadAll(io.LimitReader(in, maxFileBytes+1))
	name, folder := path, filepath.Dir(path)
	if path == "-" {
		name, folder = "standard input", "."
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case len(raw) > maxFileBytes:
		return nil, fmt.Errorf("%s has more than %d bytes: divide it into several files", name, maxFileBytes)
	}
	var all []*declaration
	for documents := yaml.NewDecoder(bytes.NewReader(raw)); ; {
		var document yaml.Node
		if err := documents.Decode(&document); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s is no YAML: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
		}
		node := document.Content[0]
		if node.Tag == "!!null" {
			continue // nothing between two separators
		}
		d, err := declarationOf(&source{file: name, root: node})
		if err != nil {
			return nil, err
		}
		d.folder = folder
		all = append(all, d)
	}
}

// source is a document of a file.
type source struct {
	file string
	root *yaml.Node
}

// errorf returns an error about the node.
func (s *source) errorf(node *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", s.file, node.Line, fmt.Errorf(format, args...))
}

// declarationOf returns what a document declares.
func declarationOf(s *source) (*declaration, error) {
	if s.root.Kind != yaml.MappingNode {
		return nil, s.errorf(s.root, "a document must be an object with the fields kind and name")
	}
	value, err := s.value(s.root, 0)
	if err != nil {
		return nil, err
	}
	document := value.(tree)
	for _, name := range sortedKeys(document) {
		if !slices.Contains(documentFields, name) {
			return nil, s.errorf(s.nodeAt(name), "unknown field %q%s", name, documentHint(document, name))
		}
	}
	kindName, name := text(document, "kind"), text(document, "name")
	spec, isObject := document["spec"].(tree)
	switch {
	case kindName == "":
		return nil, s.errorf(s.root, "kind is missing: one of %s", strings.Join(kindNames(), ", "))
	case name == "":
		return nil, s.errorf(s.root, "the name of the %s is missing: give a text", kindName)
	case !isObject && document["spec"] != nil:
		return nil, s.errorf(s.nodeAt("spec"), "spec must be an object")
	}
	k, err := findKind(kindName)
	if err != nil {
		return nil, s.errorf(s.nodeAt("kind"), "%w", err)
	}
	d := &declaration{kind: k, at: fmt.Sprintf("%s:%d", s.file, s.root.Line), fields: tree{}}
	for _, field := range sortedKeys(spec) {
		if d.fields[field], err = k.declared(field, spec[field]); err != nil {
			return nil, s.errorf(s.nodeAt(append([]string{"spec"}, pathOf(err)...)...), "%s %s: %s", kindName, name, fault.Public(err))
		}
	}
	if k.within != "" && text(d.fields, k.within) == "" {
		return nil, s.errorf(s.root, "%s %s: spec.%s is missing", kindName, name, k.within)
	}
	d.name = k.fullName(d.fields, name)
	return d, nil
}

// documentFields are the fields of a document.
var documentFields = []string{"kind", "name", "spec"}

// documentHint returns where a field of a document belongs that is none.
func documentHint(document tree, name string) string {
	if k, err := findKind(text(document, "kind")); err == nil && k.field(name) != nil {
		return ": write it below spec"
	}
	if hint := nearest.Hint(name, documentFields); hint != "" {
		return hint
	}
	return "; known are " + strings.Join(documentFields, ", ")
}

// declared returns a value of a field in the form in which the API writes it, nil for the default of one that can be cleared. Errors
// are violations of fields.
func (k *kind) declared(name string, value any) (any, error) {
	field := k.field(name)
	if field == nil {
		return nil, fault.Field(name, "is unknown%s", k.hint(name))
	}
	if k.hidden[name] != nil {
		if _, err := referenced(value, name, func(reference) (string, error) { return "x", nil }); err != nil {
			return nil, err
		}
		return value, nil
	}
	if value == nil && k.clear[name] != "" {
		return nil, nil
	}
	if value == nil {
		return nil, fault.Field(name, "has no value: leave it out to keep what the service has, or give an empty one, such as \"\", [] or {}")
	}
	read := dynamicpb.NewMessage(field.ContainingMessage())
	encoded, err := json.Marshal(tree{name: value})
	if err != nil {
		return nil, fault.Field(name, "is no value of JSON: %s", err)
	}
	if err := jsonmessage.Unmarshal(encoded, read); err != nil {
		return nil, err
	}
	canonical, err := treeOf(read)
	if err != nil {
		return nil, err
	}
	if written, ok := canonical[name]; ok {
		return written, nil
	}
	return zero(field), nil
}

// hint returns the field that is nearest to an unknown one, else all.
func (k *kind) hint(name string) string {
	var names []string
	for _, f := range k.declarable() {
		names = append(names, f.JSONName())
	}
	if name == k.id {
		return ": the name stands above spec, as name"
	}
	if hint := nearest.Hint(name, names); hint != "" {
		return hint
	}
	slices.Sort(names)
	return "; known are " + strings.Join(names, ", ")
}

// pathOf returns the path of the field that an error is about.
func pathOf(err error) []string {
	var f *fault.Error
	if !errors.As(err, &f) || len(f.Violations) == 0 {
		return nil
	}
	path := strings.NewReplacer("[", ".", "]", "").Replace(f.Violations[0].Field)
	return strings.Split(path, ".")
}

// nodeAt returns the node of a field or, of a path, the nearest one that there is: the key, so that its line is that of the name.
func (s *source) nodeAt(path ...string) *yaml.Node {
	at, value := s.root, s.root
	for _, name := range path {
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		position, err := strconv.Atoi(name)
		switch {
		case value.Kind == yaml.MappingNode:
			i := slices.IndexFunc(value.Content, func(n *yaml.Node) bool { return n.Value == name })
			if i < 0 || i%2 == 1 {
				return at
			}
			at, value = value.Content[i], value.Content[i+1]
		case value.Kind == yaml.SequenceNode && err == nil && position < len(value.Content):
			at, value = value.Content[position], value.Content[position]
		default:
			return at
		}
	}
	return at
}

// value returns the value of a node as JSON has it.
func (s *source) value(node *yaml.Node, depth int) (any, error) {
	if depth > maxNesting {
		return nil, s.errorf(node, "values are nested more than %d deep", maxNesting)
	}
	switch node.Kind {
	case yaml.AliasNode:
		return nil, s.errorf(node, "anchors and aliases are not read: write the value again")
	case yaml.SequenceNode:
		list := make([]any, len(node.Content))
		for i, element := range node.Content {
			var err error
			if list[i], err = s.value(element, depth+1); err != nil {
				return nil, err
			}
		}
		return list, nil
	case yaml.MappingNode:
		object := tree{}
		for i := 0; i < len(node.Content); i += 2 {
			key := node.Content[i]
			if _, twice := object[key.Value]; twice {
				return nil, s.errorf(key, "%q is given twice", key.Value)
			}
			if key.Kind != yaml.ScalarNode || key.Tag != "!!str" && key.Tag != "!!int" && key.Tag != "!!bool" {
				return nil, s.errorf(key, "the name of a field must be a text")
			}
			value, err := s.value(node.Content[i+1], depth+1)
			if err != nil {
				return nil, err
			}
			object[key.Value] = value
		}
		return object, nil
	}
	return s.scalar(node)
}

// scalar returns the value of a scalar. What looks like a time is text.
func (s *source) scalar(node *yaml.Node) (any, error) {
	switch node.Tag {
	case "!!null", "!!bool", "!!int", "!!float":
	default:
		return node.Value, nil
	}
	var value any
	if err := node.Decode(&value); err != nil {
		return nil, s.errorf(node, "%q is no value of YAML", node.Value)
	}
	if number, ok := value.(float64); ok && (math.IsNaN(number) || math.IsInf(number, 0)) {
		return nil, s.errorf(node, "%q is no number that JSON has", node.Value)
	}
	return value, nil
}
