package service

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/api/rpc"
	"github.com/ragdhq/ragd/internal/automation/event"
	"github.com/ragdhq/ragd/internal/automation/event/journal"
	"github.com/ragdhq/ragd/internal/index/storage"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/ingest/backlog"
	"github.com/ragdhq/ragd/internal/ingest/parse/subprocess"
	"github.com/ragdhq/ragd/internal/model/localmodel"
	"github.com/ragdhq/ragd/internal/operate/audit"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/logrepeat"
	"github.com/ragdhq/ragd/internal/operate/telemetry"
	"github.com/ragdhq/ragd/internal/secure/identity"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/idempotency"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/place/placement"
	"github.com/ragdhq/ragd/internal/tenant/place/replica"
	"github.com/ragdhq/ragd/internal/tenant/provision"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
	"github.com/ragdhq/ragd/internal/tenant/quota/usage"
	"github.com/ragdhq/ragd/internal/tenant/sleep"
	"github.com/ragdhq/ragd/internal/tool/task"
)

// Service is a whole ragd service.
type Service struct {
	// Tenants, Credentials, Handlers and Events can be called by code in the same process without
	// the network.
	Tenants     *provision.Service
	Credentials *credential.Service
	Handlers    *rpc.Handlers
	Events      *event.Listener
	// Replicas are those of the first database; nil without any.
	Replicas *replica.Set

	config   Config
	log      *slog.Logger // of background work; without repetitions
	repeats  *logrepeat.Handler
	refusals *logrepeat.Requests
	listener net.Listener
	database database
	storage  *storage.Guard
	tracing  *tracing
	metrics  *telemetry.Recorder
	private  []private                             // further addresses
	freeDisk func() (free, total int64, err error) // of the embedded database
	parsers  *subprocess.Pool                      // nil when files are read in this process
	queue    *job.Queue
	placed   *placement.Registry
	sleeps   *sleep.Service
	instance string
	runners  job.Registry
	others   others
	backlog  *backlog.Backlog
	worker   *ingest.Worker
	guard    *httpserver.Guard
	issuer   *identity.Issuer
	remote   rpc.RemoteKinds
	db       *data.DB // for requests
	local    *localmodel.Service
	gate     *admission.Gate
	mcp      *mcphttp.Handler
	calls    *journal.Recorder // of tools
	called   *task.Keeper      // calls of tools that go on
	// certificate is nil without TLS.
	certificate *httpserver.Certificate

	usage *usage.Meter
	audit *audit.Log

	idempotent *idempotency.Keeper

	stopping atomic.Bool // Run was told to stop
	draining context.Context
	drain    context.CancelFunc
}

// New opens the listener and the database, migrates the control schema and connects the
// packages. It starts nothing but an embedded database: connections to the listener wait
// until Run. On an error it releases what it opened.
func New(ctx context.Context, config Config) (_ *Service, err error) {
	config = config.withDefaults()
	s := &Service{config: config, repeats: logrepeat.New(config.Logger.Handler(), failureClass), refusals: logrepeat.NewRequests(config.Logger), gate: admission.New(admission.Config{
		MaxMemory: config.MaxRequestMemory, RequestsPerSecond: config.TenantRequestRate, ConcurrentRequests: config.TenantConcurrentRequests, PageRequestsPerSecond: config.PageRequestRate,
	})}
	s.log = slog.New(s.repeats)
	s.draining, s.drain = context.WithCancel(context.Background())
	if err := config.Backup.check(); err != nil {
		return nil, err
	}
	for setting, value := range map[string]time.Duration{"drain-delay": config.DrainDelay, "drain-timeout": config.DrainTimeout} {
		if value < 0 {
			return nil, fault.Field(setting, "must not be negative, got %v", value)
		}
	}
	background := config
	background.Logger = s.log
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	guard := config.guard()
	guard.Page = func(ctx context.Context, path, origin string, admit func()) (context.Context, bool, error) {
		return s.Credentials.Auth.Page(ctx, path, origin, admit)
	}
	if s.guard, err = httpserver.NewGuard(guard); err != nil {
		return nil, err
	}
	if !config.TLS.IsZero() {
		if s.certificate, err = httpserver.NewCertificate(config.TLS, s.log); err != nil {
			return nil, err
		}
	}
	if s.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", config.Listen); err != nil {
		return nil, listenFault(config.Listen, "listen", err)
	}
	if s.tracing, err = newTracing(ctx, config.Traces, config.Version, s.log); err != nil {
		return nil, err
	}
	s.metrics = telemetry.New(telemetry.Config{Version: config.Version, Spans: s.tracing.provider(), Tenants: config.Metrics.Tenants})
	if err := s.listenPrivately(ctx); err != nil {
		return nil, err
	}
	if s.database, err = openDatabase(ctx, background, s.tracing.statements()); err != nil {
		return nil, err
	}
	if s.database.replicas, err = openReplicas(background, s.database, s.tracing.statements()); err != nil {
		return nil, err
	}
	s.Replicas = s.database.replicas
	s.storage = s.newStorage()
	instance := instanceName()
	s.instance = instance
	s.queue, err = job.NewQueue(job.QueueConfig{
		Driver: riverpgxv5.New(s.database.work), Instance: instance, Logger: s.log, Pause: s.storage.Disk,
	})
	if err != nil {
		return nil, err
	}
	if s.placed, err = migrateControl(ctx, background, s.database, s.tracing.statements()); err != nil {
		return nil, err
	}
	if s.Tenants, s.Credentials, err = openTenants(ctx, background, s.database, s.placed, s.storage, s.queue.DeleteTenant, backlog.DeleteTenant); err != nil {
		return nil, err
	}
	if err := s.wire(ctx, instance); err != nil {
		return nil, err
	}
	s.mcp, err = s.newMCP()
	return s, err
}

// URL returns the base URL of the service on the address it listens on.
func (s *Service) URL() string {
	scheme := "http"
	if s.certificate != nil {
		scheme = "https"
	}
	return scheme + "://" + s.listener.Addr().String()
}

// Reload reads the certificate again, if its files have changed.
func (s *Service) Reload(ctx context.Context) {
	if s.certificate != nil {
		s.certificate.Reload(ctx)
	}
}

// Run serves requests and works on jobs until ctx ends. Then it claims no more work and is not
// ready; it still accepts connections for DrainDelay, ends the streams that watch, and lets
// running requests and jobs finish. It returns nil if ctx ended it. It may be called once.
func (s *Service) Run(ctx context.Context) error {
	group, groupCtx := errgroup.WithContext(telemetry.NewContext(ctx, s.metrics))
	context.AfterFunc(groupCtx, func() { s.stopping.Store(true) })
	for _, p := range s.private {
		group.Go(func() error { return httpserver.Serve(groupCtx, p.listener, p.handler, httpserver.Config{}) })
	}
	if !s.config.NoWorkers {
		group.Go(func() error { return s.backlog.Run(groupCtx, s.worker.Process) })
		group.Go(func() error { return s.Tenants.Run(groupCtx) })
		group.Go(func() error { return s.Handlers.Moves.Run(groupCtx) })
		group.Go(func() error { return s.sleeps.Run(groupCtx) })
		group.Go(func() error {
			return s.Handlers.Journal.Run(groupCtx, s.Handlers.Hooks.Wake)
		})
		group.Go(func() error { return s.Handlers.Hooks.Run(groupCtx) })
		group.Go(func() error { return s.Handlers.Connectors.Run(groupCtx) })
	}
	if s.certificate != nil {
		group.Go(func() error { return s.certificate.Run(groupCtx) })
	}
	group.Go(func() error { return s.placed.Run(groupCtx, s.runOn) })
	group.Go(func() error { return s.runBackups(groupCtx) })
	group.Go(func() error { s.migrateBehind(groupCtx); return nil })
	group.Go(func() error { s.Handlers.Indexes.RecordQuestions(groupCtx, s.log); return nil })
	group.Go(func() error { s.Handlers.Indexes.Upkeep(groupCtx, s.log); return nil })
	// What requests rely on ends after them.
	served, stop := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() error { return s.called.Run(served) })
	group.Go(func() error { return s.calls.Run(served) })
	group.Go(func() error { return s.usage.Run(served) })
	group.Go(func() error { return s.Handlers.Notable.Run(served) })
	group.Go(func() error { return s.audit.Run(served) })
	group.Go(func() error { return s.idempotent.Run(served) })
	group.Go(func() error { return s.Credentials.KeyUses.Run(served, s.log) })
	group.Go(func() error { return s.Events.Run(served) })
	group.Go(func() error { return s.database.replicas.Run(served) })
	group.Go(func() error {
		defer stop()
		return httpserver.Serve(groupCtx, s.listener, s.handler(), httpserver.Config{
			DrainDelay: s.config.DrainDelay, DrainTimeout: s.config.DrainTimeout, Certificate: s.certificate,
			EndStreams: func(ctx context.Context) error {
				s.drain()
				return s.mcp.Shutdown(ctx)
			},
		})
	})
	err := group.Wait()
	if failed := s.usage.Flush(context.WithoutCancel(ctx)); failed != nil { // what the last requests used
		s.log.WarnContext(ctx, "the usage of the last seconds is lost", "err", failed)
	}
	s.Handlers.Notable.Flush(context.WithoutCancel(ctx))
	if failed := s.audit.Flush(context.WithoutCancel(ctx)); failed != nil {
		s.log.WarnContext(ctx, "the denied calls of the last minute are not in the audit log", "err", failed)
	}
	if failed := s.Credentials.KeyUses.Flush(context.WithoutCancel(ctx)); failed != nil {
		s.log.WarnContext(ctx, "the times at which keys were used in the last minute are lost", "err", failed)
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // ctx ended during the start
	}
	return err
}

// closeTimeout bounds the time that Close takes.
const closeTimeout = time.Minute

// Close releases what New opened and stops the embedded database. Call it after Run has
// returned, or instead of Run.
func (s *Service) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var err error
	if s.mcp != nil {
		err = s.mcp.Shutdown(ctx)
	}
	if s.sleeps != nil {
		s.sleeps.Close()
	}
	if s.parsers != nil {
		s.parsers.Close()
	}
	if s.remote.MCP != nil {
		s.remote.MCP.Close()
	}
	if s.Handlers != nil && s.Handlers.Connectors != nil {
		s.Handlers.Connectors.Close()
	}
	if s.placed != nil {
		s.placed.Close()
	}
	err = errors.Join(err, s.tracing.close(ctx), s.database.close(ctx))
	s.repeats.Close()
	s.refusals.Close()
	if s.listener != nil {
		_ = s.listener.Close() // the HTTP server has closed it if it ran
	}
	for _, p := range s.private {
		_ = p.listener.Close()
	}
	return err
}
