package service_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// readyz returns what the readiness check answers.
func readyz(t *testing.T, url string) (status int, body string) {
	t.Helper()
	res, err := http.Get(url + "/readyz")
	must(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	must(t, err)
	return res.StatusCode, string(text)
}

// wantRetry fails the test unless err is unavailable, with the time to wait.
func wantRetry(t *testing.T, what string, err error) {
	t.Helper()
	servicetest.WantCode(t, what, err, connect.CodeUnavailable)
	var wired *connect.Error
	if !errors.As(err, &wired) {
		return
	}
	for _, detail := range wired.Details() {
		if value, err := detail.Value(); err == nil {
			if info, ok := value.(*errdetails.RetryInfo); ok && info.GetRetryDelay().AsDuration() > 0 {
				return
			}
		}
	}
	t.Errorf("%s: %v does not say when to come back", what, err)
}

// A service that was told to stop is not ready at once. It answers requests for a while, then
// ends streams that watch, so that their clients go elsewhere.
func TestAServiceThatStopsDrains(t *testing.T) {
	t.Parallel()
	admin := pgtest.Pool(t)
	s, err := service.New(t.Context(), service.Config{
		AdminPool: admin, Pool: pgtest.ServicePool(t, admin), Listen: "127.0.0.1:0", OperatorKey: servicetest.OperatorKey,
		Logger: slog.New(slog.DiscardHandler), DrainDelay: 2 * time.Second,
	})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	<-s.Events.Ready()
	service := &servicetest.Service{Service: s, URL: s.URL()}
	client := service.Tenant(t, "acme")
	events, err := client.WatchEvents(t.Context(), &ragdv1.WatchEventsRequest{})
	must(t, err)
	if !events.Receive() {
		t.Fatal(events.Err())
	}
	if status, body := readyz(t, s.URL()); status != http.StatusOK {
		t.Fatalf("/readyz answers %d %s", status, body)
	}

	cancel()
	wait.For(t, "/readyz to say that the service is shutting down", func() bool {
		status, body := readyz(t, s.URL())
		return status == http.StatusServiceUnavailable && strings.Contains(body, "shutting down")
	})
	client.Index(t, "late") // it still answers
	if !events.Receive() || events.Msg().GetEvent().GetType() != "index.changed" {
		t.Errorf("the stream of events ends early: %v, %v", events.Msg(), events.Err())
	}
	for events.Receive() { // until it is ended
	}
	wantRetry(t, "the stream of events", events.Err())
	must(t, <-ended)
	if res, err := http.Get(s.URL() + "/readyz"); err == nil {
		_ = res.Body.Close()
		t.Error("it still accepts connections")
	}
}

// A call that does not end in time is ended so that its client repeats it.
func TestALongCallIsEndedAsUnavailable(t *testing.T) {
	t.Parallel()
	admin := pgtest.Pool(t)
	s, err := service.New(t.Context(), service.Config{
		AdminPool: admin, Pool: pgtest.ServicePool(t, admin), Listen: "127.0.0.1:0", OperatorKey: servicetest.OperatorKey,
		Logger: slog.New(slog.DiscardHandler), DrainTimeout: time.Second,
	})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	<-s.Events.Ready()
	client := (&servicetest.Service{Service: s, URL: s.URL()}).Tenant(t, "acme")
	client.Index(t, "docs")
	held, err := admin.Begin(t.Context()) // a lock, for which the call waits
	must(t, err)
	_, err = held.Exec(t.Context(), `LOCK TABLE tenant_acme.indexes IN ACCESS EXCLUSIVE MODE`)
	must(t, err)
	answer := make(chan error, 1)
	go func() {
		_, err := client.ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{})
		answer <- err
	}()
	wait.For(t, "the call to wait for the lock", func() (waiting bool) {
		must(t, admin.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'tenant_acme.indexes'::regclass AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`).Scan(&waiting))
		return waiting
	})
	cancel()
	wantRetry(t, "the waiting call", <-answer)
	must(t, held.Rollback(t.Context()))
	must(t, <-ended)
}
