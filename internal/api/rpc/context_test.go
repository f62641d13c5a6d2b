package rpc_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func declare(t *testing.T, c servicetest.Client, key *ragdv1.ContextKey) {
	t.Helper()
	if _, err := c.DeclareContextKey(t.Context(), &ragdv1.DeclareContextKeyRequest{Key: key}); err != nil {
		t.Fatal(err)
	}
}

// ids returns the ids of what a query finds, and the answer.
func readBy(t *testing.T, c servicetest.Client, filter *structpb.Value) (string, *ragdv1.VectorQueryResponse) {
	t.Helper()
	answer, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "notes", QueryVector: []float32{1, 0}, Filter: filter, Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, s := range answer.Sources {
		ids = append(ids, s.Id)
	}
	return strings.Join(ids, " "), answer
}

// Keys of one mandatory filter see different entries by their attributes; two tenants have keys
// of the request context with equal names.
func TestEntriesAreReadByAttributesOfTheKey(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme, bolt, ctx := s.Tenant(t, "acme"), s.Tenant(t, "bolt"), t.Context()
	for _, c := range []servicetest.Client{acme, bolt} {
		if _, err := c.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "notes", Dimension: 2}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Upsert(ctx, &ragdv1.UpsertRequest{IndexName: "notes", Entries: []*ragdv1.Entry{
			{Id: "hr", Values: []float32{1, 0}, Metadata: servicetest.Object(t, map[string]any{"readers": []any{"hr"}, "land": "de"})},
			{Id: "it", Values: []float32{1, 0.1}, Metadata: servicetest.Object(t, map[string]any{"readers": []any{"it", "law"}, "land": "fr"})},
			{Id: "none", Values: []float32{1, 0.2}},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	declare(t, acme, &ragdv1.ContextKey{Name: "land", Default: structpb.NewStringValue("de"), Schema: servicetest.Object(t, map[string]any{"type": "string"})})
	declare(t, acme, &ragdv1.ContextKey{Name: "pin", Source: "constant", Default: structpb.NewStringValue("geheim-1234"), Secret: true})
	declare(t, bolt, &ragdv1.ContextKey{Name: "land", Source: "constant", Default: structpb.NewStringValue("fr")})

	member := func(attributes map[string]any) servicetest.Client {
		return s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"write"}, Attributes: servicetest.Object(t, attributes),
			MandatoryFilter: servicetest.Object(t, map[string]any{"readers": map[string]any{"$in": map[string]any{"$context": "key.groups"}}})}))
	}
	for want, attributes := range map[string]map[string]any{
		"hr": {"groups": []any{"hr"}}, "it": {"groups": "law"}, "hr it": {"groups": []any{"law", "hr"}}, "": {"groups": map[string]any{"$exists": true}},
	} {
		if got, _ := readBy(t, member(attributes), nil); got != want {
			t.Errorf("%v sees %q", attributes, got)
		}
	}
	hr := member(map[string]any{"groups": []any{"hr"}})
	_, err := hr.Upsert(ctx, &ragdv1.UpsertRequest{IndexName: "notes", Entries: []*ragdv1.Entry{
		{Id: "new", Values: []float32{0, 1}, Metadata: servicetest.Object(t, map[string]any{"readers": []any{"it"}})},
	}})
	if connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Errorf("an entry for others was written: %v", err)
	}

	land := structpb.NewStructValue(servicetest.Object(t, map[string]any{"land": map[string]any{"$context": "context.land"}}))
	for name, want := range map[string]struct {
		client servicetest.Client
		ids    string
	}{
		"default": {acme, "hr"}, "header": {s.Client(acme.Secret, "Ragd-Context", `{"land": "fr"}`), "it"}, "other tenant": {bolt, "it"},
	} {
		if got, _ := readBy(t, want.client, land); got != want.ids {
			t.Errorf("%s: %q", name, got)
		}
	}
	_, answer := readBy(t, s.Client(acme.Secret, "Ragd-Context", `{"land": "fr", "topK": 2}`), nil)
	shown := fmt.Sprint(answer.Explain.Context)
	if strings.Contains(shown, "geheim") || !strings.Contains(shown, "header Ragd-Context") || !strings.Contains(shown, "pin") {
		t.Errorf("explained as %s", shown)
	}
	for header, want := range map[string]connect.Code{
		`{"land": "us", "pin": "1"}`: connect.CodePermissionDenied, `{"claims": {}}`: connect.CodeInvalidArgument, `{"unknown": 1}`: connect.CodeInvalidArgument,
	} {
		if _, err := s.Client(acme.Secret, "Ragd-Context", header).ListIndexes(ctx, &ragdv1.ListIndexesRequest{}); connect.CodeOf(err) != want {
			t.Errorf("%s: %v", header, err)
		}
	}
	if _, err := s.Client(bolt.Secret, "Ragd-Context", `{"land": "de"}`).ListIndexes(ctx, &ragdv1.ListIndexesRequest{}); connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Errorf("bolt's constant: %v", err)
	}
	if listed, err := bolt.ListContextKeys(ctx, &ragdv1.ListContextKeysRequest{}); err != nil || len(listed.Keys) != 1 || listed.Keys[0].Source != "constant" {
		t.Errorf("%v, %v", listed, err)
	}
	if got, err := acme.GetContextKey(ctx, &ragdv1.GetContextKeyRequest{Name: "pin"}); err != nil || got.Key.Default != nil {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := acme.DeleteContextKey(ctx, &ragdv1.DeleteContextKeyRequest{Name: "land"}); err != nil {
		t.Fatal(err)
	}
	if got, _ := readBy(t, acme, land); got != "" {
		t.Errorf("a deleted key selects %q", got)
	}
}

// A key cannot be bound to what its user chooses.
func TestMandatoryFiltersCannotReferToWhatCallersChoose(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme, ctx := s.Tenant(t, "acme"), t.Context()
	declare(t, acme, &ragdv1.ContextKey{Name: "country"})
	declare(t, acme, &ragdv1.ContextKey{Name: "department", Source: "header", From: "x-department"})
	declare(t, acme, &ragdv1.ContextKey{Name: "team", Source: "attribute", From: "team"})
	for path, allowed := range map[string]bool{
		"context.country": false, "context.department": false, "context.topK": false, "context.absent": false, "server": false,
		"context.team": true, "key.team": true, "claims.groups": true, "subject": true, "tenant": true,
	} {
		_, err := acme.CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{MandatoryFilter: servicetest.Object(t, map[string]any{"team": map[string]any{"$context": path}})})
		if (err == nil) != allowed {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestBadDeclarationsAreRefused(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme, ctx := s.Tenant(t, "acme"), t.Context()
	text := structpb.NewStringValue("x")
	for name, key := range map[string]*ragdv1.ContextKey{
		"nothing":  nil,
		"reserved": {Name: "claims"}, "known": {Name: "topK"}, "source": {Name: "a", Source: "cookie"}, "no name": {Name: "a", Source: "header"},
		"credential": {Name: "a", Source: "header", From: "authorization"}, "cookie": {Name: "a", Source: "header", From: "COOKIE"},
		"hop by hop": {Name: "a", Source: "header", From: "transfer-encoding"}, "own": {Name: "a", Source: "header", From: "Ragd-Tenant"},
		"no header": {Name: "a", Source: "header", From: "a b"}, "constant": {Name: "a", Source: "constant"}, "from": {Name: "a", From: "x"},
		"schema":  {Name: "a", Schema: servicetest.Object(t, map[string]any{"type": "nonsense"})},
		"default": {Name: "a", Schema: servicetest.Object(t, map[string]any{"type": "integer"}), Default: text},
		"large":   {Name: "a", Default: structpb.NewStringValue(strings.Repeat("x", 5000))},
	} {
		if _, err := acme.DeclareContextKey(ctx, &ragdv1.DeclareContextKeyRequest{Key: key}); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	filtered := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}, MandatoryFilter: servicetest.Object(t, map[string]any{"a": 1})}))
	for _, c := range []servicetest.Client{filtered, s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"write"}}))} {
		if _, err := c.DeclareContextKey(ctx, &ragdv1.DeclareContextKeyRequest{Key: &ragdv1.ContextKey{Name: "a"}}); connect.CodeOf(err) != connect.CodePermissionDenied {
			t.Errorf("a key without the right declared one: %v", err)
		}
	}
}

// A secret key reaches a tool's endpoint, and nobody who reads a prompt, the instructions of a
// server or what the endpoint answers.
func TestSecretKeysAreNotShown(t *testing.T) {
	t.Parallel()
	const secret = "a-very-private-value"
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		fmt.Fprintf(w, "got %d: %s", len(r.Header.Get("X-Token")), r.Header.Get("X-Token"))
	}))
	t.Cleanup(echo.Close)
	s := servicetest.New(t, service.Config{NoWorkers: true, AllowedPrivateNetworks: thisMachine})
	acme, ctx := s.Tenant(t, "acme"), t.Context()
	declare(t, acme, &ragdv1.ContextKey{Name: "token", Source: "constant", Secret: true, Default: structpb.NewStringValue(secret)})
	declare(t, acme, &ragdv1.ContextKey{Name: "city", Source: "constant", Default: structpb.NewStringValue("Ulm")})
	const text = "in {{context.city}}: {{context.token}}!"
	if _, err := acme.CreatePrompt(ctx, &ragdv1.CreatePromptRequest{PromptName: "p", Messages: []*ragdv1.PromptMessage{
		{Content: &ragdv1.PromptMessage_Text{Text: text}},
		{Content: &ragdv1.PromptMessage_ResourceLink{ResourceLink: &ragdv1.PromptResource{Uri: "ragd://indexes/{{context.city}}/{{context.token ?? \"hidden\"}}"}}},
	}}); err != nil {
		t.Fatal(err)
	}
	if _, err := acme.CreateServer(ctx, &ragdv1.CreateServerRequest{ServerName: "front", Instructions: text}); err != nil {
		t.Fatal(err)
	}
	if _, err := acme.CreateTool(ctx, &ragdv1.CreateToolRequest{ToolName: "send", Kind: "http", Description: "Sends.", Settings: servicetest.Object(t, map[string]any{
		"method": "GET", "url": echo.URL, "headers": map[string]any{"X-Token": "{{context.token}}"},
	})}); err != nil {
		t.Fatal(err)
	}
	messages, err := acme.GetPromptMessages(ctx, &ragdv1.GetPromptMessagesRequest{PromptName: "p"})
	if err != nil || !strings.Contains(messages.String(), "in Ulm: !") || strings.Contains(messages.String(), secret) {
		t.Errorf("a prompt: %v, %v", messages, err)
	}
	agent := mcptest.Connect(t, s.URL+"/mcp/front", nil, authorization(acme))
	if _, text := mcptest.Call(t, agent, "send", nil, nil); text != fmt.Sprintf("got %d: ***", len(secret)) {
		t.Errorf("an answer: %s", text)
	}
	front, err := serverOf(ctx, s.URL+"/mcp/front", acme.Secret)
	if err != nil || !strings.Contains(front, "in Ulm: !") || strings.Contains(front, secret) {
		t.Errorf("instructions: %s, %v", front, err)
	}
}

// serverOf returns the answer to initialize at an address.
func serverOf(ctx context.Context, address, key string) (string, error) {
	const body = `{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}`
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header = http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return string(answer), err
}
