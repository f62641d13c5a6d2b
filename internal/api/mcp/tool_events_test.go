package mcp_test

import (
	"context"
	"strings"
	"testing"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/automation/event/journal"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// toolEvents watches the events of tools of a tenant until the test ends.
func toolEvents(t *testing.T, c servicetest.Client, req *ragdv1.WatchEventsRequest) <-chan *ragdv1.Event {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := c.WatchEvents(ctx, req)
	if err != nil || !stream.Receive() {
		t.Fatal(err, stream.Err())
	}
	events, ended := make(chan *ragdv1.Event, 1000), make(chan struct{})
	go func() {
		defer close(ended)
		for stream.Receive() {
			if e := stream.Msg().Event; e != nil {
				events <- e
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return events
}

// next returns the next event, nil if none comes within the time.
func next(events <-chan *ragdv1.Event, patience time.Duration) *ragdv1.Event {
	select {
	case e := <-events:
		return e
	case <-time.After(patience):
		return nil
	}
}

func TestCallsOfToolsAreEvents(t *testing.T) {
	t.Parallel()
	s, address, acme, bolt := handbooks(t)
	if _, err := acme.CreateTool(t.Context(), &ragdv1.CreateToolRequest{
		ToolName: "ask_laws", Kind: "vector_query", Settings: servicetest.Object(t, map[string]any{"indexName": "laws"}),
	}); err != nil {
		t.Fatal(err)
	}
	reader := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}}))
	connect := func(c servicetest.Client) func(name string, arguments any) {
		client := mcptest.Connect(t, address, nil, map[string]string{"Authorization": "Bearer " + c.Secret})
		mcptest.Initialize(t, client)
		return func(name string, arguments any) {
			t.Helper()
			mcptest.Call(t, client, name, arguments, nil)
		}
	}
	ours, theirs := connect(acme), connect(bolt)
	all := toolEvents(t, acme, &ragdv1.WatchEventsRequest{Types: []string{"tool.*"}})
	own := toolEvents(t, reader, &ragdv1.WatchEventsRequest{Types: []string{"tool.*"}})
	laws := toolEvents(t, acme, &ragdv1.WatchEventsRequest{Types: []string{"tool.*"}, Indexes: []string{"laws"}, Tools: []string{"ask_laws", "vector_query"}})
	const patience = time.Minute

	theirs("vector_query", map[string]any{"indexName": "laws", "queryText": "theirs"})
	var input *ragdv1.Event
	for input == nil { // until this instance knows that they are wanted
		ours("ask_laws", map[string]any{"queryText": "laws \\ud800"})
		input = next(all, time.Second)
	}
	output := next(all, patience)
	for _, e := range []*ragdv1.Event{input, output} {
		data := e.Data.AsMap()
		arguments, _ := data["arguments"].(map[string]any)
		if data["toolName"] != "ask_laws" || data["indexName"] != "laws" || data["subject"] == "" || !strings.HasPrefix(arguments["queryText"].(string), "laws") || data["callId"] != input.Data.AsMap()["callId"] {
			t.Errorf("event %v", e)
		}
		for name := range data {
			found := false
			for _, f := range journal.Fields["tool"] {
				found = found || f.Name == name
			}
			if !found {
				t.Errorf("the reference does not list %s", name)
			}
		}
	}
	if input.Type != "tool.input" || output.Type != "tool.output" || output.Data.AsMap()["result"].(map[string]any)["sources"] == nil {
		t.Errorf("events %v, %v", input, output)
	}
	ours("get_document", map[string]any{"indexName": "recipes", "documentId": "none"})
	ours("vector_query", map[string]any{"topK": "wrong"}) // invalid arguments are no event
	ours("list_indexes", map[string]any{})
	if e := next(all, patience); e.GetType() != "tool.input" || e.Data.AsMap()["toolName"] != "get_document" {
		t.Errorf("event %v", e)
	}
	if e := next(all, patience); e.GetType() != "tool.error" || e.Data.AsMap()["errorCode"] != "not_found" || e.Data.AsMap()["error"] == "" {
		t.Errorf("event %v", e)
	}
	for _, want := range []string{"tool.input", "tool.output"} {
		if e := next(all, patience); e.GetType() != want || e.Data.AsMap()["toolName"] != "list_indexes" {
			t.Errorf("event %v", e)
		}
	}
	for _, want := range []string{"tool.input", "tool.output"} {
		if e := next(laws, patience); e.GetType() != want || e.Data.AsMap()["toolName"] != "ask_laws" {
			t.Errorf("event %v", e)
		}
	}
	ours("ask_laws", map[string]any{"queryText": "laws \x00"}) // jsonb has no null characters
	for _, want := range []string{"tool.input", "tool.error"} {
		if e := next(laws, patience); e.GetType() != want || e.Data.AsMap()["toolName"] != "ask_laws" {
			t.Errorf("event %v", e)
		}
	}
	connect(reader)("list_indexes", map[string]any{})
	if e := next(own, patience); e.GetType() != "tool.input" || e.Data.AsMap()["toolName"] != "list_indexes" {
		t.Errorf("the first event that a reader sees is %v", e)
	}
	if n := len(laws); n != 0 {
		t.Errorf("%d more events of laws, such as %v", n, <-laws)
	}
}
