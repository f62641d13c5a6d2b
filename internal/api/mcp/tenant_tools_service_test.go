package mcp_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// handbooks starts a service with two tenants, each with two indexes of the same names.
func handbooks(t *testing.T) (s *servicetest.Service, address string, acme, bolt servicetest.Client) {
	t.Helper()
	s = servicetest.New(t, service.Config{})
	address = s.URL + mcphttp.Path
	acme, bolt = s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	for _, c := range []servicetest.Client{acme, bolt} {
		for _, index := range []string{"laws", "recipes"} {
			c.Index(t, index)
			for _, team := range []string{"red", "blue"} {
				metadata := &structpb.Struct{Fields: map[string]*structpb.Value{"team": structpb.NewStringValue(team)}}
				c.Upload(t, &ragdv1.UploadDocumentRequest{
					IndexName: index, Uri: index + "-" + team, Metadata: metadata,
					Source: &ragdv1.UploadDocumentRequest_Text{Text: "All about " + index + " of the " + team + " team."},
				})
			}
		}
	}
	return s, address, acme, bolt
}

// uris returns the uris of the passages of an answer.
func uris(t *testing.T, result *mcpgo.CallToolResult) string {
	t.Helper()
	raw, err := json.Marshal(result.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Sources []struct{ URI string } }
	if err := json.Unmarshal(raw, &answer); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, source := range answer.Sources {
		found = append(found, source.URI)
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}

func TestToolsOfTenants(t *testing.T) {
	t.Parallel()
	s, address, acme, bolt := handbooks(t)
	make := func(c servicetest.Client, req *ragdv1.CreateToolRequest, settings string) {
		t.Helper()
		req.Settings = &structpb.Struct{}
		if err := req.GetSettings().UnmarshalJSON([]byte(settings)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.CreateTool(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	make(acme, &ragdv1.CreateToolRequest{ToolName: "ask_laws", Kind: "vector_query", Title: "Laws", Description: "What the law says."}, `{"indexName": "laws", "topK": 5}`)
	make(acme, &ragdv1.CreateToolRequest{ToolName: "ask_red", Kind: "vector_query", Fixed: true}, `{"indexName": "laws", "filter": {"team": "red"}}`)
	make(acme, &ragdv1.CreateToolRequest{ToolName: "cut", Kind: "document_chunker"}, `{"chunking": {"strategy": "character", "separator": "|", "maxSize": 4, "overlap": 0}}`)
	make(acme, &ragdv1.CreateToolRequest{ToolName: "walk_laws", Kind: "graph_rag"}, `{"indexName": "laws", "filter": {"team": "blue"}}`)
	make(bolt, &ragdv1.CreateToolRequest{ToolName: "ask_laws", Kind: "vector_query", Description: "Bolt's own."}, `{"indexName": "recipes"}`)

	for era, options := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			as := func(secret string, headers ...string) *client.Client {
				all := map[string]string{"Authorization": "Bearer " + secret}
				for i := 0; i+1 < len(headers); i += 2 {
					all[headers[i]] = headers[i+1]
				}
				return mcptest.Connect(t, address, options, all)
			}
			c := as(acme.Secret)
			listed, err := c.ListTools(t.Context(), mcpgo.ListToolsRequest{})
			if err != nil {
				t.Fatal(err)
			}
			named := map[string]mcpgo.Tool{}
			var names []string
			for _, tool := range listed.Tools {
				named[tool.Name] = tool
				names = append(names, tool.Name)
			}
			if !slices.IsSorted(names) || slices.Contains(names, "ragd/own") || named["ask_laws"].Description != "What the law says." || named["ask_laws"].Title != "Laws" {
				t.Errorf("listed %v, %+v", names, named["ask_laws"])
			}
			shown, err := json.Marshal(named["ask_laws"].InputSchema)
			if err != nil || !strings.Contains(string(shown), `Here the default is 5.`) || strings.Contains(string(shown), "indexName") {
				t.Errorf("the schema is %s, %v", shown, err)
			}

			for _, tc := range []struct {
				name      string
				client    *client.Client
				tool      string
				arguments map[string]any
				meta      map[string]any
				want      string
			}{
				{"the settings", c, "ask_laws", map[string]any{"queryText": "team"}, nil, "laws-blue laws-red"},
				{"an argument before a setting", c, "ask_laws", map[string]any{"queryText": "laws of the red team", "topK": 1}, nil, "laws-red"},
				{"a walk", c, "walk_laws", map[string]any{"queryText": "team"}, nil, "laws-blue"},
				{"a filter of the model", c, "ask_laws", map[string]any{"queryText": "team", "filter": map[string]any{"team": "blue"}}, nil, "laws-blue"},
				{"the context before a setting", c, "ask_laws", map[string]any{"queryText": "team"},
					map[string]any{"ragd/context": map[string]any{"indexName": "recipes"}}, "recipes-blue recipes-red"},
				{"the header before a setting", as(acme.Secret, "Ragd-Context", `{"indexName": "recipes"}`), "ask_laws", map[string]any{"queryText": "team"}, nil, "recipes-blue recipes-red"},
				{"a filter of the tool and the model", c, "ask_red", map[string]any{"queryText": "team", "filter": map[string]any{"team": "blue"}}, nil, ""},
				{"a filter of the tool and the model's text", c, "ask_red", map[string]any{"queryText": "team", "filter": `{"$or": [{"team": "blue"}, {"team": "red"}]}`}, nil, "laws-red"},
				{"a fixed tool and the context", c, "ask_red", map[string]any{"queryText": "team"},
					map[string]any{"ragd/context": map[string]any{"indexName": "recipes"}}, "laws-red"},
				{"a fixed tool and the header", as(acme.Secret, "Ragd-Context", `{"indexName": "recipes"}`), "ask_red", map[string]any{"queryText": "team"}, nil, "laws-red"},
				{"a fixed tool and the context's filter", c, "ask_red", map[string]any{"queryText": "team"},
					map[string]any{"ragd/context": map[string]any{"filter": map[string]any{"team": "blue"}}}, ""},
				{"another tenant's of the same name", as(bolt.Secret), "ask_laws", map[string]any{"queryText": "team"}, nil, "recipes-blue recipes-red"},
				{"a mandatory filter", as(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"},
					MandatoryFilter: &structpb.Struct{Fields: map[string]*structpb.Value{"team": structpb.NewStringValue("blue")}}})),
					"ask_laws", map[string]any{"queryText": "team"}, nil, "laws-blue"},
			} {
				result, text := mcptest.Call(t, tc.client, tc.tool, tc.arguments, tc.meta)
				if result.IsError {
					t.Errorf("%s: %s", tc.name, text)
				} else if got := uris(t, result); got != tc.want {
					t.Errorf("%s: found %q, want %q", tc.name, got, tc.want)
				}
			}

			if _, text := mcptest.Call(t, c, "cut", map[string]any{"text": "aaa|bbb"}, nil); !strings.Contains(text, "aaa") || !strings.Contains(text, "bbb") || strings.Contains(text, "|") {
				t.Errorf("cut: %s", text)
			}
			for what, arguments := range map[string]map[string]any{
				"an argument that the tool does not take": {"queryText": "team", "indexName": "recipes"},
				"no question": {},
			} {
				if result, text := mcptest.Call(t, c, "ask_laws", arguments, nil); !result.IsError {
					t.Errorf("%s: %s", what, text)
				}
			}
			for what, tool := range map[string]string{"another tenant's tool": "ask_red", "what stands for all": "ragd/own", "a name of no one": "nothing"} {
				var req mcpgo.CallToolRequest
				req.Params.Name = tool
				req.Params.Arguments = map[string]any{"queryText": "team"}
				req.Params.Meta = mcpgo.NewMetaFromMap(map[string]any{"ragd/own": map[string]any{"own": "ask_red"}})
				if _, err := as(bolt.Secret).CallTool(t.Context(), req); err == nil || !strings.Contains(err.Error(), "not found") {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

// A tool that is created or deleted appears or disappears on every instance at once, for
// its tenant only, whose clients are notified.
func TestClientsAreNotifiedOfToolChanges(t *testing.T) {
	t.Parallel()
	const tools = "notifications/tools/list_changed "
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	here, there := s.URL+mcphttp.Path, instance(t, s)
	for era, options := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			near, far := watching(t, here, era, acme.Secret), watching(t, there, era, acme.Secret)
			stranger := watching(t, here, era, bolt.Secret)
			lists := func(address, tool string) bool {
				list, err := mcptest.Connect(t, address, options, map[string]string{"Authorization": "Bearer " + acme.Secret}).ListTools(t.Context(), mcpgo.ListToolsRequest{})
				if err != nil {
					t.Fatal(err)
				}
				return slices.ContainsFunc(list.Tools, func(listed mcpgo.Tool) bool { return listed.Name == tool })
			}
			tool := "fresh_" + era
			lists(there, tool) // caches the list without it
			if _, err := acme.CreateTool(t.Context(), &ragdv1.CreateToolRequest{ToolName: tool, Kind: "document_chunker"}); err != nil {
				t.Fatal(err)
			}
			c := mcptest.Connect(t, there, options, map[string]string{"Authorization": "Bearer " + acme.Secret})
			if result, text := mcptest.Call(t, c, tool, map[string]any{"text": "a"}, nil); result.IsError { // works before the notification arrives
				t.Error(text)
			}
			collect(t, near, tools)
			collect(t, far, tools)
			if !lists(here, tool) || !lists(there, tool) {
				t.Error("the new tool is not listed")
			}
			if _, err := acme.DeleteTool(t.Context(), &ragdv1.DeleteToolRequest{ToolName: tool}); err != nil {
				t.Fatal(err)
			}
			collect(t, near, tools)
			collect(t, far, tools)
			if lists(here, tool) || lists(there, tool) {
				t.Error("the deleted tool is listed")
			}
			for len(stranger) > 0 {
				if one := <-stranger; one != "notifications/subscriptions/acknowledged " {
					t.Errorf("another tenant is told: %s", one)
				}
			}
		})
	}
}

func TestClientsSeeWhatATenantSaysOfItsTool(t *testing.T) {
	t.Parallel()
	_, address, acme, bolt := handbooks(t)
	object := func(raw string) *structpb.Struct {
		t.Helper()
		o := &structpb.Struct{}
		if err := o.UnmarshalJSON([]byte(raw)); err != nil {
			t.Fatal(err)
		}
		return o
	}
	for c, store := range map[servicetest.Client]string{acme: "my-store", bolt: "postgres"} {
		if _, err := c.CreateTool(t.Context(), &ragdv1.CreateToolRequest{
			ToolName: "ask", Kind: "vector_query", Arguments: []string{"queryText", "vectorStoreName"},
			Settings:    object(`{"indexName": "laws", "enableFilter": true, "includeVectors": true, "vectorStoreName": "` + store + `", "databaseConfig": {"pinecone": {"namespace": "default"}}}`),
			Annotations: &ragdv1.ToolAnnotations{OpenWorldHint: new(true)}, Meta: object(`{"team": "` + store + `"}`),
			OutputSchema: object(`{"type": "object", "required": ["sources"]}`),
		}); err != nil {
			t.Fatal(err)
		}
	}
	c := mcptest.Connect(t, address, mcptest.Eras["modern"], map[string]string{"Authorization": "Bearer " + acme.Secret})
	listed, err := c.ListTools(t.Context(), mcpgo.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(listed.Tools, func(t mcpgo.Tool) bool { return t.Name == "ask" })
	if i < 0 {
		t.Fatal("not listed")
	}
	shown := listed.Tools[i]
	if a := shown.Annotations; a.OpenWorldHint == nil || !*a.OpenWorldHint || a.ReadOnlyHint == nil || !*a.ReadOnlyHint {
		t.Errorf("annotations %+v", a)
	}
	if shown.Meta == nil || shown.Meta.AdditionalFields["team"] != "my-store" || !slices.Equal(shown.OutputSchema.Required, []string{"sources"}) {
		t.Errorf("_meta %+v, output schema %+v", shown.Meta, shown.OutputSchema)
	}
	if _, ok := shown.InputSchema.Properties["filter"]; !ok {
		t.Errorf("input schema %+v", shown.InputSchema)
	}
	for _, tc := range []struct {
		store string
		meta  map[string]any
		want  string
	}{
		{"", nil, "laws-red"},
		{"my-store", nil, "laws-red"},
		{"", map[string]any{"ragd/context": map[string]any{"vectorStoreName": "pgVector"}}, "laws-red"},
		{"postgres", nil, "unknown store"},
		{"", map[string]any{"ragd/context": map[string]any{"vectorStoreName": "postgres"}}, "unknown store"},
	} {
		arguments := map[string]any{"queryText": "team", "filter": map[string]any{"team": "red"}}
		if tc.store != "" {
			arguments["vectorStoreName"] = tc.store
		}
		if _, text := mcptest.Call(t, c, "ask", arguments, tc.meta); !strings.Contains(text, tc.want) {
			t.Errorf("store %q, _meta %v: %s", tc.store, tc.meta, text)
		}
	}
	if result, text := mcptest.Call(t, c, "vector_query", map[string]any{"queryText": "team", "indexName": "laws", "vectorStoreName": "my-store"}, nil); !result.IsError {
		t.Errorf("the name of one tool's store in another: %s", text)
	}
}
