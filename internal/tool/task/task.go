// Package task keeps calls of tools that go on after their callers were answered.
//
// A call runs on the instance that began it. Its state is in the database, so that every instance answers for it,
// takes answers for it and cancels it. What the instance does not end, because it stopped or is gone, has failed.
package task

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

const (
	// maxRunning limits the tasks of a tenant that run on an instance. Further calls are waited for.
	maxRunning = 50
	// lookEvery is the interval at which a task is cancelled, gets answers and stores its message.
	lookEvery = time.Second
	// aliveEvery is the interval at which an instance says that it runs a task.
	aliveEvery = 10 * time.Second
	// lostAfter is how long it may be silent until the task has failed.
	lostAfter = 45 * time.Second
	// recheckEvery is the interval between checks of the credential of a task.
	recheckEvery = 10 * time.Second
	// stopTimeout bounds the time in which the tasks of an instance that stops are stored.
	stopTimeout = 5 * time.Second
)

// errStopped ends the tasks of an instance that stops.
var errStopped = errors.New("the instance stops")

// stopped is what the callers of tasks are told that their instance did not end.
const stopped = "The instance that ran the call has stopped before its end. What it had begun may be done: check that, then call again."

// Config configures a Keeper. All fields are required.
type Config struct {
	DB     *data.DB
	Gate   *admission.Gate // limits the memory of calls
	Logger *slog.Logger
}

// Keeper is the toolset.Deferrer of a service. Safe for concurrent use.
type Keeper struct {
	Config
	begun *limit.Limiter[tenant.ID]

	timeout      time.Duration // of a call: MaxTaskTime, or less in tests
	recheckEvery time.Duration

	mu     sync.Mutex
	here   map[string]*running // by the id of the task
	closed bool
	wait   sync.WaitGroup
}

// New returns a Keeper.
func New(cfg Config) *Keeper {
	return &Keeper{Config: cfg, timeout: toolset.MaxTaskTime, recheckEvery: recheckEvery, begun: limit.New[tenant.ID](0, maxRunning), here: map[string]*running{}}
}

// running is a call that this instance runs.
type running struct {
	call   toolset.Call
	run    func(context.Context, toolset.Call) (toolset.Result, error)
	ctx    context.Context // of the call
	cancel context.CancelCauseFunc
	wake   chan struct{} // looks at once
	done   chan struct{} // closed when result and err are set
	result toolset.Result
	err    error
	id     string // once it is a task
	rows   store
	stored string    // the message that is stored
	rounds int       // in which the client was asked
	asked  *requests // that wait for answers; nil while the call runs

	mu       sync.Mutex
	deferred bool
	message  string // of its progress
}

// Defer implements toolset.Deferrer. A call that is no task yet ends when its caller leaves.
func (k *Keeper) Defer(ctx context.Context, c toolset.Call, run func(context.Context, toolset.Call) (toolset.Result, error)) (toolset.Result, error) {
	r, ok := access.FromContext(ctx)
	if !ok || !k.begin(r.Tenant) {
		return run(ctx, c)
	}
	t := &running{run: run, wake: make(chan struct{}, 1), rows: store{k.DB.Handle(r.Tenant), ownerOf(r)}}
	working, cancel := context.WithCancelCause(admission.Afresh(context.WithoutCancel(ctx)))
	t.cancel = cancel
	working, release := k.Gate.WithMemory(working, r.Tenant)
	working, unchecked := access.WhileValid(working, k.recheckEvery, access.Recheck)
	working, late := context.WithTimeout(working, k.timeout)
	t.ctx = working
	t.call = t.quiet(c)
	end := func() {
		late()
		unchecked()
		cancel(nil)
		release()
		k.end(r.Tenant, t)
	}
	stay := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	t.start()
	select {
	case <-t.done:
	case <-time.After(toolset.TaskAfter):
		if task, ok := k.defers(ctx, t, stay); ok {
			go func() {
				defer end()
				k.follow(t)
			}()
			return started(task)
		}
		<-t.done
	}
	defer end()
	stay()
	return t.result, t.err
}

// started returns the result of a call that goes on.
func started(task toolset.Task) (toolset.Result, error) {
	structured, err := json.Marshal(map[string]any{"taskId": task.ID, "status": task.Status})
	return toolset.Result{Task: &task, Structured: structured, Text: "Task " + task.ID + " goes on."}, err
}

// begin counts a call of a tenant. It returns false if it cannot be a task.
func (k *Keeper) begin(of tenant.ID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || of == "" || !k.begun.TryAcquire(of, 1) {
		return false
	}
	k.wait.Add(1)
	return true
}

func (k *Keeper) end(of tenant.ID, t *running) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.here, t.id)
	k.begun.Release(of, 1)
	k.wait.Done()
}

// defers makes a call a task, which goes on without its caller. ok is false if the caller has left, and for a task
// that cannot be stored, whose caller waits.
func (k *Keeper) defers(ctx context.Context, t *running, stay func() bool) (task toolset.Task, ok bool) {
	id := uuid.Must(uuid.NewV7()).String()
	task, err := t.rows.insert(ctx, id, t.call.Name)
	if err != nil {
		k.Logger.WarnContext(ctx, "store a task", "tool", t.call.Name, "err", err)
		return task, false
	}
	t.mu.Lock()
	t.deferred = true
	t.mu.Unlock()
	t.id = id
	k.mu.Lock()
	k.here[id] = t
	if k.closed {
		t.cancel(errStopped)
	}
	k.mu.Unlock()
	if !stay() { // nobody knows its id
		t.cancel(toolset.ErrTaskCancelled)
	}
	return task, true
}

// quiet returns the call with progress and log messages for its caller alone until it is a task; the last message of
// its progress is that of the task.
func (t *running) quiet(c toolset.Call) toolset.Call {
	c.Patient = true
	progress, log := c.Progress, c.Log
	c.Progress = func(ctx context.Context, now toolset.Progress) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.message = now.Message
		if progress != nil && !t.deferred {
			progress(ctx, now)
		}
	}
	if log != nil {
		c.Log = func(ctx context.Context, m toolset.LogMessage) {
			t.mu.Lock()
			defer t.mu.Unlock()
			if !t.deferred {
				log(ctx, m)
			}
		}
	}
	return c
}

// start runs the call.
func (t *running) start() {
	done := make(chan struct{})
	t.done = done
	go func() {
		defer close(done)
		t.result, t.err = t.run(t.ctx, t.call)
	}()
}

// follow runs a task to its end.
func (k *Keeper) follow(t *running) {
	ctx := context.WithoutCancel(t.ctx)
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	alive := time.Now()
	for {
		done := t.done
		if t.asked != nil {
			done = nil // the call has returned, and runs again with the answers
		}
		select {
		case <-done:
			if t.asked = t.asks(); t.asked != nil {
				if t.err = t.rows.ask(ctx, t.id, t.asked.byKey); t.err == nil {
					continue
				}
			}
			k.store(ctx, t)
			return
		case <-t.ctx.Done():
			if t.asked == nil {
				<-t.done
			}
			if t.asked != nil || t.asks() != nil {
				t.err = context.Cause(t.ctx)
			}
			k.store(ctx, t)
			return
		case <-t.wake:
			_ = k.look(ctx, t, false) // the next look tries again
		case <-ticker.C:
			due := time.Since(alive) >= aliveEvery
			if k.look(ctx, t, due) == nil && due {
				alive = time.Now()
			}
		}
	}
}

// look reads whether a task was cancelled and what was answered, and stores its message. due says that it is time to
// say that the task runs.
func (k *Keeper) look(ctx context.Context, t *running, due bool) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	t.mu.Lock()
	message := t.message
	t.mu.Unlock()
	now, err := t.rows.look(ctx, t.id, message, due || message != t.stored)
	switch {
	case fault.KindOf(err) == fault.NotFound || now.Cancelled:
		t.cancel(toolset.ErrTaskCancelled)
		return nil
	case err != nil:
		return err
	}
	t.stored = message
	if t.asked == nil || !t.asked.answered(now.Answers) {
		return nil
	}
	if err := t.rows.goOn(ctx, t.id); err != nil {
		return err
	}
	t.call, t.asked = t.asked.resume(t.call, now.Answers), nil
	t.start()
	return nil
}

// store stores the end of a task.
func (k *Keeper) store(ctx context.Context, t *running) {
	cause := context.Cause(t.ctx)
	switch {
	case t.err != nil && errors.Is(cause, toolset.ErrTaskCancelled):
		k.finish(ctx, t, toolset.TaskCancelled, "The task was cancelled.", nil)
		return
	case t.err != nil && errors.Is(cause, errStopped):
		k.finish(ctx, t, toolset.TaskFailed, stopped, nil)
		return
	case t.err != nil && errors.Is(cause, context.DeadlineExceeded):
		t.err = fault.Wrap(fault.Deadline, t.err, "the task has not ended within %s", k.timeout)
	case t.err != nil && cause != nil: // such as a key that was revoked
		t.err = cause
	}
	outcome, failed := t.call.Outcome(t.result, t.err)
	if len(outcome) > maxOutcomeBytes {
		outcome, failed = t.call.Outcome(toolset.Result{}, fault.New(fault.Exhausted, "the result of a task may have %d bytes, and this one has %d: ask for less", maxOutcomeBytes, len(outcome)))
	}
	status := toolset.TaskCompleted
	if failed {
		status = toolset.TaskFailed
	}
	k.finish(ctx, t, status, "", outcome)
}

func (k *Keeper) finish(ctx context.Context, t *running, status toolset.TaskStatus, message string, outcome json.RawMessage) {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if err := t.rows.finish(ctx, t.id, status, message, outcome); err != nil {
		k.Logger.ErrorContext(ctx, "store the end of a task", "tool", t.call.Name, "task", t.id, "err", err)
	}
}

// Run waits until ctx ends, and ends all tasks then.
func (k *Keeper) Run(ctx context.Context) error {
	<-ctx.Done()
	k.mu.Lock()
	k.closed = true
	for t := range maps.Values(k.here) {
		t.cancel(errStopped)
	}
	k.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		k.wait.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(stopTimeout):
	}
	return nil
}

// Task implements toolset.Deferrer.
func (k *Keeper) Task(ctx context.Context, id string) (toolset.Task, error) {
	rows, err := k.of(ctx, id)
	if err != nil {
		return toolset.Task{}, err
	}
	return rows.get(ctx, id)
}

// CancelTask implements toolset.Deferrer.
func (k *Keeper) CancelTask(ctx context.Context, id string) error {
	rows, err := k.of(ctx, id)
	if err == nil {
		err = rows.cancel(ctx, id)
	}
	if err == nil {
		k.wake(id)
	}
	return err
}

// AnswerTask implements toolset.Deferrer.
func (k *Keeper) AnswerTask(ctx context.Context, id, key string, answer json.RawMessage) error {
	rows, err := k.of(ctx, id)
	if err == nil {
		err = rows.answer(ctx, id, key, answer)
	}
	if err == nil {
		k.wake(id)
	}
	return err
}

// of returns the tasks of the caller. Errors: NotFound for an id that is none.
func (k *Keeper) of(ctx context.Context, id string) (store, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return store{}, err
	}
	if uuid.Validate(id) != nil {
		return store{}, errNotFound(id)
	}
	return store{k.DB.Handle(r.Tenant), ownerOf(r)}, nil
}

// wake has a task that runs here look at once.
func (k *Keeper) wake(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t := k.here[id]; t != nil {
		select {
		case t.wake <- struct{}{}:
		default:
		}
	}
}
