package toolset

import (
	"encoding/json"
	"testing"

	tenanttool "github.com/ragdhq/ragd/internal/tool"
)

func TestBuiltinNamesAreReserved(t *testing.T) {
	t.Parallel()
	tools, err := New(Config{API: noAPI{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, builtin := range tools.builtin {
		if !tenanttool.Reserved(builtin.definition.Name) {
			t.Errorf("a tenant could take the name %s", builtin.definition.Name)
		}
	}
}

// A question in words and a ready-made embedding of it replace those in the settings, and not each other.
func TestGivenAlternativesAreBothKept(t *testing.T) {
	t.Parallel()
	settings := map[string]json.RawMessage{"queryText": json.RawMessage(`"old"`), "topK": json.RawMessage(`3`)}
	for given, want := range map[string]string{
		`{"queryText":"x","queryVector":[1]}`: `{"queryText":"x","queryVector":[1],"topK":3}`,
		`{"queryVector":[1]}`:                 `{"queryVector":[1],"topK":3}`,
		`{"topK":4}`:                          `{"queryText":"old","topK":4}`,
	} {
		got, err := merge(settings, []byte(given))
		if err != nil || string(got) != want {
			t.Errorf("%s becomes %s, %v; want %s", given, got, err, want)
		}
	}
}
