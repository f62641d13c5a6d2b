package mcp_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// With the real service an uploaded document is found through the tools, with the same
// sources as over Connect, and never by another tenant.
func TestToolsOverTheService(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	address := s.URL + mcphttp.Path
	acme, globex := s.Tenant(t, "acme"), s.Tenant(t, "globex")
	for _, tenant := range []servicetest.Client{acme, globex} {
		tenant.Index(t, "docs")
	}
	as := func(t *testing.T, secret string, options []client.ClientOption) *client.Client {
		return mcptest.Connect(t, address, options, map[string]string{"Authorization": "Bearer " + secret})
	}
	for era, options := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			c := as(t, acme.Secret, options)
			uri := "guides/" + era + ".md"
			question := "How is the lighthouse lit in the " + era + " era?"
			result, text := mcptest.Call(t, c, "upload_document", map[string]any{
				"uri": uri, "text": "# Lighthouse\n\nThe lighthouse is lit with whale oil in the " + era + " era.", "metadata": map[string]any{"era": era},
			}, nil)
			var uploaded ragdv1.UploadDocumentResponse
			structuredInto(t, result, &uploaded)
			document, job := uploaded.GetDocument(), uploaded.GetJob()
			wait.For(t, "the document to be ready, and in the graph, after: "+text, func() bool {
				result, _ := mcptest.Call(t, c, "get_job", map[string]any{"jobId": job.GetJobId()}, nil)
				structuredInto(t, result, job)
				return job.GetStatus() == "succeeded"
			})
			if result, text := mcptest.Call(t, c, "get_document", map[string]any{"uri": uri}, nil); result.IsError || !strings.Contains(text, "ready") {
				t.Error(text)
			}

			result, text = mcptest.Call(t, c, "vector_query", map[string]any{"queryText": question, "filter": map[string]any{"era": era}}, nil)
			var got ragdv1.VectorQueryResponse
			structuredInto(t, result, &got)
			if len(got.GetSources()) == 0 || !strings.Contains(text, "whale oil in the "+era) || !strings.Contains(text, uri) {
				t.Errorf("not found: %s", text)
			}
			want, err := acme.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: question, Filter: structpb.NewStringValue(`{"era": "` + era + `"}`)})
			if err != nil {
				t.Fatal(err)
			}
			want.RelevantContext = "" // MCP has the text of a passage once
			withoutTexts(want.Sources)
			if diff := cmp.Diff(want, &got, protocmp.Transform()); diff != "" {
				t.Errorf("MCP and Connect differ: %s", diff)
			}

			// The client's restartProb overrides the model's, which would be rejected.
			result, text = mcptest.Call(t, c, "graph_rag", map[string]any{
				"queryText": question, "filter": map[string]any{"era": era}, "explain": true, "graphOptions": map[string]any{"restartProb": 7},
			}, map[string]any{"ragd/context": map[string]any{"restartProb": 0.25, "randomWalkSteps": 10}})
			var walked ragdv1.GraphRagResponse
			structuredInto(t, result, &walked)
			if !strings.Contains(text, "path: ") || !strings.Contains(text, "whale oil in the "+era) {
				t.Errorf("not walked to: %s", text)
			}
			steps, restart := int32(10), 0.25
			wantWalk, err := acme.GraphRag(t.Context(), &ragdv1.GraphRagRequest{
				QueryText: question, Filter: structpb.NewStringValue(`{"era": "` + era + `"}`), Explain: true,
				GraphOptions: &ragdv1.GraphOptions{RestartProb: &restart, RandomWalkSteps: &steps},
			})
			if err != nil {
				t.Fatal(err)
			}
			if given := walked.Explain.Context; len(given) != 2 || given[1].Name != "restartProb" || given[1].Origin != "call" {
				t.Errorf("explained as %v", given)
			}
			walked.Explain.Context = nil // the call above gives these in its body
			wantWalk.RelevantContext = ""
			withoutTexts(wantWalk.Sources)
			if diff := cmp.Diff(wantWalk, &walked, protocmp.Transform(), protocmp.IgnoreFields(&ragdv1.Stage{}, "duration_ms")); diff != "" {
				t.Errorf("MCP and Connect differ: %s", diff)
			}

			other := as(t, globex.Secret, options)
			for tool, arguments := range map[string]map[string]any{
				"vector_query":   {"queryText": question},
				"graph_rag":      {"queryText": question},
				"list_documents": nil,
				"get_document":   {"uri": uri},
				"get_job":        {"jobId": document.GetDocumentId()},
			} {
				result, text := mcptest.Call(t, other, tool, arguments, nil)
				raw, err := json.Marshal(result)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(raw), "whale") || !result.IsError && strings.Contains(string(raw), document.GetDocumentId()) {
					t.Errorf("%s shows another tenant's document: %s", tool, text)
				}
			}
			if result, text := mcptest.Call(t, other, "delete_document", map[string]any{"uri": uri}, nil); !result.IsError || !strings.Contains(text, "not found") {
				t.Errorf("deleting another tenant's document: %s", text)
			}
			if result, text := mcptest.Call(t, other, "delete_documents", map[string]any{"documentIds": []any{document.GetDocumentId()}}, nil); result.IsError || !strings.Contains(text, "no such document") {
				t.Errorf("deleting another tenant's documents: %s", text)
			}
			if result, text := mcptest.Call(t, c, "delete_documents", map[string]any{"uris": []any{uri}, "dryRun": true}, nil); result.IsError || !strings.Contains(text, uri) {
				t.Errorf("a dry run: %s", text)
			}
			if result, text := mcptest.Call(t, c, "delete_document", map[string]any{"uri": uri}, nil); result.IsError {
				t.Error(text)
			}
		})
	}

	t.Run("several indexes are named, or searched together", func(t *testing.T) {
		acme.Index(t, "more")
		acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "more", Uri: "ferry.txt", Source: servicetest.Text("The ferry to Brannhaven leaves at noon.")})
		c := as(t, acme.Secret, nil)
		result, text := mcptest.Call(t, c, "list_documents", nil, nil)
		if !result.IsError || !strings.Contains(text, "indexName") || !strings.Contains(text, "docs, more") {
			t.Error(text)
		}
		for _, tool := range []string{"vector_query", "graph_rag"} {
			result, text = mcptest.Call(t, c, tool, map[string]any{"queryText": "When does the ferry to Brannhaven leave?"}, nil)
			if result.IsError || !strings.Contains(text, "index more)") {
				t.Error(tool, text)
			}
		}
		result, text = mcptest.Call(t, c, "vector_query", map[string]any{"queryText": "ferry Brannhaven", "indexNames": []any{"doc*"}}, nil)
		if result.IsError || strings.Contains(text, "leaves at noon") {
			t.Error(text)
		}
		result, text = mcptest.Call(t, c, "search", map[string]any{"query": "When does the ferry to Brannhaven leave?"}, nil)
		var found struct{ Results []struct{ ID string } }
		if err := json.Unmarshal([]byte(text), &found); err != nil || result.IsError || len(found.Results) == 0 || !strings.HasPrefix(found.Results[0].ID, "more/") {
			t.Fatal(text)
		}
		if result, text = mcptest.Call(t, c, "fetch", map[string]any{"id": found.Results[0].ID}, nil); result.IsError || !strings.Contains(text, "leaves at noon") {
			t.Error(text)
		}
	})
	t.Run("a key that may only read", func(t *testing.T) {
		secret := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}})
		c := as(t, secret, nil)
		tools := mcptest.Tools(t, c)
		for _, hidden := range []string{"upload_document", "delete_document", "delete_documents"} {
			if _, ok := tools[hidden]; ok {
				t.Errorf("%s is listed", hidden)
			}
		}
		if _, ok := tools["vector_query"]; !ok {
			t.Error("vector_query is not listed")
		}
		req := mcpgo.CallToolRequest{}
		req.Params.Name, req.Params.Arguments = "upload_document", map[string]any{"text": "a", "indexName": "docs"}
		if _, err := c.CallTool(t.Context(), req); err == nil {
			t.Error("upload_document was called")
		}
	})
	t.Run("the schemas name the tenant's own indexes", func(t *testing.T) {
		globex.Index(t, "secret")
		if names := mcptest.Tools(t, as(t, globex.Secret, nil))["vector_query"]; !slices.Contains(names, "secret") {
			t.Errorf("globex sees %v", names)
		}
		if names := mcptest.Tools(t, as(t, acme.Secret, nil))["vector_query"]; slices.Contains(names, "secret") {
			t.Errorf("acme sees %v", names)
		}
	})
	t.Run("an operator names the tenant", func(t *testing.T) {
		c := mcptest.Connect(t, address, nil, map[string]string{"Authorization": "Bearer " + servicetest.OperatorKey, "Ragd-Tenant": "globex"})
		if _, text := mcptest.Call(t, c, "list_indexes", nil, nil); !strings.HasPrefix(text, "- docs:") || strings.Contains(text, "- more") {
			t.Error(text)
		}
	})
}

// withoutTexts removes the copies of passages in their metadata.
func withoutTexts(sources []*ragdv1.Source) {
	for _, source := range sources {
		delete(source.GetMetadata().GetFields(), "text")
	}
}

// structuredInto decodes a result's structured content.
func structuredInto(t *testing.T, result *mcpgo.CallToolResult, into proto.Message) {
	t.Helper()
	raw, err := json.Marshal(result.StructuredContent)
	if err == nil {
		err = protojson.Unmarshal(raw, into)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, mcptest.Text(t, result))
	}
}
