package rpc_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// send posts a body unchanged and returns the status and body of the answer.
func send(t *testing.T, s *servicetest.Service, secret, method string, body io.Reader, headers ...string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/ragd.v1."+method, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+secret)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, answer
}

// Answers in JSON contain empty and zero fields.
func TestJSONHasEveryField(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	_, body := send(t, s, acme.Secret, "QueryService/VectorQuery", strings.NewReader(`{"indexName": "docs", "queryText": "a"}`))
	var answer map[string]any
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatal(err)
	}
	if sources, ok := answer["sources"].([]any); !ok || len(sources) != 0 || answer["relevantContext"] != "" {
		t.Errorf("an empty answer = %s", body)
	}
	_, body = send(t, s, acme.Secret, "IndexService/DescribeIndex", strings.NewReader(`{"indexName": "docs"}`))
	clear(answer)
	if err := json.Unmarshal(body, &answer); err != nil || answer["count"] != 0.0 || answer["documentCount"] != 0.0 {
		t.Errorf("an empty index = %s, %v", body, err)
	}
}

// Repeated or malformed context headers are rejected, so that a restriction is never
// lost.
func TestInvalidContextHeadersAreRejected(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	for name, headers := range map[string][]string{
		"given twice":           {"Ragd-Context", `{"topK": 1}`, "Ragd-Context", `{"filter": {"a": 1}}`},
		"a tenant given twice":  {"Ragd-Tenant", "acme", "Ragd-Tenant", "bolt"},
		"a key given twice":     {"Ragd-Context", `{"filter": {"a": 1}, "filter": {}}`},
		"a key in capitals":     {"Ragd-Context", `{"FILTER": {"a": 1}}`},
		"a nested key twice":    {"Ragd-Context", `{"filter": {"a": 1, "a": 2}}`},
		"something behind it":   {"Ragd-Context", `{} {"filter": {"a": 1}}`},
		"no object":             {"Ragd-Context", `[]`},
		"an object without end": {"Ragd-Context", `{"topK": 1`},
		"a wrong type":          {"Ragd-Context", `{"topK": "many"}`},
		"over the limit":        {"Ragd-Context", `{"indexName": "` + strings.Repeat("x", 20_000) + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := send(t, s, acme.Secret, "QueryService/VectorQuery", strings.NewReader(`{"queryText": "a"}`), headers...)
			if status != http.StatusBadRequest || !bytes.Contains(body, []byte(headers[0])) {
				t.Errorf("answer %d: %s", status, body)
			}
		})
	}
}

// A small compressed body that inflates to a huge one is rejected at the limit.
func TestCompressedBombs(t *testing.T) {
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	bomb := compressed(t, " ", 512<<20)
	took := allocated(func() {
		status, body := send(t, s, acme.Secret, "QueryService/VectorQuery", bytes.NewReader(bomb), "Content-Encoding", "gzip")
		if status != http.StatusTooManyRequests {
			t.Errorf("answer %d: %.200s", status, body)
		}
	})
	if took > 400<<20 {
		t.Errorf("it took %d MB", took>>20)
	}
}

// A long answer is compressed for a caller that reads that, and is the same one.
func TestLongAnswersAreCompressed(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	body := `{"text": "` + strings.Repeat("The coolant pump has greased bearings. ", 1000) + `"}`
	_, plain := send(t, s, acme.Secret, "ChunkService/ChunkText", strings.NewReader(body))
	status, packed := send(t, s, acme.Secret, "ChunkService/ChunkText", strings.NewReader(body), "Accept-Encoding", "gzip")
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatalf("answer %d: %v: %.100s", status, err, packed)
	}
	read, err := io.ReadAll(z)
	if err != nil || !bytes.Equal(read, plain) || len(packed) > len(plain)/4 {
		t.Errorf("%d bytes for %d, %v: %.200s", len(packed), len(plain), err, read)
	}
}

func TestEmptyMandatoryFiltersAreRejected(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme")
	for _, empty := range []map[string]any{{}, {"$and": []any{}}} {
		_, err := s.Operator().CreateApiKey(t.Context(), &ragdv1.CreateApiKeyRequest{TenantId: "acme", MandatoryFilter: servicetest.Object(t, empty)})
		servicetest.WantCode(t, "an empty filter", err, connect.CodeInvalidArgument)
	}
}

func TestOperatorKeysCanBeListedAndRevoked(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme")
	ctx := t.Context()
	made, err := s.Operator().CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{Scopes: []string{"operator"}, DisplayName: "second"})
	if err != nil {
		t.Fatal(err)
	}
	second := s.Client(made.Secret)
	list, err := second.ListApiKeys(ctx, &ragdv1.ListApiKeysRequest{})
	if err != nil || len(list.ApiKeys) != 1 || list.ApiKeys[0].ApiKeyId != made.ApiKey.ApiKeyId {
		t.Errorf("the operator keys = %v, %v", list, err)
	}
	if _, err := s.Operator().RevokeApiKey(ctx, &ragdv1.RevokeApiKeyRequest{ApiKeyId: made.ApiKey.ApiKeyId}); err != nil {
		t.Fatal(err)
	}
	_, err = second.ListTenants(ctx, &ragdv1.ListTenantsRequest{})
	servicetest.WantCode(t, "a revoked operator key", err, connect.CodeUnauthenticated)
}
