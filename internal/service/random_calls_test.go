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
	awaitFewGoroutines(t, before)
	checkRoles(t, s.Pool)
}

// settledGoroutines returns the number of goroutines once it no longer grows: a service goes on
// to start the queues of its jobs, and the work of their leader, after it answers calls.
func settledGoroutines(t *testing.T) int {
	t.Helper()
	const settled, patience = 3 * time.Second, 2 * time.Minute
	most, since := 0, time.Now()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if now := runtime.NumGoroutine(); now > most {
			most, since = now, time.Now()
		} else if time.Since(since) >= settled {
			return now
		}
	}
	t.Fatalf("the number of goroutines still grows after %v, to %d", patience, most)
	return 0
}

// awaitFewGoroutines waits until there are about as many goroutines as before.
func awaitFewGoroutines(t *testing.T, before int) {
	t.Helper()
	const slack, patience = 40, 30 * time.Second // connections of the pool, and jobs that still run
	var now int
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if now = runtime.NumGoroutine(); now <= before+slack {
			return
		}
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("%d goroutines before, %d after:\n%s", before, now, stacks[:runtime.Stack(stacks, true)])
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
