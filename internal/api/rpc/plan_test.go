package rpc_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// planOf makes a plan.
func planOf(t *testing.T, s *servicetest.Service, name string, settings map[string]any, without ...string) *ragdv1.Plan {
	t.Helper()
	made, err := s.Operator().CreatePlan(t.Context(), &ragdv1.CreatePlanRequest{
		PlanName: name, DisplayName: "of " + name, Settings: servicetest.Object(t, settings), Features: &ragdv1.PlanFeatures{Without: without},
	})
	noError(t, err)
	return made
}

// havePlan gives a tenant a plan; an empty name takes it away.
func havePlan(t *testing.T, s *servicetest.Service, tenant, plan string) {
	t.Helper()
	_, err := s.Operator().UpdateTenant(t.Context(), &ragdv1.UpdateTenantRequest{TenantId: tenant, PlanName: &plan})
	noError(t, err)
}

// quotaOf returns a quota of a list.
func quotaOf(t *testing.T, all []*ragdv1.Quota, name string) *ragdv1.Quota {
	t.Helper()
	i := slices.IndexFunc(all, func(q *ragdv1.Quota) bool { return q.Name == name })
	if i < 0 {
		t.Fatalf("no quota %s in %v", name, all)
	}
	return all[i]
}

// A plan limits its tenants, and no others, on all instances as soon as it changes. The settings of a tenant win over it.
func TestAPlanLimitsItsTenantsOnAllInstances(t *testing.T) {
	t.Parallel()
	const contact = "https://example.com/plans"
	s := servicetest.New(t, service.Config{PlanContact: contact, MaxIndexes: 40})
	second := servicetest.New(t, service.Config{AdminPool: s.Pool, PlanContact: contact, NoWorkers: true})
	ctx, operator := t.Context(), s.Operator()
	planOf(t, s, "starter", map[string]any{"maxDocuments": 1, "sleepAfter": "720h"}, "workflows")
	bolt := s.Tenant(t, "bolt")
	_, err := operator.CreateTenant(ctx, &ragdv1.CreateTenantRequest{TenantId: "acme", PlanName: "starter"})
	noError(t, err)
	acme := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}}))
	there := second.Client(acme.Secret)
	for _, c := range []servicetest.Client{acme, bolt} {
		c.Index(t, "docs")
		c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "1", Source: servicetest.Text("one")})
	}
	upload := func(c servicetest.Client, uri string) error {
		_, err := c.UploadDocument(ctx, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Source: servicetest.Text("text of " + uri)})
		return err
	}
	noError(t, upload(bolt, "2"))
	for name, c := range map[string]servicetest.Client{"the first instance": acme, "the second": there} {
		err := upload(c, "2")
		servicetest.WantCode(t, "a second document at "+name, err, connect.CodeResourceExhausted)
		for _, part := range []string{"maxDocuments", "which is 1", `"starter"`, contact} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q lacks %q", name, err, part)
			}
		}
	}
	got, err := acme.GetQuotas(ctx, &ragdv1.GetQuotasRequest{})
	noError(t, err)
	for name, want := range map[string]*ragdv1.Quota{
		"maxDocuments":      {Name: "maxDocuments", Limit: 1, Source: "plan", Used: proto.Float64(1)},
		"maxDocumentBytes":  {Name: "maxDocumentBytes", Source: "default", Used: proto.Float64(3)},
		"maxIndexes":        {Name: "maxIndexes", Limit: 40, Source: "default", Used: proto.Float64(1)},
		"maxTokensPerMonth": {Name: "maxTokensPerMonth", Source: "default", Used: proto.Float64(0)},
	} {
		if q := quotaOf(t, got.Quotas, name); !proto.Equal(q, want) {
			t.Errorf("got %v, want %v", q, want)
		}
	}
	if got.PlanName != "starter" || got.PlanContact != contact || !slices.Equal(got.Without, []string{"workflows"}) {
		t.Errorf("got %v", got)
	}

	_, err = operator.UpdatePlan(ctx, &ragdv1.UpdatePlanRequest{PlanName: "starter", Settings: servicetest.Object(t, map[string]any{"maxDocuments": 2})})
	noError(t, err)
	noError(t, upload(acme, "2")) // at once on the instance that changed the plan
	servicetest.WantCode(t, "over the changed plan", upload(acme, "3"), connect.CodeResourceExhausted)
	_, err = operator.UpdateTenant(ctx, &ragdv1.UpdateTenantRequest{TenantId: "acme", Settings: servicetest.Object(t, map[string]any{"maxDocuments": 4})})
	noError(t, err)
	wait.For(t, "the tenant's own quota at the other instance", func() bool { return upload(there, "3") == nil })
	tenant, err := operator.GetTenant(ctx, &ragdv1.GetTenantRequest{TenantId: "acme"})
	noError(t, err)
	if q := quotaOf(t, tenant.Quotas, "maxDocuments"); q.Limit != 4 || q.Source != "settings" || tenant.PlanName != "starter" {
		t.Errorf("got %v", tenant)
	}
	if tenant.GetSettings().AsMap()["maxDocuments"] != 4.0 || len(tenant.GetSettings().AsMap()) != 1 {
		t.Errorf("the plan is in the settings of the tenant: %v", tenant.Settings)
	}

	listed, err := operator.ListTenants(ctx, &ragdv1.ListTenantsRequest{PlanName: "starter"})
	noError(t, err)
	if len(listed.Tenants) != 1 || listed.Tenants[0].TenantId != "acme" {
		t.Errorf("the tenants of the plan are %v", listed.Tenants)
	}
	_, err = operator.DeletePlan(ctx, &ragdv1.DeletePlanRequest{PlanName: "starter"})
	servicetest.WantCode(t, "a plan with a tenant is deleted", err, connect.CodeFailedPrecondition)
	_, err = operator.UpdateTenant(ctx, &ragdv1.UpdateTenantRequest{TenantId: "acme", Settings: servicetest.Object(t, nil), PlanName: proto.String("")})
	noError(t, err)
	for n := range 3 {
		noError(t, upload(acme, string(rune('p'+n))))
	}
	_, err = operator.DeletePlan(ctx, &ragdv1.DeletePlanRequest{PlanName: "starter"})
	noError(t, err)
}

// A quota of tokens that a plan has stops models for its tenants.
func TestAPlanLimitsTokens(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	s := servicetest.New(t, service.Config{NoWorkers: true, Providers: service.Providers{
		OpenAI: endpoint.Config{BaseURL: ai.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1},
	}})
	planOf(t, s, "small", map[string]any{"maxTokensPerMonth": 1})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	havePlan(t, s, "acme", "small")
	embed := func(c servicetest.Client, text string) error {
		_, err := c.Embed(t.Context(), &ragdv1.EmbedRequest{Model: "openai/tiny", Texts: []string{text}})
		return err
	}
	noError(t, embed(acme, "the first words use it up"))
	err := embed(acme, "others")
	servicetest.WantCode(t, "over the quota", err, connect.CodeResourceExhausted)
	if !strings.Contains(err.Error(), `"small"`) || !strings.Contains(err.Error(), "maxTokensPerMonth") {
		t.Error(err)
	}
	for _, text := range []string{"a", "b"} {
		noError(t, embed(bolt, text))
	}
	_, err = s.Operator().UpdatePlan(t.Context(), &ragdv1.UpdatePlanRequest{PlanName: "small", Features: &ragdv1.PlanFeatures{Models: []string{"openai/gpt-*"}}})
	noError(t, err)
	err = embed(acme, "with another model")
	servicetest.WantCode(t, "a model that the plan does not have", err, connect.CodePermissionDenied)
	if !strings.Contains(err.Error(), `"openai/tiny"`) || !strings.Contains(err.Error(), `"small"`) {
		t.Error(err)
	}
	noError(t, embed(bolt, "c"))
}

// Plans are the operator's: no key of a tenant reads or changes them, and what is malformed is refused by name.
func TestPlansAreTheOperators(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	planOf(t, s, "gold", map[string]any{"maxIndexes": 9})
	acme := s.Tenant(t, "acme")
	methods := ragdv1.File_ragd_v1_plan_proto.Services().ByName("PlanService").Methods()
	for i := range methods.Len() {
		name := string(methods.Get(i).Name())
		body := map[string]any{}
		if methods.Get(i).Input().Fields().ByName("plan_name") != nil {
			body["planName"] = "gold"
		}
		if status, answer := call(t, s, acme.Secret, "/ragd.v1.PlanService/"+name, false, body); status != http.StatusForbidden || strings.Contains(answer, "of gold") {
			t.Errorf("%s of a tenant's admin: %d %s", name, status, answer)
		}
	}
	ctx, operator := t.Context(), s.Operator()
	_, err := acme.UpdateTenant(ctx, &ragdv1.UpdateTenantRequest{TenantId: "acme", PlanName: proto.String("gold")})
	servicetest.WantCode(t, "a tenant takes a plan", err, connect.CodePermissionDenied)
	bound := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}, Indexes: &ragdv1.AllowedNames{Names: []string{"docs"}}}))
	_, err = bound.GetQuotas(ctx, &ragdv1.GetQuotasRequest{})
	servicetest.WantCode(t, "the quotas for a bound key", err, connect.CodePermissionDenied)
	filtered := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})}))
	_, err = filtered.GetQuotas(ctx, &ragdv1.GetQuotasRequest{})
	servicetest.WantCode(t, "the quotas for a filtered key", err, connect.CodePermissionDenied)
	_, err = operator.GetQuotas(ctx, &ragdv1.GetQuotasRequest{})
	servicetest.WantCode(t, "the quotas of no tenant", err, connect.CodeInvalidArgument)

	create := func(req *ragdv1.CreatePlanRequest) error {
		_, err := operator.CreatePlan(ctx, req)
		return err
	}
	for field, req := range map[string]*ragdv1.CreatePlanRequest{
		"planName":              {PlanName: "Gold!"},
		"displayName":           {PlanName: "a", DisplayName: strings.Repeat("x", 201)},
		"settings.maxDocuments": {PlanName: "a", Settings: servicetest.Object(t, map[string]any{"maxDocuments": 0})},
		"settings.maxDocument":  {PlanName: "a", Settings: servicetest.Object(t, map[string]any{"maxDocument": 5})},
		"settings":              {PlanName: "a", Settings: servicetest.Object(t, map[string]any{"customer": 5})},
		"settings.sleepAfter":   {PlanName: "a", Settings: servicetest.Object(t, map[string]any{"sleepAfter": "soon"})},
		"features.without":      {PlanName: "a", Features: &ragdv1.PlanFeatures{Without: []string{"agent"}}},
		"features.models":       {PlanName: "a", Features: &ragdv1.PlanFeatures{Models: []string{""}}},
	} {
		if err := create(req); connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), field+":") {
			t.Errorf("a bad %s: %v", field, err)
		}
	}
	servicetest.WantCode(t, "a plan twice", create(&ragdv1.CreatePlanRequest{PlanName: "gold"}), connect.CodeAlreadyExists)
	_, err = operator.CreateTenant(ctx, &ragdv1.CreateTenantRequest{TenantId: "dune", PlanName: "silver"})
	servicetest.WantCode(t, "a tenant with an unknown plan", err, connect.CodeNotFound)
	_, err = operator.CreateTenant(ctx, &ragdv1.CreateTenantRequest{TenantId: "dune", PlanName: "gold"})
	noError(t, err)
	_, err = operator.UpdatePlan(ctx, &ragdv1.UpdatePlanRequest{PlanName: "silver"})
	servicetest.WantCode(t, "an unknown plan is changed", err, connect.CodeNotFound)
	listed, err := operator.ListPlans(ctx, &ragdv1.ListPlansRequest{})
	noError(t, err)
	if len(listed.Plans) != 1 || listed.Plans[0].Tenants != 1 || listed.Plans[0].DisplayName != "of gold" {
		t.Errorf("the plans are %v", listed.Plans)
	}
	_, err = operator.DeleteTenant(ctx, &ragdv1.DeleteTenantRequest{TenantId: "dune"})
	noError(t, err)
	_, err = operator.DeletePlan(ctx, &ragdv1.DeletePlanRequest{PlanName: "gold"})
	noError(t, err)
}

// withheld are the requests of each service that a plan without its feature refuses. What is in neither list is a method
// that somebody has to decide about.
var withheld = map[string]struct {
	feature string
	refused map[string]string
	allowed []string
}{
	"AgentService": {"agents", map[string]string{
		"CreateAgent": `{"agentName": "new", "definition": {"description": "a", "instructions": "b", "model": "openai/small"}}`,
		"UpdateAgent": `{"agentName": "helper", "definition": {"description": "c", "instructions": "b", "model": "openai/small"}}`,
		"AskAgent":    `{"agentName": "helper", "message": "Who?"}`, "AskAgentStream": `{"ask": {"agentName": "helper", "message": "Who?"}}`,
	}, []string{"GetAgent", "ListAgents", "DeleteAgent", "GetThread", "ListThreads", "DeleteThread"}},
	"WorkflowService": {"workflows", map[string]string{
		"CreateWorkflow": `{"workflowName": "new", "definition": {"description": "a", "steps": [{"id": "a", "kind": "map", "input": {"of": {"value": 1}}}]}}`,
		"UpdateWorkflow": `{"workflowName": "flow", "definition": {"description": "b", "steps": [{"id": "a", "kind": "map", "input": {"of": {"value": 1}}}]}}`,
		"StartWorkflow":  `{"workflowName": "flow", "input": {}}`, "RunWorkflow": `{"workflowName": "flow", "input": {}}`, "ResumeRun": `{"runId": "RUN"}`,
	}, []string{"GetWorkflow", "ListWorkflows", "DeleteWorkflow", "WatchRun", "GetRun", "ListRuns", "CancelRun"}},
	"ConnectorService": {"connectors", map[string]string{
		"CreateConnector": `{"connectorName": "new", "indexName": "docs", "web": {"url": "https://a.example.com"}}`,
		"UpdateConnector": `{"connectorName": "site", "description": "b"}`, "TestConnector": `{"connectorName": "site"}`,
		"SyncConnector": `{"connectorName": "site"}`, "ResumeConnector": `{"connectorName": "site"}`, "AuthorizeConnector": `{"connectorName": "site"}`,
	}, []string{"GetConnector", "ListConnectors", "DeleteConnector", "PauseConnector", "ListConnectorItems", "ListConnectorRecipes"}},
}

// What a plan leaves out is refused at every door, with the feature and the plan, and what exists stays.
func TestAPlanWithoutAFeatureRefusesItAtEveryDoor(t *testing.T) {
	t.Parallel()
	ai, steps := modelserver.New(t), newStepServer(t)
	s := servicetest.New(t, service.Config{
		MasterKeys: masterKeys(t, "1"), AllowedPrivateNetworks: thisMachine,
		Providers: service.Providers{OpenAI: endpoint.Config{BaseURL: ai.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1}},
	})
	_, admin := world(t, s, "acme", "apricot")
	acme := s.Client(admin)
	steps.tool(t, acme, "post", "/post")
	workflowOf(t, acme, "asks", `{"description": "Waits.", "steps": [{"id": "ask", "kind": "wait", "message": "Go on?"}]}`)
	waiting := runOf(t, acme, "asks", `{}`)
	_, bolt := world(t, s, "bolt", "quince")

	planOf(t, s, "bare", nil, "agents", "connectors", "workflows", "externalTools")
	havePlan(t, s, "acme", "bare")
	refused := func(what, feature, answer string) {
		t.Helper()
		if !strings.Contains(answer, "the feature "+feature+" is not part of the tenant's plan") || !strings.Contains(answer, "bare") {
			t.Errorf("%s is answered with %s", what, answer)
		}
	}
	for service, of := range withheld {
		methods := ragdv1.File_ragd_v1_agent_proto.Services()
		switch service {
		case "WorkflowService":
			methods = ragdv1.File_ragd_v1_workflow_proto.Services()
		case "ConnectorService":
			methods = ragdv1.File_ragd_v1_connector_proto.Services()
		}
		all := methods.Get(0).Methods()
		for i := range all.Len() {
			m := all.Get(i)
			name := string(m.Name())
			text, has := of.refused[name]
			if !has {
				if !slices.Contains(of.allowed, name) {
					t.Errorf("%s.%s is neither refused nor allowed", service, name)
				}
				continue
			}
			var body map[string]any
			noError(t, json.Unmarshal([]byte(strings.ReplaceAll(text, "RUN", waiting.RunId)), &body))
			streams := m.IsStreamingServer()
			status, answer := call(t, s, admin, "/ragd.v1."+service+"/"+name, streams, body)
			if !streams && status != http.StatusForbidden || !strings.Contains(answer, "permission_denied") {
				t.Errorf("%s: %d", name, status)
			}
			refused(name, of.feature, answer)
		}
	}
	t.Run("tools of other services", func(t *testing.T) {
		_, err := acme.CallTool(t.Context(), &ragdv1.CallToolRequest{ToolName: "post", Arguments: settings(t, `{}`)})
		servicetest.WantCode(t, "CallTool", err, connect.CodePermissionDenied)
		refused("CallTool", "externalTools", err.Error())
		tool, err := acme.GetTool(t.Context(), &ragdv1.GetToolRequest{ToolName: "post"})
		noError(t, err)
		_, err = acme.CreateTool(t.Context(), &ragdv1.CreateToolRequest{ToolName: "more", Kind: tool.Kind, Description: "More.", Settings: tool.Settings})
		servicetest.WantCode(t, "CreateTool", err, connect.CodePermissionDenied)
		refused("CreateTool", "externalTools", err.Error())
	})
	t.Run("MCP", func(t *testing.T) {
		client := mcptest.Connect(t, s.URL+"/mcp", nil, authorization(acme))
		for name, feature := range map[string]string{"ask_helper": "agents", "run_flow": "workflows", "post": "externalTools"} {
			result, text := mcptest.Call(t, client, name, map[string]any{"message": "Who?"}, nil)
			if !result.IsError {
				t.Errorf("%s is no error", name)
			}
			refused("the tool "+name, feature, text)
		}
	})
	t.Run("OpenAI's interface", func(t *testing.T) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/chat/completions", strings.NewReader(`{"model": "agent/helper", "messages": [{"role": "user", "content": "Who?"}]}`))
		noError(t, err)
		req.Header.Set("Authorization", "Bearer "+admin)
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		noError(t, err)
		defer func() { _ = res.Body.Close() }()
		answer, err := io.ReadAll(res.Body)
		noError(t, err)
		if res.StatusCode != http.StatusForbidden {
			t.Errorf("status %d", res.StatusCode)
		}
		refused("a chat", "agents", string(answer))
	})
	t.Run("what runs stops", func(t *testing.T) {
		// As a schedule does, which knows no plan before the run begins.
		ctx := access.NewContext(t.Context(), &access.Request{Tenant: "acme", Principal: access.Principal{
			Subject: s.KeyID(t, admin), Tenant: "acme", Scopes: []access.Scope{access.Admin},
		}})
		_, err := s.Handlers.Connectors.Resume(ctx, "site", false)
		noError(t, err)
		wait.For(t, "the run of the connector", func() bool {
			c, err := acme.GetConnector(t.Context(), &ragdv1.GetConnectorRequest{ConnectorName: "site"})
			noError(t, err)
			return c.Status == "failed" && strings.Contains(c.Error, `the feature connectors is not part of the tenant's plan "bare"`)
		})
		run, err := s.Handlers.Workflows.Start(ctx, "flow", 0, nil)
		noError(t, err)
		wait.For(t, "the run of the workflow", func() bool {
			r, err := acme.GetRun(t.Context(), &ragdv1.GetRunRequest{RunId: run.RunID})
			noError(t, err)
			return r.Status == "failed" && strings.Contains(r.Error, `the feature workflows is not part of the tenant's plan "bare"`)
		})
	})
	t.Run("what exists stays", func(t *testing.T) {
		for method, body := range map[string]map[string]any{
			"AgentService/GetAgent": {"agentName": "helper"}, "WorkflowService/GetWorkflow": {"workflowName": "flow"}, "ConnectorService/GetConnector": {"connectorName": "site"},
		} {
			if status, answer := call(t, s, admin, "/ragd.v1."+method, false, body); status != http.StatusOK {
				t.Errorf("%s: %d %s", method, status, answer)
			}
		}
	})
	t.Run("another tenant has all", func(t *testing.T) {
		if status, answer := call(t, s, bolt, "/ragd.v1.AgentService/AskAgent", false, map[string]any{"agentName": "helper", "message": "Who?"}); status != http.StatusOK {
			t.Errorf("%d %s", status, answer)
		}
	})
}
