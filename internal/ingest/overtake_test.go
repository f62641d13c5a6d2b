package ingest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// load locks the row of the only document and copies chunks without end, as a worker does
// with a very long document. The channel receives the error that ended it.
func load(t *testing.T, s *servicetest.Service) <-chan error {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	filler := strings.Repeat("x", 16<<10)
	ended, begun := make(chan error, 1), make(chan struct{})
	t.Cleanup(cancel)
	go func() {
		ended <- pgx.BeginFunc(ctx, s.ServicePool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SET LOCAL ROLE tenant_acme`); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `SELECT FROM tenant_acme.documents FOR NO KEY UPDATE`); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `CREATE TEMPORARY TABLE long (text text) ON COMMIT DROP`); err != nil {
				return err
			}
			close(begun)
			pace := time.NewTicker(time.Millisecond)
			defer pace.Stop()
			_, err := tx.CopyFrom(ctx, pgx.Identifier{"long"}, []string{"text"}, pgx.CopyFromFunc(func() ([]any, error) {
				<-pace.C
				return []any{filler}, ctx.Err()
			}))
			return err
		})
	}()
	select {
	case <-begun:
	case err := <-ended:
		t.Fatal(err)
	}
	return ended
}

// A change that makes the chunks of a long document obsolete does not wait until all of
// them are copied.
func TestALongLoadIsOvertaken(t *testing.T) {
	t.Parallel()
	for name, overtake := range map[string]func(acme servicetest.Client, jobID string) error{
		"by cancelling": func(acme servicetest.Client, jobID string) error {
			_, err := acme.CancelJob(t.Context(), &ragdv1.CancelJobRequest{JobId: jobID})
			return err
		},
		"by deleting": func(acme servicetest.Client, _ string) error {
			_, err := acme.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{IndexName: "docs", Uri: "a"})
			return err
		},
		"by deleting many": func(acme servicetest.Client, _ string) error {
			_, err := acme.DeleteDocuments(t.Context(), &ragdv1.DeleteDocumentsRequest{IndexName: "docs", Uris: []string{"a"}})
			return err
		},
		"by a newer version": func(acme servicetest.Client, _ string) error {
			_, err := acme.UploadDocument(t.Context(), upload("a", "Another harbour."))
			return err
		},
		"by emptying the index": func(acme servicetest.Client, _ string) error {
			_, err := acme.TruncateIndex(t.Context(), &ragdv1.TruncateIndexRequest{IndexName: "docs"})
			return err
		},
		"by deleting the index": func(acme servicetest.Client, _ string) error {
			_, err := acme.DeleteIndex(t.Context(), &ragdv1.DeleteIndexRequest{IndexName: "docs"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servicetest.New(t, service.Config{NoWorkers: true})
			acme := s.Tenant(t, "acme")
			acme.Index(t, "docs")
			res, err := acme.UploadDocument(t.Context(), upload("a", "A harbour."))
			if err != nil {
				t.Fatal(err)
			}
			ended := load(t, s)
			if err := overtake(acme, res.Job.JobId); err != nil {
				t.Error(err)
			}
			if err := <-ended; err == nil {
				t.Error("the load went on to its end")
			}
		})
	}
}
