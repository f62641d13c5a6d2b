package openai

import (
	"encoding/json"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// condition is a filter over attributes as callers write it: a comparison of an attribute with a
// value, or several conditions combined.
type condition struct {
	Type    string          `json:"type"`
	Key     string          `json:"key"`
	Value   json.RawMessage `json:"value"`
	Filters []condition     `json:"filters"`
}

// comparisons are the types of comparisons, each with the operator of the filter language.
var comparisons = map[string]string{
	"eq": "$eq", "ne": "$ne", "gt": "$gt", "gte": "$gte", "lt": "$lt", "lte": "$lte", "in": "$in", "nin": "$nin",
}

// filter returns the condition in the filter language. Errors: Invalid, naming the field.
func (c *condition) filter(field string, depth int) (map[string]any, error) {
	if depth == filter.MaxDepth {
		return nil, fault.Field("filters", "are nested more than %d levels deep", filter.MaxDepth)
	}
	if c.Type == "and" || c.Type == "or" {
		if c.Key != "" || c.Value != nil || len(c.Filters) == 0 {
			return nil, fault.Field(field, "with the type %s must have filters, and neither key nor value", c.Type)
		}
		parts := make([]any, len(c.Filters))
		for i := range c.Filters {
			part, err := c.Filters[i].filter(field+".filters", depth+1)
			if err != nil {
				return nil, err
			}
			parts[i] = part
		}
		return map[string]any{"$" + c.Type: parts}, nil
	}
	operator, ok := comparisons[c.Type]
	switch {
	case !ok:
		return nil, fault.Field(field+".type", "%q is unknown; known are eq, ne, gt, gte, lt, lte, in, nin, and, or", shorten(c.Type))
	case c.Key == "" || strings.HasPrefix(c.Key, "$"):
		return nil, fault.Field(field+".key", "must name an attribute, got %q", shorten(c.Key))
	case c.Value == nil || c.Filters != nil:
		return nil, fault.Field(field+".value", "is missing: a comparison has type, key and value")
	}
	var value any
	if err := json.Unmarshal(c.Value, &value); err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "%s.value: is malformed", field)
	}
	_, several := value.([]any)
	_, object := value.(map[string]any)
	if wants := c.Type == "in" || c.Type == "nin"; object || several != wants {
		return nil, fault.Field(field+".value", "must be a string, number, true or false, and for in and nin an array of them")
	}
	return map[string]any{c.Key: map[string]any{operator: value}}, nil
}
