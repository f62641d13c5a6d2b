package rpc_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func names(list ...string) *ragdv1.AllowedNames { return &ragdv1.AllowedNames{Names: list} }

// A key can only create keys within its own bounds, and manage those.
func TestKeysAreCreatedWithinTheBoundsOfTheirCreator(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	ctx := t.Context()
	attributes := servicetest.Object(t, map[string]any{"team": "legal", "level": 3.0, "groups": []any{"a", "b"}})
	made, err := acme.CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{
		Scopes: []string{"admin"}, Indexes: names("faq", "handbook", "faq"), Prompts: names(), Attributes: attributes,
	})
	if err != nil {
		t.Fatal(err)
	}
	bound := s.Client(made.Secret)
	inherited, err := bound.CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{})
	if err != nil {
		t.Fatal(err)
	}
	narrower, err := bound.CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{Indexes: names("faq"), Tools: names("search")})
	if err != nil {
		t.Fatal(err)
	}
	for what, req := range map[string]*ragdv1.CreateApiKeyRequest{
		"another index": {Indexes: names("faq", "secret")}, "a prompt": {Prompts: names("p")},
	} {
		_, err := bound.CreateApiKey(ctx, req)
		servicetest.WantCode(t, what, err, connect.CodePermissionDenied)
	}
	for what, req := range map[string]*ragdv1.CreateApiKeyRequest{
		"an empty name": {Indexes: names("")}, "large attributes": {Attributes: servicetest.Object(t, map[string]any{"a": strings.Repeat("x", 4<<10)})},
	} {
		_, err := acme.CreateApiKey(ctx, req)
		servicetest.WantCode(t, what, err, connect.CodeInvalidArgument)
	}
	_, err = s.Operator().CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{Scopes: []string{"operator"}, Indexes: names("faq")})
	servicetest.WantCode(t, "a bound operator", err, connect.CodeInvalidArgument)

	list, err := bound.ListApiKeys(ctx, &ragdv1.ListApiKeysRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want := []*ragdv1.ApiKey{
		{ApiKeyId: narrower.ApiKey.ApiKeyId, Indexes: names("faq"), Tools: names("search"), Prompts: names()},
		{ApiKeyId: inherited.ApiKey.ApiKeyId, Indexes: names("faq", "handbook"), Prompts: names()},
		{ApiKeyId: made.ApiKey.ApiKeyId, Indexes: names("faq", "handbook"), Prompts: names(), Attributes: attributes},
	}
	ignored := protocmp.IgnoreFields(&ragdv1.ApiKey{}, "tenant_id", "prefix", "scopes", "create_time")
	if diff := cmp.Diff(want, list.ApiKeys, protocmp.Transform(), ignored); diff != "" {
		t.Errorf("the bound admin's list (-want +got):\n%s", diff)
	}
	_, err = bound.RevokeApiKey(ctx, &ragdv1.RevokeApiKeyRequest{ApiKeyId: acme.Secret})
	servicetest.WantCode(t, "revoking an unbound key", err, connect.CodeNotFound)
	if _, err := bound.RevokeApiKey(ctx, &ragdv1.RevokeApiKeyRequest{ApiKeyId: narrower.ApiKey.ApiKeyId}); err != nil {
		t.Errorf("revoking a narrower key: %v", err)
	}
}

func TestABoundKeyHasItsIndexAlone(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	ctx := t.Context()
	acme.Index(t, "faq")
	acme.Index(t, "secret")
	bound := func(headers ...string) servicetest.Client {
		return s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Indexes: names("faq", "later")}), headers...)
	}
	list, err := bound().ListIndexes(ctx, &ragdv1.ListIndexesRequest{})
	if err != nil || len(list.IndexNames) != 1 {
		t.Errorf("ListIndexes = %v, %v", list, err)
	}
	if _, err := bound().VectorQuery(ctx, &ragdv1.VectorQueryRequest{QueryText: "x"}); err != nil {
		t.Errorf("a query of the only index that the key has: %v", err)
	}
	_, err = bound("Ragd-Context", `{"indexName":"secret"}`).VectorQuery(ctx, &ragdv1.VectorQueryRequest{IndexName: "faq", QueryText: "x"})
	servicetest.WantCode(t, "an index of the request context", err, connect.CodeNotFound)
	for _, name := range []string{"secret", "other"} {
		_, err := bound().CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: name})
		servicetest.WantCode(t, "creating the index "+name, err, connect.CodePermissionDenied)
	}
	if _, err := bound().CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "later"}); err != nil {
		t.Errorf("creating an index that the key may use: %v", err)
	}
}

func TestKeysOfToolsOnlyCallTools(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	ctx := t.Context()
	for _, name := range []string{"one", "two"} {
		if _, err := acme.CreateTool(ctx, &ragdv1.CreateToolRequest{ToolName: name, Kind: "document_chunker"}); err != nil {
			t.Fatal(err)
		}
	}
	key := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}, Tools: names("one")})
	bound := s.Client(key)
	list, err := bound.ListTools(ctx, &ragdv1.ListToolsRequest{})
	if err != nil || len(list.Tools) != 1 || list.Tools[0].ToolName != "one" {
		t.Errorf("ListTools = %v, %v", list, err)
	}
	_, err = bound.GetTool(ctx, &ragdv1.GetToolRequest{ToolName: "two"})
	servicetest.WantCode(t, "another tool", err, connect.CodeNotFound)
	ofServer := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}, Servers: names("front")})
	allowed := []string{"ListTools", "GetTool", "CallTool", "CallToolStream", "WhoAmI"}
	for _, m := range methods(t) {
		if slices.Contains(allowed, string(m.Name())) {
			continue
		}
		path, streams := "/"+string(m.Parent().FullName())+"/"+string(m.Name()), m.IsStreamingClient() || m.IsStreamingServer()
		for _, key := range []string{key, ofServer, s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Tools: names()})} {
			if _, answer := call(t, s, key, path, streams, map[string]any{}); !strings.Contains(answer, "is bound to tools or MCP servers") {
				t.Errorf("%s answers a key of tools: %s", m.Name(), answer)
			}
		}
	}
}

// A key of a tool over an index does not reach other indexes by the request context, in no way
// of giving it. What the server says counts.
func TestKeysOfToolsKeepTheIndexOfTheTool(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme, ctx := s.Tenant(t, "acme"), t.Context()
	for _, name := range []string{"docs", "hidden", "public"} {
		if _, err := acme.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: name}); err != nil {
			t.Fatal(err)
		}
	}
	settings := func(index string) *structpb.Struct {
		return &structpb.Struct{Fields: map[string]*structpb.Value{"indexName": structpb.NewStringValue(index)}}
	}
	if _, err := acme.CreateTool(ctx, &ragdv1.CreateToolRequest{ToolName: "ask", Kind: "vector_query", Settings: settings("docs")}); err != nil {
		t.Fatal(err)
	}
	for name, fixed := range map[string]*structpb.Struct{"front": nil, "elsewhere": settings("public")} {
		if _, err := acme.CreateServer(ctx, &ragdv1.CreateServerRequest{ServerName: name, DefaultContext: fixed}); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(key, server, header string, context *structpb.Struct) error {
		ctx, info := connect.NewClientContext(ctx)
		info.RequestHeader().Set("Authorization", "Bearer "+key)
		for name, value := range map[string]string{"Ragd-Server": server, "Ragd-Context": header} {
			if value != "" {
				info.RequestHeader().Set(name, value)
			}
		}
		_, err := ragdv1connect.NewToolServiceClient(http.DefaultClient, s.URL).CallTool(ctx,
			&ragdv1.CallToolRequest{ToolName: "ask", Context: context, Arguments: &structpb.Struct{Fields: map[string]*structpb.Value{"queryText": structpb.NewStringValue("x")}}})
		return err
	}
	ofTool := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Tools: names("ask")})
	ofServer := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Servers: names("front", "elsewhere")})
	for _, other := range []string{"hidden", "nosuch"} { // the answers are alike
		for what, err := range map[string]error{
			"a header":               ask(ofTool, "", `{"indexName": "`+other+`"}`, nil),
			"the context of a call":  ask(ofTool, "", "", settings(other)),
			"through a server":       ask(ofServer, "front", `{"indexName": "`+other+`"}`, nil),
			"over that of a server":  ask(ofServer, "elsewhere", "", settings(other)),
			"over both of the calls": ask(ofTool, "", `{"indexName": "docs"}`, settings(other)),
		} {
			wantCode(t, what, err, connect.CodePermissionDenied, "the credential is bound to tools or servers")
		}
		_, text := mcptest.Call(t, mcptest.Connect(t, s.URL+"/mcp", nil, map[string]string{"Authorization": "Bearer " + ofTool}), "ask",
			map[string]any{"queryText": "x"}, map[string]any{"ragd/context": map[string]any{"indexName": other}})
		if !strings.Contains(text, "the credential is bound to tools or servers") {
			t.Errorf("_meta: %s", text)
		}
	}
	for what, err := range map[string]error{
		"its own index":    ask(ofTool, "", `{"indexName": "docs", "topK": 3}`, nil),
		"that of a server": ask(ofServer, "elsewhere", "", nil),
		"no context":       ask(ofServer, "front", "", nil),
		"another key":      ask(acme.Secret, "", `{"indexName": "hidden"}`, nil),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A key of a server calls tools through that server alone, which decides what is there.
func TestKeysOfServersCallToolsThroughThem(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	ctx := t.Context()
	for _, name := range []string{"one", "two"} {
		if _, err := acme.CreateTool(ctx, &ragdv1.CreateToolRequest{ToolName: name, Kind: "document_chunker"}); err != nil {
			t.Fatal(err)
		}
		if _, err := acme.CreateServer(ctx, &ragdv1.CreateServerRequest{ServerName: "with-" + name, Tools: names(name)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := bolt.CreateServer(ctx, &ragdv1.CreateServerRequest{ServerName: "bolts"}); err != nil {
		t.Fatal(err)
	}
	key := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}, Servers: names("with-one", "bolts")})
	_, err := s.Client(key).ListTools(ctx, &ragdv1.ListToolsRequest{})
	servicetest.WantCode(t, "without a server", err, connect.CodePermissionDenied)
	for _, name := range []string{"with-two", "default", "bolts", "none", "with-one,with-two", "../with-one"} {
		_, err := s.Client(key, "Ragd-Server", name).ListTools(ctx, &ragdv1.ListToolsRequest{})
		servicetest.WantCode(t, "through the server "+name, err, connect.CodeNotFound)
	}
	through := s.Client(key, "Ragd-Server", "with-one")
	list, err := through.ListTools(ctx, &ragdv1.ListToolsRequest{})
	if err != nil || len(list.Tools) != 1 || list.Tools[0].ToolName != "one" {
		t.Errorf("ListTools = %v, %v", list, err)
	}
	_, err = through.GetTool(ctx, &ragdv1.GetToolRequest{ToolName: "two"})
	servicetest.WantCode(t, "a tool that the server does not show", err, connect.CodeNotFound)
	_, err = through.ListIndexes(ctx, &ragdv1.ListIndexesRequest{})
	servicetest.WantCode(t, "another method through the server", err, connect.CodePermissionDenied)
}

func TestWhoAmI(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme")
	ctx := t.Context()
	made, err := s.Operator().CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{
		TenantId: "acme", Scopes: []string{"write"}, Tools: names("one"), Servers: names(), MandatoryFilter: servicetest.Object(t, map[string]any{"a": 1.0}),
	})
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		client servicetest.Client
		want   *ragdv1.WhoAmIResponse
	}{
		"a key": {s.Client(made.Secret), &ragdv1.WhoAmIResponse{
			Subject: made.ApiKey.ApiKeyId, TenantId: "acme", Scopes: []string{"read", "write"}, Filtered: true, Tools: names("one"), Servers: names(),
		}},
		"the operator":            {s.Operator(), &ragdv1.WhoAmIResponse{Subject: "operator", Scopes: []string{"read", "write", "admin", "operator"}}},
		"the operator for tenant": {s.Operator("Ragd-Tenant", "acme"), &ragdv1.WhoAmIResponse{Subject: "operator", TenantId: "acme", Scopes: []string{"read", "write", "admin", "operator"}}},
	} {
		got, err := c.client.WhoAmI(ctx, &ragdv1.WhoAmIRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	_, err = s.Client("ragd_aaaaaaaaaaaa_wrong").WhoAmI(ctx, &ragdv1.WhoAmIRequest{})
	servicetest.WantCode(t, "a wrong key", err, connect.CodeUnauthenticated)
}
