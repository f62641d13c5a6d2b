package rpc_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// forgedConnector inserts a connector into the tenant acme, as a forged archive could have it.
func forgedConnector(t *testing.T, s *servicetest.Service, name, definition, access string) {
	t.Helper()
	_, err := s.Pool.Exec(t.Context(), `
		INSERT INTO ragd_shared.connectors (tenant_id, connector_name, index_name, namespace, definition, access)
		VALUES ('acme', $1, 'docs', '', $2::text::json, $3::text::json)`, name, definition, access)
	noError(t, err)
}

const (
	forgedWeb    = `{"web":{"url":"https://example.com/","maxDepth":1,"delayMs":1000},"chunking":{},"maxItems":10}`
	forgedAccess = `{"subject":"operator","tenant":"acme","scopes":["admin"]}`
)

// Rights of an operator are not imported, however the JSON of the archive spells its keys.
func TestForgedRightsAreNotImported(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme").Index(t, "docs")
	forged := []string{
		`{"subject":"operator","tenant":"acme","scopes":["operator"]}`,
		`{"subject":"operator","tenant":"acme","SCOPES":["operator"]}`,
		`{"subject":"operator","tenant":"acme","scopes":["admin"],"\u017fcopes":["operator"]}`,
		`{"subject":"operator","tenant":"acme","\u017fcopes":["operator"],"scopes":["admin"],"Scopes":["operator"]}`,
		`{"subject":"operator","tenant":"acme","Tenant":"bolt","HOME":"bolt","scopes":["write"],"depth":-9,"else":"\u0000"}`,
	}
	for i := range 120 { // more than one batch
		access := forged[i%len(forged)]
		forgedConnector(t, s, fmt.Sprint("c", i), forgedWeb, access)
		_, err := s.Pool.Exec(t.Context(), `
			INSERT INTO ragd_shared.workflow_runs (tenant_id, run_id, workflow_name, version, status, subject, access, input)
			VALUES ('acme', gen_random_uuid(), 'w', 1, 'succeeded', 'operator', $1::text::json, '{}')`, access)
		noError(t, err)
	}
	_, err := s.Pool.Exec(t.Context(), `INSERT INTO ragd_shared.question_sets (tenant_id, set_name, index_name, description, access) VALUES ('acme', 'q', 'docs', '', '')`)
	noError(t, err)
	for _, access := range append(slices.Clone(forged[:4]), "") {
		_, err := s.Pool.Exec(t.Context(), `
			INSERT INTO ragd_shared.evaluations (tenant_id, evaluation_id, set_name, index_name, access, settings, delegation, question_count, job_id)
			VALUES ('acme', gen_random_uuid(), 'q', 'docs', '', '{}', nullif($1::text, '')::jsonb, 0, gen_random_uuid())`, access)
		noError(t, err)
	}
	data, _ := exportTenant(t, s.Operator(), &ragdv1.ExportTenantRequest{TenantId: "acme"})
	_, err = importTenant(t, s.Operator(), &ragdv1.ImportOptions{TenantId: "evil"}, data)
	noError(t, err)
	found := 0
	rows, err := s.Pool.Query(t.Context(), `
		SELECT access::text FROM ragd_shared.connectors WHERE tenant_id = 'evil' UNION ALL SELECT access::text FROM ragd_shared.workflow_runs WHERE tenant_id = 'evil'
		UNION ALL SELECT delegation::text FROM ragd_shared.evaluations WHERE tenant_id = 'evil' AND delegation IS NOT NULL`)
	noError(t, err)
	for rows.Next() {
		var text string
		noError(t, rows.Scan(&text))
		var d access.Delegation
		noError(t, json.Unmarshal([]byte(text), &d))
		if slices.Contains(d.Scopes, access.Operator) || d.Tenant != "evil" || d.Home != "" && d.Home != "evil" || d.Depth < 0 || strings.Contains(text, "else") {
			t.Errorf("imported %s", text)
		}
		found++
	}
	noError(t, rows.Err())
	if found != 244 {
		t.Errorf("%d delegations were imported", found)
	}

	// What cannot be read is refused.
	for _, access := range []string{`null`, `[]`, `"operator"`, `{"scopes":"operator"}`, `{"scopes":["owner"]}`, `{"tenant":{}}`, `{"subject":"` + strings.Repeat("x", 1<<20) + `"}`} {
		_, err := s.Pool.Exec(t.Context(), `UPDATE ragd_shared.connectors SET access = $1::text::json WHERE tenant_id = 'acme' AND connector_name = 'c99'`, access)
		noError(t, err)
		data, _ := exportTenant(t, s.Operator(), &ragdv1.ExportTenantRequest{TenantId: "acme"})
		_, err = importTenant(t, s.Operator(), &ragdv1.ImportOptions{TenantId: "unreadable"}, data)
		servicetest.WantCode(t, access[:min(len(access), 40)], err, connect.CodeInvalidArgument)
		_, err = s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: "unreadable"})
		noError(t, err)
	}
}

// Connectors of an archive are as Create makes them: with defaults, and paused if only an operator may create them or nobody.
func TestForgedConnectorsAreChecked(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	forged := map[string]struct{ definition, reason string }{
		"folder":   {`{"folder":{"path":"/srv"},"maxItems":10}`, "operator"},
		"cased":    {`{"FOLDER":{"path":"/srv"},"maxItems":10}`, "operator"},
		"both":     {`{"web":{"url":"https://example.com/"},"Folder":{"path":"/srv"},"maxItems":10}`, "operator"},
		"web":      {`{"web":{"url":"https://example.com/"}}`, ""},
		"negative": {`{"web":{"url":"https://example.com/","delayMs":-5},"maxItems":10}`, "web.delayMs"},
		"many":     {`{"web":{"url":"https://example.com/"},"maxItems":1000000000}`, "maxItems"},
		"nothing":  {`{}`, "source"},
		"whole":    {forgedWeb, ""},
	}
	for name, c := range forged {
		forgedConnector(t, s, name, c.definition, forgedAccess)
	}
	data, _ := exportTenant(t, s.Operator(), &ragdv1.ExportTenantRequest{TenantId: "acme"})
	_, err := s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: "acme"})
	noError(t, err)
	_, err = importTenant(t, s.Operator(), &ragdv1.ImportOptions{}, data)
	noError(t, err)
	for name, c := range forged {
		got, err := acme.GetConnector(t.Context(), &ragdv1.GetConnectorRequest{ConnectorName: name})
		if err != nil || got.Paused != (c.reason != "") || !strings.Contains(got.PausedReason, c.reason) {
			t.Errorf("the connector %s is %v, %v", name, got, err)
		}
		if got.GetWeb() != nil && got.GetWeb().MaxDepth == nil {
			t.Errorf("the connector %s has no depth", name)
		}
	}
}
