// Package schema checks JSON values against the JSON Schemas that tenants give. It bounds what
// a schema, a value and a check may cost, and describes mistakes for language models.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pattern"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// Limits.
const (
	MaxBytes = 32 << 10 // of a schema as JSON
	MaxDepth = 64       // of schemas and values

	maxNumberBytes = 64
	maxExponent    = 400
	// maxSteps bounds the work of one check: how often a part of the schema meets a part of
	// the value, and how far patterns read strings.
	maxSteps = 1_000_000
	// heavySteps is the work from which only maxHeavy checks are done at once: each step may
	// leave a mistake in memory, of some hundred bytes.
	heavySteps = 100_000
	maxHeavy   = 2
	maxWait    = 10 * time.Second
	// maxProblems is how many mistakes an error lists.
	maxProblems = 5
	// maxReasonBytes is the longest text of one mistake.
	maxReasonBytes = 300
)

// heavy has an entry for each heavy check that is being done.
var heavy = make(chan struct{}, maxHeavy)

// Schema is a compiled JSON Schema. Safe for concurrent use.
type Schema struct {
	field    string
	raw      []byte
	once     sync.Once
	compiled *jsonschema.Schema
	err      error
}

// noLoader rejects references to other documents, so that a schema cannot make the server
// fetch addresses or read files.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("a schema cannot refer to another document")
}

// Compile returns a schema of draft 2020-12, or of the earlier draft that its $schema names.
// $ref may refer to its own parts only; patterns are those of RE2, which take linear time.
// Errors: Invalid, naming the field.
func Compile(field string, raw []byte) (*Schema, error) {
	s := Later(field, raw)
	return s, s.Ready()
}

// Later is Compile for a schema that was compiled before, such as one that is stored: it is
// compiled when it is first used.
func Later(field string, raw []byte) *Schema { return &Schema{field: field, raw: raw} }

// Ready compiles a schema of Later. Errors: as Compile.
func (s *Schema) Ready() error {
	s.once.Do(func() {
		s.compiled, s.err = compile(s.field, s.raw)
		s.raw = nil
	})
	return s.err
}

func compile(field string, raw []byte) (*jsonschema.Schema, error) {
	if len(raw) > MaxBytes {
		return nil, fault.Field(field, "must be at most %d bytes of JSON, got %d", MaxBytes, len(raw))
	}
	document, err := Decode(raw)
	if err != nil {
		return nil, fault.Field(field, "%s", err)
	}
	if _, ok := document.(map[string]any); !ok {
		return nil, fault.Field(field, "must be a JSON Schema: an object such as {\"type\": \"object\", \"properties\": {...}}")
	}
	const name = "ragd:schema"
	patterns := &patterns{known: map[string]pattern.Pattern{}}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	compiler.AssertFormat()
	compiler.UseRegexpEngine(patterns.compile)
	err = compiler.AddResource(name, document)
	if err == nil {
		var compiled *jsonschema.Schema
		if compiled, err = compiler.Compile(name); err == nil {
			patterns.known = nil
			return compiled, nil
		}
	}
	if patterns.tooLarge {
		return nil, fault.Field(field, "its patterns are too large: repetitions such as {1,1000} count with what they stand for, and all patterns may have %d states", maxPatternSize)
	}
	return nil, fault.Field(field, "is no valid JSON Schema: %s", compileReason(err))
}

// compileReason returns the text of an error of the compiler for the author of the schema.
func compileReason(err error) string {
	text := strings.ReplaceAll(err.Error(), "ragd:schema", "")
	if invalid := (*jsonschema.ValidationError)(nil); errors.As(err, &invalid) {
		text = strings.Join(problems(invalid), "; ")
	}
	return textlimit.OneLine(text, maxReasonBytes)
}

// Decode returns a JSON value with numbers as json.Number. Errors say what is wrong, such as
// a value that is nested too deeply or a number that is too large; they are public.
func Decode(raw []byte) (any, error) {
	if err := scan(raw); err != nil {
		return nil, err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, errors.New("is no valid JSON")
	}
	return value, nil
}

// scan checks depth and numbers before the value is built.
func scan(raw []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	depth := 0
	for {
		token, err := decoder.Token()
		if err != nil { // the end, or what UnmarshalJSON reports
			return nil
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				depth++
			} else {
				depth--
			}
			if depth > MaxDepth {
				return fmt.Errorf("is nested deeper than %d levels", MaxDepth)
			}
		case json.Number:
			if !reasonable(string(token)) {
				return fmt.Errorf("has a number that is too long or too large: "+numberLimits, maxNumberBytes, maxExponent)
			}
		}
	}
}

// CheckNumbers checks the numbers of a value whose numbers are json.Number: exact arithmetic
// with a few characters such as 1e1000000 takes long. Errors: Invalid for the first that is too
// long or too large, whose field is a path below field, or a path alone for an empty one.
func CheckNumbers(field string, value any) error {
	return checkNumbers(value, func() string { return field })
}

// checkNumbers checks the numbers of a value, whose path is worked out for an error only.
func checkNumbers(value any, path func() string) error {
	switch value := value.(type) {
	case json.Number:
		if !reasonable(string(value)) {
			return fault.Field(path(), "is a number that is too long or too large: "+numberLimits, maxNumberBytes, maxExponent)
		}
	case map[string]any:
		for name, member := range value {
			if err := checkNumbers(member, func() string { return strings.TrimPrefix(path()+"."+name, ".") }); err != nil {
				return err
			}
		}
	case []any:
		for i, item := range value {
			if err := checkNumbers(item, func() string { return fmt.Sprintf("%s[%d]", path(), i) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// numberLimits is the format of the limits of numbers in errors.
const numberLimits = "at most %d characters, and an exponent of at most %d"

// reasonable reports whether exact arithmetic with a number is cheap.
func reasonable(number string) bool {
	if len(number) > maxNumberBytes {
		return false
	}
	at := strings.IndexAny(number, "eE")
	if at < 0 {
		return true
	}
	exponent := strings.TrimLeft(number[at+1:], "+-0")
	return len(exponent) < 3 || len(exponent) == 3 && exponent <= fmt.Sprint(maxExponent)
}

// Validate checks a value of Decode. Errors: Invalid with a violation for each mistake, at
// most five, whose fields are paths below field, or paths alone for an empty one; Invalid too
// when the check would take too long; Exhausted when other checks leave no time for it.
func (s *Schema) Validate(field string, value any) error {
	if err := s.Ready(); err != nil {
		return err
	}
	steps := stepsOf(s.compiled, value)
	if steps > maxSteps {
		return fault.Field(pathOf(field, nil), "is too large to be checked against its schema: make either smaller")
	}
	if steps > heavySteps {
		select {
		case heavy <- struct{}{}:
			defer func() { <-heavy }()
		case <-time.After(maxWait):
			return fault.Retry(maxWait, "many large values are being checked against their schemas: try again later")
		}
	}
	err := s.compiled.Validate(value)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return fault.Wrap(fault.Invalid, err, "%s: does not match its schema", field)
	}
	out := &fault.Error{Kind: fault.Invalid}
	for _, leaf := range leaves(invalid, nil) {
		out.Violations = append(out.Violations, violations(field, leaf)...)
	}
	out.Violations = out.Violations[:min(len(out.Violations), maxProblems)]
	reasons := make([]string, len(out.Violations))
	for i, v := range out.Violations {
		reasons[i] = v.Field + ": " + v.Reason
	}
	out.Message = strings.Join(reasons, "; ")
	return out
}

// violations returns an innermost mistake: one for each property that is missing or not allowed.
func violations(field string, leaf *jsonschema.ValidationError) []fault.Violation {
	each := func(names []string, reason string) (all []fault.Violation) {
		for _, name := range names[:min(len(names), maxProblems)] {
			location := append(slices.Clone(leaf.InstanceLocation), textlimit.OneLine(name, maxReasonBytes))
			all = append(all, fault.Violation{Field: pathOf(field, location), Reason: reason})
		}
		return all
	}
	switch k := leaf.ErrorKind.(type) {
	case *kind.Required:
		return each(k.Missing, "is required")
	case *kind.AdditionalProperties:
		return each(k.Properties, "is not known here")
	}
	return []fault.Violation{{Field: pathOf(field, leaf.InstanceLocation), Reason: reason(leaf)}}
}

// pathOf returns the path of a part of a value below a field, which may be empty.
func pathOf(field string, location []string) string {
	switch {
	case len(location) == 0 && field == "":
		return "arguments"
	case field == "":
		return strings.Join(location, ".")
	}
	return strings.Join(append([]string{field}, location...), ".")
}

var english = message.NewPrinter(language.English)

func reason(e *jsonschema.ValidationError) string {
	return textlimit.OneLine(e.ErrorKind.LocalizedString(english), maxReasonBytes)
}

// leaves returns the innermost mistakes of an error, at most maxProblems.
func leaves(e *jsonschema.ValidationError, found []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 && len(found) < maxProblems {
		return append(found, e)
	}
	for _, cause := range e.Causes {
		found = leaves(cause, found)
	}
	return found
}

// problems returns the texts of the innermost mistakes, with their places in the schema.
func problems(e *jsonschema.ValidationError) []string {
	var texts []string
	for _, leaf := range leaves(e, nil) {
		texts = append(texts, "/"+strings.Join(leaf.InstanceLocation, "/")+": "+reason(leaf))
	}
	return texts
}
