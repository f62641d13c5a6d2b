package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tool/schema"
	"github.com/ragdhq/ragd/internal/tool/template"
)

// KeepsReferences lists the settings whose references are those of filters, which package filter
// replaces: there, a missing value must not add a match.
var KeepsReferences = []string{"filter", "databaseConfig"}

// CheckSettings checks the settings of a tenant's tool, a JSON object without references, against
// the input schema of its kind. Errors: Invalid with a violation for each setting that no call
// could have.
func (s *Set) CheckSettings(kind string, settings []byte) error {
	builtin := s.builtin[kind]
	if builtin == nil {
		return nil
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(settings, &given); err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	fields, err := newArguments(builtin.input.Pick(slices.Sorted(maps.Keys(given)), nil, nil)) // requires nothing
	if err != nil {
		return fmt.Errorf("read the input schema of %s: %w", kind, err)
	}
	_, err = fields.check(settings, nil)
	return err
}

// references returns the settings that refer to the request, decoded.
func references(settings map[string]json.RawMessage) (map[string]any, error) {
	var found map[string]any
	for name, raw := range settings {
		if slices.Contains(KeepsReferences, name) {
			continue
		}
		value, err := schema.Decode(raw)
		if err != nil {
			return nil, fmt.Errorf("read the setting %s: %w", name, err)
		}
		refers := false
		if _, _, err := template.Replace(name, value, func(string, template.Placeholder) (any, bool, error) {
			refers = true
			return nil, false, nil
		}); err != nil {
			return nil, err
		}
		if refers {
			if found == nil {
				found = map[string]any{}
			}
			found[name] = value
		}
	}
	return found, nil
}

// settingsFor returns the settings with their references replaced by values of the request; what
// has none is left out. Values of secret keys are missing, because answers would tell them.
func (o *ownTool) settingsFor(ctx context.Context) (map[string]json.RawMessage, error) {
	if o.references == nil {
		return o.settings, nil
	}
	settings := maps.Clone(o.settings)
	for name, value := range o.references {
		replaced, ok, err := template.Replace(name, value, valueIn(ctx))
		if err != nil {
			return nil, err
		}
		if !ok {
			delete(settings, name)
			continue
		}
		if settings[name], err = json.Marshal(replaced); err != nil {
			return nil, fmt.Errorf("write the setting %s: %w", name, err)
		}
	}
	return settings, nil
}

// valueIn returns the function that replaces references by values of the request in ctx.
func valueIn(ctx context.Context) template.ReplaceFunc {
	lookup := func(string) (any, bool) { return nil, false }
	if r, ok := access.FromContext(ctx); ok {
		lookup = r.Show
	}
	return func(_ string, reference template.Placeholder) (any, bool, error) {
		value, ok := reference.Value(lookup)
		return value, ok, nil
	}
}

// indexIn returns the index that the settings name for the request in ctx, "" for none. named is
// whether they name one for any request.
func (t *tool) indexIn(ctx context.Context) (index string, named bool) {
	if t.indexFrom == nil {
		return t.index, t.index != ""
	}
	value, _, _ := template.Replace(indexArgument, t.indexFrom, valueIn(ctx))
	index, _ = value.(string)
	return index, true
}

// checkSettings checks the settings and arguments of a call against the schema of the kind, if
// there are values of the request among them. It returns them with harmless mistakes corrected.
// Errors: Invalid; a field that the request gave is named below settings.
func (o *ownTool) checkSettings(ctx context.Context, kind *tool, given accepted, settings map[string]json.RawMessage, merged []byte) ([]byte, error) {
	if o.references == nil {
		return merged, nil
	}
	var arguments map[string]json.RawMessage
	if err := json.Unmarshal(given.json, &arguments); err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	if o.indexFrom != nil && settings[indexArgument] == nil && arguments[indexArgument] == nil && !overridesIndex(ctx) {
		return nil, fault.Field("settings."+indexArgument, "has no value: the request lacks what the tool takes its index from")
	}
	checked, err := kind.arguments.check(merged, nil)
	for name := range o.references {
		if err != nil && arguments[name] == nil {
			err = fault.Rename(name, "settings."+name, err)
		}
	}
	return checked, err
}

func overridesIndex(ctx context.Context) bool {
	r, ok := access.FromContext(ctx)
	return ok && r.Overrides.IndexName != nil
}
