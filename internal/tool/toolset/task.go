package toolset

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Task is a call that goes on after its caller was answered. It is kept where its source keeps it, so that
// every instance knows it.
type Task struct {
	ID      string
	Status  TaskStatus
	Message string // for people; may be empty
	// Questions are those of a task that needs input, by keys that are not used again.
	Questions            map[string]Question
	CreatedAt, UpdatedAt time.Time
	Keep                 time.Duration // how long it is kept at least, from its creation
	// Result is that of a completed task, unless Err is.
	Result Result
	Err    error
}

// TaskStatus is the state of a Task.
type TaskStatus string

// The states, as MCP calls them. The last two are final.
const (
	TaskWorking       TaskStatus = "working"
	TaskInputRequired TaskStatus = "input_required"
	TaskCompleted     TaskStatus = "completed"
	TaskCancelled     TaskStatus = "cancelled"
)

// Tasks is a Source whose calls can return a Task, to callers with Call.TakesTask.
type Tasks interface {
	Source
	// Task returns a task of the caller. Errors: NotFound.
	Task(ctx context.Context, id string) (Task, error)
	// CancelTask cancels a task; one that has ended is left as it is. Errors: NotFound.
	CancelTask(ctx context.Context, id string) error
	// AnswerTask answers a question of a task with an object that fits its schema. A question that is not asked, or no
	// longer, is ignored. Errors: NotFound; Invalid.
	AnswerTask(ctx context.Context, id, question string, answer json.RawMessage) error
}

// Task returns a task of the caller. Errors: NotFound for one that does not exist or is not the caller's, without
// telling which.
func (s *Set) Task(ctx context.Context, id string) (found Task, err error) {
	err = s.ofTask(id, func(t Tasks) (err error) {
		found, err = t.Task(ctx, id)
		return err
	})
	return found, err
}

// CancelTask cancels a task of the caller. Errors: NotFound.
func (s *Set) CancelTask(ctx context.Context, id string) error {
	return s.ofTask(id, func(t Tasks) error { return t.CancelTask(ctx, id) })
}

// AnswerTask answers a question of a task of the caller. Errors: NotFound; Invalid.
func (s *Set) AnswerTask(ctx context.Context, id, question string, answer json.RawMessage) error {
	return s.ofTask(id, func(t Tasks) error { return t.AnswerTask(ctx, id, question, answer) })
}

// ofTask calls do with each source of tasks until one knows the task.
func (s *Set) ofTask(id string, do func(Tasks) error) error {
	for _, source := range s.own.sources {
		if t, ok := source.(Tasks); ok {
			if err := do(t); fault.KindOf(err) != fault.NotFound {
				return err
			}
		}
	}
	return fault.New(fault.NotFound, "task %q not found", id)
}
