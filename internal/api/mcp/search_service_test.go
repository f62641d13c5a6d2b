package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

type searchResult struct {
	ID, Title, URL, Text string
	Metadata             map[string]any
}

// decoded decodes both forms of an answer, which are equal.
func decoded[T any](t *testing.T, result *mcpgo.CallToolResult, text string) (answer T) {
	t.Helper()
	if result.IsError {
		t.Fatal(text)
	}
	structured, err := json.Marshal(result.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if json.Unmarshal(structured, &a) != nil || json.Unmarshal([]byte(text), &b) != nil || fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("the text is %s, the structured content %s", text, structured)
	}
	if err := json.Unmarshal(structured, &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

// search finds passages with their headings, and fetch returns the document of each, by the
// ids that search gave, and never those of another tenant.
func TestSearchAndFetch(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	long := "# Tower\n\n" + strings.Repeat("The lamp turns all night, so that ships find the harbour.\n\n", 3000) + "## Oil\n\nThe lamp burns whale oil.\n"
	for _, index := range []string{"docs", "more"} {
		acme.Index(t, index)
	}
	bolt.Index(t, "docs")
	text := "# Lighthouse\n\n" + strings.Repeat("A tower by the sea. ", 60) + "\n\n## Lamp\n\nThe lighthouse lamp burns olive oil.\n"
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "https://example.com/light.md", Source: servicetest.Text(text)})
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "more", Uri: "tower.md", Source: servicetest.Text(long)})
	c := mcptest.Connect(t, s.URL+mcphttp.Path, nil, map[string]string{"Authorization": "Bearer " + acme.Secret})
	stranger := mcptest.Connect(t, s.URL+mcphttp.Path, nil, map[string]string{"Authorization": "Bearer " + bolt.Secret})
	search := func(arguments map[string]any) []searchResult {
		result, text := mcptest.Call(t, c, "search", arguments, nil)
		return decoded[struct{ Results []searchResult }](t, result, text).Results
	}

	results := search(map[string]any{"query": "What does the lighthouse lamp burn?", "indexName": "docs", "topK": 1})
	if len(results) != 1 || results[0].Title != "Lighthouse > Lamp" || results[0].URL != "https://example.com/light.md" || !strings.Contains(results[0].Text, "olive oil") {
		t.Fatalf("found %+v", results)
	}
	if _, repeated := results[0].Metadata["headings"]; repeated {
		t.Errorf("the metadata repeats the headings: %v", results[0].Metadata)
	}
	result, answer := mcptest.Call(t, c, "fetch", map[string]any{"id": results[0].ID}, nil)
	if got := decoded[searchResult](t, result, answer); got.Text != text || got.Title != "Lighthouse" || got.ID != results[0].ID {
		t.Errorf("fetched %+v, want %q", got, text)
	}
	if result, text := mcptest.Call(t, stranger, "fetch", map[string]any{"id": results[0].ID}, nil); !result.IsError || strings.Contains(text, "olive") {
		t.Errorf("another tenant got %s", text)
	}

	// The question under its other name, a filter as text, and a long document.
	results = search(map[string]any{"question": "burns whale oil", "indexName": "more", "topK": 1, "filter": `{"$uri": "tower.md"}`})
	if len(results) != 1 || !strings.Contains(results[0].Text, "whale") {
		t.Fatalf("found %+v", results)
	}
	result, answer = mcptest.Call(t, c, "fetch", map[string]any{"id": results[0].ID}, nil)
	if got := decoded[searchResult](t, result, answer); !strings.HasSuffix(long, got.Text) || len(got.Text) < 32<<10 || len(got.Text) > 64<<10 || got.Metadata["partial"] != true {
		t.Errorf("fetched %d bytes with %v", len(got.Text), got.Metadata)
	}

	if result, text := mcptest.Call(t, c, "search", map[string]any{"indexName": "docs"}, nil); !result.IsError || text != "query: is required" {
		t.Errorf("without a question: %s", text)
	}
	if result, text := mcptest.Call(t, c, "fetch", map[string]any{"id": "nothing"}, nil); !result.IsError {
		t.Errorf("an unknown document: %s", text)
	}
}
