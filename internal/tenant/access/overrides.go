package access

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

// Overrides are parameters of a query that take precedence over those in the body. Nil
// means not given.
type Overrides struct {
	IndexName       *string
	VectorStoreName *string
	TopK            *int
	Filter          filter.Filter // combined with the body's filter by AND
	IncludeVectors  *bool
	IncludeSources  *bool
	RandomWalkSteps *int
	RestartProb     *float64
	MinScore        *float64
	MinSimilarity   *float64
	DatabaseConfig  json.RawMessage // JSON of the field in the body
	Reranker        json.RawMessage // JSON of the field in the body
	// Values are those of other keys, as decoded JSON. Accept checks them.
	Values map[string]any

	origins map[string]string // of the keys that are given, see From
}

// Or returns the overrides with those of other where none are given. Filters are combined by
// AND.
func (o Overrides) Or(other Overrides) Overrides {
	o.IndexName = cmp.Or(o.IndexName, other.IndexName)
	o.VectorStoreName = cmp.Or(o.VectorStoreName, other.VectorStoreName)
	o.TopK = cmp.Or(o.TopK, other.TopK)
	o.Filter = filter.And(other.Filter, o.Filter)
	o.IncludeVectors = cmp.Or(o.IncludeVectors, other.IncludeVectors)
	o.IncludeSources = cmp.Or(o.IncludeSources, other.IncludeSources)
	o.RandomWalkSteps = cmp.Or(o.RandomWalkSteps, other.RandomWalkSteps)
	o.RestartProb = cmp.Or(o.RestartProb, other.RestartProb)
	o.MinScore = cmp.Or(o.MinScore, other.MinScore)
	o.MinSimilarity = cmp.Or(o.MinSimilarity, other.MinSimilarity)
	if o.DatabaseConfig == nil {
		o.DatabaseConfig = other.DatabaseConfig
	}
	if o.Reranker == nil {
		o.Reranker = other.Reranker
	}
	o.Values, o.origins = mergeMaps(o.Values, other.Values), mergeMaps(o.origins, other.origins)
	return o
}

// maxOverridesBytes is the most bytes of overrides that a request may have.
const maxOverridesBytes = 16 << 10

// ParseOverrides parses the JSON object of the Ragd-Context header or of an MCP call's
// _meta. Other keys may be declared ones, which Request.Accept checks. Errors: Invalid, also
// for repeated keys, as an ignored filter would show too many documents.
func ParseOverrides(raw []byte) (Overrides, error) {
	const field = "Ragd-Context"
	if len(raw) > maxOverridesBytes {
		return Overrides{}, fault.Field(field, "must be at most %d bytes, got %d", maxOverridesBytes, len(raw))
	}
	var o Overrides
	into, seen := o.targets(), map[string]bool{}
	err := eachMember(raw, func(key string, value json.RawMessage) error {
		if seen[key] {
			return fault.Field(key, "is given twice")
		}
		seen[key] = true
		target, ok := into[key]
		if !ok {
			err := o.readValue(key, value)
			if errors.Is(err, errUnknownKey) {
				known := slices.Sorted(maps.Keys(into))
				return fault.Field(key, "is unknown; known keys are %s", strings.Join(known, ", "))
			}
			if err != nil {
				return fault.Field(key, "%s", err)
			}
			return nil
		}
		if key == "filter" {
			var parsed any = []byte(value)
			if text := ""; json.Unmarshal(value, &text) == nil {
				parsed = text // the filter as JSON in a string, which bodies allow too
			}
			var err error
			o.Filter, err = filter.Parse(parsed)
			return err
		}
		if err := json.Unmarshal(value, target); err != nil {
			return fault.Field(key, "%s", jsonReason(err))
		}
		return nil
	})
	var invalid *fault.Error
	switch {
	case errors.As(err, &invalid):
		return Overrides{}, fault.Under(field, err)
	case err != nil:
		return Overrides{}, fault.Field(field, "must be one JSON object: %s", err)
	}
	return o, nil
}

// eachMember calls do for each member of a JSON object in order, including members with the
// same key.
func eachMember(raw []byte, do func(key string, value json.RawMessage) error) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return errors.New("it does not begin with {")
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return errors.New(jsonReason(err))
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return errors.New(jsonReason(err))
		}
		if err := do(key.(string), value); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return errors.New("it does not end with }")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows it")
	}
	return nil
}

// jsonReason returns the text of a decoding error for a caller, without names of Go types.
func jsonReason(err error) string {
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		return "cannot be a " + wrongType.Value
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// From returns o with the origin of its values.
func (o Overrides) From(origin string) Overrides {
	o.origins = map[string]string{}
	for name := range o.targets() {
		if _, ok := o.value(name); ok {
			o.origins[name] = origin
		}
	}
	for name := range o.Values {
		o.origins[name] = origin
	}
	return o
}

// Origin returns where the value of a key comes from, as an explanation shows it; "" for a key
// that was not given.
func (o Overrides) Origin(name string) string { return o.origins[name] }

// FilterOnly returns the filter and the values of declared keys alone.
func (o Overrides) FilterOnly() Overrides {
	return Overrides{Filter: o.Filter, Values: o.Values, origins: o.origins}
}

// targets returns pointers to the fields of the known keys, by name.
func (o *Overrides) targets() map[string]any {
	return map[string]any{
		"indexName": &o.IndexName, "vectorStoreName": &o.VectorStoreName, "topK": &o.TopK,
		"filter": &o.Filter, "includeVectors": &o.IncludeVectors, "includeSources": &o.IncludeSources,
		"databaseConfig": &o.DatabaseConfig, "reranker": &o.Reranker, "randomWalkSteps": &o.RandomWalkSteps, "restartProb": &o.RestartProb,
		"minScore": &o.MinScore, "minSimilarity": &o.MinSimilarity,
	}
}

// value returns the value of a known key as decoded JSON; false if it was not given.
func (o Overrides) value(name string) (any, bool) {
	target, ok := o.targets()[name]
	if !ok {
		return nil, false
	}
	if f, isFilter := target.(*filter.Filter); isFilter {
		if f.IsZero() {
			return nil, false
		}
		target = json.RawMessage(f.JSON())
	}
	raw, err := json.Marshal(target)
	if err != nil {
		return nil, false
	}
	value, err := schema.Decode(raw)
	return value, err == nil && value != nil
}

// mergeMaps returns the members of both maps; those of first take precedence.
func mergeMaps[V any](first, second map[string]V) map[string]V {
	if len(first) == 0 {
		return second
	}
	merged := maps.Clone(second)
	if merged == nil {
		merged = map[string]V{}
	}
	maps.Copy(merged, first)
	return merged
}

// readValue adds the value of a key that is not known, which may be declared.
func (o *Overrides) readValue(name string, raw json.RawMessage) error {
	if err := CheckContextKeyName(name, name); err != nil {
		return errUnknownKey
	}
	value, err := schema.Decode(raw)
	if err != nil {
		return err
	}
	if value == nil {
		return nil
	}
	if o.Values == nil {
		o.Values = map[string]any{}
	}
	o.Values[name] = value
	return nil
}

var errUnknownKey = errors.New("unknown key")

// Origins of values, for explanations.
const (
	OriginHeader = "header Ragd-Context"
	OriginCall   = "call" // _meta of MCP, the context of CallTool
	OriginServer = "server"
)
