package rpc_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// bank is an endpoint of a tool, which answers with the request and an account number.
type bank struct {
	calls atomic.Int32
	last  atomic.Value // the body
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.calls.Add(1)
	b.last.Store(string(body))
	w.Header().Set("Content-Type", "application/json")
	if strings.Contains(string(body), "nowhere") {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error": "no account like DE02120300000000202051"}`)
		return
	}
	_, _ = io.WriteString(w, `{"owner": "Rosa", "account": {"iban": "DE02120300000000202051", "cents": 120}}`)
}

// policies returns a function that creates a policy, and one that deletes it.
func policies(t *testing.T, c servicetest.Client) (create func(p *ragdv1.CreatePolicyRequest) (remove func())) {
	return func(p *ragdv1.CreatePolicyRequest) func() {
		t.Helper()
		if _, err := c.CreatePolicy(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		return func() {
			t.Helper()
			if _, err := c.DeletePolicy(t.Context(), &ragdv1.DeletePolicyRequest{PolicyName: p.PolicyName}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestPoliciesDecideAboutCallsOfTools(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{AllowedPrivateNetworks: []string{"127.0.0.0/8"}})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	at := new(bank)
	web := httptest.NewServer(at)
	t.Cleanup(web.Close)
	for _, c := range []servicetest.Client{acme, bolt} {
		_, err := c.CreateTool(t.Context(), &ragdv1.CreateToolRequest{ToolName: "account", Kind: "http", Description: "Looks an account up.", Settings: servicetest.Object(t, map[string]any{
			"method": "POST", "url": web.URL + "/a", "body": "{{arguments}}", "inputSchema": map[string]any{"type": "object", "properties": map[string]any{"owner": map[string]any{"type": "string"}, "n": map[string]any{"type": "integer"}}},
		})})
		noError(t, err)
	}
	create := policies(t, acme)
	call := func(c servicetest.Client, name string, arguments map[string]any) (string, error) {
		t.Helper()
		res, err := c.CallTool(t.Context(), &ragdv1.CallToolRequest{ToolName: name, Arguments: servicetest.Object(t, arguments)})
		if err != nil {
			return "", err
		}
		raw, err := json.Marshal(map[string]any{"s": res.StructuredContent, "t": res.Text, "c": res.Content})
		noError(t, err)
		return string(raw), nil
	}
	denied := func(what string, err error, texts ...string) {
		t.Helper()
		wantCode(t, what, err, connect.CodePermissionDenied)
		for _, text := range texts {
			if err != nil && !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v lacks %q", what, err, text)
			}
		}
	}
	rosa := map[string]any{"owner": "Rosa"}

	// Before a call, by its arguments and its caller.
	remove := create(&ragdv1.CreatePolicyRequest{PolicyName: "no-rosa", Tools: []string{"acc*"}, Action: "deny", Condition: `arguments.?owner.orValue("") == "Rosa" && !("admin" in caller.scopes)`, Message: "Rosa is private."})
	reader := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}}))
	_, err := call(reader, "account", rosa)
	denied("a reader", err, `policy "no-rosa"`, "Rosa is private.")
	if at.calls.Load() != 0 {
		t.Error("the tool was called")
	}
	for _, c := range []servicetest.Client{acme, bolt} { // an admin; another tenant
		_, err = call(c, "account", rosa)
		noError(t, err)
	}

	// A name that a server gives the tool is no way around, nor is a workflow.
	_, err = acme.CreateServer(t.Context(), &ragdv1.CreateServerRequest{ServerName: "desk", Presented: []*ragdv1.PresentedTool{{ToolName: "account", Name: "lookup"}}})
	noError(t, err)
	_, err = call(s.Client(reader.Secret, "Ragd-Server", "desk"), "lookup", rosa)
	denied("a renamed tool", err, `"lookup"`)
	_, err = acme.CreateWorkflow(t.Context(), &ragdv1.CreateWorkflowRequest{WorkflowName: "find", Definition: servicetest.Object(t, map[string]any{
		"description": "Finds.", "steps": []any{map[string]any{"id": "a", "kind": "tool", "tool": "account", "input": map[string]any{"owner": map[string]any{"value": "Rosa"}}}},
	})})
	noError(t, err)
	if _, err = call(reader, "run_find", map[string]any{}); err == nil || !strings.Contains(err.Error(), "no-rosa") {
		t.Errorf("a workflow: %v", err)
	}
	remove()
	_, err = call(reader, "account", rosa)
	noError(t, err)

	// What cannot be evaluated denies, and does not say why to the caller.
	for name, condition := range map[string]string{
		"fails":  `arguments.secret == "x"`,
		"costly": `[1,2,3,4,5,6,7,8,9].map(a,[1,2,3,4,5,6,7,8,9].map(b,[1,2,3,4,5,6,7,8,9].map(c,[1,2,3,4,5,6,7,8,9].map(d,[1,2,3,4,5,6,7,8,9].map(e,[1,2,3,4,5,6,7,8,9].map(f,[1,2,3,4,5,6,7,8,9].map(g,[1,2,3,4,5,6,7,8,9].exists(h,h>9)))))))).size()>0`,
	} {
		remove := create(&ragdv1.CreatePolicyRequest{PolicyName: name, Tools: []string{"account"}, Action: "redact", Condition: condition, Redaction: &ragdv1.PolicyRedaction{Paths: []string{"a"}}})
		began := time.Now()
		_, err = call(acme, "account", rosa)
		denied(name, err, "could not be evaluated")
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s took %s", name, took)
		}
		explained, err := acme.ExplainPolicies(t.Context(), &ragdv1.ExplainPoliciesRequest{ToolName: "account", Arguments: servicetest.Object(t, rosa)})
		if err != nil || explained.Outcome != "denied" || explained.Decisions[0].Error == "" {
			t.Errorf("%s is explained as %v: %v", name, explained, err)
		}
		remove()
	}

	// Arguments are redacted before the tool has them, in order, and must fit then.
	removeA := create(&ragdv1.CreatePolicyRequest{PolicyName: "b-first", Order: -1, Tools: []string{"*"}, Action: "redact", Redaction: &ragdv1.PolicyRedaction{Paths: []string{"owner"}, Replacement: "X"}})
	removeB := create(&ragdv1.CreatePolicyRequest{PolicyName: "a-second", Tools: []string{"*"}, Action: "deny", Condition: `arguments.?owner.orValue("") == "Rosa"`})
	_, err = call(acme, "account", rosa)
	noError(t, err)
	if got := at.last.Load(); got != `{"owner":"X"}` {
		t.Errorf("the tool got %s", got)
	}
	removeA()
	removeB()
	remove = create(&ragdv1.CreatePolicyRequest{PolicyName: "n", Tools: []string{"account"}, Action: "redact", Redaction: &ragdv1.PolicyRedaction{Paths: []string{"n"}}})
	_, err = call(acme, "account", map[string]any{"n": 5})
	wantCode(t, "arguments that no longer fit", err, connect.CodeInvalidArgument)
	remove()

	// Results, in all their forms; and errors, which quote the answer.
	remove = create(&ragdv1.CreatePolicyRequest{PolicyName: "ibans", Tools: []string{"account"}, Phase: "after", Action: "redact", Redaction: &ragdv1.PolicyRedaction{Patterns: []string{"DE[0-9]{20}"}}})
	got, err := call(acme, "account", rosa)
	if err != nil || strings.Contains(got, "DE02") || !strings.Contains(got, "[redacted]") || !strings.Contains(got, "Rosa") {
		t.Errorf("%s: %v", got, err)
	}
	if _, err = call(acme, "account", map[string]any{"owner": "nowhere"}); err == nil || strings.Contains(err.Error(), "DE02") || !strings.Contains(err.Error(), "no account like [redacted]") {
		t.Errorf("an error: %v", err)
	}
	got, err = call(acme, "run_find", map[string]any{})
	if err != nil || strings.Contains(got, "DE02") {
		t.Errorf("a workflow: %s %v", got, err)
	}
	remove()
	remove = create(&ragdv1.CreatePolicyRequest{PolicyName: "rich", Tools: []string{"account", "run_find"}, Phase: "after", Action: "deny", Condition: `result.?structured.account.cents.orValue(0) > 100`, Message: "Too rich."})
	_, err = call(acme, "account", rosa)
	denied("a result", err, "Too rich.", "withholds")
	remove()

	// Without somebody to ask there is no approval.
	remove = create(&ragdv1.CreatePolicyRequest{PolicyName: "ask", Tools: []string{"account"}, Action: "approve", Message: "It costs a fee."})
	_, err = call(acme, "account", rosa)
	denied("no user", err, "It costs a fee.", "elicitation")
	explained, err := acme.ExplainPolicies(t.Context(), &ragdv1.ExplainPoliciesRequest{ToolName: "account", Arguments: servicetest.Object(t, rosa)})
	if err != nil || explained.Outcome != "approval" || !strings.Contains(explained.Message, `{"owner":"Rosa"}`) {
		t.Errorf("%v: %v", explained, err)
	}
	disabled := true
	_, err = acme.UpdatePolicy(t.Context(), &ragdv1.UpdatePolicyRequest{PolicyName: "ask", Disabled: &disabled})
	noError(t, err)
	_, err = call(acme, "account", rosa)
	noError(t, err)
	remove()

	auditedDecisions(t, s, acme, bolt)
	explainedForOthers(t, acme)
}

// auditedDecisions checks the entries of what policies did above.
func auditedDecisions(t *testing.T, s *servicetest.Service, acme, bolt servicetest.Client) {
	t.Helper()
	noError(t, s.Handlers.Audit.Flush(t.Context()))
	found := map[string]string{}
	list, err := acme.ListAuditEntries(t.Context(), &ragdv1.ListAuditEntriesRequest{Kind: "policy", PageSize: 100})
	noError(t, err)
	for _, e := range list.Entries {
		if e.Object["toolName"] == "account" {
			found[e.Object["policyName"]] = e.Outcome
		}
	}
	for name, want := range map[string]string{"no-rosa": "denied", "b-first": "redacted", "ibans": "redacted", "rich": "denied", "ask": "declined", "fails": "denied"} {
		if found[name] != want {
			t.Errorf("the audit log says %q of %s, want %q", found[name], name, want)
		}
	}
	if list, err = bolt.ListAuditEntries(t.Context(), &ragdv1.ListAuditEntriesRequest{Kind: "policy"}); err != nil || len(list.Entries) > 0 {
		t.Errorf("another tenant sees %v: %v", list, err)
	}
}

// explainedForOthers checks what is said of calls by somebody else, with results.
func explainedForOthers(t *testing.T, acme servicetest.Client) {
	t.Helper()
	create := policies(t, acme)
	defer create(&ragdv1.CreatePolicyRequest{PolicyName: "web-only", Tools: []string{"account"}, Action: "deny", Condition: `caller.claims.?team.orValue("") != "web" || server != "desk"`})()
	defer create(&ragdv1.CreatePolicyRequest{PolicyName: "hide", Tools: []string{"account"}, Phase: "after", Action: "redact", Redaction: &ragdv1.PolicyRedaction{Paths: []string{"a"}}})()
	ask := func(req *ragdv1.ExplainPoliciesRequest) *ragdv1.ExplainPoliciesResponse {
		t.Helper()
		req.ToolName = "account"
		res, err := acme.ExplainPolicies(t.Context(), req)
		noError(t, err)
		return res
	}
	if res := ask(&ragdv1.ExplainPoliciesRequest{}); res.Outcome != "denied" || len(res.Decisions) != 1 || !res.Decisions[0].Applies {
		t.Errorf("this caller: %v", res)
	}
	web := servicetest.Object(t, map[string]any{"claims": map[string]any{"team": "web"}})
	res := ask(&ragdv1.ExplainPoliciesRequest{Caller: web, Server: "desk", Result: &ragdv1.PolicyResult{StructuredContent: servicetest.Object(t, map[string]any{"a": 1, "b": 2}), Text: "a is 1"}})
	want := map[string]any{"a": "[redacted]", "b": 2.0}
	if got := res.Result.GetStructuredContent().AsMap(); res.Outcome != "allowed" || len(res.Decisions) != 2 || got["a"] != want["a"] || got["b"] != want["b"] || strings.Contains(res.Result.Text, "is 1") {
		t.Errorf("another caller: %v", res)
	}
	_, err := acme.ExplainPolicies(t.Context(), &ragdv1.ExplainPoliciesRequest{ToolName: "account", Caller: servicetest.Object(t, map[string]any{"team": "web"})})
	wantCode(t, "an unknown member", err, connect.CodeInvalidArgument)
	_, err = acme.ExplainPolicies(t.Context(), &ragdv1.ExplainPoliciesRequest{ToolName: "nothing"})
	wantCode(t, "an unknown tool", err, connect.CodeNotFound)
}

// Policies are changed by admins alone, and read by those who see all of the tenant.
func TestPoliciesAreManagedByAdmins(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	made, err := acme.CreatePolicy(t.Context(), &ragdv1.CreatePolicyRequest{PolicyName: "p", Tools: []string{"*"}, Action: "deny", Condition: "false"})
	noError(t, err)
	if made.Phase != "before" || made.Etag == "" {
		t.Errorf("%v", made)
	}
	key := func(req *ragdv1.CreateApiKeyRequest) servicetest.Client {
		req.TenantId = "acme"
		return s.Client(s.Key(t, req))
	}
	writer := key(&ragdv1.CreateApiKeyRequest{Scopes: []string{"write"}})
	filtered := key(&ragdv1.CreateApiKeyRequest{Scopes: []string{"admin"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})})
	bound := key(&ragdv1.CreateApiKeyRequest{Scopes: []string{"admin"}, Indexes: &ragdv1.AllowedNames{Names: []string{"docs"}}})
	type do func(context.Context, servicetest.Client) error
	reads := map[string]do{
		"get": func(ctx context.Context, c servicetest.Client) error {
			_, err := c.GetPolicy(ctx, &ragdv1.GetPolicyRequest{PolicyName: "p"})
			return err
		},
		"explain": func(ctx context.Context, c servicetest.Client) error {
			_, err := c.ExplainPolicies(ctx, &ragdv1.ExplainPoliciesRequest{ToolName: "list_indexes", Arguments: &structpb.Struct{}})
			return err
		},
	}
	message := "changed"
	writes := map[string]do{
		"create": func(ctx context.Context, c servicetest.Client) error {
			_, err := c.CreatePolicy(ctx, &ragdv1.CreatePolicyRequest{PolicyName: "q", Tools: []string{"*"}, Action: "deny"})
			return err
		},
		"update": func(ctx context.Context, c servicetest.Client) error {
			_, err := c.UpdatePolicy(ctx, &ragdv1.UpdatePolicyRequest{PolicyName: "p", Message: &message})
			return err
		},
		"delete": func(ctx context.Context, c servicetest.Client) error {
			_, err := c.DeletePolicy(ctx, &ragdv1.DeletePolicyRequest{PolicyName: "p"})
			return err
		},
	}
	for what, do := range reads {
		noError(t, do(t.Context(), writer))
		for _, c := range []servicetest.Client{filtered, bound} {
			wantCode(t, what, do(t.Context(), c), connect.CodePermissionDenied)
		}
	}
	for what, do := range writes {
		for _, c := range []servicetest.Client{writer, filtered, bound} {
			wantCode(t, what, do(t.Context(), c), connect.CodePermissionDenied)
		}
	}
	wantCode(t, "another tenant's", reads["get"](t.Context(), bolt), connect.CodeNotFound)
	wantCode(t, "another tenant's", writes["update"](t.Context(), bolt), connect.CodeNotFound)
	wantCode(t, "another tenant's", writes["delete"](t.Context(), bolt), connect.CodeNotFound)
	noError(t, writes["update"](t.Context(), acme))
	_, err = acme.UpdatePolicy(t.Context(), &ragdv1.UpdatePolicyRequest{PolicyName: "p", Etag: made.Etag, Message: &message})
	wantCode(t, "an old etag", err, connect.CodeAborted)
	_, err = acme.CreatePolicy(t.Context(), &ragdv1.CreatePolicyRequest{PolicyName: "p", Tools: []string{"*"}, Action: "deny"})
	wantCode(t, "a name in use", err, connect.CodeAlreadyExists)

	// A call of a builtin tool is decided about too, by whomever, but the RPC of the same name is none.
	action := "x"
	_, err = acme.UpdatePolicy(t.Context(), &ragdv1.UpdatePolicyRequest{PolicyName: "p", Action: &action})
	wantCode(t, "an unknown action", err, connect.CodeInvalidArgument)
	always := "true"
	_, err = acme.UpdatePolicy(t.Context(), &ragdv1.UpdatePolicyRequest{PolicyName: "p", Condition: &always})
	noError(t, err)
	for _, c := range []servicetest.Client{acme, writer, filtered, bound} {
		_, err = c.CallTool(t.Context(), &ragdv1.CallToolRequest{ToolName: "list_indexes"})
		wantCode(t, "a builtin tool", err, connect.CodePermissionDenied)
		_, err = c.ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{})
		noError(t, err)
	}
	_, err = bolt.CallTool(t.Context(), &ragdv1.CallToolRequest{ToolName: "list_indexes"})
	noError(t, err)
}
