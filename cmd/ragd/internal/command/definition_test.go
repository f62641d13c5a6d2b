package command

import (
	"strings"
	"testing"
)

func TestFilesOfDefinitionsAreYAMLOrJSON(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"description: x\nlimits: {steps: 6}\n": "",
		`{"description": "x"}`:                 "",
		"":                                     "is empty",
		"# nothing\n":                          "is empty",
		"- a\n":                                "must be an object",
		"description\n":                        "must be an object",
		"description: [x\nmodel: y":            "is neither YAML nor JSON: line 1",
		"model: a\nmodel: b\n":                 `"model" already defined`,
		"instructions: {{context.language}}\n": "put a text that begins with {{ in quotes",
		"instructions: {{context.language ?? \"English\"}}\n": "put a text that begins with {{ in quotes",
	} {
		_, err := toJSON([]byte(given))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", given, err, want)
		}
	}
}
