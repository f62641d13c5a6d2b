package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
)

// An agent is made from a file, asked in a conversation and deleted.
func TestAgentsAreMadeAndAskedOnTheCommandLine(t *testing.T) {
	t.Parallel()
	needsDatabase(t)
	ai := modelserver.New(t)
	h := newHome(t, "RAGD_OPENAI_BASE_URL="+ai.URL+"/v1", "RAGD_OPENAI_API_KEY="+modelserver.Key, "RAGD_OPENAI_MODELS=*")
	h.serve()
	write := func(name, text string) string {
		path := filepath.Join(h.dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	h.ragd("index", "create", "laws")
	h.ragd("ingest", write("law.txt", "Every cat pays a tax of five coins."), "--index", "laws")
	h.ragd("agent", "create", "lawyer", "--file", write("lawyer.yaml", "description: Knows the law.\nmodel: openai/m\n"))
	ai.Script(modelserver.Turn{Calls: []modelserver.Call{{Name: "vector_query", Arguments: `{"queryText": "cat tax"}`}}}, modelserver.Turn{Text: "Five coins [1]. Or six [2]."})
	for _, step := range []struct {
		args string
		want string
	}{
		{"agent list", "lawyer"},
		{"ask lawyer tax? --thread t", "Five coins [1]. Or six."},
		{"ask lawyer again? --json", `"text"`},
		{"agent threads lawyer", "t "},
		{"agent thread lawyer t", "Five coins"},
		{"agent get lawyer", "Knows the law."},
	} {
		if got := h.ragd(strings.Fields(step.args)...); !strings.Contains(got, step.want) {
			t.Errorf("%s: %s", step.args, got)
		}
	}
	// What get prints is what update reads.
	kept := h.ragd("agent", "get", "lawyer", "--yaml")
	h.ragd("agent", "update", "lawyer", "--file", write("kept.yaml", kept))
	if again := h.ragd("agent", "get", "lawyer", "--yaml"); again != kept || !strings.Contains(kept, "description: Knows the law.") {
		t.Errorf("%s\n%s", kept, again)
	}
	h.ragd("agent", "forget", "lawyer", "t")
	h.ragd("agent", "delete", "lawyer")
	if got := h.ragd("agent", "list", "--json"); strings.Contains(got, "lawyer") {
		t.Errorf("after the deletion: %s", got)
	}
}
