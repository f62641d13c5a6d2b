//go:build thirdparty

package mcp_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// Third-party clients work against the service with two tenants. They are installed in
// the directory RAGD_TEST_MCP_CLIENTS by hack/mcp-clients.sh.
func TestThirdPartyClients(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("RAGD_TEST_MCP_CLIENTS")
	if folder == "" {
		t.Fatal("RAGD_TEST_MCP_CLIENTS is not set: run make test-mcp-clients")
	}
	keys, err := seal.Parse(strings.Repeat("1", 2*seal.KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	ai, watch := clientsModel(t)
	s := servicetest.New(t, service.Config{
		AllowedPrivateNetworks: []string{"127.0.0.0/8"}, MasterKeys: keys,
		Providers: service.Providers{OpenAI: endpoint.Config{BaseURL: ai.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1, Models: []string{"*"}}},
	})
	acme, globex := s.Tenant(t, "acme"), s.Tenant(t, "globex")
	acme.Index(t, "docs")
	globex.Index(t, "docs")
	makeSurface(t, acme, "acme")
	makeSurface(t, globex, "globex")
	acme.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: "lighthouse.md",
		Source: &ragdv1.UploadDocumentRequest_Text{Text: "# Lighthouse\n\nThe lighthouse is lit with whale oil."},
	})
	_, err = acme.CreateTool(t.Context(), &ragdv1.CreateToolRequest{
		ToolName: "ask_docs", Kind: "vector_query",
		Settings: &structpb.Struct{Fields: map[string]*structpb.Value{"indexName": structpb.NewStringValue("docs")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for era := range mcptest.Eras { // each client opens the address of its own servers
		for name, of := range map[string]string{"modern": "modern", "legacy": "legacy", "silent": "legacy"} {
			_, err = acme.CreateTool(t.Context(), &ragdv1.CreateToolRequest{ToolName: "mail_" + era + "_" + name, Kind: "mcp", Description: "Sends.", Settings: servicetest.Object(t, map[string]any{
				"url": addressed(t, of, signIn).URL, "toolName": "mail",
			})})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	address := s.URL + mcphttp.Path
	run := func(t *testing.T, program string, args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "RAGD_MCP_URL="+address, "RAGD_ACME_KEY="+acme.Secret, "RAGD_GLOBEX_KEY="+globex.Secret, "RAGD_MODEL_WATCH="+watch)
		var failure bytes.Buffer
		cmd.Stderr = &failure
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s %s: %v\n%s%s", filepath.Base(program), strings.Join(args, " "), err, out, failure.String())
		}
		return string(out)
	}

	node := filepath.Join(folder, "node_modules", "node", "bin", "node")
	for name, args := range map[string][]string{
		"TypeScript SDK 1":         {"sdk-v1.mjs"},
		"TypeScript SDK 2, legacy": {"sdk-v2.mjs", "legacy"},
		"TypeScript SDK 2, modern": {"sdk-v2.mjs", "modern"},
		"TypeScript SDK 2, tasks":  {"tasks.mjs"},

		"TypeScript SDK 2, addresses, legacy": {"address.mjs", "legacy"},
		"TypeScript SDK 2, addresses, modern": {"address.mjs", "modern"},
		"Mastra":                              {"mastra.mjs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, node, args...)
		})
	}
	for _, program := range []string{"sdk.py", "surface.py", "agent_tools.py"} {
		t.Run("Python SDK, "+program, func(t *testing.T) {
			t.Parallel()
			run(t, filepath.Join(folder, "venv", "bin", "python"), program)
		})
	}
	for era := range mcptest.Eras {
		t.Run("inspector, "+era, func(t *testing.T) {
			t.Parallel()
			inspect := func(key string, args ...string) string {
				all := append([]string{
					filepath.Join("node_modules", ".bin", "mcp-inspector"), "--cli", address, "--transport", "http",
					"--protocol-era", era, "--header", "Authorization: Bearer " + key, "--method",
				}, args...)
				return run(t, node, all...)
			}
			for _, tc := range []struct {
				want string
				args []string
			}{
				{"ask_docs", []string{"tools/list", "--strict"}},
				{"whale oil", []string{"tools/call", "--tool-name", "vector_query", "--tool-arg", "queryText=How is the lighthouse lit?", "indexName=docs"}},
				{"documents/", []string{"resources/list"}},
				{"docs", []string{"resources/read", "--uri", "ragd://indexes"}},
				{"answer_with_sources", []string{"prompts/list"}},
				{"lighthouse", []string{"prompts/get", "--prompt-name", "answer_with_sources", "--prompt-args", "question=Where is the lighthouse?", "indexName=docs"}},
			} {
				if out := inspect(acme.Secret, tc.args...); !strings.Contains(out, tc.want) {
					t.Errorf("%v: no %q in %s", tc.args, tc.want, out)
				}
			}
			if out := inspect(globex.Secret, "tools/call", "--tool-name", "vector_query", "--tool-arg", "queryText=lighthouse", "indexName=docs"); strings.Contains(out, "whale") {
				t.Errorf("the other tenant: %s", out)
			}
		})
		t.Run("mcp-go, "+era, func(t *testing.T) {
			t.Parallel()
			mine := map[string]string{"Authorization": "Bearer " + acme.Secret}
			c := mcptest.Connect(t, address, mcptest.Eras[era], mine)
			heard := mcptest.WatchProgress(c)
			notified := watching(t, address, era, acme.Secret, "ragd://indexes")
			list, err := c.ListTools(t.Context(), mcpgo.ListToolsRequest{})
			if err != nil || !slices.ContainsFunc(list.Tools, func(tool mcpgo.Tool) bool { return tool.Name == "ask_docs" }) {
				t.Errorf("list: %v", err)
			}
			if _, text := mcptest.Call(t, c, "ask_docs", map[string]any{"queryText": "How is the lighthouse lit?"}, nil); !strings.Contains(text, "whale oil") {
				t.Errorf("call: %s", text)
			}
			var read mcpgo.ReadResourceRequest
			read.Params.URI = "ragd://indexes"
			if _, err := c.ReadResource(t.Context(), read); err != nil {
				t.Errorf("read: %v", err)
			}
			var prompt mcpgo.GetPromptRequest
			prompt.Params.Name, prompt.Params.Arguments = "answer_with_sources", map[string]string{"question": "Where?", "indexName": "docs"}
			if _, err := c.GetPrompt(t.Context(), prompt); err != nil {
				t.Errorf("prompt: %v", err)
			}
			mcptest.Call(t, c, "upload_document", map[string]any{"uri": "go-" + era, "indexName": "docs", "text": "From Go."}, map[string]any{"progressToken": era})
			collect(t, notified, "notifications/resources/updated "+"ragd://indexes")
			if len(heard.Of(era)) == 0 {
				t.Error("no progress was heard")
			}
			other := mcptest.Connect(t, address, mcptest.Eras[era], map[string]string{"Authorization": "Bearer " + globex.Secret})
			if _, text := mcptest.Call(t, other, "vector_query", map[string]any{"queryText": "lighthouse", "indexName": "docs"}, nil); strings.Contains(text, "whale") {
				t.Errorf("the other tenant: %s", text)
			}
		})
	}
}

// clientsModel starts the chat model of the agents that clients make. It answers by the last message
// of the user, and never where that says to wait. At the address watch is the number of requests
// under way that contain the parameter text.
func clientsModel(t *testing.T) (ai *modelserver.Server, watch string) {
	t.Helper()
	ai = modelserver.New(t)
	ai.Turn = func(c modelserver.Chat) modelserver.Turn {
		said := slices.DeleteFunc(slices.Clone(c.Messages), func(m modelserver.Message) bool { return m.Role != "user" })
		asked, conversation := said[len(said)-1].Content, c.User
		switch name, greet := strings.CutPrefix(asked, "Greet "); {
		case greet:
			return modelserver.Turn{Text: "Hello, " + name + "!"}
		case strings.Contains(asked, "lighthouse") && len(c.Results()) == 0:
			return called("vector_query", `{"indexName": "docs", "queryText": "How is the lighthouse lit?"}`)
		case strings.Contains(asked, "lighthouse"):
			return modelserver.Turn{Text: "With whale oil [1]."}
		case strings.Contains(conversation, "My name is Ada"):
			return modelserver.Turn{Text: "Your name is Ada."}
		}
		return modelserver.Turn{Text: "I do not know."}
	}
	ai.Set(modelserver.Fault{Hang: true, When: func(r modelserver.Request) bool { return strings.Contains(r.Raw, "Wait for") }})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := r.URL.Query().Get("text")
		under := slices.DeleteFunc(ai.InFlight(), func(r modelserver.Request) bool { return !strings.Contains(r.Raw, text) })
		fmt.Fprint(w, len(under))
	}))
	t.Cleanup(server.Close)
	return ai, server.URL
}

// makeSurface creates a server named handbook with the tenant's own tools, and the
// HTTP service that one of them calls.
func makeSurface(t *testing.T, c servicetest.Client, tenant string) {
	t.Helper()
	weather := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"report": "fog in %s, %s"}`, strings.TrimPrefix(r.URL.Path, "/weather/"), tenant)
	}))
	t.Cleanup(weather.Close)
	c.Index(t, "handbook")
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "handbook", Uri: "pier.md", Source: servicetest.Text("The pier is closed in storms.")})
	c.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "handbook", Uri: "gate.md", Source: servicetest.Text("The harbour gate of " + tenant + " closes at nine."),
		Metadata: servicetest.Object(t, map[string]any{"audience": "staff"}),
	})
	schema := func(property string) map[string]any {
		return map[string]any{
			"type": "object", "properties": map[string]any{property: map[string]any{"type": "string"}}, "required": []any{property},
		}
	}
	yes, no := true, false
	for _, req := range []*ragdv1.CreateToolRequest{
		{
			ToolName: "search_handbook", Kind: "vector_query", Title: "Search", Description: "Searches the documents.",
			Settings: servicetest.Object(t, map[string]any{"indexName": "handbook", "enableFilter": true}),
		},
		{
			ToolName: "walk_handbook", Kind: "graph_rag", Title: "Walk",
			Settings: servicetest.Object(t, map[string]any{"indexName": "handbook", "graphOptions": map[string]any{"threshold": 0.1, "randomWalkSteps": 20}}),
			Meta:     servicetest.Object(t, map[string]any{"example.com/team": tenant}),
		},
		{
			ToolName: "weather", Kind: "http", Description: "Tells the weather of a city.",
			Settings: servicetest.Object(t, map[string]any{
				"method": "GET", "url": weather.URL + "/weather/{{arguments.city}}", "inputSchema": schema("city"), "outputSchema": schema("report"),
			}),
			Annotations: &ragdv1.ToolAnnotations{ReadOnlyHint: &yes, DestructiveHint: &no, IdempotentHint: &yes, OpenWorldHint: &yes},
		},
	} {
		if _, err := c.CreateTool(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	makeServer(t, c, &ragdv1.CreateServerRequest{
		ServerName: "handbook", Version: "2.1.0", Title: "The handbook of " + tenant, Instructions: "Answer from the handbook of " + tenant + ".",
		Tools:          allowed("search_handbook", "walk_handbook", "weather"),
		Presented:      []*ragdv1.PresentedTool{{ToolName: "search_handbook", Name: "ask_handbook", Description: "Asks the handbook."}},
		DefaultContext: servicetest.Object(t, map[string]any{"topK": 1}),
	})
}
