package event_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/event"
	"github.com/ragdhq/ragd/internal/testing/servicetest"
)

// listen runs a listener on the service's database and returns what it hears.
func listen(t *testing.T, s *servicetest.Service) <-chan event.Event {
	t.Helper()
	l := event.NewListener(s.Pool.Config().ConnConfig, slog.New(slog.DiscardHandler))
	heard := make(chan event.Event, 100)
	l.Subscribe(func(e event.Event) { heard <- e })
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-l.Ready()
	return heard
}

func expect(t *testing.T, heard <-chan event.Event, want ...event.Event) {
	t.Helper()
	for len(want) > 0 {
		select {
		case e := <-heard:
			i := slices.Index(want, e)
			if i < 0 {
				t.Fatalf("heard %+v, want one of %+v", e, want)
			}
			want = slices.Delete(want, i, i+1)
		case <-time.After(10 * time.Second):
			t.Fatalf("not heard: %+v", want)
		}
	}
}

// Every instance hears what was changed over any.
func TestChangesAreHeard(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, servicetest.Config{})
	here, there := listen(t, s), listen(t, s)
	acme := s.Tenant(t, "acme")
	both := func(want event.Event) {
		t.Helper()
		expect(t, here, want)
		expect(t, there, want)
	}
	acme.Index(t, "docs")
	both(event.Event{Tenant: "acme", Index: "docs"})
	d := acme.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: "a.md", Source: &ragdv1.UploadDocumentRequest_Text{Text: "a"},
	})
	both(event.Event{Tenant: "acme", Index: "docs", Document: d.GetDocumentId()})
	if _, err := acme.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{IndexName: "docs", Uri: "a.md"}); err != nil {
		t.Fatal(err)
	}
	both(event.Event{Tenant: "acme", Index: "docs", Document: d.GetDocumentId()})
	if _, err := acme.DeleteIndex(t.Context(), &ragdv1.DeleteIndexRequest{IndexName: "docs"}); err != nil {
		t.Fatal(err)
	}
	both(event.Event{Tenant: "acme", Index: "docs"})
}

// A broken connection is made again, and what may have been missed is told.
func TestListenerComesBack(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, servicetest.Config{NoWorkers: true})
	heard := listen(t, s)
	_, err := s.Pool.Exec(t.Context(), `
		SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND query = 'LISTEN ragd_event'`)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, heard, event.Event{})
	s.Tenant(t, "acme").Index(t, "docs")
	expect(t, heard, event.Event{Tenant: "acme", Index: "docs"})
}
