package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/service/testing/daemon"
	"github.com/ragdhq/ragd/internal/service/testing/randomcalls"
)

// runRace calls all RPCs of two tenants at random for the given time and prints the counts.
// It returns the number of findings.
func runRace(ctx context.Context, o options, duration time.Duration, seed uint64) (findings int, err error) {
	fmt.Printf("load of the machine: %s\n\n", load())
	s, err := newArena(ctx, o, attack{})
	if err != nil {
		return 0, err
	}
	defer s.close()
	files := s.Files()
	report, err := randomcalls.Run(ctx, randomcalls.Config{
		URL: s.URL(), OperatorKey: daemon.OperatorKey, Duration: duration, Seed: seed, Workers: 16,
	})
	if err != nil {
		return 0, err
	}
	report.Write(os.Stdout)
	r := result{}
	s.checkCalm(ctx, &r, files)
	fmt.Printf("\npeak memory %s; load of the machine: %s\n", megabytes(s.PeakMemory()), load())
	for _, reason := range r.broken {
		fmt.Println("-", reason)
	}
	return report.Violated + len(r.broken), nil
}

// checkCalm breaks the result unless the service is ready and has given back what the
// calls used: connections, transactions, and roles and schemas of deleted tenants.
func (s *arena) checkCalm(ctx context.Context, r *result, files int) {
	if !s.AwaitReady(ctx, time.Minute) {
		r.breaks("the service was not ready within a minute")
		return
	}
	client.CloseIdleConnections()
	const slack = 20 // connections to the database that stay in the pools
	for end := time.Now().Add(30 * time.Second); s.Files() > files+slack && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
	}
	if now := s.Files(); now > files+slack {
		r.breaks("%d files and connections are open, %d before", now, files)
	}
	for _, line := range s.log.internalErrors() {
		r.breaks("in the log: %s", line)
	}
	if err := s.checkDatabase(ctx, r); err != nil {
		r.breaks("the database could not be checked: %v", err)
	}
}

// checkDatabase looks for open transactions, and for roles and schemas without a tenant.
func (s *arena) checkDatabase(ctx context.Context, r *result) error {
	conn, err := pgx.Connect(ctx, s.DatabaseURL())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for what, statement := range map[string]string{
		"transactions are open":  `select count(*) from pg_stat_activity where state like 'idle in transaction%' and now() - state_change > interval '5 s'`,
		"roles have no tenant":   `select count(*) from pg_roles where rolname like 'tenant\_%' and rolname not in (select 'tenant_' || tenant_id from ragd.tenants)`,
		"schemas have no tenant": `select count(*) from pg_namespace where nspname like 'tenant\_%' and nspname not in (select 'tenant_' || tenant_id from ragd.tenants)`,
	} {
		var n int
		if err := conn.QueryRow(ctx, statement).Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			r.breaks("%d %s", n, what)
		}
	}
	return nil
}
