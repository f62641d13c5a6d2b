package event_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/automation/event"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// listen runs a listener on the service's database and returns the events it receives.
func listen(t *testing.T, s *servicetest.Service) <-chan event.Event {
	t.Helper()
	l := event.NewListener(s.Pool.Config().ConnConfig, slog.New(slog.DiscardHandler))
	received := make(chan event.Event, 100)
	l.Subscribe(func(e event.Event) { received <- e })
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
	return received
}

// expect waits until all of these events were received, in any order.
func expect(t *testing.T, received <-chan event.Event, want ...event.Event) {
	t.Helper()
	for len(want) > 0 {
		select {
		case e := <-received:
			i := slices.Index(want, e)
			if i < 0 {
				t.Fatalf("received %+v, want one of %+v", e, want)
			}
			want = slices.Delete(want, i, i+1)
		case <-time.After(time.Minute):
			t.Fatalf("not received: %+v", want)
		}
	}
}

func TestEveryInstanceReceivesChanges(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	first, second := listen(t, s), listen(t, s)
	acme := s.Tenant(t, "acme")
	both := func(want event.Event) {
		t.Helper()
		expect(t, first, want)
		expect(t, second, want)
	}
	acme.Index(t, "docs")
	both(event.Event{Tenant: "acme", Kind: event.Index, Name: "docs"})
	d := acme.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: "a.md", Source: &ragdv1.UploadDocumentRequest_Text{Text: "a"},
	})
	both(event.Event{Tenant: "acme", Kind: event.Document, Name: d.GetDocumentId(), Index: "docs"})
	if _, err := acme.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{IndexName: "docs", Uri: "a.md"}); err != nil {
		t.Fatal(err)
	}
	both(event.Event{Tenant: "acme", Kind: event.Document, Name: d.GetDocumentId(), Index: "docs"})
	if _, err := acme.DeleteIndex(t.Context(), &ragdv1.DeleteIndexRequest{IndexName: "docs"}); err != nil {
		t.Fatal(err)
	}
	both(event.Event{Tenant: "acme", Kind: event.Index, Name: "docs"})
}

// The empty event tells subscribers that they may have missed events.
func TestListenerReconnectsAndSendsAnEmptyEvent(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	received := listen(t, s)
	_, err := s.Pool.Exec(t.Context(), `
		SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND query = 'LISTEN ragd_event'`)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, received, event.Event{})
	s.Tenant(t, "acme").Index(t, "docs")
	expect(t, received, event.Event{Tenant: "acme", Kind: event.Index, Name: "docs"})
}

// pauses keeps the pauses that a listener logs.
type pauses struct {
	slog.Handler
	all chan time.Duration
}

func (p pauses) Enabled(context.Context, slog.Level) bool { return true }

func (p pauses) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "retry_after" {
			p.all <- a.Value.Duration()
		}
		return true
	})
	return nil
}

// Whoever breaks connections as soon as they are made does not make subscribers work all the time.
func TestPausesGrowWhileConnectionsEndQuickly(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	log := pauses{slog.DiscardHandler, make(chan time.Duration, 100)}
	l := event.NewListener(s.Pool.Config().ConnConfig, slog.New(log))
	go func() { _ = l.Run(t.Context()) }()
	<-l.Ready()
	for _, want := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond} {
		for ended := false; !ended; {
			_, err := s.Pool.Exec(t.Context(), `
				SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN ragd_event'`)
			if err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-log.all:
				if ended = true; got != want {
					t.Fatalf("a pause of %v, want %v", got, want)
				}
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
}
