package service_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/randomcalls"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// All RPCs of two tenants are called at random, with short deadlines and aborts. No
// answer is an internal error or has data of the other tenant, and afterwards the service
// has given back connections, roles and goroutines. bench/attack does this for longer.
//
// The test is not parallel, because it counts goroutines.
func TestRandomCallsOfTwoTenantsStaySeparate(t *testing.T) {
	models := modelserver.New(t)
	config := service.Config{}
	config.Providers.OpenAI.BaseURL, config.Providers.OpenAI.APIKey = models.URL+"/v1", modelserver.Key
	s := servicetest.New(t, config)
	before := settledGoroutines(t)
	report, err := randomcalls.Run(t.Context(), randomcalls.Config{
		URL: s.URL, OperatorKey: servicetest.OperatorKey, Seed: 1, Duration: 4 * time.Second, MaxDeadline: 2 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	var counts strings.Builder
	report.Write(&counts)
	t.Log(counts.String())
	for _, v := range report.Violations {
		t.Error(v)
	}
	wait.Goroutines(t, before+40, nil) // connections of the pool, and jobs that still run
	checkRoles(t, s.Pool)
}

// settledGoroutines returns the number of goroutines once it no longer grows: a service goes on
// to start the queues of its jobs, and the work of their leader, after it answers calls.
func settledGoroutines(t *testing.T) int {
	t.Helper()
	same := func(most, now int) bool { return now <= most }
	return wait.Rest(t, "the number of goroutines", 3*time.Second, same, runtime.NumGoroutine)
}

// checkRoles checks that no connection of the pool kept a tenant's role or an open
// transaction.
func checkRoles(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	for _, conn := range pool.AcquireAllIdle(ctx) {
		var role, user string
		if err := conn.QueryRow(ctx, "select current_user, session_user").Scan(&role, &user); err != nil || role != user {
			t.Errorf("a connection of %s has the role %s: %v", user, role, err)
		}
		if status := conn.Conn().PgConn().TxStatus(); status != 'I' {
			t.Errorf("a connection has the transaction status %c", status)
		}
		conn.Release()
	}
}
