package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/chunk/tokenizer"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// Hosts send a model the name, the description and the arguments of each tool with every question: they are short
// with three indexes whose metadata fills the hints in the descriptions of filters.
func TestTheListOfToolsIsShortWithFullHints(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	for _, index := range []string{"handbook", "release-notes", "support-tickets"} {
		if _, err := acme.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: index, Dimension: 1}); err != nil {
			t.Fatal(err)
		}
		var entries []*ragdv1.Entry
		for i := range 30 {
			metadata := map[string]any{"text": "x"}
			for _, field := range strings.Fields("product department audience severity language region status customer") {
				metadata[field] = fmt.Sprintf("%s of \"%s\" %d", field, index, i%3)
			}
			entries = append(entries, &ragdv1.Entry{Id: fmt.Sprint(i), Values: []float32{1}, Metadata: servicetest.Object(t, metadata)})
		}
		if _, err := acme.Upsert(t.Context(), &ragdv1.UpsertRequest{IndexName: index, Entries: entries}); err != nil {
			t.Fatal(err)
		}
	}
	c := mcptest.Connect(t, s.URL+mcphttp.Path, nil, map[string]string{"Authorization": "Bearer " + acme.Secret})
	var hinted string
	var tools []mcpgo.Tool
	for range 100 { // the first list does not wait long for the samples
		list, err := c.ListTools(t.Context(), mcpgo.ListToolsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		tools = list.Tools
		raw, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		if hinted = string(raw); strings.Count(hinted, " Fields of ") == 6 {
			break
		}
	}
	_, hint, _ := strings.Cut(hinted, " Fields of release-notes: ")
	hint, _, _ = strings.Cut(hint, " Fields of ")
	if strings.Count(hinted, " Fields of ") != 6 || len(hint) < 100 {
		t.Fatalf("the hints are not full: %q", hint)
	}
	for _, name := range []string{"cl100k_base", "o200k_base"} {
		encoding, tokens := tokenizer.Load(name), 0
		for _, tool := range tools {
			raw, err := json.Marshal([]any{tool.Name, tool.Description, tool.InputSchema})
			if err != nil {
				t.Fatal(err)
			}
			tokens += encoding.Count(string(raw), nil)
		}
		if tokens > 5000 {
			t.Errorf("the tools take %d tokens of %s, more than 5,000", tokens, name)
		}
		t.Logf("the tools take %d tokens of %s, the whole list %d", tokens, name, encoding.Count(hinted, nil))
	}
	t.Logf("the list has %d bytes, with hints such as %q", len(hinted), hint)
}
