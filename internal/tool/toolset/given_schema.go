package toolset

import (
	"encoding/json"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tool/schema"
	"github.com/ragdhq/ragd/internal/tool/toolschema"
)

// givenSchema is the input schema of a tool that a Runner runs, which a tenant or another
// server has written.
type givenSchema struct {
	schema *schema.Schema // one that cannot be compiled is checked by the Runner or its server
}

// newGivenArguments is newArguments for a schema that is not the service's own. It refers to
// nothing outside itself, and its checks are bounded.
func newGivenArguments(input toolschema.Schema) (*arguments, error) {
	raw := input.Accepted()
	document, err := schema.Decode(raw)
	if err != nil {
		return nil, err
	}
	source, _ := document.(map[string]any)
	return &arguments{input: input, source: source, given: &givenSchema{schema.Later("inputSchema", raw)}}, nil
}

// checkGiven is check for a given schema.
func (a *arguments) checkGiven(raw, answers json.RawMessage) ([]byte, error) {
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	value, err := schema.Decode(raw)
	if err != nil {
		return nil, fault.Field("arguments", "%s", err)
	}
	given, ok := value.(map[string]any)
	if !ok {
		return nil, fault.Field("arguments", "must be an object")
	}
	changed := a.input.Repair(given)
	answered, err := a.answer(given, answers)
	if err != nil {
		return nil, err
	}
	if a.given.schema.Ready() == nil {
		if err := a.given.schema.Validate("", given); err != nil {
			return nil, err
		}
	}
	if !changed && !answered {
		return raw, nil
	}
	return json.Marshal(given)
}
