package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/spf13/pflag"

	"github.com/ragdhq/ragd/internal/backlog"
	"github.com/ragdhq/ragd/internal/embed"
	"github.com/ragdhq/ragd/internal/endpoint"
	"github.com/ragdhq/ragd/internal/event"
	"github.com/ragdhq/ragd/internal/extract"
	"github.com/ragdhq/ragd/internal/graph"
	"github.com/ragdhq/ragd/internal/httpserver"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/job"
	"github.com/ragdhq/ragd/internal/llm"
	"github.com/ragdhq/ragd/internal/mcp"
	"github.com/ragdhq/ragd/internal/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/parse/subprocess"
	"github.com/ragdhq/ragd/internal/postgres"
	"github.com/ragdhq/ragd/internal/postgres/embedded"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/rerank"
	"github.com/ragdhq/ragd/internal/rpc"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/oauth"
	"github.com/ragdhq/ragd/internal/tool"
	"github.com/ragdhq/ragd/internal/vector"
)

// serviceSettings are what the service is told from outside.
type serviceSettings struct {
	getenv             func(string) string
	Listen             string
	DataDir            string
	DatabaseURL        string // secret
	OperatorKey        string // secret
	EmbeddingModel     string
	LogLevel           string
	IngestWorkers      int
	MaxQueuedDocuments int
	MaxQueuedBytes     int64
	AllowedHosts       []string
	AllowedOrigins     []string
	MCPRequestRate     int
	MCPLegacySSE       bool
	MCPStateless       bool
	OAuth              oauth.Config
	FirstTenant        string
	PublicURL          string
	Traces             traceSettings
	SessionKey         string                      // secret
	Providers          map[string]*endpoint.Config // by name; see providerNames
}

// providerNames are the services whose models can be used. Each has an address
// and a key: RAGD_OPENAI_BASE_URL, RAGD_OPENAI_API_KEY and so on.
var providerNames = []string{"openai", "cohere", "jina", "voyage", "tei"}

// register makes the settings that every command with a database takes.
func (s *serviceSettings) register(flags *pflag.FlagSet) {
	flags.StringVar(&s.DataDir, "data-dir", defaultDataDir(s.getenv), "folder of the embedded database")
	flags.StringVar(&s.EmbeddingModel, "embedding-model", "builtin/hash-512", "model of indexes that name none, as provider/model")
	flags.StringVar(&s.LogLevel, "log-level", "info", "debug, info, warn or error")
	flags.IntVar(&s.IngestWorkers, "ingest-workers", 4*runtime.NumCPU(), "batches of documents processed at once")
	flags.IntVar(&s.MaxQueuedDocuments, "max-queued-documents", 100_000, "documents of a tenant that may wait to be processed")
	flags.Int64Var(&s.MaxQueuedBytes, "max-queued-bytes", 4<<30, "bytes of a tenant's documents that may wait to be processed")
	markSettings(flags, "data-dir", "embedding-model", "log-level", "ingest-workers", "max-queued-documents", "max-queued-bytes")
	flags.StringVar(&s.DatabaseURL, "database-url", "", "")
	flags.StringVar(&s.OperatorKey, "operator-key", "", "")
	markSecrets(flags, "database-url", "operator-key")
	s.Providers = map[string]*endpoint.Config{}
	for _, name := range providerNames {
		config := &endpoint.Config{}
		s.Providers[name] = config
		flags.StringVar(&config.BaseURL, name+"-base-url", "", "address of the provider "+name+" (default: its own, if it has one)")
		flags.StringVar(&config.APIKey, name+"-api-key", "", "")
		markSettings(flags, name+"-base-url")
		markSecrets(flags, name+"-api-key")
	}
}

// defaultDataDir is ragd's folder under the user's data home.
func defaultDataDir(getenv func(string) string) string {
	home := getenv("XDG_DATA_HOME")
	if home == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return "ragd-data"
		}
		home = filepath.Join(user, ".local", "share")
	}
	return filepath.Join(home, "ragd")
}

// service is the whole product, wired.
type service struct {
	embedded *embedded.Server // nil with an external database
	pool     *pgxpool.Pool    // for requests
	work     *pgxpool.Pool    // for ingest and the job queue, so that neither starves the other
	tenants  *tenant.Service
	files    *subprocess.Pool
	queue    *job.Queue
	backlog  *backlog.Backlog
	worker   *ingest.Worker
	handlers *rpc.Handlers
	events   *event.Listener
	tracing  *tracing
	mcp      *mcphttp.Handler
	log      *slog.Logger
}

// newService brings the database up to date and wires everything to it. It runs
// nothing but the embedded database.
func newService(ctx context.Context, settings serviceSettings, log *slog.Logger) (_ *service, err error) {
	s := &service{log: log}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.tracing, err = newTracing(ctx, settings.Traces, log); err != nil {
		return nil, err
	}
	if err := s.openDatabase(ctx, settings); err != nil {
		return nil, err
	}
	instance := instanceName()
	if s.queue, err = job.NewQueue(job.QueueConfig{Driver: riverpgxv5.New(s.work), Instance: instance, Logger: log}); err != nil {
		return nil, err
	}
	if err := s.openTenants(ctx, settings); err != nil {
		return nil, err
	}
	models := embed.NewRegistry(embed.Config{OpenAI: *settings.Providers["openai"]})
	languageModels := llm.New(llm.Config{OpenAI: *settings.Providers["openai"]})
	extractor := extract.New(languageModels)
	reranker := rerank.New(rerank.Config{
		LLM:    languageModels,
		Cohere: *settings.Providers["cohere"], Jina: *settings.Providers["jina"],
		Voyage: *settings.Providers["voyage"], TEI: *settings.Providers["tei"],
	})
	if _, err := models.Model(settings.EmbeddingModel); err != nil {
		return nil, fmt.Errorf("embedding-model: %w", err)
	}
	if s.files, err = newSandbox(); err != nil {
		return nil, err
	}
	db := tenant.NewDB(s.pool)
	work := tenant.NewDB(s.work)
	s.backlog = backlog.New(backlog.Config{
		Control: s.work, Jobs: s.queue, Instance: instance, Workers: settings.IngestWorkers, Logger: log,
		MaxDocuments: settings.MaxQueuedDocuments, MaxBytes: settings.MaxQueuedBytes,
	})
	if s.embedded != nil { // nobody else can be at work in a database of our own
		if err := s.backlog.ForgetInstances(ctx); err != nil {
			return nil, err
		}
	}
	s.worker = ingest.NewWorker(ingest.WorkerConfig{
		DB: work, Models: models, Parse: s.files.Parse, Extractor: extractor, Queue: s.queue, Backlog: s.backlog, Logger: log,
	})
	indexes := index.New(db, models, settings.EmbeddingModel, s.queue)
	documents := ingest.New(db, indexes, s.backlog, extractor)
	queries := query.New(indexes, models, reranker, settings.EmbeddingModel)
	graphs := graph.New(db, indexes, queries, s.queue)
	runners := job.Join(
		documents.Runners(),
		indexes.Runners(index.NewMaintainer(work, s.queue, s.backlog, log), index.NewReembedder(work, models, graph.Relink, log)),
		graphs.Runners(graph.NewRebuilder(work, s.queue, log)),
	)
	s.queue.Register(runners)
	s.handlers = &rpc.Handlers{
		Tenants: s.tenants, Indexes: indexes,
		Ingest:  documents,
		Jobs:    job.New(db, runners),
		Vectors: vector.New(db, indexes, s.queue),
		Queries: queries,
		Graphs:  graphs,
		Tools:   tool.New(db, indexes),
	}
	s.events = event.NewListener(s.pool.Config().ConnConfig, log)
	s.mcp, err = mcp.NewHandler(mcp.Config{
		API: s.handlers, Events: s.events, Logger: log, Version: readBuild().Version,
		HTTP: mcphttp.Config{
			Authenticate: s.tenants.Auth.Middleware, Recheck: s.tenants.Auth.Recheck,
			AuthorizationServers: settings.authorizationServers(), AllowedOrigins: settings.AllowedOrigins,
			PublicURL: settings.PublicURL, SessionKey: []byte(settings.SessionKey), AllowedHosts: settings.AllowedHosts,
			RequestRate: settings.MCPRequestRate, LegacySSE: settings.MCPLegacySSE, Stateless: settings.MCPStateless,
		},
	})
	return s, err
}

// installedPostgres says which server a database of our own would run on.
func installedPostgres(context.Context) (string, error) {
	found, err := embedded.Default()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s in %s, with pgvector %s", found.Version, found.BinDir, found.Vector), nil
}

func (s *service) openDatabase(ctx context.Context, settings serviceSettings) (err error) {
	url := settings.DatabaseURL
	if url == "" {
		dir := filepath.Join(settings.DataDir, "postgres")
		if s.embedded, err = embedded.Start(ctx, embedded.Config{DataDir: dir, Logger: s.log}); err != nil {
			return err
		}
		url = s.embedded.URL()
	}
	if s.pool, err = postgres.Open(ctx, postgres.Config{URL: url, Logger: s.log, Tracer: s.tracing.statements()}); err != nil {
		return err
	}
	// Each worker holds at most one connection; the queue itself needs a few.
	const forTheQueue = 4
	s.work, err = postgres.Open(ctx, postgres.Config{
		URL: url, Logger: s.log, ApplicationName: "ragd ingest", MaxConns: settings.IngestWorkers + forTheQueue,
	})
	return err
}

// openTenants brings the control schema up to date, and with a database of our
// own the tenants' too: there is no second instance that could still need the
// older form.
func (s *service) openTenants(ctx context.Context, settings serviceSettings) error {
	if err := tenant.MigrateControl(ctx, s.pool); err != nil {
		return err
	}
	if err := job.Migrate(ctx, riverpgxv5.New(s.pool)); err != nil {
		return err
	}
	tokens, err := settings.tokens()
	if err != nil {
		return err
	}
	s.tenants, err = tenant.New(ctx, s.pool, tenant.Config{
		OperatorKey: settings.OperatorKey, Tokens: tokens, OnDelete: []tenant.DeleteFunc{s.queue.DeleteTenant, backlog.DeleteTenant},
	})
	if err != nil || s.embedded == nil {
		return err
	}
	failed, err := s.tenants.MigrateAll(ctx, func(m tenant.Migrated) {
		if m.Err != nil {
			s.log.ErrorContext(ctx, "tenant not migrated", "tenant", m.Tenant, "err", m.Err)
		}
	})
	if failed > 0 {
		s.log.ErrorContext(ctx, "some tenants could not be migrated and may not work", "tenants", failed)
	}
	return err
}

// instanceName tells the running copies of the service apart.
func instanceName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "ragd"
	}
	return host + "-" + rand.Text()[:8]
}

// handler answers everything on the one address.
func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	s.handlers.Mount(mux, s.tenants.Auth.Middleware(rpc.Refuse()))
	mux.Handle(mcphttp.Path, s.mcp)
	mux.Handle(mcphttp.SSEPath, s.mcp)
	mux.Handle(mcphttp.MessagePath, s.mcp)
	mux.Handle("/.well-known/", s.mcp)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	return s.tracing.handler(httpserver.Log(s.log)(mux))
}

// ready says whether requests can be served now: whether the database answers.
func (s *service) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	if err := s.pool.Ping(ctx); err != nil {
		s.log.WarnContext(ctx, "not ready", "err", err)
		http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// close gives back what newService took, in reverse.
func (s *service) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var err error
	if s.mcp != nil {
		err = s.mcp.Shutdown(ctx)
	}
	if s.files != nil {
		s.files.Close()
	}
	for _, pool := range []*pgxpool.Pool{s.work, s.pool} {
		if pool != nil {
			pool.Close()
		}
	}
	err = errors.Join(err, s.tracing.close(ctx))
	if s.embedded != nil {
		err = errors.Join(err, s.embedded.Stop(ctx))
	}
	return err
}
