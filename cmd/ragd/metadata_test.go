package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// Every field that the sample files of all formats get is in the reference.
func TestMetadataFieldsAreDocumented(t *testing.T) {
	t.Parallel()
	needsDatabase(t)
	page, err := os.ReadFile("../../docs/reference/metadata.md")
	if err != nil {
		t.Fatal(err)
	}
	const samples = "../../internal/ingest/parse/testdata/files"
	h := newHome(t)
	h.serve()
	h.ragd("ingest", "--index", "files", "--base", samples, samples)
	documents := json.NewDecoder(strings.NewReader(h.ragd("document", "list", "--json", "--index", "files")))
	found := map[string]bool{}
	for documents.More() {
		var document struct {
			DocumentID string `json:"documentId"`
		}
		if err := documents.Decode(&document); err != nil {
			t.Fatal(err)
		}
		chunks := json.NewDecoder(strings.NewReader(h.ragd("document", "chunks", "--json", "--index", "files", document.DocumentID)))
		for chunks.More() {
			var chunk struct {
				Metadata map[string]any `json:"metadata"`
			}
			if err := chunks.Decode(&chunk); err != nil {
				t.Fatal(err)
			}
			addFields(found, "", chunk.Metadata)
		}
	}
	for field := range found {
		if !strings.Contains(string(page), "`"+field+"`") {
			t.Errorf("docs/reference/metadata.md does not describe %s", field)
		}
	}
	if len(found) < 15 {
		t.Errorf("the samples have only the fields %v", found)
	}
}

// addFields adds the names of all fields of an object, nested ones with dots.
func addFields(found map[string]bool, prefix string, object map[string]any) {
	for name, value := range object {
		if inner, ok := value.(map[string]any); ok {
			addFields(found, prefix+name+".", inner)
		} else {
			found[prefix+name] = true
		}
	}
}
