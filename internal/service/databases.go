package service

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/ragdhq/ragd/internal/automation/event"
	"github.com/ragdhq/ragd/internal/ingest/backlog"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/telemetry"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/provision"
	"github.com/ragdhq/ragd/internal/tenant/quota/usage"
)

// others are the backlogs and queues that this instance runs on registered databases, by name.
type others struct {
	mu    sync.Mutex
	works map[string]works
}

// works are the backlog and the queue of a database.
type works struct {
	backlog *backlog.Backlog
	queue   *job.Queue
}

// controlOf returns the control schema of the database in which a tenant lives.
func (s *Service) controlOf(ctx context.Context, id tenant.ID) (backlog.Control, error) {
	site, err := s.placed.Work().Of(ctx, id)
	if err != nil {
		return nil, err
	}
	return site.Pool, nil
}

// backlogOf returns the backlog that this instance runs on the registered database in which a tenant
// lives, nil if there is none.
func (s *Service) backlogOf(id tenant.ID) *backlog.Backlog {
	name := s.placed.Known(id)
	if name == "" {
		return nil
	}
	s.others.mu.Lock()
	defer s.others.mu.Unlock()
	return s.others.works[name].backlog
}

// runOn does for a registered database what the service does for its first one, until ctx ends: it
// hears of changes, and works on documents, jobs and events. What it finds there of a tenant that lives
// elsewhere is refused: the database may be a tenant's own.
func (s *Service) runOn(ctx context.Context, d *provision.Database) {
	var group sync.WaitGroup
	defer group.Wait()
	log := slog.New(quiet{s.log.With("database", d.Name).Handler(), func() bool { return s.placed.Answers(d.Name) }})
	group.Go(func() { s.listenTo(ctx, d, log) })
	if s.config.NoWorkers {
		return
	}
	serves := func(ctx context.Context, id tenant.ID) error { return s.placed.Serves(ctx, d.Name, id) }
	group.Go(func() {
		for ctx.Err() == nil {
			if err := s.workOn(ctx, d, serves, log); err != nil && ctx.Err() == nil {
				log.WarnContext(ctx, "the work of a database has stopped, and begins again", "err", err)
			}
			pause(ctx, workPause)
		}
	})
	group.Go(func() {
		err := s.Handlers.Journal.RunOn(ctx, d.Work, log, func(ctx context.Context, id tenant.ID) error {
			if err := serves(ctx, id); err != nil {
				return err
			}
			return s.Handlers.Hooks.Wake(ctx, id)
		})
		if err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "sweeping events has stopped", "err", err)
		}
	})
	group.Go(func() { s.collectUsage(ctx, d, serves, log) })
}

// workPause is the pause before the work of a database begins again after an error.
const workPause = 2 * time.Second

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// listenTo passes the events of a database on to the subscribers of the service.
func (s *Service) listenTo(ctx context.Context, d *provision.Database, log *slog.Logger) {
	listener := event.NewListener(d.Requests.Config().ConnConfig, log)
	listener.Subscribe(func(e event.Event) {
		if e.Tenant == "" {
			s.missedOn(ctx, d.Name)
			return
		}
		if s.placed.Known(e.Tenant) == d.Name || s.placed.Serves(ctx, d.Name, e.Tenant) == nil {
			s.Events.Publish(e)
		}
	})
	go func() {
		select {
		case <-ctx.Done():
		case <-listener.Ready():
			s.missedOn(ctx, d.Name) // earlier ones
		}
	}()
	_ = listener.Run(ctx) // it returns when ctx ends
}

// maxMissed is how many tenants are told one by one that events were missed.
const maxMissed = 100

// missedOn tells the subscribers that events of a database may have been missed: of its tenants alone, as
// whoever has the server of a tenant's own database can cause it at will. For many tenants of a database of
// the operator it is one event about all.
func (s *Service) missedOn(ctx context.Context, database string) {
	tenants, err := s.placed.Tenants(ctx, database, maxMissed+1)
	if err != nil || len(tenants) > maxMissed {
		tenants = []tenant.ID{""}
	}
	for _, id := range tenants {
		s.Events.Publish(event.Event{Tenant: id})
	}
}

// workOn works on the documents and jobs of a database until ctx ends.
func (s *Service) workOn(ctx context.Context, d *provision.Database, serves func(context.Context, tenant.ID) error, log *slog.Logger) error {
	queue, err := job.NewQueue(job.QueueConfig{
		Driver: riverpgxv5.New(d.Work), Instance: s.instance, Logger: log, Pause: s.storage.Disk, Serves: serves,
	})
	if err != nil {
		return err
	}
	queue.Register(s.runners)
	work := backlog.New(backlog.Config{
		Control: d.Work, Jobs: queue, Instance: s.instance, Workers: s.config.Workers, Logger: log,
		MaxDocuments: s.config.MaxQueuedDocuments, MaxBytes: s.config.MaxQueuedBytes, Pause: s.storage.Disk,
	})
	defer s.others.add(d.Name, works{work, queue})()
	return work.Run(ctx, func(ctx context.Context, claims []backlog.Claim) {
		id := claims[0].Tenant
		err := serves(ctx, id)
		if fault.KindOf(err) == fault.NotFound {
			err = work.Refuse(ctx, id)
		}
		if err != nil {
			log.WarnContext(ctx, "documents of a tenant that lives elsewhere are left", "tenant", id, "err", err)
			pause(ctx, workPause)
			return
		}
		s.worker.Process(ctx, claims)
	})
}

// add notes the work of a database until remove is called.
func (o *others) add(name string, w works) (remove func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.works == nil {
		o.works = map[string]works{}
	}
	o.works[name] = w
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.works[name] == w {
			delete(o.works, name)
		}
	}
}

// all returns the work of the databases that answer.
func (o *others) all(answers func(name string) bool) (all []works) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, w := range o.works {
		if answers(name) {
			all = append(all, w)
		}
	}
	return all
}

// depth returns what waits in the backlogs of all databases that answer. It fails if that of the first
// one does.
func (s *Service) depth(ctx context.Context) (backlog.Depth, error) {
	sum, err := s.backlog.Depth(ctx)
	if err != nil {
		return sum, err
	}
	for _, w := range s.others.all(s.placed.Answers) {
		if d, err := w.backlog.Depth(ctx); err == nil {
			sum.Waiting, sum.Claimed, sum.Retrying, sum.Oldest = sum.Waiting+d.Waiting, sum.Claimed+d.Claimed, sum.Retrying+d.Retrying, max(sum.Oldest, d.Oldest)
		}
	}
	return sum, nil
}

// tasks returns how many tasks there are in the queues of all databases that answer, by state. It fails if
// that of the first one does.
func (s *Service) tasks(ctx context.Context) (map[rivertype.JobState]int, error) {
	sum, err := s.queue.Depth(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range s.others.all(s.placed.Answers) {
		if tasks, err := w.queue.Depth(ctx); err == nil {
			for state, n := range tasks {
				sum[state] += n
			}
		}
	}
	return sum, nil
}

// placedGauges are read from the registered databases.
var placedGauges = map[string]telemetry.Gauge{
	"ragd_placed_up":      {Help: "1 if a registered database answers.", Labels: []string{"database"}},
	"ragd_placed_tenants": {Help: "Tenants that live in a registered database.", Labels: []string{"database"}},
	"ragd_placed_bytes":   {Help: "Bytes of a registered database.", Labels: []string{"database"}},
}

// readPlaced reads placedGauges. What cannot be read is left out.
func (s *Service) readPlaced(set telemetry.Set) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	all, err := s.placed.Describe(ctx)
	if err != nil {
		return // readDatabase tells
	}
	for _, d := range all {
		if d.Name == tenant.FirstDatabase {
			continue
		}
		set("ragd_placed_tenants", float64(d.Tenants), d.Name)
		set("ragd_placed_up", map[bool]float64{true: 1}[d.Answers], d.Name)
		if d.Answers {
			set("ragd_placed_bytes", float64(d.Bytes), d.Name)
		}
	}
}

// collectUsage moves what the tenants of a database used, which is counted there with their documents,
// to the first database.
func (s *Service) collectUsage(ctx context.Context, d *provision.Database, serves func(context.Context, tenant.ID) error, log *slog.Logger) {
	for ctx.Err() == nil {
		if err := s.usage.Collect(ctx, d.Work, log, serves); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "the usage of a database was not collected", "err", err)
		}
		pause(ctx, usage.FlushInterval)
	}
}

// quiet is a log handler that drops everything while a database does not answer, which is logged once
// by the registry of databases.
type quiet struct {
	slog.Handler
	answers func() bool
}

// Enabled implements slog.Handler.
func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return q.answers() && q.Handler.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quiet{q.Handler.WithAttrs(attrs), q.answers}
}

// WithGroup implements slog.Handler.
func (q quiet) WithGroup(name string) slog.Handler {
	return quiet{q.Handler.WithGroup(name), q.answers}
}
