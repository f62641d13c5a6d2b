// Package servicetest runs the whole service for a test: on a database of its
// own, with working ingest, behind a real HTTP server.
package servicetest

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/backlog"
	"github.com/ragdhq/ragd/internal/embed"
	"github.com/ragdhq/ragd/internal/extract"
	"github.com/ragdhq/ragd/internal/graph"
	"github.com/ragdhq/ragd/internal/httpserver"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/job"
	"github.com/ragdhq/ragd/internal/llm"
	"github.com/ragdhq/ragd/internal/parse"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/rerank"
	"github.com/ragdhq/ragd/internal/rpc"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/testing/pgtest"
	"github.com/ragdhq/ragd/internal/tool"
	"github.com/ragdhq/ragd/internal/vector"
)

// OperatorKey is the operator's secret in every test.
const OperatorKey = "test-operator-key"

// Service is a running service.
type Service struct {
	URL      string
	Pool     *pgxpool.Pool
	DB       *tenant.DB
	Tenants  *tenant.Service
	Handlers *rpc.Handlers
}

// Config changes what a test needs changed.
type Config struct {
	Embed  embed.Config
	Rerank rerank.Config
	// LLM are the language models that extraction asks.
	LLM llm.Config
	// Tokens verifies access tokens; nil when only API keys are taken.
	Tokens tenant.Tokens
	// Log, if set, gets everything; else warnings go to the test's output.
	Log *slog.Logger
	// MaxQueuedDocuments and MaxQueuedBytes are MaxDocuments and MaxBytes of backlog.Config.
	MaxQueuedDocuments int
	MaxQueuedBytes     int64
	// Pause is how long a request may stand still; httpserver.MaxPause by default.
	Pause time.Duration
	// NoWorkers leaves uploads queued.
	NoWorkers bool
}

// New starts a service that ends with the test.
func New(t testing.TB, config Config) *Service {
	t.Helper()
	ctx := t.Context()
	pool := pgtest.Pool(t)
	driver := riverpgxv5.New(pool)
	must(t, tenant.MigrateControl(ctx, pool))
	must(t, job.Migrate(ctx, driver))
	log := config.Log
	if log == nil {
		log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	queue, err := job.NewQueue(job.QueueConfig{Driver: driver, Instance: t.Name(), Logger: log})
	must(t, err)
	tenants, err := tenant.New(ctx, pool, tenant.Config{
		OperatorKey: OperatorKey, Tokens: config.Tokens, OnDelete: []tenant.DeleteFunc{queue.DeleteTenant, backlog.DeleteTenant},
	})
	must(t, err)
	const model = "builtin/hash-512"
	db, models := tenant.NewDB(pool), embed.NewRegistry(config.Embed)
	extractor := extract.New(llm.New(config.LLM))
	waiting := backlog.New(backlog.Config{
		Control: pool, Jobs: queue, Instance: t.Name(), Workers: 4, Logger: log,
		MaxDocuments: config.MaxQueuedDocuments, MaxBytes: config.MaxQueuedBytes,
	})
	indexes := index.New(db, models, model, queue)
	documents := ingest.New(db, indexes, waiting, extractor)
	queries := query.New(indexes, models, rerank.New(config.Rerank), model)
	graphs := graph.New(db, indexes, queries, queue)
	runners := job.Join(
		documents.Runners(),
		indexes.Runners(index.NewMaintainer(db, queue, waiting, log), index.NewReembedder(db, models, graph.Relink, log)),
		graphs.Runners(graph.NewRebuilder(db, queue, log)),
	)
	queue.Register(runners)
	if !config.NoWorkers {
		run(t, waiting, ingest.NewWorker(ingest.WorkerConfig{
			DB: db, Models: models, Parse: parse.Parse, Extractor: extractor, Queue: queue, Backlog: waiting, Logger: log,
		}))
	}
	s := &Service{Pool: pool, DB: db, Tenants: tenants, Handlers: &rpc.Handlers{
		Tenants: tenants, Indexes: indexes,
		Ingest:  documents,
		Jobs:    job.New(db, runners),
		Vectors: vector.New(db, indexes, queue),
		Queries: queries,
		Graphs:  graphs,
		Tools:   tool.New(db, indexes),
	}}
	mux := http.NewServeMux()
	s.Handlers.Mount(mux, tenants.Auth.Middleware(rpc.Refuse()))
	server := httptest.NewServer(httpserver.Limit(httpserver.Log(log)(mux), cmp.Or(config.Pause, httpserver.MaxPause)))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// run processes the backlog and the job queue until the test ends.
func run(t testing.TB, waiting *backlog.Backlog, worker *ingest.Worker) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- waiting.Run(ctx, worker.Process) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("backlog: %v", err)
		}
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Client calls the service with one credential.
type Client struct {
	Secret string
	ragdv1connect.TenantServiceClient
	ragdv1connect.IndexServiceClient
	ragdv1connect.DocumentServiceClient
	ragdv1connect.ChunkServiceClient
	ragdv1connect.QueryServiceClient
	ragdv1connect.VectorServiceClient
	ragdv1connect.ToolServiceClient
}

// Client returns a client with this secret, whose requests carry the headers,
// given as names and values by turns.
func (s *Service) Client(secret string, headers ...string) Client {
	sign := func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			set(req.Header(), secret, headers)
			return next(ctx, req)
		}
	}
	options := connect.WithInterceptors(&signer{UnaryInterceptorFunc: sign, secret: secret, headers: headers})
	return Client{
		Secret:                secret,
		TenantServiceClient:   ragdv1connect.NewTenantServiceClient(http.DefaultClient, s.URL, options),
		IndexServiceClient:    ragdv1connect.NewIndexServiceClient(http.DefaultClient, s.URL, options),
		DocumentServiceClient: ragdv1connect.NewDocumentServiceClient(http.DefaultClient, s.URL, options),
		ChunkServiceClient:    ragdv1connect.NewChunkServiceClient(http.DefaultClient, s.URL, options),
		QueryServiceClient:    ragdv1connect.NewQueryServiceClient(http.DefaultClient, s.URL, options),
		VectorServiceClient:   ragdv1connect.NewVectorServiceClient(http.DefaultClient, s.URL, options),
		ToolServiceClient:     ragdv1connect.NewToolServiceClient(http.DefaultClient, s.URL, options),
	}
}

// signer also signs streams, which a UnaryInterceptorFunc leaves alone.
type signer struct {
	connect.UnaryInterceptorFunc
	secret  string
	headers []string
}

// WrapStreamingClient implements connect.Interceptor.
func (s *signer) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		set(conn.RequestHeader(), s.secret, s.headers)
		return conn
	}
}

func set(header http.Header, secret string, headers []string) {
	if secret != "" {
		header.Set("Authorization", "Bearer "+secret)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
}

// Operator returns a client with the operator's key.
func (s *Service) Operator(headers ...string) Client { return s.Client(OperatorKey, headers...) }

// Tenant makes a tenant and returns a client of its admin.
func (s *Service) Tenant(t testing.TB, name string) Client {
	t.Helper()
	if _, err := s.Operator().CreateTenant(t.Context(), &ragdv1.CreateTenantRequest{TenantId: name}); err != nil {
		t.Fatal(err)
	}
	return s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: name, Scopes: []string{"admin"}}))
}

// Key makes an API key and returns its secret.
func (s *Service) Key(t testing.TB, req *ragdv1.CreateApiKeyRequest) string {
	t.Helper()
	res, err := s.Operator().CreateApiKey(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return res.Secret
}

// Index makes an index with the default model.
func (c Client) Index(t testing.TB, name string) {
	t.Helper()
	if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: name}); err != nil {
		t.Fatal(err)
	}
}

// Upload uploads a document and waits until it is ready.
func (c Client) Upload(t testing.TB, req *ragdv1.UploadDocumentRequest) *ragdv1.Document {
	t.Helper()
	res, err := c.UploadDocument(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return c.Await(t, res.Document.IndexName, res.Job.JobId, res.Document.DocumentId)
}

// Await waits until a job has ended and returns its document.
func (c Client) Await(t testing.TB, indexName, jobID, documentID string) *ragdv1.Document {
	t.Helper()
	const patience = 30 * time.Second
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		found, err := c.GetJob(t.Context(), &ragdv1.GetJobRequest{JobId: jobID})
		if err != nil {
			t.Fatal(err)
		}
		if !job.Status(found.Status).Ended() {
			continue
		}
		d, err := c.GetDocument(t.Context(), &ragdv1.GetDocumentRequest{IndexName: indexName, DocumentId: documentID})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	t.Fatalf("job %s did not end within %v", jobID, patience)
	return nil
}
