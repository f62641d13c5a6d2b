package doctor

import (
	"context"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
)

func TestReplicas(t *testing.T) {
	t.Parallel()
	primary := pgtest.Primary(t)
	standby := primary.Replica(t)
	conn, err := postgres.Connect(t.Context(), postgres.Config{URL: primary.ServiceURL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	other := pgtest.Primary(t)
	found := Replicas(t.Context(), conn, []string{
		standby.ServiceURL(), primary.ServiceURL(), other.Replica(t).ServiceURL(), "postgres://ragd:hunter2@127.0.0.1:1/ragd",
	})
	want(t, found[0], OK, "replays the log")
	want(t, found[1], Fail, "not a replica")
	want(t, found[2], Fail, "another database server")
	want(t, found[3], Fail, "cannot be reached")
	if found[3].Check != "replica 4" {
		t.Errorf("the check is named %q", found[3].Check)
	}
	standby.Pause(t)
	want(t, Replicas(t.Context(), conn, []string{standby.ServiceURL()})[0], Warn, "paused")
	late := replicaState{Recovers: true, System: 1, Missing: 1 << 20, Seconds: 90}
	want(t, late.finding(1), Warn, "1 MB of the log are not replayed, and the last transaction is 1m30s old")
}
