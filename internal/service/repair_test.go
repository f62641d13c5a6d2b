package service_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// One of two tenants has lost its database role. Readiness says so, its calls say what to
// do, and the other tenant is served. The next start repairs it, and ingests a document
// that was accepted before.
func TestATenantThatCannotBeServedIsReportedAndRepaired(t *testing.T) {
	t.Parallel()
	quiet := slog.New(slog.DiscardHandler)
	s := servicetest.New(t, service.Config{NoWorkers: true, Logger: quiet})
	stamp := time.Now().UnixNano() & 0xffffffff // roles belong to the whole server, which tests share
	lost, intact := s.Tenant(t, fmt.Sprintf("lost-%x", stamp)), s.Tenant(t, fmt.Sprintf("intact-%x", stamp))
	for _, c := range []servicetest.Client{lost, intact} {
		c.Index(t, "docs")
	}
	accepted, err := lost.UploadDocument(t.Context(), upload("a"))
	must(t, err)
	_, err = s.Pool.Exec(t.Context(), strings.ReplaceAll(
		`REASSIGN OWNED BY <role> TO CURRENT_USER; DROP OWNED BY <role>; DROP ROLE <role>`, "<role>", fmt.Sprintf(`"tenant_lost-%x"`, stamp)))
	must(t, err)

	if status, body := readiness(t, s); status != http.StatusOK || !strings.Contains(body, "1 of 2 tenants cannot be served: run `ragd tenant repair`") || strings.Contains(body, "lost") {
		t.Errorf("readyz answers %d: %s", status, body)
	}
	_, err = lost.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "valve"})
	servicetest.WantCode(t, "a query of the tenant without a role", err, connect.CodeUnavailable)
	if !strings.Contains(err.Error(), "ragd tenant repair lost-") {
		t.Errorf("error %v, want one that says what to do", err)
	}
	_, err = intact.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "valve"})
	must(t, err)

	servicetest.New(t, service.Config{AdminPool: s.Pool, Logger: quiet})
	wait.For(t, "the document to be ready", func() bool {
		d, err := lost.GetDocument(t.Context(), &ragdv1.GetDocumentRequest{IndexName: "docs", DocumentId: accepted.Document.DocumentId})
		return err == nil && d.Status == "ready"
	})
}
