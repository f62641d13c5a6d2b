package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// heard collects the messages of log notifications.
type heard struct {
	mu  sync.Mutex
	all []string
}

func (h *heard) receive(n mcpgo.JSONRPCNotification) {
	if n.Method != "notifications/message" {
		return
	}
	data, _ := n.Params.AdditionalFields["data"].(map[string]any)
	message, _ := data["message"].(string)
	tool, _ := data["tool"].(string)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, message+" "+tool)
}

// await waits for as many messages, which clients may deliver after the answer, and returns all.
func (h *heard) await(t *testing.T, what string, n int) string {
	t.Helper()
	var all []string
	wait.For(t, fmt.Sprintf("%d messages with %q", n, what), func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		all = slices.Clone(h.all)
		return len(slices.DeleteFunc(slices.Clone(all), func(one string) bool { return !strings.Contains(one, what) })) >= n
	})
	return strings.Join(all, ", ")
}

func TestAClientIsSentTheLogOfItsOwnCalls(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	headers := map[string]string{"Authorization": "Bearer " + acme.Secret}
	asking, other := &heard{}, &heard{}
	c := mcptest.Connect(t, s.URL+mcphttp.Path, mcptest.Eras["legacy"], headers)
	c.OnNotification(asking.receive)
	silent := mcptest.Connect(t, s.URL+mcphttp.Path, mcptest.Eras["legacy"], headers)
	silent.OnNotification(other.receive)
	var level mcpgo.SetLevelRequest
	level.Params.Level = mcpgo.LoggingLevelInfo
	if err := c.SetLevel(t.Context(), level); err != nil {
		t.Fatal(err)
	}
	mcptest.Call(t, c, "list_indexes", nil, nil)
	mcptest.Call(t, c, "get_job", map[string]any{"jobId": "none"}, nil)
	mcptest.Call(t, silent, "list_indexes", nil, nil)
	if got := asking.await(t, "tool", 2); got != "tool called list_indexes, tool failed get_job" {
		t.Errorf("the client that asked heard %s", got)
	}
	if err := silent.SetLevel(t.Context(), level); err != nil {
		t.Fatal(err)
	}
	mcptest.Call(t, silent, "get_job", map[string]any{"jobId": "none"}, nil)
	if got := other.await(t, "get_job", 1); got != "tool failed get_job" {
		t.Errorf("the other, which asked later, heard %s", got)
	}
	level.Params.Level = mcpgo.LoggingLevelError
	if err := c.SetLevel(t.Context(), level); err != nil {
		t.Fatal(err)
	}
	mcptest.Call(t, c, "list_indexes", nil, nil)
	level.Params.Level = mcpgo.LoggingLevelInfo
	if err := c.SetLevel(t.Context(), level); err != nil {
		t.Fatal(err)
	}
	mcptest.Call(t, c, "get_job", map[string]any{"jobId": "none"}, nil)
	if got := asking.await(t, "get_job", 2); strings.Count(got, "list_indexes") != 1 {
		t.Errorf("at the level error the client heard %s", got)
	}

	modern := &heard{}
	c = mcptest.Connect(t, s.URL+mcphttp.Path, mcptest.Eras["modern"], headers)
	c.OnNotification(modern.receive)
	mcptest.Call(t, c, "list_indexes", nil, nil)
	mcptest.Call(t, c, "list_indexes", nil, map[string]any{mcpgo.MetaKeyLogLevel: "info"})
	if got := modern.await(t, "tool", 1); got != "tool called list_indexes" {
		t.Errorf("a client without a session heard %s", got)
	}
}

func TestStagesOfAQueryAreProgress(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "a", Source: servicetest.Text("The harbour has two gates.")})
	c := mcptest.Connect(t, s.URL+mcphttp.Path, nil, map[string]string{"Authorization": "Bearer " + acme.Secret})
	progress := mcptest.WatchProgress(c)
	for _, tool := range []string{"vector_query", "graph_rag"} {
		mcptest.Call(t, c, tool, map[string]any{"queryText": "gates", "indexName": "docs"}, map[string]any{"progressToken": tool})
		wait.For(t, "both stages of "+tool, func() bool { return len(progress.Of(tool)) >= 2 })
	}
}

// form answers questions with what it is given.
type form map[string]any

func (f form) Elicit(_ context.Context, req mcpgo.ElicitationRequest) (*mcpgo.ElicitationResult, error) {
	asked, _ := json.Marshal(req.Params.RequestedSchema)
	if !strings.Contains(string(asked), `"queryText"`) || strings.Contains(string(asked), `"topK"`) {
		return nil, fmt.Errorf("asked for %s", asked)
	}
	return &mcpgo.ElicitationResult{ElicitationResponse: mcpgo.ElicitationResponse{Action: mcpgo.ElicitationResponseActionAccept, Content: map[string]any(f)}}, nil
}

func TestAnOwnToolAsksTheUserForWhatIsMissing(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "a", Source: servicetest.Text("The harbour has two gates.")})
	_, err := acme.CreateTool(t.Context(), &ragdv1.CreateToolRequest{ToolName: "ask_docs", Kind: "vector_query", Settings: servicetest.Object(t, map[string]any{"indexName": "docs"})})
	if err != nil {
		t.Fatal(err)
	}
	headers := map[string]string{"Authorization": "Bearer " + acme.Secret}
	for era, options := range mcptest.Eras {
		asking := append([]client.ClientOption{client.WithElicitationHandler(form{"queryText": "gates"})}, options...)
		c := mcptest.Connect(t, s.URL+mcphttp.Path, asking, headers)
		if result, text := mcptest.Call(t, c, "ask_docs", nil, nil); result.IsError || !strings.Contains(text, "two gates") {
			t.Errorf("%s: %s", era, text)
		}
		if result, text := mcptest.Call(t, c, "vector_query", nil, nil); !result.IsError {
			t.Errorf("%s: a builtin tool asks too: %s", era, text)
		}
		silent := mcptest.Connect(t, s.URL+mcphttp.Path, options, headers)
		if result, text := mcptest.Call(t, silent, "ask_docs", nil, nil); !result.IsError || !strings.Contains(text, "queryText") {
			t.Errorf("%s: a client that cannot ask gets %s", era, text)
		}
	}
}
