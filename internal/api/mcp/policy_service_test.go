package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// approver answers requests for approvals, and those of the endpoint as colours does.
type approver struct {
	approve bool
	asked   atomic.Int32
	colours
}

func (a *approver) Elicit(ctx context.Context, req mcpgo.ElicitationRequest) (*mcpgo.ElicitationResult, error) {
	if !strings.Contains(req.Params.Message, "Approve the call") {
		return a.colours.Elicit(ctx, req)
	}
	a.asked.Add(1)
	return &mcpgo.ElicitationResult{ElicitationResponse: mcpgo.ElicitationResponse{
		Action: mcpgo.ElicitationResponseActionAccept, Content: map[string]any{"approve": a.approve},
	}}, nil
}

// A call that a policy has approved asks the user of a client of either kind, once, also if the tool asks for more.
func TestACallIsApprovedByTheUserOfAClient(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, loopback)
	acme := s.Tenant(t, "acme")
	var calls atomic.Int32
	ownEndpoint(t, acme, "paint", map[string]any{}, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		asksForColour(w, r)
	})
	_, err := acme.CreatePolicy(t.Context(), &ragdv1.CreatePolicyRequest{PolicyName: "ask", Tools: []string{"paint"}, Action: "approve", Message: "Paint is dear."})
	if err != nil {
		t.Fatal(err)
	}
	headers := map[string]string{"Authorization": "Bearer " + acme.Secret}
	for era, options := range mcptest.Eras {
		for _, approve := range []bool{true, false} {
			calls.Store(0)
			user := &approver{approve: approve}
			c := mcptest.Connect(t, s.URL+mcphttp.Path, append([]client.ClientOption{client.WithElicitationHandler(user)}, options...), headers)
			result, text := mcptest.Call(t, c, "paint", map[string]any{"n": 1}, nil)
			if user.asked.Load() != 1 {
				t.Errorf("%s: the user was asked %d times", era, user.asked.Load())
			}
			switch {
			case approve && (result.IsError || calls.Load() != 3 || !strings.Contains(text, `"colour":"red"`) || strings.Contains(text, `"approve"`)):
				t.Errorf("%s, approved: %d calls, %s", era, calls.Load(), text)
			case !approve && (!result.IsError || calls.Load() != 0 || !strings.Contains(text, "did not approve") || !strings.Contains(text, "Paint is dear.")):
				t.Errorf("%s, declined: %d calls, %s", era, calls.Load(), text)
			}
		}
		calls.Store(0)
		silent := mcptest.Connect(t, s.URL+mcphttp.Path, options, headers)
		if result, text := mcptest.Call(t, silent, "paint", map[string]any{}, nil); !result.IsError || calls.Load() != 0 || !strings.Contains(text, "elicitation") {
			t.Errorf("%s: a client that cannot ask gets %s", era, text)
		}
	}
}

// An approval is for the arguments that the user saw, and for the policies that asked.
func TestAnApprovalIsForOneCall(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, loopback)
	acme := s.Tenant(t, "acme")
	var calls atomic.Int32
	ownEndpoint(t, acme, "paint", map[string]any{}, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(painted))
	})
	_, err := acme.CreatePolicy(t.Context(), &ragdv1.CreatePolicyRequest{PolicyName: "ask", Tools: []string{"paint"}, Action: "approve"})
	if err != nil {
		t.Fatal(err)
	}
	call := func(arguments map[string]any, state string, answers map[string]any) map[string]any {
		t.Helper()
		_, answer := post(t, s.URL+mcphttp.Path, acme.Secret, "tools/call", map[string]any{
			"name": "paint", "arguments": arguments, "requestState": state, "inputResponses": answers,
		}, nil)
		result, _ := answer["result"].(map[string]any)
		return result
	}
	yes := map[string]any{"approve": accepted(map[string]any{"approve": true})}
	asked := call(map[string]any{"n": 1}, "", nil)
	state, _ := asked["requestState"].(string)
	if asked["resultType"] != "input_required" || state == "" {
		t.Fatalf("%v", asked)
	}
	for what, again := range map[string]map[string]any{
		"other arguments":   call(map[string]any{"n": 2}, state, yes),
		"no state":          call(map[string]any{"n": 1}, "", yes),
		"nothing but words": call(map[string]any{"n": 1, "approve": true}, "", nil),
	} {
		if again["resultType"] != "input_required" {
			t.Errorf("%s: %v", what, again)
		}
	}
	if no := call(map[string]any{"n": 1}, state, map[string]any{"approve": accepted(map[string]any{"approve": "true"})}); no["isError"] != true {
		t.Errorf("an answer that is not true: %v", no)
	}
	if calls.Load() != 0 {
		t.Errorf("the tool was called %d times", calls.Load())
	}
	if done := call(map[string]any{"n": 1}, state, yes); done["isError"] == true || calls.Load() != 1 {
		t.Errorf("approved: %v", done)
	}
	message := "new"
	if _, err := acme.UpdatePolicy(t.Context(), &ragdv1.UpdatePolicyRequest{PolicyName: "ask", Message: &message}); err != nil {
		t.Fatal(err)
	}
	if again := call(map[string]any{"n": 1}, state, yes); again["resultType"] != "input_required" || calls.Load() != 1 {
		t.Errorf("for another policy: %v", again)
	}
}

// A tool that an agent calls asks the user of the agent's caller, if that has a session, and is denied to others.
func TestACallOfAnAgentIsApprovedByTheUserOfItsCaller(t *testing.T) {
	t.Parallel()
	s, ai, acme := asking(t)
	makeAgent(t, acme, "lawyer", map[string]any{})
	_, err := acme.CreatePolicy(t.Context(), &ragdv1.CreatePolicyRequest{PolicyName: "ask", Tools: []string{"vector_query"}, Action: "approve"})
	if err != nil {
		t.Fatal(err)
	}
	ai.SetTurn(func(chat modelserver.Chat) modelserver.Turn {
		if results := chat.Results(); len(results) > 0 {
			return modelserver.Turn{Text: "Read: " + results[0]}
		}
		return searching
	})
	headers := map[string]string{"Authorization": "Bearer " + acme.Secret}
	for _, c := range []struct {
		era, want string
		approve   bool
	}{{"legacy", "five coins", true}, {"legacy", "did not approve", false}, {"modern", "no client that can ask", true}} {
		user := &approver{approve: c.approve}
		agent := mcptest.Connect(t, s.URL+mcphttp.Path, append([]client.ClientOption{client.WithElicitationHandler(user)}, mcptest.Eras[c.era]...), headers)
		var request mcpgo.CallToolRequest
		request.Params.Name, request.Params.Arguments = "ask_lawyer", map[string]any{"message": "What is the cat tax?"}
		result, err := agent.CallTool(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(result.Content)
		if err != nil || !strings.Contains(string(raw), c.want) || (user.asked.Load() == 1) != (c.era == "legacy") {
			t.Errorf("%s, %v: asked %d times, %s", c.era, c.approve, user.asked.Load(), raw)
		}
	}
}
