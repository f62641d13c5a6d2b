package workflow

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/nearest"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tool/expression"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

// mapping makes a value: an object of fields, or whole.
type mapping struct {
	fields map[string]*source
	whole  *source
}

// source is a Source that is ready to be read.
type source struct {
	Source

	field      string
	value      any
	expression *expression.Expression
	schema     *schema.Schema
}

// mapping compiles how a value is made, and returns its shape; otherwise is that of the value that
// is taken without a mapping.
func (c *compiler) mapping(field string, fields Mapping, whole *Source, at visible, otherwise shape) (*mapping, shape, error) {
	switch {
	case fields != nil && whole != nil:
		return nil, nil, fault.Field(field, "and %sFrom exclude each other", field)
	case whole != nil:
		s, known, err := c.source(field+"From", *whole, at)
		return &mapping{whole: s}, known, err
	case fields == nil:
		return nil, otherwise, nil
	}
	m := &mapping{fields: map[string]*source{}}
	properties := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		s, known, err := c.source(field+"."+name, fields[name], at)
		if err != nil {
			return nil, nil, err
		}
		m.fields[name] = s
		properties[name] = map[string]any(orEmpty(known))
	}
	return m, shape{"type": "object", "properties": properties, "additionalProperties": false}, nil
}

// source compiles where a value comes from, and returns its shape.
func (c *compiler) source(field string, s Source, at visible) (*source, shape, error) {
	out := &source{Source: s, field: field}
	given := 0
	for _, has := range []bool{len(s.Step) > 0, s.RequestContextPath != "", s.Value != nil, s.InitData, s.Expression != ""} {
		if has {
			given++
		}
	}
	if given != 1 {
		return nil, nil, fault.Field(field, "must have exactly one of step, requestContextPath, value, initData and expression")
	}
	if s.Path != "" && len(s.Step) == 0 && !s.InitData {
		return nil, nil, fault.Field(field+".path", "is only for step and initData")
	}
	known, err := c.sourceShape(field, out, at)
	if err != nil || len(s.Schema) == 0 {
		return out, known, err
	}
	if out.schema, err = schema.Compile(field+".schema", s.Schema); err != nil {
		return nil, nil, err
	}
	if s.Value != nil {
		return out, known, out.schema.Validate(field+".value", out.value)
	}
	return out, shapeOf(s.Schema), fit(field, known, shapeOf(s.Schema), 0)
}

func (c *compiler) sourceShape(field string, s *source, at visible) (known shape, err error) {
	switch {
	case len(s.Step) > 0:
		for _, id := range s.Step {
			out, ok := at.steps[id]
			if !ok {
				return nil, fault.Field(field+".step", "no step %q runs before this one%s", textlimit.Shorten(id, 64), nearest.Hint(id, slices.Collect(maps.Keys(at.steps))))
			}
			if known, err = out.at(field+".path", s.Path); err != nil {
				return nil, err
			}
		}
		if len(s.Step) > 1 {
			known = nil
		}
		return known, nil
	case s.InitData:
		return at.input.at(field+".path", s.Path)
	case s.RequestContextPath != "":
		return nil, c.shown(field+".requestContextPath", varContext+"."+s.RequestContextPath)
	case s.Value != nil:
		if s.value, err = schema.Decode(s.Value); err != nil {
			return nil, fault.Field(field+".value", "%s", err)
		}
		return shapeOfValue(s.value), nil
	case s.Expression != "":
		s.expression, err = c.expression(field+".expression", s.Expression, at, false)
	}
	return nil, err
}

// expression compiles an expression over what is visible.
func (c *compiler) expression(field, text string, at visible, condition bool) (*expression.Expression, error) {
	compile := c.env.Compile
	if condition {
		compile = c.env.CompileCondition
	}
	x, err := compile(field, text)
	if err != nil {
		return nil, err
	}
	for _, id := range x.Members(varSteps) {
		if _, ok := at.steps[id]; !ok {
			return nil, fault.Field(field, "no step %q runs before this one%s", textlimit.Shorten(id, 64), nearest.Hint(id, slices.Collect(maps.Keys(at.steps))))
		}
	}
	for _, name := range x.Named(varContext) {
		if err := c.shown(field, varContext+"."+name); err != nil {
			return nil, err
		}
	}
	for _, name := range x.Members(varInput) {
		if _, err := at.input.at(field, name); err != nil {
			return nil, err
		}
	}
	if !at.item && (x.Uses(varItem) || x.Uses(varIndex)) {
		return nil, fault.Field(field, "%s and %s are only known in the steps of a foreach", varItem, varIndex)
	}
	if !at.failed && x.Uses(varError) {
		return nil, fault.Field(field, "%s is only known in the steps of onError", varError)
	}
	return x, nil
}

// marshal returns JSON of a value that schema.Decode or an expression returned.
func marshal(value any) (json.RawMessage, error) { return json.Marshal(value) }
