package template

import (
	"strconv"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// referenceKey is the only key of an object that stands for a value of the request.
const referenceKey = "$context"

// referenceRoots are the first names of the paths of references.
var referenceRoots = []string{"context", "claims", "key", "tenant", "subject", "server"}

// ReplaceFunc returns the value of a reference; false leaves it out. field is the path of the
// object that holds it.
type ReplaceFunc func(field string, reference Placeholder) (any, bool, error)

// Replace returns a JSON value in which each reference, an object such as
// {"$context": "context.tier ?? \"free\""}, is replaced by its value. A member or an item without
// a value is left out; ok is false if value itself is. Errors: Invalid for a malformed reference,
// naming the field; those of with.
func Replace(field string, value any, with ReplaceFunc) (replaced any, ok bool, err error) {
	switch value := value.(type) {
	case map[string]any:
		if _, is := value[referenceKey]; is {
			reference, err := parseReference(field, value)
			if err != nil {
				return nil, false, err
			}
			return with(field, reference)
		}
		object := make(map[string]any, len(value))
		for name, member := range value {
			inner, ok, err := Replace(field+"."+name, member, with)
			if err != nil {
				return nil, false, err
			}
			if ok {
				object[name] = inner
			}
		}
		return object, true, nil
	case []any:
		list := make([]any, 0, len(value))
		for i, item := range value {
			inner, ok, err := Replace(field+"["+strconv.Itoa(i)+"]", item, with)
			if err != nil {
				return nil, false, err
			}
			if ok {
				list = append(list, inner)
			}
		}
		return list, true, nil
	}
	return value, true, nil
}

func parseReference(field string, object map[string]any) (Placeholder, error) {
	text, ok := object[referenceKey].(string)
	if !ok || len(object) != 1 {
		return Placeholder{}, fault.Field(field, "must have %s alone, with a path such as \"context.tier\"", referenceKey)
	}
	parsed, rest, err := parsePlaceholder(field, text+"}}", referenceRoots)
	if err != nil || rest != "" {
		return Placeholder{}, fault.Field(field, "must be a path below context, claims or key, tenant, subject or server, such as context.tier, or paths and a default such as context.tier ?? %q, got %q", "free", text)
	}
	return parsed, nil
}
