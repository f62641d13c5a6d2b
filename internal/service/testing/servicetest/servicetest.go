// Package servicetest runs the whole service for a test, as in production, on a fresh
// database and a free port.
package servicetest

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/schematest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// OperatorKey is the operator's secret in every test.
const OperatorKey = "test-operator-key"

// Service is a running service.
type Service struct {
	*service.Service
	URL string
	// Pool has the rights of a superuser, for the statements of the test itself.
	Pool *pgxpool.Pool
	// ServicePool and DB run statements as the service does.
	ServicePool *pgxpool.Pool
	DB          *data.DB
	place       string // the database in which Tenant creates tenants; empty for any
}

// connectorWaits is the part of their usual pauses that connectors make in tests.
const connectorWaits = 0.02

// workers is the number of batches that a test's service ingests at once.
const workers = 4

// A server of httptest that is closed closes the idle connections of the default transport, and breaks requests of other tests
// that are about to use one.
func init() {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // with the race detector, compressing answers took most of the time of some tests
	http.DefaultClient.Transport = transport
}

// New starts a service that stops when the test ends. It sets the listen address, the
// operator key and the number of workers, and by default a fresh database, a logger of
// warnings and all models of a provider with an address. As in production, it creates
// tenants with one role and does everything else with another, which has no rights of its
// own. With config.AdminPool, the Pool of another service, it starts a second instance on
// the same database.
func New(t testing.TB, config service.Config) *Service {
	t.Helper()
	other := ""
	if config.AdminPool == nil {
		config.AdminPool = schematest.Pool(t)
		if os.Getenv(Placed) != "" {
			other = pgtest.URL(t)
		}
	}
	if os.Getenv(Placed) != "" && config.MasterKeys == nil {
		config.MasterKeys = Keys(t)
	}
	config.Pool = pgtest.ServicePool(t, config.AdminPool)
	if config.Logger == nil {
		config.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	for _, e := range []*endpoint.Config{&config.Providers.OpenAI, &config.Providers.Cohere, &config.Providers.Jina, &config.Providers.Voyage} {
		if e.BaseURL != "" && len(e.Models) == 0 {
			e.Models = []string{"*"}
		}
	}
	config.ConnectorWaitFactor = cmp.Or(config.ConnectorWaitFactor, connectorWaits)
	config.Listen, config.OperatorKey, config.Workers = "127.0.0.1:0", OperatorKey, workers
	s, err := service.New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	running := &Service{Service: s, URL: s.URL(), Pool: config.AdminPool, ServicePool: config.Pool, DB: data.NewDB(config.Pool, 0)}
	if other != "" {
		running.place = "placed"
		running.Register(t, running.place, other)
	}
	return running
}

// Placed is the name of an environment variable. If it is set, each service has a second database, in
// which Tenant creates tenants, so that tests of anything show that it works there too.
const Placed = "RAGD_TEST_PLACED"

// Register registers a database with the service.
func (s *Service) Register(t testing.TB, name, url string) {
	t.Helper()
	if _, err := s.Operator().RegisterDatabase(t.Context(), &ragdv1.RegisterDatabaseRequest{DatabaseName: name, Url: url}); err != nil {
		t.Fatal(err)
	}
}

// TenantIn creates a tenant in a database and returns a client with an admin key of it.
func (s *Service) TenantIn(t testing.TB, database, name string) Client {
	t.Helper()
	if _, err := s.Operator().CreateTenant(t.Context(), &ragdv1.CreateTenantRequest{TenantId: name, Database: database}); err != nil {
		t.Fatal(err)
	}
	return s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: name, Scopes: []string{"admin"}}))
}

// Keys returns master keys.
func Keys(t testing.TB) *seal.Keys {
	t.Helper()
	keys, err := seal.Parse(strings.Repeat("5", 2*seal.KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// run runs the service until the test ends. It returns once the service receives events.
func run(t testing.TB, s *service.Service) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		// Idle connections would delay the shutdown.
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		cancel()
		if err := errors.Join(<-done, s.Close()); err != nil {
			t.Errorf("service: %v", err)
		}
	})
	<-s.Events.Ready()
}

// Client calls the service with one credential.
type Client struct {
	Secret string
	ragdv1connect.TenantServiceClient
	ragdv1connect.ArchiveServiceClient
	ragdv1connect.IssuerServiceClient
	ragdv1connect.IndexServiceClient
	ragdv1connect.DocumentServiceClient
	ragdv1connect.ChunkServiceClient
	ragdv1connect.QueryServiceClient
	ragdv1connect.VectorServiceClient
	ragdv1connect.ToolServiceClient
	ragdv1connect.ServerServiceClient
	ragdv1connect.PolicyServiceClient
	ragdv1connect.PromptServiceClient
	ragdv1connect.EndpointServiceClient
	ragdv1connect.SecretServiceClient
	ragdv1connect.ContextServiceClient
	ragdv1connect.EvaluateServiceClient
	ragdv1connect.EventServiceClient
	ragdv1connect.HookServiceClient
	ragdv1connect.WorkflowServiceClient
	ragdv1connect.AgentServiceClient
	ragdv1connect.UsageServiceClient
	ragdv1connect.ConnectorServiceClient
	ragdv1connect.AuditServiceClient
	ragdv1connect.DatabaseServiceClient
	ragdv1connect.PlanServiceClient
	ragdv1connect.AlertServiceClient
	ragdv1connect.MemoryServiceClient
	ragdv1connect.ResearchServiceClient
}

// Client returns a client with the secret, which may be empty. headers are alternating
// names and values that it sends with every request.
func (s *Service) Client(secret string, headers ...string) Client {
	sign := func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			set(req.Header(), secret, headers)
			return next(ctx, req)
		}
	}
	options := connect.WithClientOptions(
		connect.WithInterceptors(&signer{UnaryInterceptorFunc: sign, secret: secret, headers: headers}),
		connect.WithAcceptCompression("gzip", nil, nil),
	)
	return Client{
		Secret:                 secret,
		TenantServiceClient:    ragdv1connect.NewTenantServiceClient(http.DefaultClient, s.URL, options),
		ArchiveServiceClient:   ragdv1connect.NewArchiveServiceClient(http.DefaultClient, s.URL, options),
		IssuerServiceClient:    ragdv1connect.NewIssuerServiceClient(http.DefaultClient, s.URL, options),
		IndexServiceClient:     ragdv1connect.NewIndexServiceClient(http.DefaultClient, s.URL, options),
		DocumentServiceClient:  ragdv1connect.NewDocumentServiceClient(http.DefaultClient, s.URL, options),
		ChunkServiceClient:     ragdv1connect.NewChunkServiceClient(http.DefaultClient, s.URL, options),
		ResearchServiceClient:  ragdv1connect.NewResearchServiceClient(http.DefaultClient, s.URL, options),
		QueryServiceClient:     ragdv1connect.NewQueryServiceClient(http.DefaultClient, s.URL, options),
		VectorServiceClient:    ragdv1connect.NewVectorServiceClient(http.DefaultClient, s.URL, options),
		ToolServiceClient:      ragdv1connect.NewToolServiceClient(http.DefaultClient, s.URL, options),
		PolicyServiceClient:    ragdv1connect.NewPolicyServiceClient(http.DefaultClient, s.URL, options),
		PromptServiceClient:    ragdv1connect.NewPromptServiceClient(http.DefaultClient, s.URL, options),
		ServerServiceClient:    ragdv1connect.NewServerServiceClient(http.DefaultClient, s.URL, options),
		EndpointServiceClient:  ragdv1connect.NewEndpointServiceClient(http.DefaultClient, s.URL, options),
		SecretServiceClient:    ragdv1connect.NewSecretServiceClient(http.DefaultClient, s.URL, options),
		ContextServiceClient:   ragdv1connect.NewContextServiceClient(http.DefaultClient, s.URL, options),
		EvaluateServiceClient:  ragdv1connect.NewEvaluateServiceClient(http.DefaultClient, s.URL, options),
		EventServiceClient:     ragdv1connect.NewEventServiceClient(http.DefaultClient, s.URL, options),
		HookServiceClient:      ragdv1connect.NewHookServiceClient(http.DefaultClient, s.URL, options),
		WorkflowServiceClient:  ragdv1connect.NewWorkflowServiceClient(http.DefaultClient, s.URL, options),
		AgentServiceClient:     ragdv1connect.NewAgentServiceClient(http.DefaultClient, s.URL, options),
		UsageServiceClient:     ragdv1connect.NewUsageServiceClient(http.DefaultClient, s.URL, options),
		ConnectorServiceClient: ragdv1connect.NewConnectorServiceClient(http.DefaultClient, s.URL, options),
		DatabaseServiceClient:  ragdv1connect.NewDatabaseServiceClient(http.DefaultClient, s.URL, options),
		PlanServiceClient:      ragdv1connect.NewPlanServiceClient(http.DefaultClient, s.URL, options),
		AlertServiceClient:     ragdv1connect.NewAlertServiceClient(http.DefaultClient, s.URL, options),
		MemoryServiceClient:    ragdv1connect.NewMemoryServiceClient(http.DefaultClient, s.URL, options),
		AuditServiceClient:     ragdv1connect.NewAuditServiceClient(http.DefaultClient, s.URL, options),
	}
}

// signer adds the secret and the headers to unary calls and to streams.
type signer struct {
	connect.UnaryInterceptorFunc
	secret  string
	headers []string
}

// WrapStreamingClient implements connect.Interceptor: a UnaryInterceptorFunc does not
// change streams.
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

// Tenant creates a tenant and returns a client with an admin key of it.
func (s *Service) Tenant(t testing.TB, name string) Client {
	t.Helper()
	return s.TenantIn(t, s.place, name)
}

// Key creates an API key and returns its secret.
func (s *Service) Key(t testing.TB, req *ragdv1.CreateApiKeyRequest) string {
	t.Helper()
	res, err := s.Operator().CreateApiKey(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return res.Secret
}

// Index creates an index with the default embedding model.
func (c Client) Index(t testing.TB, name string) {
	t.Helper()
	if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: name}); err != nil {
		t.Fatal(err)
	}
}

// Upload uploads a document, waits until its job has ended, and returns the document.
func (c Client) Upload(t testing.TB, req *ragdv1.UploadDocumentRequest) *ragdv1.Document {
	t.Helper()
	res, err := c.UploadDocument(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return c.Await(t, res.Document.IndexName, res.Job.JobId, res.Document.DocumentId)
}

// Await waits until a job has ended and returns the document.
func (c Client) Await(t testing.TB, indexName, jobID, documentID string) *ragdv1.Document {
	t.Helper()
	wait.For(t, "the end of job "+jobID, func() bool {
		found, err := c.GetJob(t.Context(), &ragdv1.GetJobRequest{JobId: jobID})
		if err != nil {
			t.Fatal(err)
		}
		return job.Status(found.Status).Ended()
	})
	d, err := c.GetDocument(t.Context(), &ragdv1.GetDocumentRequest{IndexName: indexName, DocumentId: documentID})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Topics returns the topics of an index, also on a machine that needs longer to find them than a call waits.
func (c Client) Topics(t testing.TB, indexName string) (list *ragdv1.ListTopicsResponse) {
	t.Helper()
	var err error
	for range wait.Poll(t, "the topics of index "+indexName) {
		if list, err = c.ListTopics(t.Context(), &ragdv1.ListTopicsRequest{IndexName: indexName}); connect.CodeOf(err) != connect.CodeUnavailable {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// KeyID returns the id of the API key with this secret.
func (s *Service) KeyID(t testing.TB, secret string) string {
	t.Helper()
	id, ok := credential.APIKeyIDOf(secret)
	if !ok {
		t.Fatal("this is no API key")
	}
	return id
}
