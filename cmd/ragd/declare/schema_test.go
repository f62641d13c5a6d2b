package declare

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

func TestTheSchemaDescribesDocuments(t *testing.T) {
	t.Parallel()
	made, err := schemaOf()
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(encoded)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("ragd.schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("ragd.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.Open("../../../examples/tenant-as-code/tenant.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer example.Close()
	for documents := yaml.NewDecoder(example); ; {
		var value any
		if err := documents.Decode(&value); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%v: %v", value, err)
		}
	}
	for _, wrong := range []string{
		`{"kind": "tool"}`, `{"kind": "tol", "name": "x"}`, `{"kind": "tool", "name": "x", "spec": {"deskription": "y"}}`,
		`{"kind": "secret", "name": "x", "spec": {"value": "y"}}`, `{"kind": "profile", "name": "x", "spec": {}}`,
		`{"kind": "index", "name": "x", "spec": {"chunking": {"maxSize": "many"}}}`,
		`{"kind": "endpoint", "name": "x", "spec": {"headers": {"headers": {"X-A": "y"}}}}`,
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(wrong))
		if err != nil {
			t.Fatal(err)
		}
		if schema.Validate(value) == nil {
			t.Errorf("the schema takes %s", wrong)
		}
	}
}
