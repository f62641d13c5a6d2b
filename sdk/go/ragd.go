// Package ragd is a client of ragd, a retrieval service for many tenants: upload documents, search them,
// walk their graph, and stream answers with citations.
//
//	client, err := ragd.New(ragd.Options{URL: "http://127.0.0.1:8484", APIKey: os.Getenv("RAGD_API_KEY")})
//	docs := client.Index("docs")
//	_, err = docs.UploadFile(ctx, "handbook.pdf", ragd.Upload{})
//	found, err := docs.Query(ctx, "who answers an alarm at night?", &ragdv1.VectorQueryRequest{})
//
// Requests and answers are the messages of package ragdv1, and the fields of a Client call every method of
// the API. A Client is safe for concurrent use.
package ragd

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
)

// Options configures a Client.
type Options struct {
	// URL is the address of the service, such as http://127.0.0.1:8484. Required.
	URL string
	// APIKey is sent with every call.
	APIKey string
	// Tenant names the tenant of a call with the operator's key.
	Tenant string
	// Context is a request context that every call has, such as {"filter": {"team": "legal"}}. See
	// WithContext for that of one call.
	Context map[string]any
	// Header is sent with every call.
	Header http.Header
	// HTTP makes the requests. Default: http.DefaultClient.
	HTTP connect.HTTPClient
	// Retry says how failed calls are repeated.
	Retry Retry
}

// Client calls the services of one ragd with one credential.
type Client struct {
	Agents     ragdv1connect.AgentServiceClient
	Archives   ragdv1connect.ArchiveServiceClient
	Audit      ragdv1connect.AuditServiceClient
	Chunks     ragdv1connect.ChunkServiceClient
	Connectors ragdv1connect.ConnectorServiceClient
	Contexts   ragdv1connect.ContextServiceClient
	Databases  ragdv1connect.DatabaseServiceClient
	Documents  ragdv1connect.DocumentServiceClient
	Endpoints  ragdv1connect.EndpointServiceClient
	Evaluate   ragdv1connect.EvaluateServiceClient
	Events     ragdv1connect.EventServiceClient
	Hooks      ragdv1connect.HookServiceClient
	Alerts     ragdv1connect.AlertServiceClient
	Memories   ragdv1connect.MemoryServiceClient
	Indexes    ragdv1connect.IndexServiceClient
	Issuers    ragdv1connect.IssuerServiceClient
	Plans      ragdv1connect.PlanServiceClient
	Policies   ragdv1connect.PolicyServiceClient
	Prompts    ragdv1connect.PromptServiceClient
	Queries    ragdv1connect.QueryServiceClient
	Research   ragdv1connect.ResearchServiceClient
	Secrets    ragdv1connect.SecretServiceClient
	Servers    ragdv1connect.ServerServiceClient
	Tenants    ragdv1connect.TenantServiceClient
	Tools      ragdv1connect.ToolServiceClient
	Usage      ragdv1connect.UsageServiceClient
	Vectors    ragdv1connect.VectorServiceClient
	Workflows  ragdv1connect.WorkflowServiceClient

	retry Retry
}

// New returns a client. It makes no call. Errors: an *Error with the code invalid_argument.
func New(o Options) (*Client, error) {
	address, err := url.Parse(o.URL)
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" {
		return nil, invalid("URL", "must be an address such as http://127.0.0.1:8484 or https://ragd.example.com")
	}
	if strings.ContainsFunc(o.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, invalid("APIKey", "has characters that no key has; is there a line break at its end?")
	}
	var caller connect.HTTPClient = http.DefaultClient
	if o.HTTP != nil {
		caller = o.HTTP
	}
	base, with := strings.TrimRight(address.String(), "/"), connect.WithInterceptors(&interceptor{options: o})
	return &Client{
		Agents:     ragdv1connect.NewAgentServiceClient(caller, base, with),
		Archives:   ragdv1connect.NewArchiveServiceClient(caller, base, with),
		Audit:      ragdv1connect.NewAuditServiceClient(caller, base, with),
		Chunks:     ragdv1connect.NewChunkServiceClient(caller, base, with),
		Connectors: ragdv1connect.NewConnectorServiceClient(caller, base, with),
		Contexts:   ragdv1connect.NewContextServiceClient(caller, base, with),
		Databases:  ragdv1connect.NewDatabaseServiceClient(caller, base, with),
		Documents:  ragdv1connect.NewDocumentServiceClient(caller, base, with),
		Endpoints:  ragdv1connect.NewEndpointServiceClient(caller, base, with),
		Evaluate:   ragdv1connect.NewEvaluateServiceClient(caller, base, with),
		Events:     ragdv1connect.NewEventServiceClient(caller, base, with),
		Hooks:      ragdv1connect.NewHookServiceClient(caller, base, with),
		Alerts:     ragdv1connect.NewAlertServiceClient(caller, base, with),
		Memories:   ragdv1connect.NewMemoryServiceClient(caller, base, with),
		Indexes:    ragdv1connect.NewIndexServiceClient(caller, base, with),
		Issuers:    ragdv1connect.NewIssuerServiceClient(caller, base, with),
		Plans:      ragdv1connect.NewPlanServiceClient(caller, base, with),
		Policies:   ragdv1connect.NewPolicyServiceClient(caller, base, with),
		Prompts:    ragdv1connect.NewPromptServiceClient(caller, base, with),
		Queries:    ragdv1connect.NewQueryServiceClient(caller, base, with),
		Research:   ragdv1connect.NewResearchServiceClient(caller, base, with),
		Secrets:    ragdv1connect.NewSecretServiceClient(caller, base, with),
		Servers:    ragdv1connect.NewServerServiceClient(caller, base, with),
		Tenants:    ragdv1connect.NewTenantServiceClient(caller, base, with),
		Tools:      ragdv1connect.NewToolServiceClient(caller, base, with),
		Usage:      ragdv1connect.NewUsageServiceClient(caller, base, with),
		Vectors:    ragdv1connect.NewVectorServiceClient(caller, base, with),
		Workflows:  ragdv1connect.NewWorkflowServiceClient(caller, base, with),
		retry:      o.Retry,
	}, nil
}

// Index returns the index of a name. It makes no call.
func (c *Client) Index(name string) *Index { return &Index{Name: name, client: c} }

// Ask asks an agent a question and yields the events of its answer; the last one has the whole answer.
// thread continues or begins a conversation; empty for a single question.
func (c *Client) Ask(ctx context.Context, agent, message, thread string) iter.Seq2[*ragdv1.AskAgentEvent, error] {
	return func(yield func(*ragdv1.AskAgentEvent, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		req := &ragdv1.AskAgentStreamRequest{Ask: &ragdv1.AskAgentRequest{AgentName: agent, Message: message, ThreadId: thread}}
		stream, err := c.Agents.AskAgentStream(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = stream.Close() }() // the events are what counts
		for stream.Receive() {
			if !yield(stream.Msg(), nil) {
				return
			}
		}
		if err := stream.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// Query returns the chunks of several indexes that match a question best, in one order: of those that settings.IndexNames
// names or selects by patterns, else of all. settings may be nil.
func (c *Client) Query(ctx context.Context, question string, settings *ragdv1.VectorQueryRequest) (*ragdv1.VectorQueryResponse, error) {
	req := own(settings)
	req.QueryText = question
	return c.Queries.VectorQuery(ctx, req)
}

// Graph returns what walks through the graphs of several indexes reach from a question, in one order: of those that settings.IndexNames
// names or selects by patterns, else of all. settings may be nil.
func (c *Client) Graph(ctx context.Context, question string, settings *ragdv1.GraphRagRequest) (*ragdv1.GraphRagResponse, error) {
	req := own(settings)
	req.QueryText = question
	return c.Queries.GraphRag(ctx, req)
}

// Batch answers up to 100 queries in one call, each with an answer or an error of its own, in their order.
func (c *Client) Batch(ctx context.Context, queries ...*ragdv1.VectorQueryRequest) ([]*ragdv1.BatchAnswer, error) {
	answer, err := c.Queries.BatchQuery(ctx, &ragdv1.BatchQueryRequest{Queries: queries})
	return answer.GetAnswers(), err
}

// Embed returns the embeddings of texts, in the order of the texts, by a model; empty is the service's
// default one.
func (c *Client) Embed(ctx context.Context, model string, texts ...string) ([][]float32, error) {
	answer, err := c.Queries.Embed(ctx, &ragdv1.EmbedRequest{Model: model, Texts: texts})
	if err != nil {
		return nil, err
	}
	embeddings := make([][]float32, len(answer.GetEmbeddings()))
	for i, embedding := range answer.GetEmbeddings() {
		embeddings[i] = embedding.GetValues()
	}
	return embeddings, nil
}

type contextKey struct{}

// WithContext returns a context whose calls have a request context, beside that of the client. Keys of
// both have the value given here.
func WithContext(ctx context.Context, values map[string]any) context.Context {
	before, _ := ctx.Value(contextKey{}).(map[string]any)
	merged := maps.Clone(before)
	if merged == nil {
		merged = map[string]any{}
	}
	maps.Copy(merged, values)
	return context.WithValue(ctx, contextKey{}, merged)
}

type idempotencyKey struct{}

// WithIdempotencyKey returns a context for one call that changes something: with the same key, of up to 255
// characters, the same call within 24 hours runs once, and its repeats get the answer of the first, from
// this program or another. Calls without a key of the program get one of their own where the client
// repeats them.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, idempotencyKey{}, key)
}

// interceptor adds the headers of every call and repeats failed ones.
type interceptor struct{ options Options }

func (i *interceptor) prepare(ctx context.Context, header http.Header) error {
	for name, values := range i.options.Header {
		header[name] = values
	}
	if i.options.APIKey != "" {
		header.Set("Authorization", "Bearer "+i.options.APIKey)
	}
	if i.options.Tenant != "" {
		header.Set("Ragd-Tenant", i.options.Tenant)
	}
	merged := maps.Clone(i.options.Context)
	if own, _ := ctx.Value(contextKey{}).(map[string]any); own != nil {
		if merged == nil {
			merged = map[string]any{}
		}
		maps.Copy(merged, own)
	}
	if len(merged) == 0 {
		return nil
	}
	text, err := json.Marshal(merged)
	if err != nil {
		return invalid("Context", "cannot be written as JSON: "+err.Error())
	}
	header.Set("Ragd-Context", string(text))
	return nil
}

// WrapUnary implements connect.Interceptor.
func (i *interceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		if err := i.prepare(ctx, req.Header()); err != nil {
			return nil, err
		}
		if key, ok := ctx.Value(idempotencyKey{}).(string); ok {
			req.Header().Set("Idempotency-Key", key)
		} else if i.options.Retry.Max >= 0 && !mayRepeat(req) {
			req.Header().Set("Idempotency-Key", rand.Text())
		}
		for attempt := 1; ; attempt++ {
			answer, err := next(ctx, req)
			if err == nil {
				return answer, nil
			}
			pause, again := i.options.Retry.pause(attempt, err)
			if !again || stale(req, err) || sleep(ctx, pause) != nil {
				return nil, ErrorOf(err)
			}
		}
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (i *interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		err := i.prepare(ctx, conn.RequestHeader())
		return &stream{StreamingClientConn: conn, refused: err}
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (i *interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

// stream has errors of this package.
type stream struct {
	connect.StreamingClientConn
	refused error
}

func (s *stream) Send(message any) error {
	if s.refused != nil {
		return s.refused
	}
	return s.StreamingClientConn.Send(message) // io.EOF says that Receive has the error
}

func (s *stream) Receive(message any) error {
	if s.refused != nil {
		return s.refused
	}
	return ErrorOf(s.StreamingClientConn.Receive(message))
}
