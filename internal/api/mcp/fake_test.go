package mcp

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// fakeAPI is an API of functions; a test sets those it needs.
type fakeAPI struct {
	createAlert     func(context.Context, *ragdv1.CreateAlertRequest) (*ragdv1.Alert, error)
	previewAlert    func(context.Context, *ragdv1.PreviewAlertRequest) (*ragdv1.PreviewAlertResponse, error)
	listAlerts      func(context.Context, *ragdv1.ListAlertsRequest) (*ragdv1.ListAlertsResponse, error)
	listMatches     func(context.Context, *ragdv1.ListAlertMatchesRequest) (*ragdv1.ListAlertMatchesResponse, error)
	updateAlert     func(context.Context, *ragdv1.UpdateAlertRequest) (*ragdv1.Alert, error)
	deleteAlert     func(context.Context, *ragdv1.DeleteAlertRequest) (*ragdv1.DeleteAlertResponse, error)
	vectorQuery     func(context.Context, *ragdv1.VectorQueryRequest) (*ragdv1.VectorQueryResponse, error)
	countChunks     func(context.Context, *ragdv1.CountChunksRequest) (*ragdv1.CountChunksResponse, error)
	graphRag        func(context.Context, *ragdv1.GraphRagRequest) (*ragdv1.GraphRagResponse, error)
	research        func(context.Context, *ragdv1.ResearchRequest) (*ragdv1.ResearchResponse, error)
	listTopics      func(context.Context, *ragdv1.ListTopicsRequest) (*ragdv1.ListTopicsResponse, error)
	listTables      func(context.Context, *ragdv1.ListTablesRequest) (*ragdv1.ListTablesResponse, error)
	queryTable      func(context.Context, *ragdv1.QueryTableRequest) (*ragdv1.QueryTableResponse, error)
	rerank          func(context.Context, *ragdv1.RerankRequest) (*ragdv1.RerankResponse, error)
	listIndexes     func(context.Context, *ragdv1.ListIndexesRequest) (*ragdv1.ListIndexesResponse, error)
	describeIndex   func(context.Context, *ragdv1.DescribeIndexRequest) (*ragdv1.Index, error)
	uploadDocument  func(context.Context, *ragdv1.UploadDocumentRequest) (*ragdv1.UploadDocumentResponse, error)
	getDocument     func(context.Context, *ragdv1.GetDocumentRequest) (*ragdv1.Document, error)
	listDocuments   func(context.Context, *ragdv1.ListDocumentsRequest) (*ragdv1.ListDocumentsResponse, error)
	deleteDocument  func(context.Context, *ragdv1.DeleteDocumentRequest) (*ragdv1.DeleteDocumentResponse, error)
	deleteDocuments func(context.Context, *ragdv1.DeleteDocumentsRequest) (*ragdv1.DeleteDocumentsResponse, error)
	listChunks      func(context.Context, *ragdv1.ListChunksRequest) (*ragdv1.ListChunksResponse, error)
	renderPage      func(context.Context, *ragdv1.RenderPageRequest) (*ragdv1.RenderPageResponse, error)
	readDocument    func(context.Context, *ragdv1.ReadDocumentRequest) (*ragdv1.ReadDocumentResponse, error)
	getJob          func(context.Context, *ragdv1.GetJobRequest) (*ragdv1.Job, error)
	syncSource      func(context.Context, *ragdv1.SyncSourceRequest) (*ragdv1.SyncSourceResponse, error)
	cancelJob       func(context.Context, *ragdv1.CancelJobRequest) (*ragdv1.Job, error)
	chunkText       func(context.Context, *ragdv1.ChunkTextRequest) (*ragdv1.ChunkTextResponse, error)
	remember        func(context.Context, *ragdv1.RememberRequest) (*ragdv1.Memory, error)
	recall          func(context.Context, *ragdv1.RecallRequest) (*ragdv1.RecallResponse, error)
	forget          func(context.Context, *ragdv1.ForgetRequest) (*ragdv1.ForgetResponse, error)
	recordFeedback  func(context.Context, *ragdv1.RecordFeedbackRequest) (*ragdv1.RecordFeedbackResponse, error)
	tools           []*ragdv1.Tool // of every tenant
}

func (f *fakeAPI) ListTools(context.Context, *ragdv1.ListToolsRequest) (*ragdv1.ListToolsResponse, error) {
	return &ragdv1.ListToolsResponse{Tools: f.tools}, nil
}

func (f *fakeAPI) Remember(ctx context.Context, req *ragdv1.RememberRequest) (*ragdv1.Memory, error) {
	return f.remember(ctx, req)
}

func (f *fakeAPI) Recall(ctx context.Context, req *ragdv1.RecallRequest) (*ragdv1.RecallResponse, error) {
	return f.recall(ctx, req)
}

func (f *fakeAPI) Forget(ctx context.Context, req *ragdv1.ForgetRequest) (*ragdv1.ForgetResponse, error) {
	return f.forget(ctx, req)
}

func (f *fakeAPI) CreateAlert(ctx context.Context, req *ragdv1.CreateAlertRequest) (*ragdv1.Alert, error) {
	return f.createAlert(ctx, req)
}

func (f *fakeAPI) PreviewAlert(ctx context.Context, req *ragdv1.PreviewAlertRequest) (*ragdv1.PreviewAlertResponse, error) {
	return f.previewAlert(ctx, req)
}

func (f *fakeAPI) ListAlerts(ctx context.Context, req *ragdv1.ListAlertsRequest) (*ragdv1.ListAlertsResponse, error) {
	return f.listAlerts(ctx, req)
}

func (f *fakeAPI) ListAlertMatches(ctx context.Context, req *ragdv1.ListAlertMatchesRequest) (*ragdv1.ListAlertMatchesResponse, error) {
	return f.listMatches(ctx, req)
}

func (f *fakeAPI) UpdateAlert(ctx context.Context, req *ragdv1.UpdateAlertRequest) (*ragdv1.Alert, error) {
	return f.updateAlert(ctx, req)
}

func (f *fakeAPI) DeleteAlert(ctx context.Context, req *ragdv1.DeleteAlertRequest) (*ragdv1.DeleteAlertResponse, error) {
	return f.deleteAlert(ctx, req)
}

func (f *fakeAPI) VectorQuery(ctx context.Context, req *ragdv1.VectorQueryRequest) (*ragdv1.VectorQueryResponse, error) {
	return f.vectorQuery(ctx, req)
}

func (f *fakeAPI) BatchQuery(context.Context, *ragdv1.BatchQueryRequest) (*ragdv1.BatchQueryResponse, error) {
	return nil, fault.New(fault.NotFound, "not found")
}

func (f *fakeAPI) CountChunks(ctx context.Context, req *ragdv1.CountChunksRequest) (*ragdv1.CountChunksResponse, error) {
	return f.countChunks(ctx, req)
}

func (f *fakeAPI) GraphRag(ctx context.Context, req *ragdv1.GraphRagRequest) (*ragdv1.GraphRagResponse, error) {
	return f.graphRag(ctx, req)
}

func (f *fakeAPI) ResearchEvents(ctx context.Context, req *ragdv1.ResearchRequest, _ func(*ragdv1.ResearchEvent) error) (*ragdv1.ResearchResponse, error) {
	return f.research(ctx, req)
}

func (f *fakeAPI) ListTopics(ctx context.Context, req *ragdv1.ListTopicsRequest) (*ragdv1.ListTopicsResponse, error) {
	return f.listTopics(ctx, req)
}

func (f *fakeAPI) ListTables(ctx context.Context, req *ragdv1.ListTablesRequest) (*ragdv1.ListTablesResponse, error) {
	return f.listTables(ctx, req)
}

func (f *fakeAPI) QueryTable(ctx context.Context, req *ragdv1.QueryTableRequest) (*ragdv1.QueryTableResponse, error) {
	return f.queryTable(ctx, req)
}

func (f *fakeAPI) Rerank(ctx context.Context, req *ragdv1.RerankRequest) (*ragdv1.RerankResponse, error) {
	return f.rerank(ctx, req)
}

func (f *fakeAPI) ListIndexes(ctx context.Context, req *ragdv1.ListIndexesRequest) (*ragdv1.ListIndexesResponse, error) {
	return f.listIndexes(ctx, req)
}

func (f *fakeAPI) DescribeIndex(ctx context.Context, req *ragdv1.DescribeIndexRequest) (*ragdv1.Index, error) {
	return f.describeIndex(ctx, req)
}

func (f *fakeAPI) UploadDocument(ctx context.Context, req *ragdv1.UploadDocumentRequest) (*ragdv1.UploadDocumentResponse, error) {
	return f.uploadDocument(ctx, req)
}

func (f *fakeAPI) GetDocument(ctx context.Context, req *ragdv1.GetDocumentRequest) (*ragdv1.Document, error) {
	return f.getDocument(ctx, req)
}

func (f *fakeAPI) ListDocuments(ctx context.Context, req *ragdv1.ListDocumentsRequest) (*ragdv1.ListDocumentsResponse, error) {
	return f.listDocuments(ctx, req)
}

func (f *fakeAPI) DeleteDocument(ctx context.Context, req *ragdv1.DeleteDocumentRequest) (*ragdv1.DeleteDocumentResponse, error) {
	return f.deleteDocument(ctx, req)
}

func (f *fakeAPI) DeleteDocuments(ctx context.Context, req *ragdv1.DeleteDocumentsRequest) (*ragdv1.DeleteDocumentsResponse, error) {
	return f.deleteDocuments(ctx, req)
}

func (f *fakeAPI) ListChunks(ctx context.Context, req *ragdv1.ListChunksRequest) (*ragdv1.ListChunksResponse, error) {
	return f.listChunks(ctx, req)
}

func (f *fakeAPI) RenderPage(ctx context.Context, req *ragdv1.RenderPageRequest) (*ragdv1.RenderPageResponse, error) {
	return f.renderPage(ctx, req)
}

func (f *fakeAPI) ReadDocument(ctx context.Context, req *ragdv1.ReadDocumentRequest) (*ragdv1.ReadDocumentResponse, error) {
	return f.readDocument(ctx, req)
}

func (f *fakeAPI) Download(context.Context, *ragdv1.DownloadDocumentRequest, func(*ragdv1.DownloadDocumentResponse) error) error {
	return fault.New(fault.NotFound, "not found")
}

func (f *fakeAPI) GetPrompt(context.Context, *ragdv1.GetPromptRequest) (*ragdv1.Prompt, error) {
	return nil, fault.New(fault.NotFound, "prompt not found")
}

func (f *fakeAPI) ListPrompts(context.Context, *ragdv1.ListPromptsRequest) (*ragdv1.ListPromptsResponse, error) {
	return &ragdv1.ListPromptsResponse{}, nil
}

func (f *fakeAPI) GetPromptMessages(_ context.Context, req *ragdv1.GetPromptMessagesRequest) (*ragdv1.GetPromptMessagesResponse, error) {
	return nil, fault.New(fault.NotFound, "prompt %q not found", req.GetPromptName())
}

func (f *fakeAPI) GetJob(ctx context.Context, req *ragdv1.GetJobRequest) (*ragdv1.Job, error) {
	return f.getJob(ctx, req)
}

func (f *fakeAPI) SyncSource(ctx context.Context, req *ragdv1.SyncSourceRequest) (*ragdv1.SyncSourceResponse, error) {
	return f.syncSource(ctx, req)
}

func (f *fakeAPI) CancelJob(ctx context.Context, req *ragdv1.CancelJobRequest) (*ragdv1.Job, error) {
	return f.cancelJob(ctx, req)
}

func (f *fakeAPI) RecordFeedback(ctx context.Context, req *ragdv1.RecordFeedbackRequest) (*ragdv1.RecordFeedbackResponse, error) {
	return f.recordFeedback(ctx, req)
}

func (f *fakeAPI) ChunkText(ctx context.Context, req *ragdv1.ChunkTextRequest) (*ragdv1.ChunkTextResponse, error) {
	return f.chunkText(ctx, req)
}

// authenticate accepts any token of the form "tenant subject", and overrides from the
// header.
func authenticate(refuse func(http.ResponseWriter, *http.Request, error)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			owner, subject, ok := strings.Cut(token, " ")
			if !ok {
				refuse(w, r, fault.New(fault.Unauthenticated, "a valid API key is needed"))
				return
			}
			request := &access.Request{
				Tenant:    tenant.ID(owner),
				Principal: access.Principal{Subject: subject, Tenant: tenant.ID(owner), Scopes: []access.Scope{access.Write}},
			}
			if raw := r.Header.Get("Ragd-Context"); raw != "" {
				var err error
				if request.Overrides, err = access.ParseOverrides([]byte(raw)); err != nil {
					refuse(w, r, err)
					return
				}
			}
			next.ServeHTTP(w, r.WithContext(access.NewContext(r.Context(), request)))
		})
	}
}

// serve starts the HTTP endpoint over an API and returns its address.
func serve(t testing.TB, api API, change func(*Config)) string {
	t.Helper()
	cfg := Config{API: api, Logger: slog.New(slog.DiscardHandler), HTTP: mcphttp.Config{Authenticate: authenticate}}
	if change != nil {
		change(&cfg)
	}
	handler, err := NewHandler(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(httpserver.Log(cfg.Logger, nil, nil)(handler))
	t.Cleanup(func() {
		if err := handler.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return server.URL + mcphttp.Path
}

// connectClient returns a client of the endpoint with the given headers, by default
// those of Alice of acme.
func connectClient(t testing.TB, address string, options []client.ClientOption, headers map[string]string) *client.Client {
	t.Helper()
	if headers == nil {
		headers = map[string]string{"Authorization": "Bearer acme alice"}
	}
	return mcptest.Connect(t, address, options, headers)
}

// noIndexes answers ListIndexes with an empty list.
func noIndexes(context.Context, *ragdv1.ListIndexesRequest) (*ragdv1.ListIndexesResponse, error) {
	return &ragdv1.ListIndexesResponse{}, nil
}
