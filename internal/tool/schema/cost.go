package schema

import (
	"reflect"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// stepsOf returns the work of a check, or more than maxSteps. A schema of a few lines can apply
// each of its parts twice to each part of a nested value, which doubles the work with every
// level. The cost of a part of the schema at a part of the value is computed once, so that
// this takes no longer than the number of such pairs, which is bounded too.
func stepsOf(s *jsonschema.Schema, value any) int {
	c := &costs{known: map[pair]int{}}
	return max(c.of(s, value), len(c.known))
}

// pair is a part of a schema at an object or array, which is known by its address.
type pair struct {
	schema *jsonschema.Schema
	at     uintptr
	len    int
}

type costs struct {
	known map[pair]int
	// scalar has the costs at the value that is neither object nor array and is under way.
	// Nothing within it is another value.
	scalar map[*jsonschema.Schema]int
	depth  int
}

// maxApplied bounds the schemas that apply to one part of a value within each other.
const maxApplied = 1000

// of returns the steps of checking a value against a schema, or more than maxSteps.
func (c *costs) of(s *jsonschema.Schema, value any) int {
	if s == nil {
		return 0
	}
	if c.depth > maxApplied || len(c.known) > maxSteps {
		return maxSteps + 1
	}
	switch value := value.(type) {
	case map[string]any:
		return c.once(pair{s, reflect.ValueOf(value).Pointer(), len(value)}, func() int { return plus(c.here(s, value), c.object(s, value)) })
	case []any:
		return c.once(pair{s, reflect.ValueOf(value).Pointer(), len(value)}, func() int { return plus(c.here(s, value), c.array(s, value)) })
	}
	return c.ofScalar(s, value)
}

// once returns the known cost of a pair, or computes it.
func (c *costs) once(at pair, compute func() int) int {
	if cost, ok := c.known[at]; ok {
		return cost
	}
	c.depth++
	cost := compute()
	c.depth--
	c.known[at] = cost
	return cost
}

func (c *costs) ofScalar(s *jsonschema.Schema, value any) int {
	if c.scalar == nil {
		c.scalar = map[*jsonschema.Schema]int{}
		defer func() { c.scalar = nil }()
	}
	if cost, ok := c.scalar[s]; ok {
		return cost
	}
	c.depth++
	cost := c.here(s, value)
	c.depth--
	c.scalar[s] = cost
	return cost
}

func plus(a, b int) int { return min(a+b, maxSteps+1) }

// patternShare is how many characters of a string times states of its pattern make one step.
const patternShare = 64

// patternSteps is the work of checking that a text is a pattern, which compiles it.
const patternSteps = 2000

// here returns the cost of what applies to the value itself.
func (c *costs) here(s *jsonschema.Schema, value any) int {
	cost := 1
	if text, ok := value.(string); ok {
		cost = plus(cost, len(text)/patternShare)
		if s.Pattern != nil {
			cost = plus(cost, patternSize(s.Pattern)*len(text)/patternShare)
		}
	}
	if s.Format != nil && s.Format.Name == "regex" {
		cost = plus(cost, patternSteps)
	}
	if s.Enum != nil {
		cost = plus(cost, len(s.Enum.Values))
	}
	for _, inner := range []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else} {
		cost = plus(cost, c.of(inner, value))
	}
	if s.DynamicRef != nil {
		cost = plus(cost, c.of(s.DynamicRef.Ref, value))
	}
	for _, all := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for _, inner := range all {
			cost = plus(cost, c.of(inner, value))
		}
	}
	for _, inner := range s.DependentSchemas {
		cost = plus(cost, c.of(inner, value))
	}
	for _, inner := range s.Dependencies {
		if inner, ok := inner.(*jsonschema.Schema); ok {
			cost = plus(cost, c.of(inner, value))
		}
	}
	return cost
}

// object returns the cost of the members of an object.
func (c *costs) object(s *jsonschema.Schema, value map[string]any) int {
	additional, _ := s.AdditionalProperties.(*jsonschema.Schema)
	cost := len(s.Required)
	for name, member := range value {
		cost = plus(cost, c.of(s.PropertyNames, name))
		cost = plus(cost, c.of(s.Properties[name], member))
		cost = plus(cost, c.of(additional, member))
		cost = plus(cost, c.of(s.UnevaluatedProperties, member))
		for pattern, inner := range s.PatternProperties {
			cost = plus(cost, 1+patternSize(pattern)*len(name)/patternShare)
			cost = plus(cost, c.of(inner, member))
		}
	}
	return cost
}

// array returns the cost of the items of an array.
func (c *costs) array(s *jsonschema.Schema, value []any) int {
	each, _ := s.Items.(*jsonschema.Schema)
	additional, _ := s.AdditionalItems.(*jsonschema.Schema)
	listed, _ := s.Items.([]*jsonschema.Schema)
	cost := 0
	for i, item := range value {
		for _, inner := range []*jsonschema.Schema{each, additional, s.Items2020, s.UnevaluatedItems, s.Contains} {
			cost = plus(cost, c.of(inner, item))
		}
		for _, items := range [][]*jsonschema.Schema{listed, s.PrefixItems} {
			if i < len(items) {
				cost = plus(cost, c.of(items[i], item))
			}
		}
		if s.UniqueItems {
			cost = plus(cost, 1)
		}
	}
	return cost
}
