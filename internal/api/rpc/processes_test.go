package rpc_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// A run of a workflow at one instance is watched and cancelled at another, down to the call that its
// step makes. Another tenant can do neither.
func TestARunIsCancelledAtAnotherInstance(t *testing.T) {
	t.Parallel()
	s, e := workflowService(t), newStepServer(t)
	other := servicetest.New(t, service.Config{NoWorkers: true, AdminPool: s.Pool, AllowedPrivateNetworks: thisMachine, MasterKeys: masterKeys(t, "1")})
	here := s.Tenant(t, "acme")
	there, stranger := other.Client(here.Secret), other.Client(s.Tenant(t, "globex").Secret)
	e.tool(t, here, "block", "/block")
	workflowOf(t, here, "long", `{"description": "Blocks.", "steps": [{"id": "block", "kind": "tool", "tool": "block", "input": {}}]}`)
	ctx := t.Context()
	started, err := here.StartWorkflow(ctx, &ragdv1.StartWorkflowRequest{WorkflowName: "long"})
	if err != nil {
		t.Fatal(err)
	}
	<-e.blocked
	stream, err := there.WatchRun(ctx, &ragdv1.WatchRunRequest{RunId: started.RunId})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if !stream.Receive() {
		t.Fatal(stream.Err())
	}
	if _, err := stranger.CancelRun(ctx, &ragdv1.CancelRunRequest{RunId: started.RunId}); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("another tenant cancels the run: %v", err)
	}
	if cancelled, err := there.CancelRun(ctx, &ragdv1.CancelRunRequest{RunId: started.RunId}); err != nil || cancelled.Status != "cancelled" {
		t.Fatal(cancelled, err)
	}
	<-e.canceled
	for stream.Receive() { // ends with the run
	}
	if err := stream.Err(); err != nil {
		t.Error(err)
	}
}

// A job that runs at one instance is watched and cancelled at another. Another tenant can do neither.
func TestAJobIsCancelledAtAnotherInstance(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	other := servicetest.New(t, service.Config{NoWorkers: true, AdminPool: s.Pool})
	here := s.Tenant(t, "acme")
	there, stranger := other.Client(here.Secret), other.Client(s.Tenant(t, "globex").Secret)
	here.Index(t, "main")
	upload(t, here, film, director, town)
	found, err := s.Handlers.Indexes.Resolve(t.Context(), "acme", "main")
	if err != nil {
		t.Fatal(err)
	}
	// A lock on an edge stops the rebuild before it deletes its first one.
	tx, err := s.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), fmt.Sprintf(`SELECT FROM tenant_acme.edge_%d FOR UPDATE`, found.ID)); err != nil {
		t.Fatal(err)
	}
	started, err := there.RebuildGraph(t.Context(), &ragdv1.RebuildGraphRequest{IndexName: "main"})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := there.WatchJob(t.Context(), &ragdv1.WatchJobRequest{JobId: started.JobId})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for stream.Receive() && stream.Msg().Status != "running" {
	}
	if _, err := stranger.CancelJob(t.Context(), &ragdv1.CancelJobRequest{JobId: started.JobId}); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("another tenant cancels the job: %v", err)
	}
	if job, err := there.CancelJob(t.Context(), &ragdv1.CancelJobRequest{JobId: started.JobId}); err != nil || job.Status != "cancelled" {
		t.Fatalf("got %v, %v", job, err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	last := ""
	for stream.Receive() {
		last = stream.Msg().Status
	}
	if stream.Err() != nil || last != "cancelled" {
		t.Errorf("the last state that was told is %q, %v", last, stream.Err())
	}
	// The instance that had it is free for the next one.
	again, err := there.RebuildGraph(t.Context(), &ragdv1.RebuildGraphRequest{IndexName: "main"})
	if err != nil {
		t.Fatal(err)
	}
	if job := finished(t, there, again.JobId); job.Status != "succeeded" {
		t.Errorf("the next job has %v", job)
	}
}

// Each instance counts a tenant's requests for itself: over all of them a tenant gets at most its
// quota of a second times their number, and bursts of twice as much, and never less than the quota.
func TestTheErrorOfARateOverInstances(t *testing.T) {
	t.Parallel()
	const quota, instances, calls = 10, 3, 60
	first := servicetest.New(t, service.Config{NoWorkers: true})
	all := []*servicetest.Service{first}
	for range instances - 1 {
		all = append(all, servicetest.New(t, service.Config{NoWorkers: true, AdminPool: first.Pool}))
	}
	secret := first.Tenant(t, "acme").Secret
	_, err := first.Operator().UpdateTenant(t.Context(), &ragdv1.UpdateTenantRequest{
		TenantId: "acme", Settings: servicetest.Object(t, map[string]any{"requestsPerSecond": quota}),
	})
	if err != nil {
		t.Fatal(err)
	}
	var admitted atomic.Int64
	var group sync.WaitGroup
	began := time.Now()
	for _, s := range all {
		c := s.Client(secret) // the instance has not seen the tenant before, so it knows no other quota
		for range calls {
			group.Go(func() {
				_, err := c.ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{})
				if err == nil {
					admitted.Add(1)
				} else if connect.CodeOf(err) != connect.CodeResourceExhausted {
					t.Error(err)
				}
			})
		}
	}
	group.Wait()
	took := time.Since(began).Seconds()
	most := instances * (2*quota + int64(quota*took) + 1)
	if n := admitted.Load(); n < 2*quota || n > most {
		t.Errorf("%d calls were admitted in %.1f s, want %d to %d", n, took, 2*quota, most)
	}
}
