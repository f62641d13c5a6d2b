package agent

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Thread is a conversation of one caller with an agent. Other callers do not see it.
type Thread struct {
	ThreadID  string
	Messages  []ThreadMessage // the newest last; nil from ListThreads
	CreatedAt time.Time
	UpdatedAt time.Time
}

// ThreadMessage is a message of a conversation.
type ThreadMessage struct {
	Role string `json:"role"` // user or assistant
	Text string `json:"text"`
}

// Limits of threads.
const (
	maxThreads        = 1000 // of a tenant; the one unused for longest is deleted
	maxOwnThreads     = 200  // of one caller; likewise
	maxThreadMessages = 40
	maxThreadBytes    = 64 << 10 // of the texts of the messages
)

var threadPattern = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,100}$`)

func checkThread(id string) error {
	if !threadPattern.MatchString(id) {
		return fault.Field("threadId", "must be 1 to 100 letters, digits, _, ., : and -")
	}
	return nil
}

// subjectOf returns whose threads a request sees.
func subjectOf(r *access.Request) string { return r.Principal.Issuer + " " + r.Principal.Subject }

type threadRow struct {
	ThreadID  string
	Messages  []ThreadMessage
	CreatedAt time.Time
	UpdatedAt time.Time
}

// history returns the messages of a thread, nil if there is none.
func history(ctx context.Context, q data.Queryer, agent, subject, id string) ([]ThreadMessage, error) {
	t, err := data.Get[threadRow](ctx, q, `
		SELECT thread_id, messages, created_at, updated_at FROM ragd_shared.agent_threads
		WHERE agent_name = $1 AND subject = $2 AND thread_id = $3`, agent, subject, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return t.Messages, err
}

// remember appends messages to a thread, which need not exist, and forgets the oldest beyond the
// limits.
func remember(ctx context.Context, h *data.Handle, agent, subject, id string, said ...ThreadMessage) error {
	return h.Tx(ctx, func(tx *data.Tx) error {
		if err := tx.Lock(ctx, "agent threads"); err != nil {
			return err
		}
		messages, err := history(ctx, tx, agent, subject, id)
		if err != nil {
			return err
		}
		raw, err := json.Marshal(bounded(append(messages, said...)))
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			INSERT INTO ragd_shared.agent_threads (agent_name, subject, thread_id, messages)
			SELECT agent_name, $2, $3, $4 FROM ragd_shared.agents WHERE agent_name = $1
			ON CONFLICT (tenant_id, agent_name, subject, thread_id) DO UPDATE SET messages = excluded.messages, updated_at = clock_timestamp()`,
			agent, subject, id, raw); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			DELETE FROM ragd_shared.agent_threads WHERE subject = $1 AND (agent_name, thread_id) IN (
				SELECT agent_name, thread_id FROM ragd_shared.agent_threads WHERE subject = $1 ORDER BY updated_at DESC, agent_name, thread_id OFFSET $2)`, subject, maxOwnThreads); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			DELETE FROM ragd_shared.agent_threads WHERE (agent_name, subject, thread_id) IN (
				SELECT agent_name, subject, thread_id FROM ragd_shared.agent_threads ORDER BY updated_at DESC, agent_name, subject, thread_id OFFSET $1)`, maxThreads)
		return err
	})
}

// bounded returns the newest messages that fit into the limits, from a question on.
func bounded(messages []ThreadMessage) []ThreadMessage {
	bytes, from := 0, len(messages)
	for from > 0 && len(messages)-from < maxThreadMessages {
		if bytes += len(messages[from-1].Text); bytes > maxThreadBytes {
			break
		}
		from--
	}
	for from < len(messages) && messages[from].Role != string(llm.User) {
		from++
	}
	return messages[from:]
}

// GetThread returns a conversation of the caller with an agent. Errors: NotFound.
func (s *Service) GetThread(ctx context.Context, agent, id string) (Thread, error) {
	r, h, err := s.usable(ctx, agent)
	if err != nil {
		return Thread{}, err
	}
	found, err := data.Get[threadRow](ctx, h, `
		SELECT thread_id, messages, created_at, updated_at FROM ragd_shared.agent_threads
		WHERE agent_name = $1 AND subject = $2 AND thread_id = $3`, agent, subjectOf(r), id)
	if errors.Is(err, pgx.ErrNoRows) {
		return Thread{}, fault.New(fault.NotFound, "agent %q has no thread %q of yours", agent, id)
	}
	return Thread(found), err
}

// ListThreads returns a page of the caller's conversations with an agent, in the order of their ids.
func (s *Service) ListThreads(ctx context.Context, agent string, pageSize int32, pageToken string) ([]Thread, string, error) {
	r, h, err := s.usable(ctx, agent)
	if err != nil {
		return nil, "", err
	}
	return pagination.List(access.Pages(ctx, "threads", agent), pageSize, pageToken, "", func(t Thread) string { return t.ThreadID }, func(after string, most int) ([]Thread, error) {
		rows, err := data.Select[threadRow](ctx, h, `
			SELECT thread_id, NULL::json AS messages, created_at, updated_at FROM ragd_shared.agent_threads
			WHERE agent_name = $1 AND subject = $2 AND thread_id > $3 ORDER BY thread_id LIMIT $4`, agent, subjectOf(r), after, most)
		threads := make([]Thread, len(rows))
		for i, found := range rows {
			threads[i] = Thread(found)
		}
		return threads, err
	})
}

// DeleteThread deletes a conversation of the caller with an agent; one that does not exist is no
// error.
func (s *Service) DeleteThread(ctx context.Context, agent, id string) error {
	r, h, err := s.usable(ctx, agent)
	if err != nil {
		return err
	}
	_, err = h.Exec(ctx, `DELETE FROM ragd_shared.agent_threads WHERE agent_name = $1 AND subject = $2 AND thread_id = $3`, agent, subjectOf(r), id)
	return err
}

// usable returns the request and a handle of a caller that may use an agent.
func (s *Service) usable(ctx context.Context, agent string) (*access.Request, *data.Handle, error) {
	if _, err := s.Get(ctx, agent); err != nil {
		return nil, nil, err
	}
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, nil, err
	}
	return r, s.DB.Handle(r.Tenant), nil
}
