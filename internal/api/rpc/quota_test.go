package rpc_test

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// The operator limits the requests of one tenant while the service runs: with all its
// credentials, and for operators in its name, over Connect and MCP.
func TestATenantHasItsOwnRequestRate(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	c, other := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	second := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}}))
	limit := func(settings map[string]any) error {
		_, err := s.Operator().UpdateTenant(t.Context(), &ragdv1.UpdateTenantRequest{TenantId: "acme", Settings: servicetest.Object(t, settings)})
		return err
	}
	list := func(c servicetest.Client) error {
		_, err := c.ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{})
		return err
	}
	for name, settings := range map[string]map[string]any{
		"requestsPerSecond":  {"requestsPerSecond": 0},
		"concurrentRequests": {"concurrentRequests": "ten"},
		"requestPerSecond":   {"requestPerSecond": 5}, // a misspelt quota must not be without effect
	} {
		if err := limit(settings); connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "settings."+name) {
			t.Errorf("%v: %v", settings, err)
		}
	}
	if err := list(c); err != nil { // the key is cached with the quotas
		t.Fatal(err)
	}
	if err := limit(map[string]any{"requestsPerSecond": 1, "plan": "small"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := list(c); err != nil {
			t.Fatalf("within the quota: %v", err)
		}
	}
	err := list(second)
	servicetest.WantCode(t, "another key of the tenant, over its quota", err, connect.CodeResourceExhausted)
	if !strings.Contains(err.Error(), "more than 1 requests a second") || !strings.Contains(err.Error(), "requestsPerSecond") {
		t.Errorf("the error does not say the quota and its name: %v", err)
	}
	if failed, retry := quotaDetails(t, err); len(failed) != 1 || failed[0].GetQuotaId() != "requestsPerSecond" || !strings.Contains(failed[0].GetDescription(), "more than 1 requests") || retry <= 0 {
		t.Errorf("the details are %v, and to wait %v", failed, retry)
	}
	servicetest.WantCode(t, "an operator in its name", list(s.Operator("Ragd-Tenant", "acme")), connect.CodeResourceExhausted)
	if status := postMCP(t, s, c.Secret); status != http.StatusTooManyRequests {
		t.Errorf("over MCP: status %d", status)
	}
	for range 5 {
		if err := list(other); err != nil {
			t.Errorf("another tenant: %v", err)
		}
	}
	if err := limit(map[string]any{"requestsPerSecond": 1000}); err != nil {
		t.Fatal(err)
	}
	if status := postMCP(t, s, c.Secret); status != http.StatusOK {
		t.Errorf("with a higher quota, over MCP: status %d", status)
	}
}

// postMCP opens a session at the MCP endpoint and returns the status of the answer.
func postMCP(t *testing.T, s *servicetest.Service, secret string) int {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/mcp", bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// quotaDetails returns the quotas that an error is about, and how long to wait.
func quotaDetails(t *testing.T, err error) (failed []*errdetails.QuotaFailure_Violation, retry time.Duration) {
	t.Helper()
	var wired *connect.Error
	if !errors.As(err, &wired) {
		t.Fatalf("no error of an RPC: %v", err)
	}
	for _, d := range wired.Details() {
		value, err := d.Value()
		if err != nil {
			t.Fatal(err)
		}
		switch value := value.(type) {
		case *errdetails.QuotaFailure:
			failed = append(failed, value.GetViolations()...)
		case *errdetails.RetryInfo:
			retry = value.GetRetryDelay().AsDuration()
		}
	}
	return failed, retry
}
