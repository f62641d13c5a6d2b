// Package openai serves the part of OpenAI's HTTP API that is about retrieval: embeddings,
// models, files, vector stores and answers, so that programs written with OpenAI's client libraries
// use this service by another base URL. Reranking is served as Cohere's clients ask for it.
//
// Chat completions and responses are two forms of one conversation: the models are the tenant's agents, and
// passages, which answers without a chat model by the best sentences.
//
// A vector store is an index, and a file of a vector store is a document of it: whatever
// one interface makes, the other one shows. Files that were uploaded and are in no vector
// store yet exist in this interface only.
//
// docs/how-to/openai.md lists what is supported. Answers and errors have OpenAI's shape.
package openai

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/automation/agent"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/idempotency"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
)

// Paths are the paths of this interface. Those below a path that ends in a slash belong to it.
var Paths = []string{"/v1/", "/v2/rerank"}

// chatPaths are those of Paths that answer questions.
var chatPaths = []string{"/v1/chat/completions", "/v1/responses"}

// maxTime ends a request that no other limit ends, but not the upload or download of a file.
const maxTime = 60 * time.Second

// API is what the handler calls for the caller in the context; *rpc.Handlers implements it.
type API interface {
	Embed(context.Context, *ragdv1.EmbedRequest) (*ragdv1.EmbedResponse, error)
	Rerank(context.Context, *ragdv1.RerankRequest) (*ragdv1.RerankResponse, error)
	VectorQuery(context.Context, *ragdv1.VectorQueryRequest) (*ragdv1.VectorQueryResponse, error)
	CreateIndex(context.Context, *ragdv1.CreateIndexRequest) (*ragdv1.Index, error)
	DescribeIndex(context.Context, *ragdv1.DescribeIndexRequest) (*ragdv1.Index, error)
	ListIndexes(context.Context, *ragdv1.ListIndexesRequest) (*ragdv1.ListIndexesResponse, error)
	DeleteIndex(context.Context, *ragdv1.DeleteIndexRequest) (*ragdv1.DeleteIndexResponse, error)
}

// Config configures a Handler. All fields are required.
type Config struct {
	API       API
	Documents *ingest.Service
	DB        *data.DB
	Agents    *agent.Service
	// Models returns the names of the models that a tenant may use, as far as they are known.
	Models func(ctx context.Context, id tenant.ID) ([]Model, error)
	Gate   *admission.Gate
	// Repeats answers requests whose idempotency key was used before.
	Repeats      *idempotency.Keeper
	Guard        *httpserver.Guard
	Authenticate func(refuse func(http.ResponseWriter, *http.Request, error)) func(http.Handler) http.Handler
}

// Handler serves Paths. Safe for concurrent use.
type Handler struct {
	config Config
	mux    *http.ServeMux
	next   http.Handler
}

// New returns a Handler.
func New(config Config) *Handler {
	mux := http.NewServeMux()
	h := &Handler{config: config, mux: mux}
	for pattern, answer := range h.routes() {
		mux.Handle(pattern, answer)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, r, unknownPath(mux, r))
	})
	h.next = config.Guard.Handler(config.Authenticate(refuse)(h.counted(mux)), refuse)
	return h
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Openai-Version", "2020-10-01") // that of the API as clients know it
	h.next.ServeHTTP(w, r)
}

// Route returns the method and path of the call that a request makes, such as
// "GET /v1/files/{file}"; "other" for none.
func (h *Handler) Route(r *http.Request) string {
	if _, pattern := h.mux.Handler(r); pattern != "/" && pattern != "" {
		return pattern
	}
	return "other"
}

// routes returns the handlers by method and path.
func (h *Handler) routes() map[string]http.Handler {
	const (
		store = "/v1/vector_stores/{store}"
		file  = store + "/files/{file}"
		batch = store + "/file_batches/{batch}"
	)
	return map[string]http.Handler{
		"POST /v1/chat/completions": talks(h, (*chatRequest).read),
		"POST /v1/responses":        talks(h, (*responseRequest).read),
		"POST /v1/embeddings":       call(h, h.embed),
		"GET /v1/models":            ask(h, h.listModels),
		"GET /v1/models/{model...}": ask(h, h.getModel),
		"POST /v1/rerank":           call(h, h.rerankV1),
		"POST /v2/rerank":           call(h, h.rerankV2),

		"POST /v1/files":               http.HandlerFunc(h.createFile),
		"GET /v1/files":                ask(h, h.listFiles),
		"GET /v1/files/{file}":         ask(h, h.getFile),
		"GET /v1/files/{file}/content": http.HandlerFunc(h.downloadFile),
		"DELETE /v1/files/{file}":      ask(h, h.deleteFile),

		"POST /v1/vector_stores":    call(h, h.createStore),
		"GET /v1/vector_stores":     ask(h, h.listStores),
		"GET " + store:              ask(h, h.getStore),
		"POST " + store:             call(h, h.updateStore),
		"DELETE " + store:           ask(h, h.deleteStore),
		"POST " + store + "/search": call(h, h.search),

		"POST " + store + "/files": call(h, h.addFile),
		"GET " + store + "/files":  ask(h, h.listStoreFiles),
		"GET " + file:              ask(h, h.getStoreFile),
		"POST " + file:             call(h, h.updateStoreFile),
		"DELETE " + file:           ask(h, h.removeFile),
		"GET " + file + "/content": ask(h, h.readStoreFile),

		"POST " + store + "/file_batches": call(h, h.createBatch),
		"GET " + batch:                    ask(h, h.getBatch),
		"POST " + batch + "/cancel":       ask(h, h.cancelBatch),
		"GET " + batch + "/files":         ask(h, h.listBatchFiles),
	}
}

// counted returns a handler that calls next for the requests that the caller's credential and the
// limits of its tenant allow.
func (h *Handler) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := access.Caller(r.Context())
		if err == nil {
			httpserver.Add(r.Context(), "tenant", caller.Tenant, "subject", caller.Principal.Subject)
			err = mayCall(caller, r)
		}
		if err != nil {
			refuse(w, r, err)
			return
		}
		begin := h.config.Gate.Begin
		if caller.Principal.OfPages() {
			begin = h.config.Gate.OfPage(caller.Principal.Subject)
		}
		end, err := begin(r.Context(), caller.Tenant, caller.Quotas)
		if err != nil {
			refuse(w, r, err)
			return
		}
		defer end()
		ctx, release := h.config.Gate.WithMemory(r.Context(), caller.Tenant)
		defer release()
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler { //nolint:errorlint // the value that net/http compares with
					panic(p)
				}
				refuse(w, r, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
			}
		}()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// mayCall returns an error for callers that may not use this interface: those bound to tools, and
// operators that name no tenant.
func mayCall(caller *access.Request, r *http.Request) error {
	switch {
	case caller.Principal.OnlyTools():
		return fault.New(fault.Denied, "this credential is bound to tools or MCP servers: it may only list and call tools, over MCP or with ToolService")
	case r.Header.Get("Ragd-Server") != "":
		return fault.Field("Ragd-Server", "this interface does not go through MCP servers: leave the header out")
	case caller.Overrides.IndexName != nil && !slices.Contains(chatPaths, r.URL.Path):
		return fault.Field("Ragd-Context", "indexName has no place here: the path names the vector store, which is an index")
	case caller.Tenant == "":
		return fault.New(fault.Invalid, "an operator names the tenant in the header Ragd-Tenant; programs use an API key of the tenant")
	}
	return nil
}

// ask returns a handler of requests without a body, which answers with what do returns as JSON.
func ask[Out any](h *Handler, do func(context.Context, *http.Request) (Out, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), maxTime)
		defer cancel()
		once(h, w, r.WithContext(ctx), nil, func(ctx context.Context) (Out, error) { return do(ctx, r) })
	})
}

// call is ask for requests whose body is a JSON object, which it decodes into an In.
func call[In, Out any](h *Handler, do func(context.Context, *http.Request, *In) (Out, error)) http.Handler {
	return reading(h, func(w http.ResponseWriter, r *http.Request, in *In, content []byte) {
		ctx, cancel := context.WithTimeout(r.Context(), maxTime)
		defer cancel()
		once(h, w, r.WithContext(ctx), content, func(ctx context.Context) (Out, error) { return do(ctx, r, in) })
	})
}

// reading returns a handler of requests whose body is a JSON object, which it decodes into an In. do gets
// the digest of the body too.
func reading[In any](h *Handler, do func(w http.ResponseWriter, r *http.Request, in *In, content []byte)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := access.Caller(r.Context())
		if err != nil {
			refuse(w, r, err)
			return
		}
		memory := h.config.Gate.Open(caller.Tenant)
		defer memory.Close()
		sum := sha256.New()
		if r.Header.Get(idempotency.Header) != "" {
			r.Body = hashing{r.Body, sum}
		}
		in, err := readJSON[In](r, memory)
		if err != nil {
			if r.ProtoMajor == 1 {
				memory.Drain(r.Body)
			}
			refuse(w, r, err)
			return
		}
		do(w, r, in, sum.Sum(nil))
	})
}

// unknownPath returns the error for a path or method that this interface does not have.
func unknownPath(mux *http.ServeMux, r *http.Request) error {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := mux.Handler(other); method != r.Method && pattern != "/" && pattern != "" {
			return fault.New(fault.NotFound, "%s %s does not exist, but %s does", r.Method, shorten(r.URL.Path), method)
		}
	}
	return fault.New(fault.NotFound, "%s %s does not exist here: served are /v1/chat/completions, /v1/responses, /v1/embeddings, /v1/models, /v1/files, /v1/vector_stores and /v1/rerank, see docs/how-to/openai.md; calls of ragd itself go to addresses such as /ragd.v1.QueryService/VectorQuery, MCP to /mcp", r.Method, shorten(r.URL.Path))
}
