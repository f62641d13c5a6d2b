package toolset

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/chunk/tokenizer"
	"github.com/ragdhq/ragd/internal/tool/toolschema"
)

// Limits of what models are sent: OpenAI rejects longer descriptions of tools, and an agent
// sends all of it with every question.
const (
	maxDescriptionBytes = 1024
	maxToolBytes        = 4 << 10
)

// schemasForModels returns the input schemas that models are sent, by the names of the
// tools: the builtin ones, and for each kind an own tool with all arguments.
func schemasForModels(t testing.TB) map[string]toolschema.Schema {
	t.Helper()
	schemas := map[string]toolschema.Schema{}
	for _, tool := range builtin(t) {
		name := tool.definition.Name
		schemas[name] = tool.input
		if name != "vector_query" && name != "graph_rag" && name != "document_chunker" {
			continue
		}
		own, err := newTenantTool(&ragdv1.Tool{ToolName: "own", Kind: name, Arguments: propertiesOf(t, tool.input.Whole())}, tool)
		if err != nil {
			t.Fatal(err)
		}
		schemas["own tool of "+name] = own.input
	}
	return schemas
}

func propertiesOf(t testing.TB, raw json.RawMessage) []string {
	t.Helper()
	var schema struct{ Properties map[string]any }
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(schema.Properties))
}

// What libraries of model providers cannot convert is in no schema. make
// test-mcp-clients runs the conversions of these libraries.
func TestSchemasCanBeConvertedForAllModels(t *testing.T) {
	t.Parallel()
	for name, input := range schemasForModels(t) {
		for form, raw := range map[string]json.RawMessage{"shown": input.Shown(), "whole": input.Whole()} {
			var schema map[string]any
			if err := json.Unmarshal(raw, &schema); err != nil {
				t.Fatal(err)
			}
			if schema["type"] != "object" || schema["anyOf"] != nil {
				t.Errorf("%s, %s: the arguments are not simply an object", name, form)
			}
			for _, mistake := range mistakesIn("", schema, form == "shown") {
				t.Errorf("%s, %s%s", name, form, mistake)
			}
		}
	}
	for _, tool := range builtin(t) {
		d := tool.definition
		raw, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) > maxToolBytes || len(d.Description) > maxDescriptionBytes {
			t.Errorf("%s takes %d bytes, its description %d", d.Name, len(raw), len(d.Description))
		}
	}
}

// mistakesIn lists what cannot be converted. Models are shown stricter schemas than
// programs.
func mistakesIn(path string, schema map[string]any, shown bool) (all []string) {
	say := func(format string, args ...any) { all = append(all, path+": "+fmt.Sprintf(format, args...)) }
	kind, single := schema["type"].(string)
	alternatives, _ := schema["anyOf"].([]any)
	if !single && len(alternatives) == 0 {
		say("has no single type: %v", schema["type"])
	}
	for _, value := range asList(schema["enum"]) {
		if text, ok := value.(string); !ok || text == "" {
			say("has %#v in its enum", value)
		}
	}
	known := []string{"type", "description", "enum", "items", "properties", "required", "anyOf", "minimum", "maximum", "maxItems", "additionalProperties"}
	for keyword := range schema {
		if !slices.Contains(known, keyword) {
			say("has the keyword %s, which not all libraries know", keyword)
		}
	}
	if _, isBool := schema["additionalProperties"].(bool); isBool && shown {
		say("has a boolean additionalProperties, which Google's library for Python fails at")
	}
	if kind == "array" && schema["items"] == nil {
		say("is a list without items")
	}
	if kind == "object" && schema["properties"] == nil && path != "" {
		say("is an object of any fields without its text as an alternative: strict conversions allow {} alone")
	}
	var types []string
	for i, alternative := range alternatives {
		inner, _ := alternative.(map[string]any)
		types = append(types, fmt.Sprint(inner["type"]))
		if properties := inner["properties"]; properties != nil {
			all = append(all, mistakesIn(fmt.Sprintf("%s|%d", path, i), inner, shown)...)
		}
	}
	if len(types) > 0 && !slices.Equal(types, []string{"object", "string"}) {
		say("is one of %v", types)
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		inner, _ := property.(map[string]any)
		all = append(all, mistakesIn(path+"."+name, inner, shown)...)
	}
	if items, ok := schema["items"].(map[string]any); ok {
		all = append(all, mistakesIn(path+"[]", items, shown)...)
	}
	return all
}

func asList(value any) []any {
	list, _ := value.([]any)
	return list
}

// What hosts send a model of the builtin tools with every question fits what an agent can spend on it.
func TestToolListIsSmall(t *testing.T) {
	t.Parallel()
	const most = 5000
	names := []string{"handbook", "release-notes", "support-tickets"}
	for _, name := range []string{"cl100k_base", "o200k_base"} {
		encoding := tokenizer.Load(name)
		var sizes strings.Builder
		total := 0
		for _, tool := range builtin(t) {
			d := tool.definition
			raw, err := json.Marshal([]any{d.Name, d.Description, nameIndexes(d.InputSchema, names)})
			if err != nil {
				t.Fatal(err)
			}
			tokens := encoding.Count(string(raw), nil)
			total += tokens
			fmt.Fprintf(&sizes, "%6d %s\n", tokens, d.Name)
		}
		if total > most {
			t.Errorf("the tools take %d tokens of %s, more than %d\n%s", total, name, most, sizes.String())
		}
		t.Logf("the tools take %d tokens of %s", total, name)
	}
}

// Arguments that decide what a call of a tool does to documents are shown to models, not only accepted.
func TestArgumentsThatAgentsNeedAreShown(t *testing.T) {
	t.Parallel()
	shown := map[string]json.RawMessage{}
	for _, tool := range builtin(t) {
		shown[tool.definition.Name] = tool.definition.InputSchema
	}
	for tool, arguments := range map[string][]string{
		"alerts":          {"filter", "pageToken"},
		"delete_document": {"namespace"},
		"get_document":    {"namespace"},
		"list_documents":  {"orderBy"},
		"sync_source":     {"allowEmpty", "namespace"},
		"upload_document": {"chunking"},
	} {
		for _, name := range arguments {
			if !slices.Contains(propertiesOf(t, shown[tool]), name) {
				t.Errorf("%s does not show %s", tool, name)
			}
		}
	}
}

// null is accepted for whatever may be absent, at any depth, as strict conversions send it.
func TestNullsAreAcceptedWhereverAbsenceIs(t *testing.T) {
	t.Parallel()
	for name, input := range schemasForModels(t) {
		var schema map[string]any
		if err := json.Unmarshal(input.Whole(), &schema); err != nil {
			t.Fatal(err)
		}
		accepts, err := newArguments(input)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(nulls(schema))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := accepts.accept(Call{Arguments: raw}); err != nil {
			t.Errorf("%s: %v of %s", name, err, raw)
		}
	}
}

// nulls returns a value of a schema whose optional properties that are not objects are null.
func nulls(schema map[string]any) any {
	switch {
	case schema["enum"] != nil:
		return asList(schema["enum"])[0]
	case schema["type"] == "array":
		items, _ := schema["items"].(map[string]any)
		return []any{nulls(items)}
	case schema["type"] == "object":
		value := map[string]any{}
		properties, _ := schema["properties"].(map[string]any)
		for name, property := range properties {
			inner, _ := property.(map[string]any)
			required := slices.Contains(asList(schema["required"]), any(name))
			if required || inner["properties"] != nil || lookup(inner, "items", "properties") != nil {
				value[name] = nulls(inner)
				continue
			}
			value[name] = nil
		}
		return value
	case schema["type"] == "string" || schema["anyOf"] != nil:
		return "{}"
	case schema["type"] == "boolean":
		return true
	}
	return 1
}
