package toolset

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// chunkerAPI is an API with one stored tool, named ask_stored.
type chunkerAPI struct{ noAPI }

func (chunkerAPI) ListTools(context.Context, *ragdv1.ListToolsRequest) (*ragdv1.ListToolsResponse, error) {
	return &ragdv1.ListToolsResponse{Tools: []*ragdv1.Tool{{ToolName: "ask_stored", Kind: "document_chunker", Description: "stored"}}}, nil
}

func (chunkerAPI) ListIndexes(context.Context, *ragdv1.ListIndexesRequest) (*ragdv1.ListIndexesResponse, error) {
	return &ragdv1.ListIndexesResponse{}, nil
}

// askers is a Source whose tools repeat their name and message.
type askers []string

func (a askers) Tools(context.Context) (tools []Definition, err error) {
	for _, name := range a {
		tools = append(tools, Definition{
			Name: name, Description: "provided", Kind: "agent",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"message":{"type":"string"}},"required":["message"],"additionalProperties":false}`),
		})
	}
	return tools, nil
}

func (askers) Run(_ context.Context, d Definition, c Call) (Result, error) {
	return Result{Text: d.Name + string(c.Arguments)}, nil
}

func TestToolsOfSourcesAreListedBoundedAndCalled(t *testing.T) {
	t.Parallel()
	var warnings bytes.Buffer
	s, err := New(Config{API: chunkerAPI{}, Logger: slog.New(slog.NewTextHandler(&warnings, nil)), Sources: []Source{askers{"ask_stored", "ask_anna", "ask_bert", "search"}}})
	if err != nil {
		t.Fatal(err)
	}
	as := func(b access.Bounds) context.Context {
		return access.NewContext(t.Context(), &access.Request{Tenant: "acme", Bounds: b})
	}
	said := map[string]string{}
	for _, d := range s.List(as(access.Bounds{}), View{}) {
		said[d.Name] = d.Description
	}
	if said["ask_anna"] != "provided" || said["ask_bert"] != "provided" || said["ask_stored"] != "stored" || said["search"] == "provided" {
		t.Errorf("listed %v; a stored or builtin tool takes precedence", said)
	}
	for _, hidden := range []string{"tool=ask_stored", "tool=search"} {
		if !strings.Contains(warnings.String(), hidden) {
			t.Errorf("no warning of %s in %s", hidden, &warnings)
		}
	}
	call := func(b access.Bounds, v View, name, arguments string) (Result, error) {
		return s.Call(as(b), v, Call{Name: name, Arguments: json.RawMessage(arguments)})
	}
	if result, err := call(access.Bounds{}, View{}, "ask_anna", `{"message":"hi"}`); err != nil || result.Text != `ask_anna{"message":"hi"}` {
		t.Errorf("%+v, %v", result, err)
	}
	if _, err := call(access.Bounds{}, View{}, "ask_anna", `{"text":"hi"}`); fault.KindOf(err) != fault.Invalid {
		t.Errorf("arguments that do not fit: %v", err)
	}
	only := access.Bounds{Tools: []string{"ask_bert"}}
	listed := s.List(as(only), View{})
	if !slices.Equal(names(listed), []string{"ask_bert"}) {
		t.Errorf("a bound key sees %v", names(listed))
	}
	if _, err := call(only, View{}, "ask_anna", `{"message":"hi"}`); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a bound key calls another tool: %v", err)
	}
	view := NewView(map[string]Presentation{"ask_anna": {Name: "anna"}})
	if result, err := call(access.Bounds{}, view, "anna", `{"message":"hi"}`); err != nil || result.Text != `ask_anna{"message":"hi"}` {
		t.Errorf("in a view: %+v, %v", result, err)
	}
	if _, err := call(access.Bounds{}, view, "ask_anna", `{"message":"hi"}`); fault.KindOf(err) != fault.NotFound {
		t.Errorf("by its other name in a view: %v", err)
	}
}

func names(tools []Definition) (names []string) {
	for _, d := range tools {
		names = append(names, d.Name)
	}
	return names
}
