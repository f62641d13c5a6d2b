package service_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/dataset/synthetic"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// BenchmarkCall asks for the ten nearest of 200 vectors with metadata, over Connect and
// over MCP, with the client in the same process. bench/retrieval compares such calls with
// bare pgx.
func BenchmarkCall(b *testing.B) {
	s := servicetest.New(b, service.Config{})
	client := s.Tenant(b, "acme")
	if _, err := client.CreateIndex(b.Context(), &ragdv1.CreateIndexRequest{IndexName: "bench", Dimension: synthetic.Dimension}); err != nil {
		b.Fatal(err)
	}
	upsert := &ragdv1.UpsertRequest{IndexName: "bench"}
	vectors := synthetic.Vectors(200, 1)
	for n, values := range vectors {
		metadata, err := structpb.NewStruct(synthetic.Metadata(n))
		if err != nil {
			b.Fatal(err)
		}
		upsert.Entries = append(upsert.Entries, &ragdv1.Entry{Id: fmt.Sprint(n), Values: values, Metadata: metadata})
	}
	if _, err := client.Upsert(b.Context(), upsert); err != nil {
		b.Fatal(err)
	}
	b.Run("connect", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := client.Query(b.Context(), &ragdv1.QueryRequest{IndexName: "bench", QueryVector: vectors[0]}); err != nil {
				b.Fatal(err)
			}
		}
	})
	call, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
		"name": "vector_query", "arguments": map[string]any{"indexName": "bench", "queryVector": vectors[0]},
		"_meta": map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{}},
	}})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("mcp", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			post(b, s.URL+mcphttp.Path, client.Secret, call)
		}
	})
}

// post sends a message of the revision without sessions, as it is.
func post(b *testing.B, url, secret string, message []byte) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, bytes.NewReader(message))
	if err != nil {
		b.Fatal(err)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + secret, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "vector_query",
	} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	if answer, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK || bytes.Contains(answer, []byte(`"isError"`)) {
		b.Fatalf("status %d, %v: %s", res.StatusCode, err, answer)
	}
}
