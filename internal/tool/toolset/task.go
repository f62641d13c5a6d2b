package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

const (
	// TaskAfter is how long a call is waited for before its caller gets a Task.
	TaskAfter = 500 * time.Millisecond
	// MaxTaskTime ends the call of a Task, apart from those of Tasks.
	MaxTaskTime = 10 * time.Minute
)

// Task is a call that goes on after its caller was answered. It is kept where its source or the Deferrer keeps it,
// so that every instance knows it.
type Task struct {
	ID      string
	Status  TaskStatus
	Message string // for people; may be empty
	// Questions are those of a task that needs input, by keys that are not used again.
	Questions            map[string]Question
	CreatedAt, UpdatedAt time.Time
	Keep                 time.Duration // how long it is kept at least, from its creation
	// Requests are those to the client of a task that needs input, in the JSON of MCP, by keys that are not used again.
	Requests map[string]json.RawMessage
	// Result is that of a completed task, unless Err is.
	Result Result
	Err    error
	// Origin is the call of a task of a source.
	Origin *Origin
	// Outcome replaces Result and Err if it is not nil: what Call.Outcome made of them.
	Outcome json.RawMessage
}

// TaskStatus is the state of a Task.
type TaskStatus string

// The states, as MCP calls them. The last three are final. An error of a tool completes a task; one that failed has
// the Outcome of an error of the protocol, or none but a Message.
const (
	TaskWorking       TaskStatus = "working"
	TaskInputRequired TaskStatus = "input_required"
	TaskCompleted     TaskStatus = "completed"
	TaskFailed        TaskStatus = "failed"
	TaskCancelled     TaskStatus = "cancelled"
)

// Ended reports whether the state is final.
func (s TaskStatus) Ended() bool { return s != TaskWorking && s != TaskInputRequired }

// ErrTaskCancelled is the cause of the end of the context of a call whose task was cancelled.
var ErrTaskCancelled = errors.New("the task was cancelled")

// TaskKeeper has tasks of the caller.
type TaskKeeper interface {
	// Task returns a task of the caller. Errors: NotFound.
	Task(ctx context.Context, id string) (Task, error)
	// CancelTask cancels a task; one that has ended is left as it is. Errors: NotFound.
	CancelTask(ctx context.Context, id string) error
	// AnswerTask answers a question or request of a task with a result in the JSON of MCP. One that is not asked, or no
	// longer, is ignored. Errors: NotFound; Invalid.
	AnswerTask(ctx context.Context, id, key string, answer json.RawMessage) error
}

// Tasks is a Source whose calls can return a Task, to callers with Call.TakesTask.
type Tasks interface {
	Source
	TaskKeeper
}

// Deferrer keeps the tasks of all other tools.
type Deferrer interface {
	TaskKeeper
	// Defer runs a call and returns its result, or a Task if it takes longer than TaskAfter.
	Defer(ctx context.Context, c Call, run func(context.Context, Call) (Result, error)) (Result, error)
}

// Accepted returns the content that a user gave in an answer in the JSON of MCP; false for one who declined.
func Accepted(answer json.RawMessage) (content json.RawMessage, ok bool) {
	var given struct {
		Action  string
		Content json.RawMessage
	}
	err := json.Unmarshal(answer, &given)
	return given.Content, err == nil && given.Action == "accept"
}

// Task returns a task of the caller. Errors: NotFound for one that does not exist or is not the caller's, without
// telling which.
func (s *Set) Task(ctx context.Context, id string) (found Task, err error) {
	err = s.ofTask(id, func(t TaskKeeper) (err error) {
		found, err = t.Task(ctx, id)
		return err
	})
	return s.judgedTask(ctx, found), err
}

// CancelTask cancels a task of the caller. Errors: NotFound.
func (s *Set) CancelTask(ctx context.Context, id string) error {
	return s.ofTask(id, func(t TaskKeeper) error { return t.CancelTask(ctx, id) })
}

// AnswerTask answers a question or request of a task of the caller. Errors: NotFound; Invalid.
func (s *Set) AnswerTask(ctx context.Context, id, key string, answer json.RawMessage) error {
	return s.ofTask(id, func(t TaskKeeper) error { return t.AnswerTask(ctx, id, key, answer) })
}

// ofTask calls do with each keeper of tasks until one knows the task.
func (s *Set) ofTask(id string, do func(TaskKeeper) error) error {
	for _, source := range s.own.sources {
		if t, ok := source.(Tasks); ok {
			if err := do(t); fault.KindOf(err) != fault.NotFound {
				return err
			}
		}
	}
	if s.deferrer != nil {
		if err := do(s.deferrer); fault.KindOf(err) != fault.NotFound {
			return err
		}
	}
	return fault.New(fault.NotFound, "task %q not found", id)
}
