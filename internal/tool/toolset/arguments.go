package toolset

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"google.golang.org/protobuf/proto"

	"github.com/ragdhq/ragd/internal/api/jsonmessage"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/nearest"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
	"github.com/ragdhq/ragd/internal/tool/schema"
	"github.com/ragdhq/ragd/internal/tool/toolschema"
)

// arguments validates the arguments of a call against a tool's input schema and reports
// mistakes so that a model can correct them.
type arguments struct {
	input   toolschema.Schema
	schema  *jsonschema.Schema
	source  map[string]any
	shape   *admission.Shape
	vectors []string // names of arguments that are plain lists of numbers
	// given is set for a schema that is not the service's own and replaces schema; its checks
	// are bounded.
	given *givenSchema
}

func newArguments(input toolschema.Schema) (*arguments, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(input.Accepted()))
	if err != nil {
		return nil, err
	}
	source, ok := document.(map[string]any)
	if !ok {
		return nil, errors.New("the input schema is not an object")
	}
	const name = "arguments.json"
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(name, document); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile(name)
	return &arguments{input: input, schema: compiled, source: source, shape: admission.SchemaShape(source), vectors: vectorsOf(source)}, err
}

// vectorsOf returns the names of the arguments whose schema is a list of numbers, or its base64, without
// further conditions.
func vectorsOf(source map[string]any) (names []string) {
	properties, _ := lookup(source, "properties").(map[string]any)
	for name, property := range properties {
		said, _ := property.(map[string]any)
		said = maps.Clone(said)
		delete(said, "description")
		if reflect.DeepEqual(said, map[string]any{"type": []any{"array", "string"}, "items": map[string]any{"type": "number"}}) {
			names = append(names, name)
		}
	}
	return names
}

// accepted are the arguments of a call that fit a tool's schema.
type accepted struct {
	json []byte // an object, in which the lists in vectors are empty
	// vectors are lists of numbers by the names of their arguments.
	vectors map[string][]float32
}

// decode decodes the arguments into a message. Errors: Invalid.
func (a accepted) decode(into proto.Message) error {
	if err := jsonmessage.Unmarshal(a.json, into); err != nil {
		return err
	}
	for name, values := range a.vectors {
		if err := jsonmessage.MergeVector(into, into.ProtoReflect().Descriptor().Fields().ByJSONName(name), values); err != nil {
			return err
		}
	}
	return nil
}

// maxDetached limits the length of the vectors that detach removes.
const maxDetached = 4096

// detach returns the arguments without their vectors, which it returns too: the decoders
// and the validator take much longer for a number than reading it takes. It leaves
// everything that may be a mistake to them.
func (a *arguments) detach(raw json.RawMessage) (json.RawMessage, map[string][]float32) {
	var found map[string][]float32
	rest, copied, seen := make([]byte, 0, len(raw)), 0, map[string]bool{}
	whole := jsonmessage.Members(raw, func(name []byte, begin, end int) bool {
		if !slices.Contains(a.vectors, string(name)) {
			return true
		}
		values, ok := jsonmessage.Vector(raw[begin:end], maxDetached)
		if !ok {
			return true
		}
		if seen[string(name)] {
			return false
		}
		seen[string(name)] = true
		if found == nil {
			found = map[string][]float32{}
		}
		found[string(name)] = values
		rest, copied = append(append(rest, raw[copied:begin]...), "[]"...), end
		return true
	})
	if !whole || found == nil {
		return raw, nil
	}
	return append(rest, raw[copied:]...), found
}

// accept returns the arguments of a call. Errors: Invalid with a violation for each argument
// that does not fit the schema.
func (a *arguments) accept(c Call) (accepted, error) {
	if a.given != nil {
		fitting, err := a.checkGiven(c.Arguments, c.Answers)
		return accepted{json: fitting}, err
	}
	raw, vectors := a.detach(c.Arguments)
	fitting, err := a.check(raw, c.Answers)
	return accepted{fitting, vectors}, err
}

// property returns the schema of an argument, nil if there is none of the name.
func (a *arguments) property(name string) any { return lookup(a.source, "properties", name) }

// check is accept for arguments without vectors, and the user's answers, which take effect
// where an argument is missing. They need no more trust than arguments.
func (a *arguments) check(raw, answers json.RawMessage) ([]byte, error) {
	if len(raw) == 0 {
		raw = json.RawMessage("null")
	}
	if _, err := a.shape.WeighJSON(raw); err != nil {
		return nil, err // a list with too many entries, for each of which the validator would make an error
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw)) // keeps the digits of numbers
	if err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	changed := value == nil
	if changed {
		value = map[string]any{}
	}
	given, ok := value.(map[string]any)
	if !ok {
		return nil, fault.Field("arguments", "must be an object")
	}
	changed = a.input.Repair(given) || changed
	answered, err := a.answer(given, answers)
	if err != nil {
		return nil, err
	}
	changed = answered || changed
	if err := schema.CheckNumbers("", given); err != nil {
		return nil, err
	}
	var invalid *jsonschema.ValidationError
	if err := a.schema.Validate(given); errors.As(err, &invalid) {
		return nil, a.explain(invalid)
	} else if err != nil {
		return nil, fmt.Errorf("check the arguments: %w", err)
	}
	if !changed && strict(raw) {
		return raw, nil
	}
	return json.Marshal(given)
}

// answer adds the user's answers to arguments where one is missing. It reports whether it
// changed anything. Errors: Invalid.
func (a *arguments) answer(given map[string]any, answers json.RawMessage) (changed bool, err error) {
	if answers == nil {
		return false, nil
	}
	var answered map[string]any
	if err := json.Unmarshal(answers, &answered); err != nil {
		return false, fault.Field("answers", "must be an object")
	}
	for name, value := range answered {
		if given[name] == nil && a.property(name) != nil {
			given[name], changed = value, true
		}
	}
	return changed, nil
}

// strict reports whether protojson accepts raw, which encoding/json does. protojson
// rejects unpaired surrogates, which models leave behind when they stop early.
func strict(raw []byte) bool { return utf8.Valid(raw) && !bytes.Contains(raw, []byte(`\u`)) }

// lookup follows path through nested JSON objects; nil if there is no such value.
func lookup(value any, path ...string) any {
	for _, key := range path {
		object, _ := value.(map[string]any)
		value = object[key]
	}
	return value
}

// maxViolations limits the mistakes that an error lists, and maxCollected those among
// which it selects them.
const (
	maxViolations    = 8
	maxArgumentBytes = 200 // of the name of an argument in them
	maxCollected     = 1000
)

// explain converts the validator's tree of causes to an error with a list of violations.
func (a *arguments) explain(err *jsonschema.ValidationError) *fault.Error {
	var violations []fault.Violation
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			violations = append(violations, a.violations(e)...)
		}
		for _, cause := range e.Causes {
			if len(violations) < maxCollected {
				walk(cause)
			}
		}
	}
	walk(err)
	slices.SortFunc(violations, func(x, y fault.Violation) int { return strings.Compare(x.Field, y.Field) })
	violations = violations[:min(len(violations), maxViolations)]
	reasons := make([]string, len(violations))
	for i, v := range violations {
		reasons[i] = v.Field + ": " + v.Reason
	}
	return &fault.Error{Kind: fault.Invalid, Message: strings.Join(reasons, "; "), Violations: violations}
}

func (a *arguments) violations(e *jsonschema.ValidationError) []fault.Violation {
	field := fieldPath(e.InstanceLocation)
	one := func(format string, args ...any) []fault.Violation {
		return []fault.Violation{{Field: field, Reason: fmt.Sprintf(format, args...)}}
	}
	each := func(names []string, reason func(name string) string) (all []fault.Violation) {
		slices.Sort(names) // as the violations are, of which the first are shown
		for _, name := range names[:min(len(names), maxViolations)] {
			name = textlimit.Shorten(name, maxArgumentBytes)
			all = append(all, fault.Violation{Field: fieldPath(append(slices.Clone(e.InstanceLocation), name)), Reason: reason(name)})
		}
		return all
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return each(k.Missing, func(string) string { return "is required" })
	case *kind.AdditionalProperties:
		known := a.known(e.InstanceLocation)
		return each(k.Properties, func(name string) string {
			return "is not known here" + cmp.Or(nearest.Hint(name, known), "; known are "+strings.Join(known, ", "))
		})
	case *kind.Type:
		return one("must be of type %s, got %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Enum:
		return one("must be one of %s, got %s%s", jsonList(k.Want), jsonText(k.Got), nearestOf(k.Got, k.Want))
	case *kind.Minimum:
		return one("must be at least %s, got %s", k.Want.RatString(), k.Got.RatString())
	case *kind.Maximum:
		return one("must be at most %s, got %s", k.Want.RatString(), k.Got.RatString())
	}
	return one("does not fit: %s", strings.Join(e.ErrorKind.KeywordPath(), "."))
}

// known lists the properties that the schema has for the object at path, sorted.
func (a *arguments) known(path []string) []string {
	schema := any(a.source)
	for _, key := range path {
		if items := lookup(schema, "items"); items != nil {
			schema = items
			continue
		}
		schema = lookup(schema, "properties", key)
	}
	properties, _ := lookup(schema, "properties").(map[string]any)
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// fieldPath formats a path as "chunking.headers[0].marker".
func fieldPath(path []string) string {
	if len(path) == 0 {
		return "arguments"
	}
	var b strings.Builder
	for i, key := range path {
		switch {
		case isIndex.MatchString(key):
			b.WriteString("[" + key + "]")
		case i > 0:
			b.WriteString("." + key)
		default:
			b.WriteString(key)
		}
	}
	return b.String()
}

var isIndex = regexp.MustCompile(`^\d+$`)

func jsonText(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return textlimit.Shorten(string(raw), 100)
}

func jsonList(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = jsonText(v)
	}
	return strings.Join(texts, ", ")
}

// nearestOf returns a hint at the value that was meant instead of got.
func nearestOf(got any, allowed []any) string {
	var names []string
	for _, value := range allowed {
		if name, ok := value.(string); ok {
			names = append(names, name)
		}
	}
	name, _ := got.(string)
	return nearest.Hint(name, names)
}
