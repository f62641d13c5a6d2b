package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
)

const operatorSecret = "operator-secret"

// fake is ragd in memory, behind a real HTTP server: as much of it as the commands
// need to be told from wrong ones. Documents whose text is "bad" fail; a query is
// answered by the documents that contain its words.
type fake struct {
	ragdv1connect.UnimplementedTenantServiceHandler
	ragdv1connect.UnimplementedIndexServiceHandler
	ragdv1connect.UnimplementedDocumentServiceHandler
	ragdv1connect.UnimplementedQueryServiceHandler
	ragdv1connect.UnimplementedChunkServiceHandler
	ragdv1connect.UnimplementedToolServiceHandler

	url string

	mu       sync.Mutex
	ids      int
	tenants  map[string]*fakeTenant
	keys     map[string]*ragdv1.ApiKey // by secret
	requests []http.Header
	queries  []*ragdv1.VectorQueryRequest
	extract  *structpb.Struct // of the last upload
	// refuse, if set, is the answer to every upload.
	refuse func() error
}

type fakeTenant struct {
	tenant  *ragdv1.Tenant
	indexes map[string]*fakeIndex
	jobs    []*ragdv1.Job
	tools   map[string]*ragdv1.Tool
}

type fakeIndex struct {
	index     *ragdv1.Index
	documents []*fakeDocument
}

type fakeDocument struct {
	document *ragdv1.Document
	text     string
	job      *ragdv1.Job
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{tenants: map[string]*fakeTenant{}, keys: map[string]*ragdv1.ApiKey{}}
	mux := http.NewServeMux()
	mux.Handle(ragdv1connect.NewTenantServiceHandler(f))
	mux.Handle(ragdv1connect.NewIndexServiceHandler(f))
	mux.Handle(ragdv1connect.NewDocumentServiceHandler(f))
	mux.Handle(ragdv1connect.NewQueryServiceHandler(f))
	mux.Handle(ragdv1connect.NewChunkServiceHandler(f))
	mux.Handle(ragdv1connect.NewToolServiceHandler(f))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.requests = append(f.requests, r.Header.Clone())
		f.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

// made is when everything was made.
var made = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

func (f *fake) id(kind string) string {
	f.ids++
	return kind + strconv.Itoa(f.ids)
}

func refusal(code connect.Code, format string, args ...any) error {
	return connect.NewError(code, fmt.Errorf(format, args...))
}

// operator locks the fake and checks that the caller is the operator.
func (f *fake) operator(ctx context.Context) error {
	call, _ := connect.CallInfoForHandlerContext(ctx)
	if call.RequestHeader().Get("Authorization") != "Bearer "+operatorSecret {
		return refusal(connect.CodeUnauthenticated, "the key is not known")
	}
	return nil
}

// tenant returns the tenant that the caller acts for.
func (f *fake) tenant(ctx context.Context) (*fakeTenant, error) {
	call, _ := connect.CallInfoForHandlerContext(ctx)
	secret := strings.TrimPrefix(call.RequestHeader().Get("Authorization"), "Bearer ")
	id := call.RequestHeader().Get("Ragd-Tenant")
	if secret != operatorSecret {
		key := f.keys[secret]
		if key == nil || key.GetRevokeTime() != nil {
			return nil, refusal(connect.CodeUnauthenticated, "the key is not known")
		}
		id = key.GetTenantId()
	}
	if f.tenants[id] == nil {
		return nil, refusal(connect.CodeNotFound, "tenant %q not found", id)
	}
	return f.tenants[id], nil
}

func (f *fake) index(ctx context.Context, name string) (*fakeTenant, *fakeIndex, error) {
	t, err := f.tenant(ctx)
	if err != nil {
		return nil, nil, err
	}
	if t.indexes[name] == nil {
		return nil, nil, refusal(connect.CodeNotFound, "index %q not found", name)
	}
	return t, t.indexes[name], nil
}

// page cuts one page out of all; page tokens are offsets.
func page[T any](all []T, size int32, token string) ([]T, string) {
	from, _ := strconv.Atoi(token)
	to := min(from+cmp.Or(int(size), 100), len(all))
	if to == len(all) {
		return all[from:], ""
	}
	return all[from:to], strconv.Itoa(to)
}

func (f *fake) CreateTenant(ctx context.Context, req *ragdv1.CreateTenantRequest) (*ragdv1.Tenant, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.operator(ctx); err != nil {
		return nil, err
	}
	if strings.ToLower(req.GetTenantId()) != req.GetTenantId() {
		err := connect.NewError(connect.CodeInvalidArgument, errors.New("the request is not valid"))
		detail, _ := connect.NewErrorDetail(&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
			{Field: "tenantId", Description: "must be of a-z, 0-9 and -"},
		}})
		err.AddDetail(detail)
		return nil, err
	}
	t := &ragdv1.Tenant{
		TenantId: req.GetTenantId(), DisplayName: req.GetDisplayName(), Settings: req.GetSettings(),
		CreateTime: timestamppb.New(made), UpdateTime: timestamppb.New(made),
	}
	f.tenants[req.GetTenantId()] = &fakeTenant{tenant: t, indexes: map[string]*fakeIndex{}, tools: map[string]*ragdv1.Tool{}}
	return t, nil
}

func (f *fake) GetTenant(ctx context.Context, req *ragdv1.GetTenantRequest) (*ragdv1.Tenant, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.operator(ctx); err != nil {
		return nil, err
	}
	t := f.tenants[req.GetTenantId()]
	if t == nil {
		return nil, refusal(connect.CodeNotFound, "tenant %q not found", req.GetTenantId())
	}
	return t.tenant, nil
}

func (f *fake) ListTenants(ctx context.Context, req *ragdv1.ListTenantsRequest) (*ragdv1.ListTenantsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.operator(ctx); err != nil {
		return nil, err
	}
	res := &ragdv1.ListTenantsResponse{}
	var ids []string
	ids, res.NextPageToken = page(slices.Sorted(maps.Keys(f.tenants)), min(req.GetPageSize(), 2), req.GetPageToken())
	for _, id := range ids {
		res.Tenants = append(res.Tenants, f.tenants[id].tenant)
	}
	return res, nil
}

func (f *fake) UpdateTenant(ctx context.Context, req *ragdv1.UpdateTenantRequest) (*ragdv1.Tenant, error) {
	t, err := f.GetTenant(ctx, &ragdv1.GetTenantRequest{TenantId: req.GetTenantId()})
	if err == nil && req.DisplayName != nil {
		t.DisplayName = req.GetDisplayName()
	}
	if err == nil && req.GetSettings() != nil {
		t.Settings = req.GetSettings()
	}
	return t, err
}

func (f *fake) DeleteTenant(ctx context.Context, req *ragdv1.DeleteTenantRequest) (*ragdv1.DeleteTenantResponse, error) {
	_, err := f.GetTenant(ctx, &ragdv1.GetTenantRequest{TenantId: req.GetTenantId()})
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.tenants, req.GetTenantId())
	return &ragdv1.DeleteTenantResponse{}, err
}

func (f *fake) CreateApiKey(ctx context.Context, req *ragdv1.CreateApiKeyRequest) (*ragdv1.CreateApiKeyResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.operator(ctx); err != nil {
		return nil, err
	}
	id := f.id("key")
	key := &ragdv1.ApiKey{
		ApiKeyId: id, TenantId: req.GetTenantId(), DisplayName: req.GetDisplayName(), Prefix: "rk_" + id[:2],
		Scopes: req.GetScopes(), MandatoryFilter: req.GetMandatoryFilter(),
		CreateTime: timestamppb.New(made), ExpireTime: req.GetExpireTime(),
	}
	f.keys["secret-"+id] = key
	return &ragdv1.CreateApiKeyResponse{ApiKey: key, Secret: "secret-" + id}, nil
}

func (f *fake) ListApiKeys(ctx context.Context, req *ragdv1.ListApiKeysRequest) (*ragdv1.ListApiKeysResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.operator(ctx); err != nil {
		return nil, err
	}
	res := &ragdv1.ListApiKeysResponse{}
	for _, secret := range slices.Sorted(maps.Keys(f.keys)) {
		if key := f.keys[secret]; key.GetTenantId() == req.GetTenantId() {
			res.ApiKeys = append(res.ApiKeys, key)
		}
	}
	return res, nil
}

func (f *fake) RevokeApiKey(ctx context.Context, req *ragdv1.RevokeApiKeyRequest) (*ragdv1.RevokeApiKeyResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, key := range f.keys {
		if key.GetApiKeyId() == req.GetApiKeyId() {
			key.RevokeTime = timestamppb.New(made)
		}
	}
	return &ragdv1.RevokeApiKeyResponse{}, f.operator(ctx)
}

func (f *fake) CreateIndex(ctx context.Context, req *ragdv1.CreateIndexRequest) (*ragdv1.Index, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, err := f.tenant(ctx)
	if err != nil {
		return nil, err
	}
	if t.indexes[req.GetIndexName()] == nil {
		t.indexes[req.GetIndexName()] = &fakeIndex{index: &ragdv1.Index{
			IndexName: req.GetIndexName(), Dimension: cmp.Or(req.GetDimension(), 512), Metric: cmp.Or(req.GetMetric(), "cosine"),
			IndexConfig:    &ragdv1.IndexConfig{Type: cmp.Or(req.GetIndexConfig().GetType(), "hnsw"), Hnsw: req.GetIndexConfig().GetHnsw()},
			EmbeddingModel: cmp.Or(req.GetEmbeddingModel(), "builtin/hash-512"), Chunking: req.GetChunking(), TextLanguage: "english",
			Status: "ready", CreateTime: timestamppb.New(made), UpdateTime: timestamppb.New(made),
		}}
	}
	return t.indexes[req.GetIndexName()].index, nil
}

func (f *fake) UpdateIndex(ctx context.Context, req *ragdv1.UpdateIndexRequest) (*ragdv1.Index, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, i, err := f.index(ctx, req.GetIndexName())
	if err != nil {
		return nil, err
	}
	if model := req.GetEmbeddingModel(); model != "" {
		job := &ragdv1.Job{JobId: f.id("job"), Kind: "reembed", Status: "succeeded", Progress: &ragdv1.JobProgress{Done: 2, Total: 2, Unit: "documents"}}
		t.jobs = append(t.jobs, job)
		return &ragdv1.Index{IndexName: req.GetIndexName(), NextEmbeddingModel: model, ReembedJobId: job.GetJobId()}, nil
	}
	i.index.Graph = &ragdv1.Graph{Settings: req.GetGraph()}
	return i.index, nil
}

func (f *fake) RebuildGraph(ctx context.Context, req *ragdv1.RebuildGraphRequest) (*ragdv1.RebuildGraphResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, _, err := f.index(ctx, req.GetIndexName()); err != nil {
		return nil, err
	}
	return &ragdv1.RebuildGraphResponse{JobId: "job-of-" + req.GetIndexName()}, nil
}

func (f *fake) DescribeIndex(ctx context.Context, req *ragdv1.DescribeIndexRequest) (*ragdv1.Index, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, i, err := f.index(ctx, req.GetIndexName())
	if err != nil {
		return nil, err
	}
	i.index.DocumentCount, i.index.FailedDocumentCount = 0, 0
	for _, d := range i.documents {
		if d.document.GetStatus() == "ready" {
			i.index.DocumentCount++
		} else {
			i.index.FailedDocumentCount++
		}
	}
	i.index.Count = i.index.DocumentCount
	return i.index, nil
}

func (f *fake) ListIndexes(ctx context.Context, req *ragdv1.ListIndexesRequest) (*ragdv1.ListIndexesResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, err := f.tenant(ctx)
	if err != nil {
		return nil, err
	}
	res := &ragdv1.ListIndexesResponse{}
	res.IndexNames, res.NextPageToken = page(slices.Sorted(maps.Keys(t.indexes)), req.GetPageSize(), req.GetPageToken())
	for _, name := range res.IndexNames {
		res.Indexes = append(res.Indexes, t.indexes[name].index)
	}
	return res, nil
}

func (f *fake) DeleteIndex(ctx context.Context, req *ragdv1.DeleteIndexRequest) (*ragdv1.DeleteIndexResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, _, err := f.index(ctx, req.GetIndexName())
	if err != nil {
		return nil, err
	}
	delete(t.indexes, req.GetIndexName())
	return &ragdv1.DeleteIndexResponse{}, nil
}

func (f *fake) UploadDocument(ctx context.Context, req *ragdv1.UploadDocumentRequest) (*ragdv1.UploadDocumentResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.extract = req.GetExtract()
	t, i, err := f.index(ctx, req.GetIndexName())
	if err != nil {
		return nil, err
	}
	if f.refuse != nil {
		if err := f.refuse(); err != nil {
			return nil, err
		}
	}
	text := req.GetText() + string(req.GetContent())
	for _, d := range i.documents {
		if d.document.GetUri() == req.GetUri() && d.text == text {
			return &ragdv1.UploadDocumentResponse{Document: d.document, Job: d.job}, nil
		}
	}
	job := &ragdv1.Job{
		JobId: f.id("job"), Kind: "ingest", Status: "succeeded", IndexName: req.GetIndexName(), Attempts: 1,
		Progress: &ragdv1.JobProgress{Done: 1, Total: 1, Unit: "chunks"}, CreateTime: timestamppb.New(made),
	}
	document := &ragdv1.Document{
		DocumentId: f.id("doc"), IndexName: req.GetIndexName(), Uri: req.GetUri(), Title: req.GetTitle(), Metadata: req.GetMetadata(),
		Status: "ready", ChunkCount: 1, Version: 1, ByteSize: uint32(len(text)), ContentType: req.GetContentType(),
		CreateTime: timestamppb.New(made), UpdateTime: timestamppb.New(made),
	}
	if text == "bad" {
		job.Status, job.Error = "failed", "cannot be embedded"
		document.Status, document.Error = "failed", "cannot be embedded"
	}
	if req.GetExtract() != nil {
		job.Extraction = &ragdv1.Extraction{Calls: 3, InputTokens: 33, OutputTokens: 9, Failed: 1}
	}
	job.DocumentId = document.GetDocumentId()
	t.jobs = append(t.jobs, job)
	i.documents = append(i.documents, &fakeDocument{document, text, job})
	running := &ragdv1.Job{JobId: job.GetJobId(), Status: "queued", CreateTime: timestamppb.New(made)}
	return &ragdv1.UploadDocumentResponse{Document: document, Job: running}, nil
}

func (f *fake) UploadDocuments(ctx context.Context, stream *connect.ClientStream[ragdv1.UploadDocumentsRequest]) (*ragdv1.UploadDocumentsResponse, error) {
	res := &ragdv1.UploadDocumentsResponse{}
	for stream.Receive() {
		stored, err := f.UploadDocument(ctx, stream.Msg().GetDocument())
		result := &ragdv1.UploadResult{Job: stored.GetJob()}
		if err != nil {
			said, _ := strings.CutPrefix(err.Error(), connect.CodeOf(err).String()+": ")
			result.Error = &ragdv1.UploadError{Code: connect.CodeOf(err).String(), Message: said}
		}
		res.Results = append(res.Results, result)
	}
	return res, stream.Err()
}

// SyncSource knows no fingerprints: what is there is unchanged.
func (f *fake) SyncSource(ctx context.Context, req *ragdv1.SyncSourceRequest) (*ragdv1.SyncSourceResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, i, err := f.index(ctx, req.GetIndexName())
	if err != nil {
		return nil, err
	}
	given := map[string]bool{}
	for _, d := range req.GetDocuments() {
		given[d.GetUri()] = true
	}
	res := &ragdv1.SyncSourceResponse{}
	i.documents = slices.DeleteFunc(i.documents, func(d *fakeDocument) bool {
		uri := d.document.GetUri()
		gone := strings.HasPrefix(uri, req.GetUriPrefix()) && !given[uri]
		if given[uri] {
			res.UnchangedCount++
		}
		delete(given, uri)
		if gone {
			res.GoneUris = append(res.GoneUris, uri)
		}
		return gone && !req.GetDryRun()
	})
	res.GoneCount = int32(len(res.GoneUris))
	res.NewUris = slices.Sorted(maps.Keys(given))
	return res, nil
}

func (f *fake) document(ctx context.Context, index, id, uri string) (*fakeIndex, int, error) {
	_, i, err := f.index(ctx, index)
	if err != nil {
		return nil, 0, err
	}
	for n, d := range i.documents {
		if d.document.GetDocumentId() == id || d.document.GetUri() == uri {
			return i, n, nil
		}
	}
	return nil, 0, refusal(connect.CodeNotFound, "document %q not found", id+uri)
}

func (f *fake) GetDocument(ctx context.Context, req *ragdv1.GetDocumentRequest) (*ragdv1.Document, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, n, err := f.document(ctx, req.GetIndexName(), req.GetDocumentId(), req.GetUri())
	if err != nil {
		return nil, err
	}
	return i.documents[n].document, nil
}

func (f *fake) ListDocuments(ctx context.Context, req *ragdv1.ListDocumentsRequest) (*ragdv1.ListDocumentsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, i, err := f.index(ctx, req.GetIndexName())
	if err != nil {
		return nil, err
	}
	res := &ragdv1.ListDocumentsResponse{}
	var documents []*fakeDocument
	documents, res.NextPageToken = page(i.documents, req.GetPageSize(), req.GetPageToken())
	for _, d := range documents {
		res.Documents = append(res.Documents, d.document)
	}
	return res, nil
}

func (f *fake) DeleteDocument(ctx context.Context, req *ragdv1.DeleteDocumentRequest) (*ragdv1.DeleteDocumentResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, n, err := f.document(ctx, req.GetIndexName(), req.GetDocumentId(), req.GetUri())
	if err != nil {
		return nil, err
	}
	i.documents = slices.Delete(i.documents, n, n+1)
	return &ragdv1.DeleteDocumentResponse{}, nil
}

func (f *fake) ListChunks(ctx context.Context, req *ragdv1.ListChunksRequest) (*ragdv1.ListChunksResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, n, err := f.document(ctx, req.GetIndexName(), req.GetDocumentId(), "")
	if err != nil {
		return nil, err
	}
	text := i.documents[n].text
	return &ragdv1.ListChunksResponse{Chunks: []*ragdv1.Chunk{{Text: text, EndByte: uint32(len(text))}}}, nil
}

func (f *fake) GetJob(ctx context.Context, req *ragdv1.GetJobRequest) (*ragdv1.Job, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, err := f.tenant(ctx)
	if err != nil {
		return nil, err
	}
	for _, job := range t.jobs {
		if job.GetJobId() == req.GetJobId() {
			return job, nil
		}
	}
	return nil, refusal(connect.CodeNotFound, "job %q not found", req.GetJobId())
}

func (f *fake) ListJobs(ctx context.Context, req *ragdv1.ListJobsRequest) (*ragdv1.ListJobsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, err := f.tenant(ctx)
	if err != nil {
		return nil, err
	}
	var jobs []*ragdv1.Job
	for _, job := range slices.Backward(t.jobs) {
		if req.GetStatus() == "" || job.GetStatus() == req.GetStatus() {
			jobs = append(jobs, job)
		}
	}
	res := &ragdv1.ListJobsResponse{}
	res.Jobs, res.NextPageToken = page(jobs, req.GetPageSize(), req.GetPageToken())
	return res, nil
}

func (f *fake) CancelJob(ctx context.Context, req *ragdv1.CancelJobRequest) (*ragdv1.Job, error) {
	job, err := f.GetJob(ctx, &ragdv1.GetJobRequest{JobId: req.GetJobId()})
	if err != nil {
		return nil, err
	}
	return nil, refusal(connect.CodeFailedPrecondition, "job %q has ended as %s: there is nothing to cancel", job.GetJobId(), job.GetStatus())
}

func (f *fake) RetryJob(ctx context.Context, req *ragdv1.RetryJobRequest) (*ragdv1.Job, error) {
	job, err := f.GetJob(ctx, &ragdv1.GetJobRequest{JobId: req.GetJobId()})
	if err != nil {
		return nil, err
	}
	return &ragdv1.Job{JobId: f.id("job"), Kind: job.GetKind(), Status: "queued"}, nil
}

func (f *fake) WatchJob(ctx context.Context, req *ragdv1.WatchJobRequest, stream *connect.ServerStream[ragdv1.Job]) error {
	job, err := f.GetJob(ctx, &ragdv1.GetJobRequest{JobId: req.GetJobId()})
	if err != nil {
		return err
	}
	return errors.Join(stream.Send(&ragdv1.Job{Status: "running", Progress: &ragdv1.JobProgress{Total: 1, Unit: "chunks"}}), stream.Send(job))
}

func (f *fake) GraphRag(ctx context.Context, req *ragdv1.GraphRagRequest) (*ragdv1.GraphRagResponse, error) {
	found, err := f.VectorQuery(ctx, &ragdv1.VectorQueryRequest{
		QueryText: req.QueryText, IndexName: req.IndexName, TopK: req.TopK, SearchMode: req.SearchMode, Filter: req.Filter,
		Reranker: req.Reranker,
	})
	if err != nil {
		return nil, err
	}
	explain := &ragdv1.GraphExplain{}
	for i, source := range found.Sources {
		source.Path = "found at rank 1: " + source.Uri
		explain.Nodes = append(explain.Nodes, &ragdv1.GraphNode{Title: source.Uri, Score: source.Score, Seed: 1, Source: true})
		explain.Edges = append(explain.Edges, &ragdv1.GraphEdge{From: 0, To: int32(i), Words: "next to"})
	}
	return &ragdv1.GraphRagResponse{Sources: found.Sources, Warnings: found.Warnings, Explain: explain}, nil
}

func (f *fake) VectorQuery(ctx context.Context, req *ragdv1.VectorQueryRequest) (*ragdv1.VectorQueryResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queries = append(f.queries, req)
	name := req.GetIndexName()
	if t, err := f.tenant(ctx); err == nil && name == "" && len(t.indexes) == 1 {
		name = slices.Collect(maps.Keys(t.indexes))[0]
	}
	_, i, err := f.index(ctx, name)
	if err != nil {
		return nil, err
	}
	res := &ragdv1.VectorQueryResponse{RelevantContext: "[1] context", Warnings: []string{"reranking was skipped"}}
	for _, d := range i.documents {
		if strings.Contains(d.text, req.GetQueryText()) && len(res.GetSources()) < int(req.GetTopK()) {
			res.Sources = append(res.Sources, &ragdv1.Source{
				Id: d.document.GetDocumentId() + "-0", Score: 0.5, Document: d.text, Uri: d.document.GetUri(),
				Title: d.document.GetTitle(), EndByte: uint32(len(d.text)),
			})
		}
	}
	if req.GetExplain() {
		res.Explain = &ragdv1.Explain{SearchMode: "hybrid", Plan: "approximate", Candidates: 300, Complete: true, Stages: []*ragdv1.Stage{{Name: "embed", DurationMs: 0.25, Candidates: 1}}}
	}
	return res, nil
}

func (f *fake) ChunkText(ctx context.Context, req *ragdv1.ChunkTextRequest) (*ragdv1.ChunkTextResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.tenant(ctx); err != nil {
		return nil, err
	}
	size := int(cmp.Or(req.GetChunking().GetMaxSize(), 100))
	text := string(req.GetContent())
	res := &ragdv1.ChunkTextResponse{}
	for start := 0; start < len(text); start += size {
		end := min(start+size, len(text))
		res.Chunks = append(res.Chunks, &ragdv1.Chunk{
			Ordinal: int32(len(res.GetChunks())), Text: text[start:end], StartByte: uint32(start), EndByte: uint32(end), TokenCount: 3,
		})
	}
	return res, nil
}
