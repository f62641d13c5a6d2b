// Package move moves a tenant from one database of the service to another, while it is used. The databases of a
// service are in package placement.
//
//	          the rows are compared            after settle               after Keep
//	copying ------------------------> switching -----------> dropping ------------> done
//	   |
//	   +--> failed: the tenant is where it was
//
// While it is copying, the tenant's requests go on in the old database. First its own tables are copied as they were
// at one moment, and their Postgres indexes are built; triggers note the keys of rows that change meanwhile. Then its
// writes are stopped: the old database refuses them, so that no instance of the service has to hear of it. What has
// changed since is copied, with its rows of tables with rows of all tenants and its waiting work, and all rows are
// compared. The switch is one transaction in the first database, which says where each tenant lives. Before it, the
// old database stops serving the tenant; after it, the new one does.
//
// Every step may be interrupted and repeated. A move that is interrupted before the switch begins again, after
// removing what it had copied; one that is interrupted after it goes on. So at each moment one database, the one that the
// first database names, owns the tenant. A task of the first database's queue runs the move, on any instance.
package move

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

const (
	// DefaultKeep is how long the old database keeps its copy of a tenant that was moved.
	DefaultKeep = time.Hour
	// MaxKeep is the most that Keep may be.
	MaxKeep = 30 * 24 * time.Hour
	// MaxStop is about how long writes may be stopped: a move that has not switched by then lets them go on, and fails.
	MaxStop = 10 * time.Minute
	// maxTime ends an attempt: while it reads a snapshot, PostgreSQL cannot remove dead rows.
	maxTime = 12 * time.Hour
	// maxAttempts is how often a move is tried that fails before the switch.
	maxAttempts = 5
	// settle is how long transactions that began before the switch may go on reading in the old database.
	settle = 10 * time.Second
	// busyPause is how long a move waits while another call changes the tenant.
	busyPause = 2 * time.Second
	// undoTimeout bounds what is done to let a tenant's writes go on after a failure.
	undoTimeout = 2 * time.Minute
	// sweepInterval is how often Run looks for moves whose task was lost.
	sweepInterval = time.Minute
)

// Config has what a Service uses. All but Logger, Keep and Moved are required.
type Config struct {
	Tenants *provision.Service
	// Control is the pool of the first database.
	Control *pgxpool.Pool
	// Queue is that of the first database.
	Queue *job.Queue
	// Keep is how long the old database keeps its copy after a move. Default: DefaultKeep.
	Keep time.Duration
	// Moved is called when a tenant lives in another database.
	Moved  func(ctx context.Context, id tenant.ID, database string)
	Logger *slog.Logger

	settle time.Duration
	step   func(name string) // called before each step, for tests
}

// Service moves tenants. Safe for concurrent use.
type Service struct{ config Config }

// New returns a Service. Errors: Invalid for a Keep out of range.
func New(config Config) (*Service, error) {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Moved == nil {
		config.Moved = func(context.Context, tenant.ID, string) {}
	}
	if config.step == nil {
		config.step = func(string) {}
	}
	if config.Keep < 0 || config.Keep > MaxKeep {
		return nil, fault.Field("keep-moved", "must be from 1s to %v, got %v", MaxKeep, config.Keep)
	}
	config.Keep = cmp.Or(config.Keep, DefaultKeep)
	config.settle = cmp.Or(config.settle, settle)
	return &Service{config: config}, nil
}

// Runners returns the function that runs moves, for a job.Queue.
func (s *Service) Runners() job.Registry {
	return job.Registry{job.Move: {Run: s.run, Lane: job.LaneMove, MaxAttempts: maxAttempts, Timeout: maxTime}}
}

// run makes one attempt at a move.
func (s *Service) run(ctx context.Context, a job.Attempt) error {
	var again error
	err := s.config.Tenants.Unshared(ctx, a.Tenant, func(conn *pgxpool.Conn) error {
		m, err := byID(ctx, conn, a.Name)
		if err != nil {
			return err
		}
		if m.TenantID != a.Tenant {
			return fault.New(fault.NotFound, "the move is not one of the tenant %q", a.Tenant)
		}
		next, err := s.advance(ctx, conn, m, a.Last)
		again = errors.Join(next, err) // also what says that something was not found
		return nil
	})
	switch fault.KindOf(err) {
	case fault.Conflict:
		return job.Snooze(busyPause)
	case fault.NotFound: // with its tenant
		return nil
	}
	return errors.Join(err, again)
}

// advance does what is due of a move. It returns when to go on, as an error of job.Snooze, if the move has not ended.
func (s *Service) advance(ctx context.Context, control *pgxpool.Conn, m Move, last bool) (again, err error) {
	switch m.Phase {
	case Copying:
		if err := s.copy(ctx, control, m, last); err != nil {
			return nil, err
		}
		return job.Snooze(s.config.settle), nil
	case Switching:
		if err := s.leave(ctx, control, m); err != nil {
			return nil, err
		}
		return job.Snooze(time.Second), nil
	case Dropping:
		if wait := time.Until(*m.KeepUntil); wait > 0 {
			return job.Snooze(wait + time.Second), nil
		}
		return nil, s.drop(ctx, control, m)
	case Failed:
		return nil, s.clean(ctx, control, m)
	}
	return nil, nil
}

// copy copies a tenant and switches. After an error the tenant's writes go on in the old database.
func (s *Service) copy(ctx context.Context, control *pgxpool.Conn, m Move, last bool) error {
	err := postgres.Fault(s.try(ctx, control, m))
	if err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	now, failed := byID(ctx, control, m.ID)
	if failed != nil || now.Phase != Copying { // the switch was made, or nobody knows
		return errors.Join(err, failed)
	}
	undone := s.undo(ctx, m)
	s.config.Logger.WarnContext(ctx, "moving a tenant failed", "tenant", m.TenantID, "database", m.To, "last", last, "err", err, "undo", undone)
	if undone == nil && (last || hopeless(err)) {
		return errors.Join(fail(ctx, control, m, public(err)), s.cleanTarget(ctx, control, m))
	}
	return errors.Join(err, undone, note(ctx, control, m, "waiting to try again", public(err)))
}

// hopeless reports whether another attempt would fail in the same way.
func hopeless(err error) bool {
	kind := fault.KindOf(err)
	return kind == fault.Precondition || kind == fault.Invalid || kind == fault.NotFound
}

// public returns what an operator may read of an error.
func public(err error) string {
	if text := fault.Public(err); fault.KindOf(err) != fault.Internal {
		return text
	}
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Message
	}
	return "internal error, see the log of the service"
}

// open opens the databases of a move.
func (s *Service) open(ctx context.Context, m Move) (c *copying, release func(), err error) {
	c = &copying{id: m.TenantID}
	if c.from, err = s.config.Tenants.Database(ctx, m.From); err != nil {
		return nil, nil, err
	}
	if c.to, err = s.config.Tenants.Database(ctx, m.To); err != nil {
		return nil, nil, err
	}
	if c.source, err = c.from.Admin().Acquire(ctx); err != nil {
		return nil, nil, postgres.Fault(err)
	}
	if c.target, err = c.to.Admin().Acquire(ctx); err != nil {
		c.source.Release()
		return nil, nil, postgres.Fault(err)
	}
	return c, func() { c.source.Release(); c.target.Release() }, nil
}

// try copies a tenant, from the beginning, and switches.
func (s *Service) try(ctx context.Context, control *pgxpool.Conn, m Move) error {
	if err := begin(ctx, control, m); err != nil {
		return err
	}
	c, release, err := s.open(ctx, m)
	if err != nil {
		return err
	}
	defer release()
	c.report = func(ctx context.Context, step string, rows, bytes int64) error {
		s.config.step(step)
		return progress(ctx, control, m, step, rows, bytes)
	}
	if err := s.prepare(ctx, control, m, c); err != nil {
		return err
	}
	if err := c.report(ctx, "copying", 0, 0); err != nil {
		return err
	}
	if err := c.first(ctx); err != nil {
		return err
	}
	return s.finish(ctx, control, m, c)
}

// prepare removes what an earlier attempt has left, and makes room for the tenant in the target.
func (s *Service) prepare(ctx context.Context, control *pgxpool.Conn, m Move, c *copying) error {
	if err := c.report(ctx, "preparing", 0, 0); err != nil {
		return err
	}
	if err := checkPlace(ctx, control, m.TenantID, m.From); err != nil {
		return err
	}
	if err := unwatch(ctx, c); err != nil {
		return fmt.Errorf("remove what an earlier attempt has left: %w", err)
	}
	if err := removeCopy(ctx, c.target, m.TenantID, c.to.Name == ""); err != nil {
		return err
	}
	if err := c.checkTarget(ctx); err != nil {
		return err
	}
	var row json.RawMessage
	if c.to.Name != "" {
		if err := control.QueryRow(ctx, `SELECT to_jsonb(t) FROM ragd.tenants AS t WHERE t.tenant_id = $1`, m.TenantID).Scan(&row); err != nil {
			return postgres.Fault(err)
		}
	}
	if err := c.to.MakeRoom(ctx, c.target, m.TenantID, c.from.Title(), row); err != nil {
		return err
	}
	return c.watch(ctx)
}

// finish stops the writes of the tenant, copies what has changed, compares all rows and switches.
func (s *Service) finish(ctx context.Context, control *pgxpool.Conn, m Move, c *copying) error {
	if err := c.report(ctx, "stopping writes", c.rows, c.bytes); err != nil {
		return err
	}
	stopped := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, MaxStop, fault.New(fault.Unavailable, "writes were stopped for %v, and the move was not at its end", MaxStop))
	defer cancel()
	if err := c.stop(ctx); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"copying changes", func() error {
			now, err := c.second(ctx)
			if err != nil {
				return err
			}
			return c.verify(ctx, now)
		}},
		{"copying shared rows", func() error { return c.shared(ctx) }},
		{"copying work", func() error { return c.work(ctx) }},
		{"switching", func() error { return s.switchTo(ctx, control, m, c, stopped) }},
	} {
		if err := c.report(ctx, step.name, c.rows, c.bytes); err != nil {
			return err
		}
		if err := step.do(); err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
	}
	s.config.Moved(ctx, m.TenantID, c.to.Name)
	if err := release(ctx, c.target, m.TenantID); err != nil { // else it is done before the schema is renamed
		s.config.Logger.WarnContext(ctx, "the work of a tenant that was moved begins later", "tenant", m.TenantID, "err", err)
	}
	s.config.Logger.InfoContext(ctx, "tenant moved", "tenant", m.TenantID, "from", c.from.Title(), "to", c.to.Title(), "rows", c.rows, "bytes", c.bytes, "pause_ms", time.Since(stopped).Milliseconds())
	return nil
}

// switchTo gives the tenant to the target: first the old database stops serving it, then the directory in the first
// database names the new one.
func (s *Service) switchTo(ctx context.Context, control *pgxpool.Conn, m Move, c *copying, stopped time.Time) error {
	if c.to.Name != "" {
		var row json.RawMessage
		if err := control.QueryRow(ctx, `SELECT to_jsonb(t) FROM ragd.tenants AS t WHERE t.tenant_id = $1`, m.TenantID).Scan(&row); err != nil {
			return postgres.Fault(err)
		}
		_, err := c.target.Exec(ctx, `
			UPDATE ragd.tenants AS t SET status = 'ready', database_name = '', display_name = r.display_name, settings = r.settings,
				vector_store_names = r.vector_store_names, schema_version = r.schema_version, updated_at = r.updated_at
			FROM jsonb_populate_record(NULL::ragd.tenants, $2::jsonb) AS r WHERE t.tenant_id = $1`, m.TenantID, row)
		if err != nil {
			return fmt.Errorf("let the new database serve the tenant: %w", err)
		}
	}
	if c.from.Name != "" {
		if _, err := c.source.Exec(ctx, `UPDATE ragd.tenants SET database_name = $2 WHERE tenant_id = $1`, m.TenantID, c.to.Title()); err != nil {
			return fmt.Errorf("let the old database stop serving the tenant: %w", err)
		}
	}
	s.config.step("switch")
	return switched(ctx, control, m, time.Since(stopped), s.config.Keep)
}

// Settle ends what moves of a tenant have left to do, before the tenant is deleted. Errors: Precondition while the tenant
// is being moved.
func (s *Service) Settle(ctx context.Context, id tenant.ID) error {
	m, err := unfinished(ctx, s.config.Control, id)
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if m.Phase == Copying {
		return fault.New(fault.Precondition, "tenant %q is being moved to the database %s: wait for the end of the move", id, cmp.Or(m.To, tenant.FirstDatabase))
	}
	return s.config.Tenants.Unshared(ctx, id, func(conn *pgxpool.Conn) error {
		if err := s.drop(ctx, conn, m); err != nil {
			return fmt.Errorf("drop the old copy of a tenant that was moved: %w", err)
		}
		return nil
	})
}

// Run looks for moves whose task was lost, until ctx ends. It may run on several instances.
func (s *Service) Run(ctx context.Context) error {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			s.config.Logger.WarnContext(ctx, "looking for moves of tenants that have not ended failed", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// sweep stores a task for each move that has not ended. A task that is stored already stays as it is.
func (s *Service) sweep(ctx context.Context) error {
	return postgres.Fault(pgx.BeginFunc(ctx, s.config.Control, func(tx pgx.Tx) error {
		open, err := notEnded(ctx, tx)
		if err != nil {
			return err
		}
		for _, m := range open {
			if err := s.config.Queue.EnqueueAsService(ctx, tx, job.Move, job.Task{Tenant: m.TenantID, Name: m.ID}); err != nil {
				return err
			}
		}
		return nil
	}))
}
