package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Registry maps each kind to its Runner.
type Registry map[Kind]Runner

// Join merges registries into one.
func Join(registries ...Registry) Registry {
	all := Registry{}
	for _, r := range registries {
		maps.Copy(all, r)
	}
	return all
}

// Runner runs, cancels and retries the jobs or tasks of one kind.
type Runner struct {
	// Run makes one attempt at a task of the Queue; nil for kinds that something else
	// runs. It ends at the deadline of its context. What it returns:
	//
	//	nil            the task is done
	//	Snooze(d)      try again after d; this was no attempt
	//	Stop(err)      it failed for good
	//	other errors   try again after Backoff, until MaxAttempts
	Run func(ctx context.Context, a Attempt) error
	// Lane is the set of workers that run it; LaneMaintenance by default.
	Lane Lane
	// MaxAttempts is how often a task is tried; MaxAttempts by default.
	MaxAttempts int
	// Timeout is how long one attempt may take; 15 minutes by default.
	Timeout time.Duration

	// Start starts a job or task of the kind on an index, in a transaction of its
	// tenant, if there is work and none is queued or running. Nil: Queue.Start
	// does nothing for the kind.
	Start func(ctx context.Context, tx *data.Tx, indexID int64) error
	// Cancel ends a queued or running job and reverts its unfinished changes. Nil: jobs
	// of the kind cannot be cancelled. Errors: Precondition when it is too late.
	Cancel func(ctx context.Context, id tenant.ID, j Job) error
	// Retry starts the work of a failed or cancelled job again and returns the id of
	// the new job. Nil: jobs of the kind cannot be retried. Errors: Precondition when
	// there is nothing left to retry.
	Retry func(ctx context.Context, id tenant.ID, failed Job) (jobID string, err error)
}

// Task is work on one index, or on something else of a tenant that has a name.
type Task struct {
	Tenant  tenant.ID `json:"tenant"`
	IndexID int64     `json:"index_id"`         // 0 for work on something else
	JobID   string    `json:"job_id,omitempty"` // empty if no caller requested it
	Name    string    `json:"name,omitempty"`   // of what the work is on, if that is no index
}

// Attempt is one try at a task.
type Attempt struct {
	Task
	Number int  // from 1
	Last   bool // whether the task is given up when this attempt fails
}

// Snooze returns an error with which Run asks to be called again after the wait.
func Snooze(wait time.Duration) error { return &snoozeError{wait} }

type snoozeError struct{ wait time.Duration }

func (e *snoozeError) Error() string { return fmt.Sprintf("try again in %v", e.wait) }

// Snoozed reports whether an error was made by Snooze.
func Snoozed(err error) bool {
	var snooze *snoozeError
	return errors.As(err, &snooze)
}

// Stop wraps the error of an attempt to prevent further attempts.
func Stop(err error) error { return &stopError{err} }

type stopError struct{ cause error }

func (e *stopError) Error() string { return e.cause.Error() }
func (e *stopError) Unwrap() error { return e.cause }
