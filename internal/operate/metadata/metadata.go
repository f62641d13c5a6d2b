// Package metadata encodes the metadata of documents and vectors and checks it against
// limits.
package metadata

import (
	"bytes"
	"encoding/json"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Limits of one metadata object.
const (
	MaxBytes = 64 << 10 // as JSON
	MaxDepth = 32
)

// Marshal returns metadata as JSON, {} for nil. Errors: Invalid, naming the field, for
// metadata that is too large, nested too deep, or holds a null character, which
// PostgreSQL cannot store.
func Marshal(field string, m map[string]any) ([]byte, error) {
	if m == nil {
		return []byte("{}"), nil
	}
	if depth(m, MaxDepth+1) > MaxDepth {
		return nil, fault.Field(field, "is nested deeper than %d levels", MaxDepth)
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, fault.Field(field, "cannot be written as JSON")
	}
	if len(raw) > MaxBytes {
		return nil, fault.Field(field, "is %d bytes of JSON, over the limit of %d", len(raw), MaxBytes)
	}
	if bytes.Contains(raw, []byte(`\u0000`)) {
		return nil, fault.Field(field, "contains a null character")
	}
	return raw, nil
}

// depth returns the nesting depth of a JSON value, at most most.
func depth(v any, most int) int {
	if most == 0 {
		return 0
	}
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for _, child := range v {
			deepest = max(deepest, depth(child, most-1))
		}
	case []any:
		for _, child := range v {
			deepest = max(deepest, depth(child, most-1))
		}
	default:
		return 0
	}
	return deepest + 1
}
