package declare

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
)

func TestMistakesInDeclarationsAreToldWithTheirLine(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":                                      "there are no declarations",
		"- a\n":                                 "standard input:1: a document must be an object",
		"a: [":                                  "standard input is no YAML: line 1",
		"name: x":                               "1: kind is missing: one of secret, endpoint,",
		"kind: index":                           "1: the name of the index is missing",
		"kind: indx\nname: x":                   `1: there is no kind "indx"; did you mean index?`,
		"\n\nkind: tool\nname: x\nspecs: {}\n":  `5: unknown field "specs"; did you mean spec?`,
		"kind: tool\nname: x\ndescription: y\n": `3: unknown field "description": write it below spec`,
		"kind: tool\nname: x\nspec: 7\n":        "3: spec must be an object",
		"kind: tool\nname: x\nspec:\n  kind: http\n  deskription: y\n":                      `5: tool x: deskription: is unknown; did you mean description?`,
		"kind: tool\nname: x\nspec:\n  toolName: y\n":                                       "4: tool x: toolName: is unknown: the name stands above spec, as name",
		"kind: index\nname: x\nspec:\n  chunking:\n    strategy: token\n    maxsize: 3\n":   "6: index x: chunking.maxsize: is not known here; did you mean maxSize?",
		"kind: index\nname: x\nspec:\n  synonyms:\n    - {terms: [a]}\n    - {term: [a]}\n": "6: index x: synonyms[1].term: is not known here; did you mean terms?",
		"kind: index\nname: x\nspec:\n  dimension: many\n":                                  "4: index x: dimension: must be a whole number",
		"kind: index\nname: x\nspec:\n  dimension:\n":                                       "4: index x: dimension: has no value: leave it out",
		"kind: hook\nname: x\nspec:\n  url: a\n  url: b\n":                                  `5: "url" is given twice`,
		"kind: hook\nname: x\nspec: &a\n  url: a\n---\n{kind: hook, name: y, spec: *a}":     "6: anchors and aliases are not read",
		"kind: hook\nname: x\nspec:\n  url: &a b\n  description: *a\n":                      "5: anchors and aliases are not read",
		"kind: agent\nname: x\nspec:\n  definition: {a: .nan}\n":                            `4: ".nan" is no number that JSON has`,
		"kind: profile\nname: x\n":                                                          "1: profile x: spec.indexName is missing",
		"kind: secret\nname: x\nspec:\n  value: hunter2\n":                                  "4: secret x: value: is a secret, which a file must not have: give valueFrom",
		"kind: secret\nname: x\nspec:\n  value: {valueFrom: {key: a}}\n":                    "4: secret x: value: is a secret",
		"kind: endpoint\nname: x\nspec:\n  headers:\n    headers:\n      X-Org: hunter2\n":  "6: endpoint x: headers.headers.X-Org: is a secret",
		"kind: hook\nname: x\n---\n---\nkind: hook\nname: x\n":                              "standard input:5: hook x is declared twice, before in standard input:1",
	} {
		p := &command.Program{Stdin: strings.NewReader(given)}
		_, err := read(p, []string{"-"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", given, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the error shows the secret: %v", given, err)
		}
	}
}

func TestAFileThatIsTooLargeIsNotRead(t *testing.T) {
	t.Parallel()
	p := &command.Program{Stdin: io.LimitReader(spaces{}, maxFileBytes+10)}
	if _, err := read(p, []string{"-"}); err == nil || !strings.Contains(err.Error(), "more than 16777216 bytes: divide it") {
		t.Errorf("%v", err)
	}
}

// spaces is a file of spaces without an end.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestAFolderIsReadInTheOrderOfItsPaths(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for path, text := range map[string]string{
		"b.yaml": "kind: hook\nname: b\n", "a/z.yml": "kind: hook\nname: z\n", "c.json": `{"kind": "hook", "name": "c"}`,
		"notes.md": "# no declaration", ".hidden.yaml": "kind: hook\nname: h\n", ".git/x.yaml": "kind: hook\nname: g\n",
	} {
		path = filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := read(&command.Program{}, []string{folder})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range found {
		names = append(names, d.name)
	}
	if diff := cmp.Diff([]string{"z", "b", "c"}, names); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestValuesKeepTheirTypes(t *testing.T) {
	t.Parallel()
	p := &command.Program{Stdin: strings.NewReader(`
kind: agent
name: 007
spec:
  definition:
    day: 2026-11-29
    no: "no"
    off: off
    large: 9007199254740991
    half: 0.5
    nothing:
    yes: true
    list: [1, "1"]
    text: |
      two
      lines
`)}
	found, err := read(p, []string{"-"})
	if err == nil {
		t.Fatalf("a name that is a number is taken: %v", found[0].name)
	}
	p.Stdin = strings.NewReader(`{kind: agent, name: "007", spec: {definition: {day: 2026-11-29, off: off, large: 9007199254740991, half: 0.5, nothing: , yes: true, list: [1, "1"]}}}`)
	if found, err = read(p, []string{"-"}); err != nil {
		t.Fatal(err)
	}
	want := tree{"definition": tree{"day": "2026-11-29", "off": "off", "large": 9007199254740991.0, "half": 0.5, "nothing": nil, "yes": true, "list": []any{1.0, "1"}}}
	if diff := cmp.Diff(want, found[0].fields); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
