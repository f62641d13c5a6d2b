package rpc_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// A misspelt name gets the nearest one of the caller's own tenant, never one of another.
func TestNotFoundErrorsNameTheNearestOfTheOwnTenant(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	ctx := t.Context()
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	acme.Index(t, "docs")
	acme.Index(t, "Handbook")
	bolt.Index(t, "doxs")
	for _, c := range []servicetest.Client{acme, bolt} {
		if _, err := c.CreateTool(ctx, &ragdv1.CreateToolRequest{ToolName: "ask_" + map[string]string{acme.Secret: "rules", bolt.Secret: "rulez"}[c.Secret], Kind: "vector_query", Description: "Answers.", Arguments: []string{"queryText", "indexName"}}); err != nil {
			t.Fatal(err)
		}
	}
	operator := s.Client(servicetest.OperatorKey)
	describe := func(c servicetest.Client, name string) error {
		_, err := c.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: name})
		return err
	}
	getTool := func(c servicetest.Client, name string) error {
		_, err := c.GetTool(ctx, &ragdv1.GetToolRequest{ToolName: name})
		return err
	}
	_, ofTenant := operator.GetTenant(ctx, &ragdv1.GetTenantRequest{TenantId: "amce"})
	_, ofForeignTenant := acme.ListApiKeys(ctx, &ragdv1.ListApiKeysRequest{TenantId: "bolr"})
	_, ofQuery := acme.VectorQuery(ctx, &ragdv1.VectorQueryRequest{IndexName: "handbook", QueryText: "a"})
	_, ofDocument := acme.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: "docs", DocumentId: "a.md"})
	_, ofJob := acme.GetJob(ctx, &ragdv1.GetJobRequest{JobId: "j1"})
	for _, tc := range []struct {
		err  error
		want string
	}{
		{describe(acme, "dcos"), `index "dcos" not found; did you mean docs?`},
		{describe(acme, "DOCS"), `index "DOCS" not found; did you mean docs?`},
		{ofQuery, `index "handbook" not found; did you mean Handbook?`},
		{describe(bolt, "docs"), `index "docs" not found; did you mean doxs?`},
		{describe(acme, "invoices"), `index "invoices" not found: create it first, or list the indexes to see the names`},
		{getTool(acme, "ask_rule"), `tool "ask_rule" not found; did you mean ask_rules?`},
		{getTool(acme, "ask_rulez"), `tool "ask_rulez" not found; did you mean ask_rules?`},
		{ofTenant, `tenant "amce" not found; did you mean acme?`},
		{ofForeignTenant, `tenant "bolr" not found`},
		{ofDocument, `document "a.md" not found: this is not an id, which has 36 characters; name a document by its uri in the field uri`},
		{ofJob, `job "j1" not found: this is not the id of a job, which has 36 characters; list the jobs to see them`},
	} {
		servicetest.WantCode(t, tc.want, tc.err, connect.CodeNotFound)
		if !strings.HasSuffix(tc.err.Error(), tc.want) {
			t.Errorf("%v, want %s", tc.err, tc.want)
		}
	}
}
