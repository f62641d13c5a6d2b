package service_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant/sleep"
)

// A tenant that is asleep is woken at every door, and its first answer is that of a tenant that was awake.
func TestEveryDoorWakesATenant(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{MasterKeys: servicetest.Keys(t), Sleep: sleep.StoreConfig{Place: t.TempDir()}})
	c := s.Tenant(t, "lull")
	_, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "songs", Dimension: 2})
	if err != nil {
		t.Fatal(err)
	}
	key := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "lull", Scopes: []string{"read"}})

	// send posts a body, or gets the path without one.
	send := func(t *testing.T, path, body string, headers ...string) (status int, answer string, header http.Header) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
		if body != "" {
			req, err = http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
		}
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		all, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(all), res.Header
	}
	const initialize = `{"jsonrpc": "2.0", "id": 1, "method": "initialize",
		"params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}`
	call := `{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_indexes", "arguments": {}}}`
	_, _, opened := send(t, "/mcp", initialize)
	session := opened.Get("Mcp-Session-Id")

	for _, door := range []struct {
		name, path, body string
		headers          []string
		status           int // once the tenant is awake
		want             string
	}{
		{"Connect", "/ragd.v1.IndexService/ListIndexes", "{}", nil, http.StatusOK, `"songs"`},
		{"gRPC-Web", "/ragd.v1.IndexService/ListIndexes", "\x00\x00\x00\x00\x00", []string{"Content-Type", "application/grpc-web+proto"}, http.StatusOK, "songs"},
		{"MCP", "/mcp", initialize, nil, http.StatusOK, `"serverInfo"`},
		// Sessions end with sleep: the client is told to open another one.
		{"MCP in a session", "/mcp", call, []string{"Mcp-Session-Id", session, "Mcp-Protocol-Version", "2025-06-18"}, http.StatusNotFound, ""},
		{"OpenAI's API", "/v1/vector_stores", "", nil, http.StatusOK, `"list"`},
		{"chat", "/v1/models", "", nil, http.StatusOK, `"passages"`},
	} {
		wait.For(t, "the tenant to sleep", func() bool {
			_, err := s.Operator().SleepTenant(t.Context(), &ragdv1.SleepTenantRequest{TenantId: "lull"})
			if err != nil && !strings.Contains(err.Error(), "can be put to sleep when that has ended") {
				t.Fatal(err)
			}
			return err == nil
		})
		var status int
		var answer string
		wait.For(t, "the tenant to wake by "+door.name, func() bool {
			var header http.Header
			status, answer, header = send(t, door.path, door.body, door.headers...)
			refused := status == http.StatusServiceUnavailable || header.Get("Grpc-Status") == fmt.Sprint(int(connect.CodeUnavailable))
			if refused && header.Get("Retry-After") == "" && header.Get("Grpc-Status") == "" {
				t.Errorf("%s: the refusal has no Retry-After: %s", door.name, answer)
			}
			return !refused
		})
		if status != door.status || !strings.Contains(answer, door.want) {
			t.Errorf("%s answers %d %s, want %d with %s", door.name, status, answer, door.status, door.want)
		}
	}
}
