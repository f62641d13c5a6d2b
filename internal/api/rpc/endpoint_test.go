package rpc_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/logtest"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// thisMachine allows tenants to use the fakes of a test.
var thisMachine = []string{"127.0.0.0/8"}

func masterKeys(t *testing.T, digits ...string) *seal.Keys {
	t.Helper()
	var keys []string
	for _, d := range digits {
		keys = append(keys, strings.Repeat(d, 2*seal.KeyBytes))
	}
	parsed, err := seal.Parse(strings.Join(keys, ","))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func wantCode(t *testing.T, what string, err error, code connect.Code, parts ...string) {
	t.Helper()
	if connect.CodeOf(err) != code {
		t.Errorf("%s: %v, want %v", what, err, code)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %q does not say %q", what, err, part)
		}
	}
}

// A tenant's index, reranker and extraction use its own endpoints, with its own keys, which
// nobody sees again.
func TestATenantUsesItsOwnEndpoints(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	log := &logtest.Buffer{}
	s := servicetest.New(t, service.Config{
		AllowedPrivateNetworks: thisMachine, MasterKeys: masterKeys(t, "1"),
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	ctx := t.Context()
	const header = "team-secret-0815"
	made, err := acme.CreateEndpoint(ctx, &ragdv1.CreateEndpointRequest{
		EndpointName: "mine", Kind: "cohere", BaseUrl: ai.URL, ApiKey: modelserver.Key,
		Headers: &ragdv1.EndpointHeaders{Headers: map[string]string{"x-team": header}},
		Models:  []*ragdv1.EndpointModel{{Model: "embed-8", Dimension: 8}, {Model: "rerank-*"}, {Model: "chat"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !made.GetHasApiKey() || strings.Join(made.GetHeaderNames(), " ") != "X-Team" || made.GetMaxConcurrentCalls() != 8 || made.GetTimeoutMs() != 30_000 {
		t.Errorf("made %v", made)
	}
	if _, err := acme.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "docs", EmbeddingModel: "mine/embed-8"}); err != nil {
		t.Fatal(err)
	}
	d := acme.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: "a", Source: servicetest.Text("The harbour has two gates."),
		Extract: servicetest.Object(t, map[string]any{"model": "mine/chat", "summary": true}),
	})
	if d.GetStatus() != "ready" {
		t.Fatalf("document %v", d)
	}
	res, err := acme.VectorQuery(ctx, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "gates", Reranker: &ragdv1.Reranker{Model: "mine/rerank-v3.5"}})
	if err != nil || len(res.GetSources()) != 1 || len(res.GetWarnings()) != 0 {
		t.Fatalf("%v, %v", res, err)
	}
	paths := map[string]bool{}
	for _, r := range ai.Requests() {
		paths[r.Path] = true
		if r.Header.Get("Authorization") != "Bearer "+modelserver.Key || r.Header.Get("X-Team") != header {
			t.Errorf("%s came without the key or the header", r.Path)
		}
	}
	for _, path := range []string{"/v2/embed", "/v2/rerank", "/compatibility/v1/chat/completions"} {
		if !paths[path] {
			t.Errorf("%s was not called: %v", path, paths)
		}
	}

	// Nobody else uses it, nor sees that there is one.
	_, err = bolt.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "docs", EmbeddingModel: "mine/embed-8"})
	wantCode(t, "another tenant's model", err, connect.CodeInvalidArgument, `there is no endpoint "mine"`)
	_, err = bolt.GetEndpoint(ctx, &ragdv1.GetEndpointRequest{EndpointName: "mine"})
	wantCode(t, "another tenant's endpoint", err, connect.CodeNotFound)
	_, err = bolt.TestEndpoint(ctx, &ragdv1.TestEndpointRequest{EndpointName: "mine"})
	wantCode(t, "another tenant's test", err, connect.CodeNotFound)
	_, err = bolt.UpdateEndpoint(ctx, &ragdv1.UpdateEndpointRequest{EndpointName: "mine", BaseUrl: new(ai.URL)})
	wantCode(t, "another tenant's change", err, connect.CodeNotFound)
	_, err = bolt.DeleteEndpoint(ctx, &ragdv1.DeleteEndpointRequest{EndpointName: "mine"})
	wantCode(t, "another tenant's deletion", err, connect.CodeNotFound)
	if list, err := bolt.ListEndpoints(ctx, &ragdv1.ListEndpointsRequest{}); err != nil || len(list.GetEndpoints()) != 0 {
		t.Errorf("another tenant lists %v, %v", list, err)
	}

	// In use, it cannot be deleted.
	_, err = acme.DeleteEndpoint(ctx, &ragdv1.DeleteEndpointRequest{EndpointName: "mine"})
	wantCode(t, "deletion of an endpoint in use", err, connect.CodeFailedPrecondition, `"docs"`)

	// The provider repeats the key in its error.
	ai.Set(modelserver.Fault{Status: 400, Body: "", Code: modelserver.Key})
	_, err = acme.TestEndpoint(ctx, &ragdv1.TestEndpointRequest{EndpointName: "mine", Model: "embed-8"})
	wantCode(t, "a refused request", err, connect.CodeInvalidArgument)
	ai.Set(modelserver.Fault{})

	// The secrets are nowhere to be seen: not in answers, the log, or the database.
	got, err := acme.GetEndpoint(ctx, &ragdv1.GetEndpointRequest{EndpointName: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := acme.ListEndpoints(ctx, &ragdv1.ListEndpointsRequest{})
	if err != nil || len(list.GetEndpoints()) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	var row string
	if err := s.Pool.QueryRow(ctx, `SELECT e::text || coalesce(encode(e.secret, 'escape'), '') FROM ragd_shared.endpoints AS e`).Scan(&row); err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"an answer": fmt.Sprint(made, got, list), "the log": log.String(), "the database": row} {
		for _, secret := range []string{modelserver.Key, modelserver.Key[3:12], header} {
			if strings.Contains(text, secret) {
				t.Errorf("%s shows %s: %s", what, secret, text)
			}
		}
	}

	if _, err := acme.DeleteIndex(ctx, &ragdv1.DeleteIndexRequest{IndexName: "docs"}); err != nil {
		t.Fatal(err)
	}
	if _, err := acme.DeleteEndpoint(ctx, &ragdv1.DeleteEndpointRequest{EndpointName: "mine"}); err != nil {
		t.Error(err)
	}
	_, err = acme.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "docs", EmbeddingModel: "mine/embed-8"})
	wantCode(t, "a model of a deleted endpoint", err, connect.CodeInvalidArgument)
}

func TestEndpointsAreForAdministrators(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true, MasterKeys: masterKeys(t, "1")})
	s.Tenant(t, "acme")
	ctx := t.Context()
	for scope, code := range map[string]connect.Code{"read": connect.CodePermissionDenied, "write": connect.CodePermissionDenied} {
		c := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{scope}}))
		_, err := c.CreateEndpoint(ctx, &ragdv1.CreateEndpointRequest{EndpointName: "e", Kind: "voyage"})
		wantCode(t, scope, err, code)
		_, err = c.ListEndpoints(ctx, &ragdv1.ListEndpointsRequest{})
		wantCode(t, scope, err, code)
		_, err = c.TestEndpoint(ctx, &ragdv1.TestEndpointRequest{EndpointName: "e"})
		wantCode(t, scope, err, code)
	}
	_, err := s.Operator("Ragd-Tenant", "acme").CreateEndpoint(ctx, &ragdv1.CreateEndpointRequest{EndpointName: "e", Kind: "voyage", ApiKey: "k"})
	if err != nil {
		t.Errorf("the operator for a tenant: %v", err)
	}
}

func TestEndpointsAreChecked(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	s := servicetest.New(t, service.Config{
		NoWorkers: true, MasterKeys: masterKeys(t, "1"),
		Providers: service.Providers{OpenAI: endpoint.Config{BaseURL: ai.URL + "/v1", APIKey: modelserver.Key}},
	})
	acme := s.Tenant(t, "acme")
	ctx := t.Context()
	for _, tc := range []struct {
		req   *ragdv1.CreateEndpointRequest
		code  connect.Code
		parts string
	}{
		{&ragdv1.CreateEndpointRequest{EndpointName: "openai", Kind: "openai-compatible"}, connect.CodeAlreadyExists, "one of the operator's"},
		{&ragdv1.CreateEndpointRequest{EndpointName: "builtin", Kind: "tei"}, connect.CodeInvalidArgument, "endpointName"},
		{&ragdv1.CreateEndpointRequest{EndpointName: "local", Kind: "tei"}, connect.CodeInvalidArgument, "endpointName"},
		{&ragdv1.CreateEndpointRequest{EndpointName: "A/b", Kind: "tei"}, connect.CodeInvalidArgument, "endpointName"},
		{&ragdv1.CreateEndpointRequest{EndpointName: "e", Kind: "local"}, connect.CodeInvalidArgument, "kind"},
		{&ragdv1.CreateEndpointRequest{EndpointName: "e", Kind: "tei"}, connect.CodeInvalidArgument, "baseUrl"},
		{&ragdv1.CreateEndpointRequest{EndpointName: "e", Kind: "tei", BaseUrl: ai.URL}, connect.CodeFailedPrecondition, "allowed-private-networks"},
		{&ragdv1.CreateEndpointRequest{EndpointName: "e", Kind: "tei", BaseUrl: "http://169.254.169.254"}, connect.CodeFailedPrecondition, "allowed-private-networks"},
		{&ragdv1.CreateEndpointRequest{EndpointName: "e", Kind: "tei", BaseUrl: "https://u:pw@example.com"}, connect.CodeInvalidArgument, "baseUrl"},
		{&ragdv1.CreateEndpointRequest{EndpointName: "e", Kind: "voyage", ApiKey: "a\nb"}, connect.CodeInvalidArgument, "apiKey"},
		{&ragdv1.CreateEndpointRequest{EndpointName: "e", Kind: "voyage", Headers: &ragdv1.EndpointHeaders{Headers: map[string]string{"host": "x"}}}, connect.CodeInvalidArgument, "headers"},
		{&ragdv1.CreateEndpointRequest{EndpointName: "e", Kind: "voyage", Headers: &ragdv1.EndpointHeaders{Headers: map[string]string{"x": "a\r\nb"}}}, connect.CodeInvalidArgument, "headers"},
		{&ragdv1.CreateEndpointRequest{EndpointName: "e", Kind: "voyage", MaxConcurrentCalls: 65}, connect.CodeInvalidArgument, "maxConcurrentCalls"},
		{&ragdv1.CreateEndpointRequest{EndpointName: "e", Kind: "voyage", RequestsPerSecond: -1}, connect.CodeInvalidArgument, "requestsPerSecond"},
		{&ragdv1.CreateEndpointRequest{EndpointName: "e", Kind: "voyage", TimeoutMs: 99}, connect.CodeInvalidArgument, "timeoutMs"},
		{&ragdv1.CreateEndpointRequest{EndpointName: "e", Kind: "voyage", Models: []*ragdv1.EndpointModel{{Model: "a b"}}}, connect.CodeInvalidArgument, "models"},
	} {
		_, err := acme.CreateEndpoint(ctx, tc.req)
		wantCode(t, fmt.Sprint(tc.req), err, tc.code, tc.parts)
	}
	// A name that resolves to this machine passes the check of the text, but no call.
	if _, err := acme.CreateEndpoint(ctx, &ragdv1.CreateEndpointRequest{EndpointName: "rebind", Kind: "tei", BaseUrl: strings.Replace(ai.URL, "127.0.0.1", "localhost", 1)}); err != nil {
		t.Fatal(err)
	}
	_, err := acme.TestEndpoint(ctx, &ragdv1.TestEndpointRequest{EndpointName: "rebind"})
	wantCode(t, "a name of this machine", err, connect.CodeFailedPrecondition, "allowed-private-networks")
	_, err = acme.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "docs", EmbeddingModel: "rebind/m"})
	wantCode(t, "a name of this machine", err, connect.CodeFailedPrecondition, "allowed-private-networks")
	if n := len(ai.Requests()); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
	// The operator's endpoint is there for all, and not guarded.
	list, err := acme.ListEndpoints(ctx, &ragdv1.ListEndpointsRequest{})
	if err != nil || len(list.GetOperatorEndpoints()) != 1 || list.GetOperatorEndpoints()[0].GetBaseUrl() != "" || !list.GetOperatorEndpoints()[0].GetOperator() {
		t.Errorf("%v, %v", list, err)
	}
	tested, err := acme.TestEndpoint(ctx, &ragdv1.TestEndpointRequest{EndpointName: "openai"})
	if err != nil || strings.Join(tested.GetModels(), " ") != "m-embed m-chat" {
		t.Errorf("%v, %v", tested, err)
	}
	_, err = acme.DeleteEndpoint(ctx, &ragdv1.DeleteEndpointRequest{EndpointName: "openai"})
	wantCode(t, "deletion of the operator's", err, connect.CodeNotFound)
}

func TestKeysOfEndpointsNeedAMasterKey(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	_, err := acme.CreateEndpoint(t.Context(), &ragdv1.CreateEndpointRequest{EndpointName: "e", Kind: "voyage", ApiKey: "k"})
	wantCode(t, "a key", err, connect.CodeFailedPrecondition, "RAGD_MASTER_KEY")
	if _, err := acme.CreateEndpoint(t.Context(), &ragdv1.CreateEndpointRequest{EndpointName: "e", Kind: "voyage"}); err != nil {
		t.Errorf("without a key: %v", err)
	}
}

func TestAnotherAddressNeedsTheKeyAgain(t *testing.T) {
	t.Parallel()
	ai, thief := modelserver.New(t), modelserver.New(t)
	s := servicetest.New(t, service.Config{NoWorkers: true, MasterKeys: masterKeys(t, "1"), AllowedPrivateNetworks: thisMachine})
	acme := s.Tenant(t, "acme")
	ctx := t.Context()
	if _, err := acme.CreateEndpoint(ctx, &ragdv1.CreateEndpointRequest{EndpointName: "e", Kind: "tei", BaseUrl: ai.URL, ApiKey: modelserver.Key}); err != nil {
		t.Fatal(err)
	}
	_, err := acme.UpdateEndpoint(ctx, &ragdv1.UpdateEndpointRequest{EndpointName: "e", BaseUrl: new(thief.URL)})
	wantCode(t, "another address", err, connect.CodeInvalidArgument, "baseUrl")
	if _, err := acme.UpdateEndpoint(ctx, &ragdv1.UpdateEndpointRequest{EndpointName: "e", MaxConcurrentCalls: new(int32(3)), TimeoutMs: new(int32(1000))}); err != nil {
		t.Fatal(err)
	}
	if _, err := acme.TestEndpoint(ctx, &ragdv1.TestEndpointRequest{EndpointName: "e"}); err != nil {
		t.Fatal(err)
	}
	if got := ai.Requests()[0].Header.Get("Authorization"); got != "Bearer "+modelserver.Key {
		t.Errorf("the key is gone after another change: %q", got)
	}
	// Somebody with access to the database points the row elsewhere.
	if _, err := s.Pool.Exec(ctx, `UPDATE ragd_shared.endpoints SET base_url = $1, updated_at = now()`, thief.URL); err != nil {
		t.Fatal(err)
	}
	acme2, err := acme.UpdateEndpoint(ctx, &ragdv1.UpdateEndpointRequest{EndpointName: "e", MaxConcurrentCalls: new(int32(4))})
	if err != nil {
		t.Fatal(acme2, err)
	}
	_, err = acme.TestEndpoint(ctx, &ragdv1.TestEndpointRequest{EndpointName: "e"})
	wantCode(t, "a moved row", err, connect.CodeFailedPrecondition, "give it again")
	if n := len(thief.Requests()); n != 0 {
		t.Errorf("the thief got %d requests", n)
	}
	if _, err := acme.UpdateEndpoint(ctx, &ragdv1.UpdateEndpointRequest{EndpointName: "e", ApiKey: new(""), Headers: &ragdv1.EndpointHeaders{}}); err != nil {
		t.Fatal(err)
	}
	if _, err := acme.TestEndpoint(ctx, &ragdv1.TestEndpointRequest{EndpointName: "e"}); err != nil {
		t.Fatal(err)
	}
	if got := thief.Requests()[0].Header.Get("Authorization"); got != "" {
		t.Errorf("a removed key was sent: %q", got)
	}
}

// A row's secret copied into another tenant's row does not open there.
func TestSecretsCannotBeSwappedBetweenRows(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	s := servicetest.New(t, service.Config{NoWorkers: true, MasterKeys: masterKeys(t, "1"), AllowedPrivateNetworks: thisMachine})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	ctx := t.Context()
	for c, key := range map[*servicetest.Client]string{&acme: modelserver.Key, &bolt: "other"} {
		if _, err := c.CreateEndpoint(ctx, &ragdv1.CreateEndpointRequest{EndpointName: "e", Kind: "tei", BaseUrl: ai.URL, ApiKey: key}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Pool.Exec(ctx, `
		UPDATE ragd_shared.endpoints AS b SET secret = a.secret FROM ragd_shared.endpoints AS a WHERE a.tenant_id = 'acme' AND b.tenant_id = 'bolt'`)
	if err != nil {
		t.Fatal(err)
	}
	_, err = bolt.TestEndpoint(ctx, &ragdv1.TestEndpointRequest{EndpointName: "e"})
	wantCode(t, "a stolen secret", err, connect.CodeFailedPrecondition)
	if _, err := acme.TestEndpoint(ctx, &ragdv1.TestEndpointRequest{EndpointName: "e"}); err != nil {
		t.Error(err)
	}
}

// Calls to a tenant's endpoint that never answers take none of the capacity of another's.
func TestABrokenEndpointOfOneTenantDoesNotStopAnother(t *testing.T) {
	t.Parallel()
	hanging, well := modelserver.New(t), modelserver.New(t)
	s := servicetest.New(t, service.Config{MasterKeys: masterKeys(t, "1"), AllowedPrivateNetworks: thisMachine})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	ctx := t.Context()
	for c, ai := range map[*servicetest.Client]*modelserver.Server{&acme: hanging, &bolt: well} {
		if _, err := c.CreateEndpoint(ctx, &ragdv1.CreateEndpointRequest{EndpointName: "e", Kind: "tei", BaseUrl: ai.URL, TimeoutMs: 500}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "docs", EmbeddingModel: "e/m"}); err != nil {
			t.Fatal(err)
		}
	}
	hanging.Set(modelserver.Fault{Hang: true})
	for i := range 40 {
		_, err := acme.UploadDocument(ctx, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: fmt.Sprint(i), Source: servicetest.Text(fmt.Sprint("text ", i))})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		d := bolt.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: fmt.Sprint(i), Source: servicetest.Text(fmt.Sprint("text ", i))})
		if d.GetStatus() != "ready" {
			t.Errorf("document %v", d)
		}
	}
	if _, err := bolt.VectorQuery(ctx, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "text"}); err != nil {
		t.Error(err)
	}
}
