package workflow

import (
	"encoding/json"
	"time"
)

// Status is the state of a run or of a step.
type Status string

// The states. Steps are never queued; those that had not ended when their run did are cancelled.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Waiting   Status = "waiting"
	Succeeded Status = "succeeded"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Ended reports whether the state is final.
func (s Status) Ended() bool { return s == Succeeded || s == Failed || s == Cancelled }

// Run is a run of a workflow.
type Run struct {
	RunID        string
	WorkflowName string
	Version      int
	Status       Status
	Subject      string // who started it
	Input        json.RawMessage
	Output       json.RawMessage // nil unless it has succeeded
	Error        string          // safe to show to callers
	ErrorKind    string          // of fault.Kind
	CreatedAt    time.Time
	StartedAt    *time.Time
	EndedAt      *time.Time
	UpdatedAt    time.Time

	Steps []StepRun `db:"-"` // in the order in which they began; only from Get
}

// StepRun is a step of a run that has begun.
type StepRun struct {
	Path      string // of the step in the run, such as each[2].fetch
	Kind      Kind
	Status    Status
	Attempts  int
	Input     json.RawMessage
	Output    json.RawMessage
	Message   string          // of a step that waits
	Schema    json.RawMessage // of what it waits for; nil: anything
	Error     string
	ErrorKind string
	StartedAt time.Time
	WaitUntil *time.Time
	EndedAt   *time.Time

	Version int   // of the workflow that it runs
	Change  int64 // grows with each change of a step of the run
}

// Limits of runs.
const (
	maxRuns        = 1000 // of a tenant that are kept; the oldest that have ended are deleted
	maxOpenRuns    = 500  // of a tenant that have not ended
	maxOwnRuns     = 400  // of them, those of one caller
	keepRuns       = 30 * 24 * time.Hour
	maxInputBytes  = 1 << 20
	maxOutputBytes = 1 << 20  // of a step or a run
	maxRunBytes    = 32 << 20 // of the inputs and outputs of a run's steps
	maxRunSteps    = 5000     // of a run, those of each item included
	maxItems       = 1000     // of a foreach
	// maxRunTime is how long the steps of a run may take between two waits.
	maxRunTime = time.Hour
)
