// Package rpc serves the API over Connect, gRPC and gRPC-Web: each handler decodes a
// message, calls the service and encodes the result. It holds no rules of its own.
//
// Handlers are plain functions of a context and a message, so code with a principal in
// its context may call them without a network, as the MCP tools do.
package rpc

import (
	"context"
	"net/http"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/automation/agent"
	"github.com/ragdhq/ragd/internal/automation/connector"
	"github.com/ragdhq/ragd/internal/automation/evaluate"
	"github.com/ragdhq/ragd/internal/automation/event/journal"
	"github.com/ragdhq/ragd/internal/automation/hook"
	"github.com/ragdhq/ragd/internal/automation/memory"
	"github.com/ragdhq/ragd/internal/automation/workflow"
	"github.com/ragdhq/ragd/internal/graph"
	"github.com/ragdhq/ragd/internal/graph/research"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/index/vector"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/model/endpoint/own"
	"github.com/ragdhq/ragd/internal/operate/audit"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/operate/reseal"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/alert"
	"github.com/ragdhq/ragd/internal/query/notable"
	"github.com/ragdhq/ragd/internal/secure/secret"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
	"github.com/ragdhq/ragd/internal/tenant/archive"
	"github.com/ragdhq/ragd/internal/tenant/idempotency"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/place/move"
	"github.com/ragdhq/ragd/internal/tenant/place/placement"
	"github.com/ragdhq/ragd/internal/tenant/provision"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
	"github.com/ragdhq/ragd/internal/tenant/quota/plan"
	"github.com/ragdhq/ragd/internal/tenant/quota/usage"
	"github.com/ragdhq/ragd/internal/tenant/sleep"
	"github.com/ragdhq/ragd/internal/tool"
	"github.com/ragdhq/ragd/internal/tool/contextkey"
	"github.com/ragdhq/ragd/internal/tool/policy"
	"github.com/ragdhq/ragd/internal/tool/prompt"
	"github.com/ragdhq/ragd/internal/tool/server"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// MaxMessageBytes limits a request message. The largest upload fits as base64 in JSON.
const MaxMessageBytes = 32 << 20

// compressMinBytes is the smallest answer that is compressed, for callers that accept
// compression. Compressing the 2 kB answer of a query takes longer than sending it (0.15
// ms of 0.9 ms, measured).
const compressMinBytes = 16 << 10

// Handlers implements the API by calling the services in its fields, all of which must be
// set.
type Handlers struct {
	Tenants *provision.Service
	// Credentials has the API keys, and the issuers of tenants.
	Credentials *credential.Service
	Indexes     *index.Service
	Ingest      *ingest.Service
	Jobs        *job.Service
	Vectors     *vector.Service
	Queries     *query.Service
	Graphs      *graph.Service
	Researches  *research.Service
	Tools       *tool.Service
	// Toolset has the tools that callers may call. It calls the Handlers.
	Toolset *toolset.Set
	Servers *server.Service
	Prompts *prompt.Service
	// Policies decide about calls of the Toolset.
	Policies *policy.Service
	// ReadResource returns the content of a resource of the service, as MCP clients read it.
	ReadResource func(ctx context.Context, uri string) ([]*ragdv1.ResourceContent, error)
	Endpoints    *own.Service
	Secrets      *secret.Service
	Reseal       *reseal.Service
	ContextKeys  *contextkey.Service
	Journal      *journal.Journal
	Hooks        *hook.Service
	Connectors   *connector.Service
	Workflows    *workflow.Service
	Agents       *agent.Service
	Usage        *usage.Meter
	Audit        *audit.Log
	// Repeats answers calls whose idempotency key was used before.
	Repeats   *idempotency.Keeper
	Archives  *archive.Service
	Moves     *move.Service
	Sleeps    *sleep.Service
	Databases *placement.Registry
	Plans     *plan.Service
	// Warnings are of which quotas tenants are warned; nil for none.
	Warnings *usage.Warnings
	// Remote checks tools that call other services.
	Remote RemoteKinds

	Evaluations *evaluate.Service
	Notable     *notable.Recorder
	Alerts      *alert.Service
	Memories    *memory.Service

	// PublicURL is the address of the service for clients. Empty for the one under which each
	// request called it.
	PublicURL string
	// RegistryPackage contains ragd, for the registry documents of MCP servers; nil for none.
	RegistryPackage *server.Package
	// Gate admits requests, within the limits of their tenants.
	Gate *admission.Gate
	// Processor is used to convert large answers; nil is no limit.
	Processor *limit.Processor
	// Ready returns an error while the service cannot answer requests, for health checks;
	// nil is always ready.
	Ready func(context.Context) error
	// WriteToken returns a token for all that was written for a tenant before the call, which the
	// answers of writes have in a header; nil or an empty token is none.
	WriteToken func(context.Context, tenant.ID) string
	// Draining ends when the service is shutting down: then calls that only watch end, with
	// httpserver.ErrDraining. Nil never ends.
	Draining context.Context
}

// ServiceNames returns the full names of the services that Mount adds.
func ServiceNames() []string {
	return []string{
		ragdv1connect.TenantServiceName, ragdv1connect.IssuerServiceName, ragdv1connect.IndexServiceName, ragdv1connect.DocumentServiceName,
		ragdv1connect.ChunkServiceName, ragdv1connect.QueryServiceName, ragdv1connect.VectorServiceName,
		ragdv1connect.ToolServiceName, ragdv1connect.EndpointServiceName, ragdv1connect.EvaluateServiceName,
		ragdv1connect.SecretServiceName, ragdv1connect.ServerServiceName, ragdv1connect.PromptServiceName, ragdv1connect.PolicyServiceName, ragdv1connect.ContextServiceName,
		ragdv1connect.EventServiceName, ragdv1connect.HookServiceName, ragdv1connect.WorkflowServiceName, ragdv1connect.AgentServiceName, ragdv1connect.UsageServiceName,
		ragdv1connect.ConnectorServiceName,
		ragdv1connect.AuditServiceName, ragdv1connect.ArchiveServiceName, ragdv1connect.DatabaseServiceName, ragdv1connect.PlanServiceName,
		ragdv1connect.AlertServiceName, ragdv1connect.ResearchServiceName, ragdv1connect.MemoryServiceName,
	}
}

// maxQueryBytes limits a decompressed message in the query of a GET. Its compressed form is
// in the header, which is limited too.
const maxQueryBytes = 64 << 10

// maxOpenBytes limits a request message of the services that need no credential, and
// maxOpenBodyBytes all the messages of one of their streams.
const (
	maxOpenBytes     = 4 << 10
	maxOpenBodyBytes = 64 << 10
)

// Mount adds the API to mux behind guard, authenticate and gate, reflection behind guard
// alone, and health behind none, because probes use addresses instead of host names. All
// other paths get an answer that says where the API is.
func (h *Handlers) Mount(mux *http.ServeMux, guard *httpserver.Guard, authenticate func(http.Handler) http.Handler) {
	options := connect.WithHandlerOptions(
		connect.WithReadMaxBytes(MaxMessageBytes),
		withJSON(func(codec jsonCodec) connect.Codec { return deferredJSON{codec} }),
		connect.WithCodec(deferredProto{}),
		withGzip(maxQueryBytes),
		connect.WithCompressMinBytes(compressMinBytes),
		connect.WithInterceptors(interceptor{h.Draining, h.Audit, h.WriteToken, h.Repeats, h.Warnings}),
		connect.WithRecover(recovered),
	)
	calls := procedures()
	shapes := requestShapes(calls)
	add := func(path string, handler http.Handler) {
		mux.Handle(path, guard.Handler(authenticate(h.bounded(counted(h.Gate, calls, addressed(calls, admitted(h.Gate, h.Processor, shapes, handler))))), Refuse()))
	}
	add(ragdv1connect.NewTenantServiceHandler(h, options))
	add(ragdv1connect.NewIssuerServiceHandler(h, options))
	add(ragdv1connect.NewIndexServiceHandler(h, options))
	add(ragdv1connect.NewDocumentServiceHandler(h, options))
	add(ragdv1connect.NewChunkServiceHandler(h, options))
	add(ragdv1connect.NewQueryServiceHandler(h, options))
	add(ragdv1connect.NewVectorServiceHandler(h, options))
	add(ragdv1connect.NewToolServiceHandler(h, options))
	add(ragdv1connect.NewServerServiceHandler(h, options))
	add(ragdv1connect.NewPromptServiceHandler(h, options))
	add(ragdv1connect.NewPolicyServiceHandler(h, options))
	add(ragdv1connect.NewEndpointServiceHandler(h, options))
	add(ragdv1connect.NewEvaluateServiceHandler(h, options))
	add(ragdv1connect.NewSecretServiceHandler(h, options))
	add(ragdv1connect.NewContextServiceHandler(h, options))
	add(ragdv1connect.NewEventServiceHandler(h, options))
	add(ragdv1connect.NewHookServiceHandler(h, options))
	add(ragdv1connect.NewWorkflowServiceHandler(h, options))
	add(ragdv1connect.NewAgentServiceHandler(h, options))
	add(ragdv1connect.NewUsageServiceHandler(h, options))
	add(ragdv1connect.NewConnectorServiceHandler(h, options))
	add(ragdv1connect.NewAuditServiceHandler(h, options))
	add(ragdv1connect.NewArchiveServiceHandler(h, options))
	add(ragdv1connect.NewDatabaseServiceHandler(h, options))
	add(ragdv1connect.NewPlanServiceHandler(h, options))
	add(ragdv1connect.NewAlertServiceHandler(h, options))
	add(ragdv1connect.NewResearchServiceHandler(h, options))
	add(ragdv1connect.NewMemoryServiceHandler(h, options))

	mountOpen(mux, guard, h.Ready)
	mux.Handle("/", guard.Handler(http.HandlerFunc(notFound), Refuse()))
}

// checker answers health checks. A service that is not ready does not serve.
type checker struct {
	names *grpchealth.StaticChecker
	ready func(context.Context) error
}

// Check implements grpchealth.Checker.
func (c checker) Check(ctx context.Context, req *grpchealth.CheckRequest) (*grpchealth.CheckResponse, error) {
	answer, err := c.names.Check(ctx, req)
	if err == nil && c.ready != nil && c.ready(ctx) != nil {
		answer.Status = grpchealth.StatusNotServing
	}
	return answer, err
}

// mountOpen adds the services that need no credential. Their messages are tiny, and so is
// the memory that a request may take.
func mountOpen(mux *http.ServeMux, guard *httpserver.Guard, ready func(context.Context) error) {
	options := connect.WithHandlerOptions(
		connect.WithReadMaxBytes(maxOpenBytes),
		withJSON(func(codec jsonCodec) connect.Codec { return codec }),
		connect.WithCodec(protoCodec{}),
		withGzip(maxOpenBytes),
		connect.WithRecover(recovered),
	)
	path, health := grpchealth.NewHandler(checker{grpchealth.NewStaticChecker(ServiceNames()...), ready}, options)
	mux.Handle(path, http.MaxBytesHandler(health, maxOpenBodyBytes))
	add := func(path string, handler http.Handler) {
		mux.Handle(path, guard.Handler(http.MaxBytesHandler(handler, maxOpenBodyBytes), Refuse()))
	}
	reflector := grpcreflect.NewStaticReflector(ServiceNames()...)
	add(grpcreflect.NewHandlerV1(reflector, options))
	add(grpcreflect.NewHandlerV1Alpha(reflector, options))
}
