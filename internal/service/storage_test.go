package service_test

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// disk is a disk of 100 GiB for service.Config.DiskFree.
type disk struct {
	free  atomic.Int64
	asked chan struct{} // gets a value for each measurement that somebody waits for
}

func newDisk(free int64) *disk {
	d := &disk{asked: make(chan struct{})}
	d.free.Store(free)
	return d
}

func (d *disk) measure() (free, total int64, err error) {
	select {
	case d.asked <- struct{}{}:
	default:
	}
	return d.free.Load(), 100 << 30, nil
}

const (
	plenty = 50 << 30
	low    = 1 << 20
)

// await waits until the service has measured the disk again.
func (d *disk) await() {
	for range 2 { // the first may have begun before
		<-d.asked
	}
}

func upload(uri string) *ragdv1.UploadDocumentRequest {
	return &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Source: &ragdv1.UploadDocumentRequest_Text{Text: "The valve of " + uri + " opens at nine bar."}}
}

// wantRefused fails the test unless a write was refused for lack of space.
func wantRefused(t *testing.T, what string, err error, mention string) {
	t.Helper()
	var refusal *connect.Error
	if !errors.As(err, &refusal) || refusal.Code() != connect.CodeResourceExhausted || !strings.Contains(refusal.Message(), mention) {
		t.Errorf("%s: %v, want resource_exhausted that mentions %q", what, err, mention)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func readiness(t *testing.T, s *servicetest.Service) (status int, body string) {
	t.Helper()
	res, err := http.Get(s.URL + "/readyz")
	must(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	must(t, err)
	return res.StatusCode, string(text)
}

func TestAnAlmostFullDiskRefusesWritesAndServesReads(t *testing.T) {
	t.Parallel()
	d := newDisk(plenty)
	s := servicetest.New(t, service.Config{DiskFree: d.measure, Logger: slog.New(slog.DiscardHandler)})
	c := s.Tenant(t, "acme")
	c.Index(t, "docs")
	stored := c.Upload(t, upload("a"))
	two := &ragdv1.CreateIndexRequest{IndexName: "vectors", Dimension: 2}
	_, err := c.CreateIndex(t.Context(), two)
	must(t, err)

	d.free.Store(low)
	d.await()
	_, err = c.UploadDocument(t.Context(), upload("b"))
	wantRefused(t, "an upload", err, "min-free-bytes")
	_, err = c.Upsert(t.Context(), &ragdv1.UpsertRequest{IndexName: "vectors", Entries: []*ragdv1.Entry{{Id: "1", Values: []float32{1, 2}}}})
	wantRefused(t, "a vector", err, "min-free-bytes")
	_, err = c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "more"})
	wantRefused(t, "an index", err, "min-free-bytes")
	_, err = s.Operator().CreateTenant(t.Context(), &ragdv1.CreateTenantRequest{TenantId: "more"})
	wantRefused(t, "a tenant", err, "min-free-bytes")

	found, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "valve"})
	if err != nil || len(found.Sources) != 1 {
		t.Errorf("a query: %v, %v", found, err)
	}
	if status, body := readiness(t, s); status != http.StatusOK || !strings.Contains(body, "writes are refused") {
		t.Errorf("readyz answers %d: %s", status, body)
	}
	_, err = c.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{IndexName: "docs", DocumentId: stored.DocumentId})
	if err != nil {
		t.Errorf("a deletion: %v", err)
	}

	d.free.Store(plenty)
	d.await()
	c.Upload(t, upload("b"))
	if status, body := readiness(t, s); status != http.StatusOK || strings.TrimSpace(body) != "ok" {
		t.Errorf("readyz answers %d: %s", status, body)
	}
}

// A document that was accepted waits for space; it does not fail.
func TestAcceptedDocumentsWaitForSpace(t *testing.T) {
	t.Parallel()
	accepting := servicetest.New(t, service.Config{NoWorkers: true})
	d := newDisk(low)
	servicetest.New(t, service.Config{AdminPool: accepting.Pool, DiskFree: d.measure, Logger: slog.New(slog.DiscardHandler)})
	c := accepting.Tenant(t, "acme")
	c.Index(t, "docs")
	res, err := c.UploadDocument(t.Context(), upload("a"))
	must(t, err)
	d.await() // the other instance's workers have looked for space since
	waiting, err := c.GetJob(t.Context(), &ragdv1.GetJobRequest{JobId: res.Job.JobId})
	if err != nil || job.Status(waiting.Status) != job.Queued || waiting.Attempts != 0 {
		t.Errorf("the job is %v, %v; want it queued", waiting, err)
	}
	d.free.Store(plenty)
	if document := c.Await(t, "docs", res.Job.JobId, res.Document.DocumentId); document.Status != "ready" {
		t.Errorf("the document is %v", document)
	}
}

func TestATenantOverItsQuotaIsRefusedAlone(t *testing.T) {
	t.Parallel()
	const quota = 1 << 20 // an empty tenant with an index takes a third of that
	s := servicetest.New(t, service.Config{MaxTenantBytes: quota})
	big, small := s.Tenant(t, "big"), s.Tenant(t, "small")
	for _, c := range []servicetest.Client{big, small} {
		c.Index(t, "docs")
	}
	over := upload("over")
	over.Source = &ragdv1.UploadDocumentRequest_Text{Text: strings.Repeat("The valve opens at nine bar. ", quota/29)}
	_, err := big.UploadDocument(t.Context(), over)
	wantRefused(t, "an upload over the quota", err, "max-tenant-bytes")
	small.Upload(t, upload("a"))
}
