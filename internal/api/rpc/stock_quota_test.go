package rpc_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// Uploads to two instances at the same time never exceed the tenant's quotas of documents and of
// bytes, and use them up.
func TestStoredDocumentsAndBytesAreLimitedExactly(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	second := servicetest.New(t, service.Config{AdminPool: s.Pool})
	const size, most = 100, 7
	for name, quota := range map[string]map[string]any{
		"maxDocuments":     {"maxDocuments": most},
		"maxDocumentBytes": {"maxDocumentBytes": most*size + size/2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tenantID := strings.ToLower(name)
			c := s.Tenant(t, tenantID)
			bolt := s.Tenant(t, tenantID+"-other")
			limit := func(settings map[string]any) {
				t.Helper()
				if _, err := s.Operator().UpdateTenant(t.Context(), &ragdv1.UpdateTenantRequest{TenantId: tenantID, Settings: servicetest.Object(t, settings)}); err != nil {
					t.Fatal(err)
				}
			}
			limit(quota)
			for _, index := range []string{"one", "two"} {
				c.Index(t, index)
			}
			bolt.Index(t, "one")
			upload := func(c servicetest.Client, index, uri string) error {
				_, err := c.UploadDocument(t.Context(), &ragdv1.UploadDocumentRequest{
					IndexName: index, Uri: uri, Source: servicetest.Text(fmt.Sprintf("%-*s.", size-1, uri)),
				})
				return err
			}
			var accepted atomic.Int64
			var group sync.WaitGroup
			clients := []servicetest.Client{c, second.Client(c.Secret)}
			for n := range 20 {
				group.Go(func() {
					for round := range 3 {
						err := upload(clients[n%2], []string{"one", "two"}[n/2%2], fmt.Sprintf("%d-%d", n, round))
						switch {
						case err == nil:
							accepted.Add(1)
						case connect.CodeOf(err) != connect.CodeResourceExhausted:
							t.Error(err)
						}
					}
				})
			}
			group.Wait()
			if n := accepted.Load(); n != most {
				t.Errorf("%d documents were accepted, want %d", n, most)
			}
			err := upload(c, "one", "late")
			var wired *connect.Error
			if !errors.As(err, &wired) || wired.Meta().Get("Retry-After") == "" || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), fmt.Sprint(quota[name])) {
				t.Errorf("the error does not say the quota and when to try again: %v", err)
			}
			if failed, _ := quotaDetails(t, err); len(failed) != 1 || failed[0].GetQuotaId() != name {
				t.Errorf("the details name the quotas %v, want %s", failed, name)
			}
			results := c.UploadAll(t, []*ragdv1.UploadDocumentRequest{{IndexName: "one", Uri: "streamed", Source: servicetest.Text(strings.Repeat("s", size))}})
			if !strings.Contains(results[0].GetError().String(), name) {
				t.Errorf("an upload by stream: %v", results[0])
			}
			if err := upload(bolt, "one", "theirs"); err != nil {
				t.Errorf("another tenant: %v", err)
			}

			_, err = c.CallTool(t.Context(), &ragdv1.CallToolRequest{ToolName: "upload_document", Arguments: servicetest.Object(t, map[string]any{
				"indexName": "one", "uri": "by a tool", "text": strings.Repeat("s", size),
			})})
			servicetest.WantCode(t, "an upload by a tool", err, connect.CodeResourceExhausted)
			var stored *ragdv1.Document
			for _, index := range []string{"one", "two"} {
				list, err := c.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: index})
				if err != nil {
					t.Fatal(err)
				}
				if len(list.Documents) > 0 {
					stored = list.Documents[0]
				}
			}
			if err := upload(c, stored.IndexName, stored.Uri); err != nil {
				t.Errorf("a document that is stored already: %v", err)
			}
			if _, err := c.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{IndexName: stored.IndexName, Uri: stored.Uri}); err != nil {
				t.Fatal(err)
			}
			wait.For(t, "an upload after the deletion, which may go on if it is large", func() bool { return upload(c, "two", "after") == nil })
			servicetest.WantCode(t, "when it is used up again", upload(c, "one", "more"), connect.CodeResourceExhausted)
			limit(map[string]any{})
			if err := upload(c, "one", "more"); err != nil {
				t.Errorf("without a quota: %v", err)
			}
			var documents, bytes, counted, countedBytes int64
			err = s.Pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM tenant_`+tenantID+`.documents), (SELECT sum(byte_size) FROM tenant_`+tenantID+`.documents),
				(SELECT sum(documents)::bigint FROM tenant_`+tenantID+`.index_counts), (SELECT sum(bytes)::bigint FROM tenant_`+tenantID+`.index_counts)`).Scan(&documents, &bytes, &counted, &countedBytes)
			if err != nil || documents != counted || bytes != countedBytes {
				t.Errorf("%d documents of %d bytes are counted as %d of %d: %v", documents, bytes, counted, countedBytes, err)
			}
		})
	}
}
