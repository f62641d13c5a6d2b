package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/tool/schema"
)

type step struct {
	ID    string            `json:"id"`
	Value json.RawMessage   `json:"value,omitempty"`
	Retry *retry            `json:"retry,omitempty"`
	From  map[string]source `json:"from,omitempty"`
	Steps []step            `json:"steps,omitempty"`
	Names []string          `json:"names,omitempty"`
	Last  bool              `json:"last,omitempty"`
	Any   map[string]any    `json:"any,omitempty"`
}

type retry struct {
	Attempts int     `json:"attempts"`
	Pause    float64 `json:"pause,omitempty"`
}

type source struct {
	Path string `json:"path"`
}

func (source) JSONForm() string { return `a source such as {"path": "a"}` }

func TestMistakesInDefinitionsAreNamedByTheirPath(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		`{"id": "a", "value": [1, {"x": null}], "retry": {"attempts": 2, "pause": 0.5}, "from": {"q": {"path": "a"}}, "names": ["a"], "last": true, "any": {"b": 1}}`: "",
		`{"id": "a", "retry": null}`: "",
		`[]`:                         `d: must be an object, got a list`,
		`{"ID": "a"}`:                `d.ID: is not known here; did you mean id?`,
		`{"stesp": []}`:              `d.stesp: is not known here; did you mean steps?`,
		`{"id": "a", "colour": 1}`:   `d.colour: is not known here; known are any, from, id, last, names, retry, steps, value`,
		`{"steps": [{"id": "a"}, {"retry": {"attempt": 1}}]}`: `d.steps[1].retry.attempt: is not known here; did you mean attempts?`,
		`{"steps": {}}`:                `d.steps: must be a list, got an object`,
		`{"names": "a"}`:               `d.names: must be a list of strings, got "a"`,
		`{"names": ["a", 5]}`:          `d.names[1]: must be a string, got 5`,
		`{"retry": {"attempts": 1.5}}`: `d.retry.attempts: must be a whole number, got 1.5`,
		`{"retry": {"pause": "long"}}`: `d.retry.pause: must be a number, got "long"`,
		`{"last": "yes"}`:              `d.last: must be true or false, got "yes"`,
		`{"from": {"q": "question"}}`:  `d.from.q: must be a source such as {"path": "a"}, got "question"`,
		`{`:                            `d: is no valid JSON`,
	} {
		var into step
		err := schema.Into("d", []byte(given), &into)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", given, got, want)
		}
	}
	if err := schema.Into("d", []byte(`{"`+strings.Repeat("a", 1000)+`": 1}`), new(step)); err == nil || len(err.Error()) > 200 {
		t.Errorf("a long name: %v", err)
	}
}
