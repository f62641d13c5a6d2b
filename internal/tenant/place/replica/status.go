package replica

import (
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// counts counts reads of a Set.
type counts struct {
	primary, replica atomic.Int64
	fallbacks        map[Reason]*atomic.Int64
}

func newCounts() *counts {
	c := &counts{fallbacks: map[Reason]*atomic.Int64{}}
	for _, reason := range Reasons {
		c.fallbacks[reason] = &atomic.Int64{}
	}
	return c
}

// Status is the state of a Set.
type Status struct {
	// Primary and Replica are the reads that ran there, in round trips.
	Primary, Replica int64
	// Fallbacks are the requests that might have read at a replica and read at the primary.
	Fallbacks map[Reason]int64
	Replicas  []ReplicaStatus
}

// ReplicaStatus is the state of a replica.
type ReplicaStatus struct {
	// Number is the position in the setting, from 1.
	Number int
	// Reason says why the replica is not used; empty if it is.
	Reason Reason
	// Lag is how stale the replica was when last seen, if it is used.
	Lag time.Duration
	// Pool is nil until the replica has answered once.
	Pool *pgxpool.Pool
}

// Status returns the state of the Set; that of a nil Set is empty.
func (s *Set) Status() Status {
	if s == nil {
		return Status{}
	}
	status := Status{Primary: s.counts.primary.Load(), Replica: s.counts.replica.Load(), Fallbacks: map[Reason]int64{}}
	for reason, n := range s.counts.fallbacks {
		status.Fallbacks[reason] = n.Load()
	}
	for _, r := range s.replicas {
		status.Replicas = append(status.Replicas, r.status())
	}
	return status
}

func (r *replica) status() ReplicaStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	return ReplicaStatus{Number: r.number, Reason: r.reason, Lag: r.lag, Pool: r.pool}
}
