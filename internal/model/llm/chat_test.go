package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
)

// question is a conversation with one tool that has one result already.
func question() llm.Chat {
	return llm.Chat{Model: "openai/m", Messages: []llm.Message{
		{Role: llm.System, Text: "be brief"}, {Role: llm.User, Text: "what is the weather?"},
		{Role: llm.Assistant, Calls: []llm.ToolCall{{ID: "a", Name: "weather", Arguments: `{"city":"Oslo"}`}}},
		{Role: llm.ToolRole, CallID: "a", Text: "rain"},
	}, Tools: []llm.Tool{{Name: "weather", Description: "The weather.", Parameters: json.RawMessage(`{"type":"object"}`)}}}
}

func TestChatStreamsTextAndCallsOfTools(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{false, true} {
		ai, client := setup(t)
		var heard modelserver.Chat
		ai.Turn = func(c modelserver.Chat) modelserver.Turn {
			heard = c
			return modelserver.Turn{Text: "It rains, let me look", Whole: whole, Calls: []modelserver.Call{{Name: "weather", Arguments: `{"city":"Rome"}`}, {Name: "weather", Arguments: `not JSON`}}}
		}
		chat, pieces := question(), []string{}
		chat.OnText = func(piece string) error {
			pieces = append(pieces, piece)
			return nil
		}
		reply, err := client.Chat(t.Context(), chat)
		if err != nil {
			t.Fatal(err)
		}
		want := llm.Reply{Text: "It rains, let me look", Usage: llm.Usage{Calls: 1, InputTokens: reply.Usage.InputTokens, OutputTokens: 6}}
		for i, arguments := range []string{`{"city":"Rome"}`, "not JSON"} {
			want.Calls = append(want.Calls, llm.ToolCall{ID: []string{"call-0", "call-1"}[i], Name: "weather", Arguments: arguments})
		}
		if diff := cmp.Diff(want, reply); diff != "" || reply.Usage.InputTokens == 0 {
			t.Error(diff)
		}
		if strings.Join(pieces, "") != reply.Text || !whole && len(pieces) != 5 {
			t.Errorf("pieces %q", pieces)
		}
		if diff := cmp.Diff([]modelserver.Message{
			{Role: "system", Content: "be brief"}, {Role: "user", Content: "what is the weather?"},
			{Role: "assistant", Calls: []modelserver.Call{{Name: "weather", Arguments: `{"city":"Oslo"}`}}},
			{Role: "tool", CallID: "a", Content: "rain"},
		}, heard.Messages); diff != "" || cmp.Diff([]string{"weather"}, heard.Tools) != "" {
			t.Errorf("the model heard %s, tools %v", diff, heard.Tools)
		}
	}
}

// A turn is tried again, after the time that the endpoint asks for, until a piece of its text has
// been passed on.
func TestChatTriesAgainBeforeTheFirstPiece(t *testing.T) {
	t.Parallel()
	ai, client := setup(t)
	ai.Script(modelserver.Turn{Text: "all is well"})
	ai.Set(modelserver.Fault{Status: 429, RetryAfter: "0.01", Times: 2})
	if reply, err := client.Chat(t.Context(), question()); err != nil || reply.Text != "all is well" || reply.Usage.Calls != 3 {
		t.Errorf("%+v, %v", reply, err)
	}
	ai.Set(modelserver.Fault{})
	ai.Script(modelserver.Turn{Text: "one two three", Cut: true}, modelserver.Turn{Text: "all is well"})
	if reply, err := client.Chat(t.Context(), question()); err != nil || reply.Text != "all is well" {
		t.Errorf("a stream without receiver: %+v, %v", reply, err)
	}
	ai.Script(modelserver.Turn{Text: "one two three", Cut: true}, modelserver.Turn{Text: "all is well"})
	chat, heard := question(), ""
	chat.OnText = func(piece string) error { heard += piece; return nil }
	if reply, err := client.Chat(t.Context(), chat); fault.KindOf(err) != fault.Unavailable || heard != "one two " || reply.Usage.Calls != 1 {
		t.Errorf("a stream with a receiver: %q, %+v, %v", heard, reply, err)
	}
}

func TestChatErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		turn  modelserver.Turn
		fault modelserver.Fault
		kind  fault.Kind
	}{
		{"rate limited", modelserver.Turn{Text: "x"}, modelserver.Fault{Status: 429, RetryAfter: "3600"}, fault.Exhausted},
		{"no valid key", modelserver.Turn{Text: "x"}, modelserver.Fault{Status: 401}, fault.Precondition},
		{"hangs", modelserver.Turn{Text: "x"}, modelserver.Fault{Hang: true}, fault.Unavailable},
		{"stalls in the middle", modelserver.Turn{Text: "one two three", Stall: true}, modelserver.Fault{}, fault.Unavailable},
		{"says nothing", modelserver.Turn{}, modelserver.Fault{}, fault.Unavailable},
		{"is filtered", modelserver.Turn{Text: "x", Finish: "content_filter"}, modelserver.Fault{}, fault.Unavailable},
		{"is no JSON", modelserver.Turn{}, modelserver.Fault{Body: "<html>"}, fault.Unavailable},
		{"is no JSON in a stream", modelserver.Turn{}, modelserver.Fault{Body: "data: {\n\n", ContentType: "text/event-stream"}, fault.Unavailable},
		{"has an error in a stream", modelserver.Turn{}, modelserver.Fault{Body: "data: {\"error\":{\"message\":\"overloaded\"}}\n\n", ContentType: "text/event-stream"}, fault.Unavailable},
		{"has an endless event", modelserver.Turn{}, modelserver.Fault{Body: "data: " + strings.Repeat("x", 5<<20), ContentType: "text/event-stream"}, fault.Unavailable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ai, client := setup(t)
			ai.Script(tc.turn)
			ai.Set(tc.fault)
			if reply, err := client.Chat(t.Context(), question()); fault.KindOf(err) != tc.kind {
				t.Errorf("%+v, %v", reply, err)
			}
		})
	}
}

func TestChatEndsWithItsContextAndItsReceiver(t *testing.T) {
	t.Parallel()
	ai, client := setup(t)
	ai.Script(modelserver.Turn{Text: "one two three", Stall: true})
	ctx, cancel := context.WithCancel(t.Context())
	chat := question()
	chat.OnText = func(string) error { cancel(); return nil }
	if _, err := client.Chat(ctx, chat); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	gone := errors.New("gone")
	chat.OnText = func(string) error { return gone }
	if _, err := client.Chat(t.Context(), chat); !errors.Is(err, gone) || len(ai.Requests()) != 2 {
		t.Errorf("the receiver has left: %v after %d requests", err, len(ai.Requests()))
	}
}

func TestChatAsksForASchemaAsTheServerCan(t *testing.T) {
	t.Parallel()
	ai, client := setup(t)
	ai.Turn = func(c modelserver.Chat) modelserver.Turn { return modelserver.Turn{Text: `{"ok":"` + c.Format + `"}`} }
	chat := question()
	chat.Schema = schema
	if reply, err := client.Chat(t.Context(), chat); err != nil || reply.Text != `{"ok":"json_schema"}` {
		t.Errorf("%+v, %v", reply, err)
	}
	chat.Model = "openai/older"
	ai.Set(modelserver.Fault{Status: 400, When: func(r modelserver.Request) bool { return strings.Contains(r.Raw, "json_schema") }})
	for _, calls := range []int{2, 1} { // what it accepts is remembered
		if reply, err := client.Chat(t.Context(), chat); err != nil || reply.Text != `{"ok":"json_object"}` || reply.Usage.Calls != calls {
			t.Errorf("%+v, %v", reply, err)
		}
	}
}
