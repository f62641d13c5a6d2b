package task

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// Limits of what is stored of the tasks of a tenant.
const (
	// keep is how long a task can be had from its creation.
	keep = 30 * time.Minute
	// maxKept bounds the tasks that are kept. Those that ended first are deleted.
	maxKept = 500
	// maxOutcomeBytes bounds what is kept of the end of a task.
	maxOutcomeBytes = 4 << 20
	// maxAnswerBytes bounds the answers that a task keeps.
	maxAnswerBytes = 1 << 20
	// maxMessageBytes bounds the message of a task. A longer one is cut.
	maxMessageBytes = 1000
)

// store has the tasks of one caller. Errors of all methods: NotFound for a task that does not exist or is another
// caller's; Unavailable when the database does not answer.
type store struct {
	handle *data.Handle
	owner  []byte
}

// ownerOf returns the hash of a caller: of a credential with its rights, which a task has been run with.
func ownerOf(r *access.Request) []byte {
	sum := sha256.New()
	for _, part := range []string{r.Principal.Issuer, r.Principal.Subject, r.Principal.MandatoryFilter.String(), r.Bounds.String(), r.Server} {
		// The length comes first, so that fields cannot run into each other.
		_, _ = sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part)))) // a hash takes all
		_, _ = io.WriteString(sum, part)
	}
	return sum.Sum(nil)
}

func errNotFound(id string) error { return fault.New(fault.NotFound, "task %q not found", id) }

// found returns the error of a statement about one task.
func found(id string, err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return errNotFound(id)
	}
	return err
}

// insert stores a new task. It deletes those of the tenant that have expired, and those beyond the limit.
func (s store) insert(ctx context.Context, id, tool string) (toolset.Task, error) {
	created, err := data.Value[time.Time](ctx, s.handle, `
		WITH expired AS (
			DELETE FROM ragd_shared.tool_tasks WHERE created_at < now() - $4::interval OR task_id IN (
				SELECT o.task_id FROM ragd_shared.tool_tasks AS o WHERE o.status IN ('completed', 'failed', 'cancelled') ORDER BY o.created_at DESC OFFSET $5)
		)
		INSERT INTO ragd_shared.tool_tasks (task_id, owner_hash, tool_name, status) VALUES ($1, $2, $3, 'working') RETURNING created_at`,
		id, s.owner, tool, keep, maxKept-1)
	return toolset.Task{ID: id, Status: toolset.TaskWorking, CreatedAt: created, UpdatedAt: created, Keep: keep}, err
}

// row is a task as it is stored.
type row struct {
	Status               toolset.TaskStatus
	Message              string
	Asked                map[string]json.RawMessage
	Outcome              json.RawMessage
	CreatedAt, UpdatedAt time.Time
	Lost                 bool
}

const (
	open = `status IN ('working', 'input_required')`
	// lost holds for tasks whose instance is gone. The parameter is lostAfter.
	lost = `(` + open + ` AND alive_at < now() - $3::interval)`
)

// get returns a task. One whose instance is gone has failed.
func (s store) get(ctx context.Context, id string) (toolset.Task, error) {
	r, err := data.Get[row](ctx, s.handle, `
		SELECT status, message, asked, outcome, created_at, updated_at, `+lost+` AS lost FROM ragd_shared.tool_tasks
		WHERE task_id = $1 AND owner_hash = $2 AND created_at > now() - $4::interval`, id, s.owner, lostAfter, keep)
	if err != nil {
		return toolset.Task{}, found(id, err)
	}
	t := toolset.Task{ID: id, Status: r.Status, Message: r.Message, Requests: r.Asked, Outcome: r.Outcome, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Keep: keep}
	if r.Lost {
		t.Status, t.Message = toolset.TaskFailed, stopped
		_, err = s.handle.Exec(ctx, `
			UPDATE ragd_shared.tool_tasks SET status = 'failed', message = $4, updated_at = now() WHERE task_id = $1 AND owner_hash = $2 AND `+lost,
			id, s.owner, lostAfter, stopped)
	}
	return t, err
}

// cancel asks for the end of a task. One whose instance is gone ends at once.
func (s store) cancel(ctx context.Context, id string) error {
	n, err := s.handle.Exec(ctx, `
		UPDATE ragd_shared.tool_tasks SET cancelled = true, status = CASE WHEN `+lost+` THEN 'cancelled' ELSE status END
		WHERE task_id = $1 AND owner_hash = $2 AND created_at > now() - $4::interval`, id, s.owner, lostAfter, keep)
	if err == nil && n == 0 {
		err = errNotFound(id)
	}
	return err
}

// answer stores an answer to a request that waits for one.
func (s store) answer(ctx context.Context, id, key string, answer json.RawMessage) error {
	return s.handle.Tx(ctx, func(tx *data.Tx) error {
		now, err := data.Get[struct{ Asked, Answers map[string]json.RawMessage }](ctx, tx, `
			SELECT asked, answers FROM ragd_shared.tool_tasks
			WHERE task_id = $1 AND owner_hash = $2 AND created_at > now() - $3::interval FOR UPDATE`, id, s.owner, keep)
		switch {
		case err != nil:
			return found(id, err)
		case now.Asked[key] == nil || now.Answers[key] != nil:
			return nil
		}
		now.Answers[key] = answer
		raw, err := json.Marshal(now.Answers)
		switch {
		case err != nil:
			return err
		case len(raw) > maxAnswerBytes:
			return fault.New(fault.Invalid, "the answers to a task may have %d bytes, and these have %d", maxAnswerBytes, len(raw))
		}
		_, err = tx.Exec(ctx, `UPDATE ragd_shared.tool_tasks SET answers = $3, updated_at = now() WHERE task_id = $1 AND owner_hash = $2`, id, s.owner, raw)
		return err
	})
}

// state is what others want of a task.
type state struct {
	Cancelled bool
	Answers   map[string]json.RawMessage
}

// look returns what others want of a task. With say it also stores that the task runs, and its message.
func (s store) look(ctx context.Context, id, message string, say bool) (state, error) {
	if !say {
		now, err := data.Get[state](ctx, s.handle, `SELECT cancelled, answers FROM ragd_shared.tool_tasks WHERE task_id = $1 AND owner_hash = $2`, id, s.owner)
		return now, found(id, err)
	}
	now, err := data.Get[state](ctx, s.handle, `
		UPDATE ragd_shared.tool_tasks SET alive_at = now(), message = $3, updated_at = CASE WHEN message = $3 THEN updated_at ELSE now() END
		WHERE task_id = $1 AND owner_hash = $2 AND `+open+` RETURNING cancelled, answers`, id, s.owner, textlimit.Shorten(message, maxMessageBytes))
	return now, found(id, err)
}

// ask has a task wait for answers.
func (s store) ask(ctx context.Context, id string, asked map[string]json.RawMessage) error {
	raw, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	_, err = s.handle.Exec(ctx, `
		UPDATE ragd_shared.tool_tasks SET status = 'input_required', asked = $3, answers = '{}', alive_at = now(), updated_at = now()
		WHERE task_id = $1 AND owner_hash = $2 AND status = 'working'`, id, s.owner, raw)
	return err
}

// goOn has a task that waited work again.
func (s store) goOn(ctx context.Context, id string) error {
	_, err := s.handle.Exec(ctx, `
		UPDATE ragd_shared.tool_tasks SET status = 'working', asked = '{}', answers = '{}', alive_at = now(), updated_at = now()
		WHERE task_id = $1 AND owner_hash = $2 AND status = 'input_required'`, id, s.owner)
	return err
}

// finish stores the end of a task.
func (s store) finish(ctx context.Context, id string, status toolset.TaskStatus, message string, outcome json.RawMessage) error {
	_, err := s.handle.Exec(ctx, `
		UPDATE ragd_shared.tool_tasks SET status = $3, message = $4, outcome = $5, asked = '{}', answers = '{}', updated_at = now()
		WHERE task_id = $1 AND owner_hash = $2 AND `+open, id, s.owner, string(status), message, outcome)
	return err
}
