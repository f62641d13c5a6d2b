package mcp_test

import (
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// The progress of a real index build is reported from the first to the last vector, to
// its own tenant only.
func TestProgressOfABuild(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	address := s.URL + mcphttp.Path
	acme, globex := s.Tenant(t, "acme"), s.Tenant(t, "globex")
	if _, err := acme.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 8}); err != nil {
		t.Fatal(err)
	}
	const vectors = 500
	entries := make([]*ragdv1.Entry, vectors)
	for i := range entries {
		values := make([]float32, 8)
		for j := range values {
			values[j] = float32((i*(j+1))%97) + 1
		}
		entries[i] = &ragdv1.Entry{Values: values}
	}
	if _, err := acme.Upsert(t.Context(), &ragdv1.UpsertRequest{IndexName: "v", Entries: entries}); err != nil {
		t.Fatal(err)
	}
	for era, options := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			built, err := acme.BuildIndex(t.Context(), &ragdv1.BuildIndexRequest{IndexName: "v"})
			if err != nil {
				t.Fatal(err)
			}
			c := mcptest.Connect(t, address, options, map[string]string{"Authorization": "Bearer " + acme.Secret})
			heard := mcptest.WatchProgress(c)
			result, text := mcptest.Call(t, c, "get_job", map[string]any{"jobId": built.GetJobId()}, map[string]any{"progressToken": era})
			if result.IsError || !strings.Contains(text, "succeeded") {
				t.Error(text)
			}
			wait.For(t, "the end, which the client may deliver after the answer", func() bool {
				got := heard.Of(era)
				return len(got) > 0 && got[len(got)-1] == vectors
			})
			other := mcptest.Connect(t, address, options, map[string]string{"Authorization": "Bearer " + globex.Secret})
			if result, text := mcptest.Call(t, other, "get_job", map[string]any{"jobId": built.GetJobId()}, map[string]any{"progressToken": era}); !result.IsError || !strings.Contains(text, "not found") {
				t.Errorf("another tenant: %s", text)
			}
		})
	}
}
