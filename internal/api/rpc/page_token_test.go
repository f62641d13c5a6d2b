package rpc_test

import (
	"encoding/base64"
	"fmt"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// Every list accepts only the tokens that it gave out to the same credential for the same
// arguments, on all instances.
func TestPageTokensAreAuthenticated(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	other := servicetest.New(t, service.Config{NoWorkers: true, AdminPool: s.Pool})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	ctx := t.Context()
	var document string
	for _, c := range []servicetest.Client{acme, bolt} {
		for n := range 2 {
			c.Index(t, fmt.Sprintf("docs%d", n))
			if _, err := c.CreateTool(ctx, &ragdv1.CreateToolRequest{ToolName: fmt.Sprintf("tool%d", n), Kind: "document_chunker"}); err != nil {
				t.Fatal(err)
			}
			if _, err := c.CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{}); err != nil {
				t.Fatal(err)
			}
			res, err := c.UploadDocument(ctx, &ragdv1.UploadDocumentRequest{IndexName: "docs0", Uri: fmt.Sprint(n), Source: servicetest.Text("A text.")})
			if err != nil {
				t.Fatal(err)
			}
			document = res.Document.DocumentId
		}
	}
	lists := map[string]func(c servicetest.Client, token string) (string, error){
		"ListIndexes": func(c servicetest.Client, token string) (string, error) {
			res, err := c.ListIndexes(ctx, &ragdv1.ListIndexesRequest{PageSize: 1, PageToken: token})
			return res.GetNextPageToken(), err
		},
		"ListDocuments": func(c servicetest.Client, token string) (string, error) {
			res, err := c.ListDocuments(ctx, &ragdv1.ListDocumentsRequest{IndexName: "docs0", PageSize: 1, PageToken: token})
			return res.GetNextPageToken(), err
		},
		"ListJobs": func(c servicetest.Client, token string) (string, error) {
			res, err := c.ListJobs(ctx, &ragdv1.ListJobsRequest{PageSize: 1, PageToken: token})
			return res.GetNextPageToken(), err
		},
		"ListTools": func(c servicetest.Client, token string) (string, error) {
			res, err := c.ListTools(ctx, &ragdv1.ListToolsRequest{PageSize: 1, PageToken: token})
			return res.GetNextPageToken(), err
		},
		"ListApiKeys": func(c servicetest.Client, token string) (string, error) {
			res, err := c.ListApiKeys(ctx, &ragdv1.ListApiKeysRequest{PageSize: 1, PageToken: token})
			return res.GetNextPageToken(), err
		},
		"ListTenants": func(_ servicetest.Client, token string) (string, error) {
			res, err := s.Operator().ListTenants(ctx, &ragdv1.ListTenantsRequest{PageSize: 1, PageToken: token})
			return res.GetNextPageToken(), err
		},
	}
	second := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}}))
	tokens := map[string]string{}
	for name, list := range lists {
		token, err := list(acme, "")
		if err != nil || token == "" {
			t.Fatalf("%s: token %q, %v", name, token, err)
		}
		if _, err := list(acme, token); err != nil {
			t.Errorf("%s refuses its own token: %v", name, err)
		}
		if name == "ListTenants" {
			continue // the operator's, which has no other tenant or key here
		}
		tokens[name] = token
		for caller, c := range map[string]servicetest.Client{"another tenant": bolt, "another key": second, "the operator": s.Operator("Ragd-Tenant", "acme")} {
			_, err := list(c, token)
			servicetest.WantCode(t, name+" with the token of "+caller, err, connect.CodeInvalidArgument)
		}
		if _, err := list(other.Client(acme.Secret), token); err != nil {
			t.Errorf("%s on another instance: %v", name, err)
		}
	}
	madeUp := []string{"bnVsbA", "e30", "MQ", "IiI", "////", base64.RawURLEncoding.EncodeToString([]byte(`{"t":"2024-01-01T00:00:00Z","id":"x"}`))}
	for name, list := range lists {
		for _, token := range madeUp {
			_, err := list(acme, token)
			servicetest.WantCode(t, name+" with the made-up token "+token, err, connect.CodeInvalidArgument)
		}
		for from, token := range tokens {
			if from != name {
				_, err := list(acme, token)
				servicetest.WantCode(t, name+" with a token of "+from, err, connect.CodeInvalidArgument)
			}
		}
	}
	for what, call := range map[string]func() error{
		"another filter": func() error {
			_, err := acme.ListDocuments(ctx, &ragdv1.ListDocumentsRequest{
				IndexName: "docs0", PageToken: tokens["ListDocuments"], Filter: servicetest.Object(t, map[string]any{"a": 1}),
			})
			return err
		},
		"another index": func() error {
			_, err := acme.ListDocuments(ctx, &ragdv1.ListDocumentsRequest{IndexName: "docs1", PageToken: tokens["ListDocuments"]})
			return err
		},
		"another namespace": func() error {
			_, err := acme.ListDocuments(ctx, &ragdv1.ListDocumentsRequest{IndexName: "docs0", Namespace: "n", PageToken: tokens["ListDocuments"]})
			return err
		},
		"another filter of the request context": func() error {
			_, err := lists["ListDocuments"](s.Client(acme.Secret, "Ragd-Context", `{"filter":{"a":1}}`), tokens["ListDocuments"])
			return err
		},
		"another status": func() error {
			_, err := acme.ListJobs(ctx, &ragdv1.ListJobsRequest{Status: "queued", PageToken: tokens["ListJobs"]})
			return err
		},
		"the list of chunks": func() error {
			_, err := bolt.ListChunks(ctx, &ragdv1.ListChunksRequest{IndexName: "docs0", DocumentId: document, PageToken: "MQ"})
			return err
		},
	} {
		servicetest.WantCode(t, "a token for "+what, call(), connect.CodeInvalidArgument)
	}
}
