package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// TopicFinder runs the jobs that find topics. Safe for concurrent use.
type TopicFinder struct {
	db        *data.DB
	models    *llm.Client
	processor *limit.Processor
	log       *slog.Logger
}

// NewTopicFinder returns a TopicFinder. db is the database for background work; models
// write titles for indexes with a topic model.
func NewTopicFinder(db *data.DB, models *llm.Client, processor *limit.Processor, log *slog.Logger) *TopicFinder {
	return &TopicFinder{db: db, models: models, processor: processor, log: log}
}

const (
	topicsTimeout = time.Hour
	// maxTopicChunks is the largest number of chunks whose topics are found, which happens
	// in memory.
	maxTopicChunks = 1_000_000
	// Topics that exist are found again when no documents are waiting, but not more than
	// maxDebounce later.
	debounce    = 2 * time.Second
	maxDebounce = 5 * time.Minute
)

// TopicRunners returns what starts, runs, cancels and retries the jobs that find topics.
func (s *Service) TopicRunners(f *TopicFinder) job.Registry {
	return job.Registry{job.Topics: {
		Run: f.run, Timeout: topicsTimeout, Cancel: s.cancelTopics, Retry: s.retryTopics,
		Start: func(ctx context.Context, tx *data.Tx, indexID int64) error {
			_, err := startTopics(ctx, s.queue, tx, indexID)
			return err
		},
	}}
}

func (f *TopicFinder) run(ctx context.Context, a job.Attempt) error {
	start := time.Now()
	h := f.db.Handle(a.Tenant)
	log := f.log.With("tenant", a.Tenant, "index", a.IndexID, "job", a.JobID, "attempt", a.Number)
	err := f.find(ctx, h, a.Task)
	var gone *data.GoneError // the index got another embedding model, or was deleted
	switch {
	case err == nil:
		log.InfoContext(ctx, "topics found", "duration_ms", time.Since(start).Milliseconds())
		return nil
	case job.Snoozed(err):
		return err
	case errors.Is(err, job.ErrEnded), !errors.As(err, &gone) && ctx.Err() == nil && fault.KindOf(err) == fault.NotFound:
		return job.Stop(err)
	}
	last := a.Last || fault.KindOf(err) == fault.Precondition
	log.WarnContext(ctx, "finding topics failed", "err", err)
	err = errors.Join(err, failTopics(ctx, h, a.Task, fault.Public(err), last))
	if last {
		return job.Stop(err)
	}
	return err
}

// find finds the topics of an index and stores them.
func (f *TopicFinder) find(ctx context.Context, h *data.Handle, task job.Task) error {
	i, state, err := f.begin(ctx, h, task)
	if err != nil {
		return err
	}
	h = h.OfIndex(i.ID, i.Generation)
	if err := index.MakeTopics(ctx, h, i); err != nil {
		return fmt.Errorf("make the tables of topics: %w", err)
	}
	c, err := readCorpus(ctx, h, state)
	if err != nil {
		return fmt.Errorf("read the graph of an index: %w", err)
	}
	if err := job.Progress(ctx, h, task.JobID, 0, len(c.nodes)); err != nil {
		return err
	}
	before := make([]nodeRow, len(c.nodes))
	copy(before, c.nodes)
	earlier := *cmp.Or(state.Topics, &index.Topics{})
	whole := state.Topics == nil || (state.Written-earlier.Whole)*wholeFraction >= state.Chunks || earlier.Edges*2 < state.Edges
	var found division
	if err := f.processor.Run(ctx, string(task.Tenant), func(ctx context.Context) error {
		found, err = c.divide(ctx, whole, earlier.LastID)
		return err
	}); err != nil {
		return err
	}
	if err := c.describe(ctx, f.processor, h, &found); err != nil {
		return fmt.Errorf("find the terms of topics: %w", err)
	}
	if err := f.write(ctx, h, i, &found); err != nil {
		return fmt.Errorf("write the titles of topics: %w", err)
	}
	if err := job.Progress(ctx, h, task.JobID, len(c.nodes), len(c.nodes)); err != nil { // not when cancelled
		return err
	}
	if err := c.storeChanged(ctx, h, before); err != nil {
		return fmt.Errorf("store the topics of chunks: %w", err)
	}
	now := index.Topics{
		FoundAt: time.Now(), Chunks: state.Chunks, Written: state.Written, Edges: state.Edges, Whole: earlier.Whole, LastID: found.lastID, Modularity: found.modularity,
	}
	if whole {
		now.Whole = state.Written
	}
	return replaceTopics(ctx, h, task, found.topics, now)
}

// wholeFraction: all communities are found anew when 1/wholeFraction of the chunks was
// written since that was last done. Until then new chunks join the earlier communities.
const wholeFraction = 4

// begin marks the job running and returns its index and the state of its topics. Topics that
// exist are found again after a load, not during it: it then snoozes the job.
func (f *TopicFinder) begin(ctx context.Context, h *data.Handle, task job.Task) (i index.Index, state topicState, err error) {
	state, err = topicsOf(ctx, h, task.IndexID)
	if errors.Is(err, pgx.ErrNoRows) {
		return i, state, job.ErrEnded
	}
	if err != nil {
		return i, state, err
	}
	switch {
	case state.job() != task.JobID:
		return i, state, job.ErrEnded
	case state.Graph.Off:
		return i, state, fault.New(fault.Precondition, "the index keeps no graph")
	case state.Chunks > maxTopicChunks:
		return i, state, fault.New(fault.Precondition, "the index has more than %d chunks, too many to find topics", maxTopicChunks)
	case state.Topics != nil && time.Since(state.Topics.FoundAt) < maxDebounce && state.Pending > 0:
		return i, state, job.Snooze(debounce)
	}
	err = h.Tx(ctx, func(tx *data.Tx) (err error) {
		if err := job.Begin(ctx, tx, task.JobID); err != nil {
			return err
		}
		if i, err = index.ByID(ctx, tx, task.IndexID); fault.KindOf(err) == fault.NotFound {
			return job.ErrEnded
		}
		return err
	})
	return i, state, err
}

// failTopics records a failed attempt and, if it was the last, ends the job.
func failTopics(ctx context.Context, h *data.Handle, task job.Task, reason string, last bool) error {
	// The attempt may have failed because its deadline passed.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return h.Tx(ctx, func(tx *data.Tx) error {
		if err := job.FailAttempt(ctx, tx, task.JobID, 0, reason, last); err != nil || !last {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE tenant.indexes SET topics_job_id = NULL WHERE topics_job_id = $1`, task.JobID)
		return err
	})
}
