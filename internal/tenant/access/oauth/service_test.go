package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/go-jose/go-jose/v4"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// world is the service with an issuer, reachable over Connect and MCP.
type world struct {
	*issuer
	*servicetest.Service
	token func(changes map[string]any) string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	i := newIssuer(t)
	key := i.key(t, "one")
	tokens, err := NewIssuers(IssuersConfig{
		PublicURL: "https://rag.example.com", Guard: loopback(t), Now: i.now,
		Operator: []Config{{Issuer: i.URL, Audiences: []string{audience}, FilterClaim: "see"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := servicetest.New(t, service.Config{Tokens: tokens, MCP: mcphttp.Config{
		RecheckEvery: 50 * time.Millisecond, PublicURL: "https://rag.example.com",
	}})
	return &world{i, s, func(changes map[string]any) string {
		all := map[string]any{"see": map[string]any{}}
		for name, value := range changes {
			all[name] = value
		}
		return sign(t, key, jose.ES256, "one", nil, i.claims(all))
	}}
}

// post calls a tool over MCP.
func (w *world) post(t *testing.T, token, tool, arguments string) (status int, challenge, body string) {
	t.Helper()
	return w.postTo(t, mcphttp.Path, token, tool, arguments)
}

// postTo is post, for another path.
func (w *world) postTo(t *testing.T, path, token, tool, arguments string) (status int, challenge, body string) {
	t.Helper()
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, tool, arguments)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL+path, strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Method": "tools/call", "Mcp-Name": tool,
		"Mcp-Protocol-Version": "2026-07-28", "Authorization": "Bearer " + token,
	} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header.Get("WWW-Authenticate"), string(raw)
}

func TestTokensOverConnectAndMCP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	acme := w.Tenant(t, "acme") // with an API key, which is still accepted
	acme.Index(t, "docs")
	for team, text := range map[string]string{"red": "The red lighthouse burns oil.", "blue": "The blue lighthouse burns gas."} {
		metadata, err := structpb.NewStruct(map[string]any{"team": team})
		if err != nil {
			t.Fatal(err)
		}
		acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: team, Source: &ragdv1.UploadDocumentRequest_Text{Text: text}, Metadata: metadata})
	}
	w.Tenant(t, "globex").Index(t, "docs")

	alice := w.token(map[string]any{"see": map[string]any{"team": "red"}})
	query := &ragdv1.VectorQueryRequest{QueryText: "lighthouse", IndexName: "docs"}
	res, err := w.Client(alice).VectorQuery(t.Context(), query)
	if err != nil || len(res.GetSources()) != 1 || res.GetSources()[0].GetUri() != "red" {
		t.Errorf("the token's filter over Connect: %v, %v", res, err)
	}
	status, _, body := w.post(t, alice, "vector_query", `{"queryText":"lighthouse","indexName":"docs","filter":{"team":"blue"}}`)
	if status != http.StatusOK || strings.Contains(body, "gas") {
		t.Errorf("the token's filter over MCP: %d %s", status, body)
	}
	if _, _, body = w.post(t, alice, "vector_query", `{"queryText":"lighthouse","indexName":"docs"}`); !strings.Contains(body, "burns oil") {
		t.Errorf("alice does not see the documents of her team: %s", body)
	}
	other := w.token(map[string]any{"tenant": "globex"})
	if res, err := w.Client(other).VectorQuery(t.Context(), query); err != nil || len(res.GetSources()) != 0 {
		t.Errorf("another tenant's token: %v, %v", res, err)
	}
	_, err = w.Client(alice, "Ragd-Tenant", "globex").VectorQuery(t.Context(), query)
	wantConnect(t, err, connect.CodePermissionDenied, "")
	_, err = w.Client(alice).ListTenants(t.Context(), &ragdv1.ListTenantsRequest{}) // although the token has the scope operator
	wantConnect(t, err, connect.CodePermissionDenied, `error="insufficient_scope", scope="read write admin operator"`)

	reader := w.token(map[string]any{"scope": "read"})
	_, err = w.Client(reader).UploadDocument(t.Context(), &ragdv1.UploadDocumentRequest{IndexName: "docs"})
	wantConnect(t, err, connect.CodePermissionDenied, `error="insufficient_scope", scope="read write"`)
	status, challenge, _ := w.post(t, reader, "upload_document", `{"text":"x"}`)
	const metadata = `Bearer resource_metadata="https://rag.example.com/.well-known/oauth-protected-resource/mcp"`
	if want := metadata + `, error="insufficient_scope", scope="read write"`; status != http.StatusForbidden || challenge != want {
		t.Errorf("a tool that needs another scope: %d %s", status, challenge)
	}
	status, challenge, _ = w.post(t, w.token(map[string]any{"scope": "openid"}), "list_indexes", `{}`)
	if want := metadata + `, error="insufficient_scope", scope="read"`; status != http.StatusForbidden || challenge != want {
		t.Errorf("no scope: %d %s", status, challenge)
	}

	for name, bad := range map[string]string{
		"expired":              w.token(map[string]any{"exp": time.Now().Unix() - 60}),
		"wrong audience":       w.token(map[string]any{"aud": "https://other"}),
		"missing tenant":       w.token(map[string]any{"tenant": nil}),
		"unknown tenant":       w.token(map[string]any{"tenant": "nobody"}),
		"a tenant that is SQL": w.token(map[string]any{"tenant": `acme"; DROP SCHEMA ragd; --`}),
		"without filter":       w.token(map[string]any{"see": nil}),
		"another signature":    alice[:len(alice)-8] + "AAAAAAAA",
	} {
		_, err := w.Client(bad).ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{})
		wantConnect(t, err, connect.CodeUnauthenticated, `error="invalid_token"`)
		status, challenge, _ := w.post(t, bad, "list_indexes", `{}`)
		if status != http.StatusUnauthorized || !strings.HasPrefix(challenge, metadata) || !strings.Contains(challenge, `error="invalid_token"`) {
			t.Errorf("%s: %d %s", name, status, challenge)
		}
	}

	var document struct {
		Resource             string   `json:"resource"`
		AuthorizationServers []string `json:"authorization_servers"`
	}
	found, err := http.Get(w.URL + "/.well-known/oauth-protected-resource/mcp")
	if err != nil {
		t.Fatal(err)
	}
	defer found.Body.Close()
	if err := json.NewDecoder(found.Body).Decode(&document); err != nil {
		t.Fatal(err)
	}
	if document.Resource != audience || len(document.AuthorizationServers) != 1 || document.AuthorizationServers[0] != w.issuer.URL {
		t.Errorf("metadata: %+v", document)
	}
}

func wantConnect(t *testing.T, err error, code connect.Code, challenge string) {
	t.Helper()
	wired := new(connect.Error)
	if connect.CodeOf(err) != code || !errors.As(err, &wired) {
		t.Errorf("error = %v, want %v", err, code)
		return
	}
	if got := wired.Meta().Get("WWW-Authenticate"); !strings.Contains(got, challenge) {
		t.Errorf("challenge = %s, want %s", got, challenge)
	}
}

func TestAStreamEndsWhenItsCredentialDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Tenant(t, "acme")
	key, err := w.Operator().CreateApiKey(t.Context(), &ragdv1.CreateApiKeyRequest{TenantId: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	byKey, byToken := w.listen(t, key.GetSecret()), w.listen(t, w.token(nil))
	if _, err := w.Operator().RevokeApiKey(t.Context(), &ragdv1.RevokeApiKeyRequest{ApiKeyId: key.GetApiKey().GetApiKeyId()}); err != nil {
		t.Fatal(err)
	}
	if err := byKey(); err != nil {
		t.Errorf("the stream of a revoked key: %v", err)
	}
	w.advance(time.Hour)
	if err := byToken(); err != nil {
		t.Errorf("the stream of an expired token: %v", err)
	}
}

// listen opens a stream and returns a function that waits for its end.
func (w *world) listen(t *testing.T, secret string) (ended func() error) {
	t.Helper()
	const body = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL+mcphttp.Path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Method": "subscriptions/listen",
		"Mcp-Protocol-Version": "2026-07-28", "Authorization": "Bearer " + secret,
	} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	return func() error {
		_, _ = io.Copy(io.Discard, res.Body)
		return ctx.Err()
	}
}
