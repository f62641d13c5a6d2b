package service_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/postgres/embedded"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/logtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// While PostgreSQL is down, each loop of the service says so once in ten seconds.
func TestADeadDatabaseIsReportedOnce(t *testing.T) {
	t.Parallel()
	if _, err := embedded.Default(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	quiet := embedded.Config{DataDir: dir, Logger: slog.New(slog.DiscardHandler)}
	server, err := embedded.Start(t.Context(), quiet)
	must(t, err)
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	var log logtest.Buffer
	s := runService(t, service.Config{
		DatabaseURL: server.URL(), DatabaseAdminURL: server.AdminURL(), Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	c := s.Tenant(t, "acme")
	c.Index(t, "docs")
	c.Upload(t, upload("a"))
	rebuild, err := c.RebuildGraph(t.Context(), &ragdv1.RebuildGraphRequest{IndexName: "docs"})
	must(t, err)
	wait.For(t, "all parts of the service to have started", func() bool {
		j, err := c.GetJob(t.Context(), &ragdv1.GetJobRequest{JobId: rebuild.JobId})
		return err == nil && job.Status(j.Status) == job.Succeeded
	})
	must(t, server.Stop(t.Context()))
	stopped := time.Now()
	wait.For(t, "the loops of the service to have failed for some seconds", func() bool {
		if status, _ := readiness(t, s); status == 200 {
			t.Fatal("ready without a database")
		}
		return time.Since(stopped) > 5*time.Second
	})
	server, err = embedded.Start(t.Context(), quiet)
	must(t, err)
	wait.For(t, "readiness", func() bool { status, _ := readiness(t, s); return status == 200 })
	lines := map[string]int{}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") {
			_, message, _ := strings.Cut(line, "msg=")
			message, _, _ = strings.Cut(message, " err=")
			lines[message]++
		}
	}
	if lines[`"not ready"`] == 0 {
		t.Errorf("the log does not say that the service was not ready: %v", lines)
	}
	t.Log(lines)
	// One in ten seconds and, for the queue's own messages, one for each of seven lanes and each text of the error. A busy
	// machine needs longer until the service is ready again.
	allowed := 21 * (1 + int(time.Since(stopped)/(10*time.Second)))
	for message, n := range lines {
		if n > allowed {
			t.Errorf("%s is written %d times", message, n)
		}
	}
}

// runService runs a service on a database of its own until the test ends.
func runService(t *testing.T, config service.Config) *servicetest.Service {
	t.Helper()
	config.Listen, config.OperatorKey = "127.0.0.1:0", servicetest.OperatorKey
	config.MinFreeBytes = cmp.Or(config.MinFreeBytes, 1) // a machine with little space left passes the tests
	s, err := service.New(t.Context(), config)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		cancel()
		if err := errors.Join(<-done, s.Close()); err != nil {
			t.Error(err)
		}
	})
	return &servicetest.Service{Service: s, URL: s.URL()}
}
