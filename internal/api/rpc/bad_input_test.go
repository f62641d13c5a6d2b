package rpc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// Bad input is answered with the expected code and the name of the offending field.
func TestBadInput(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme, operator := s.Tenant(t, "acme"), s.Operator()
	acme.Index(t, "docs")
	ctx := t.Context()
	upload := func(change func(*ragdv1.UploadDocumentRequest)) func() error {
		return func() error {
			req := &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "a", Source: servicetest.Text("some text")}
			change(req)
			_, err := acme.UploadDocument(ctx, req)
			return err
		}
	}
	query := func(req *ragdv1.VectorQueryRequest) func() error {
		return func() error {
			if req.IndexName == "" {
				req.IndexName = "docs"
			}
			_, err := acme.VectorQuery(ctx, req)
			return err
		}
	}
	createIndex := func(req *ragdv1.CreateIndexRequest) func() error {
		return func() error { _, err := acme.CreateIndex(ctx, req); return err }
	}
	createTenant := func(id string) func() error {
		return func() error {
			_, err := operator.CreateTenant(ctx, &ragdv1.CreateTenantRequest{TenantId: id})
			return err
		}
	}
	topK := func(n int32) *ragdv1.VectorQueryRequest {
		return &ragdv1.VectorQueryRequest{QueryText: "a", TopK: &n}
	}
	deep := map[string]any{}
	for range 200 {
		deep = map[string]any{"a": deep}
	}
	for _, tc := range []struct {
		name  string
		call  func() error
		code  connect.Code
		field string
	}{
		{"unknown index on upload", upload(func(r *ragdv1.UploadDocumentRequest) { r.IndexName = "nope" }), connect.CodeNotFound, ""},
		{"empty text", upload(func(r *ragdv1.UploadDocumentRequest) { r.Source = servicetest.Text("") }), connect.CodeInvalidArgument, "text"},
		{"blank text", upload(func(r *ragdv1.UploadDocumentRequest) { r.Source = servicetest.Text(" \n\t ") }), connect.CodeInvalidArgument, "text"},
		{"invalid UTF-8", upload(func(r *ragdv1.UploadDocumentRequest) {
			r.Source = &ragdv1.UploadDocumentRequest_Content{Content: []byte("abc\xff\xfedef")}
		}), connect.CodeInvalidArgument, "content"},
		{"a null character in the uri", upload(func(r *ragdv1.UploadDocumentRequest) { r.Uri = "a\x00b" }), connect.CodeInvalidArgument, "uri"},
		{"an over-long uri", upload(func(r *ragdv1.UploadDocumentRequest) { r.Uri = strings.Repeat("u", 3000) }), connect.CodeInvalidArgument, "uri"},
		{"an over-long title", upload(func(r *ragdv1.UploadDocumentRequest) { r.Title = strings.Repeat("t", 3000) }), connect.CodeInvalidArgument, "title"},
		{"a binary content type", upload(func(r *ragdv1.UploadDocumentRequest) { r.ContentType = "image/png" }), connect.CodeInvalidArgument, "contentType"},
		{"a malformed content type", upload(func(r *ragdv1.UploadDocumentRequest) { r.ContentType = "text/" }), connect.CodeInvalidArgument, "contentType"},
		{"metadata over the limit", upload(func(r *ragdv1.UploadDocumentRequest) {
			r.Metadata = servicetest.Object(t, map[string]any{"a": strings.Repeat("x", 100<<10)})
		}), connect.CodeInvalidArgument, "metadata"},
		{"metadata nested too deep", upload(func(r *ragdv1.UploadDocumentRequest) { r.Metadata = servicetest.Object(t, deep) }), connect.CodeInvalidArgument, "metadata"},
		{"an unknown chunking strategy", upload(func(r *ragdv1.UploadDocumentRequest) {
			r.Chunking = &ragdv1.Chunking{Strategy: "paragraph"}
		}), connect.CodeInvalidArgument, "chunking.strategy"},
		{"overlap as large as the chunk", upload(func(r *ragdv1.UploadDocumentRequest) {
			fifty := int32(50)
			r.Chunking = &ragdv1.Chunking{MaxSize: &fifty, Overlap: &fifty}
		}), connect.CodeInvalidArgument, "chunking.overlap"},

		{"unknown index on query", query(&ragdv1.VectorQueryRequest{QueryText: "a", IndexName: "nope"}), connect.CodeNotFound, ""},
		{"an index name with SQL in it", query(&ragdv1.VectorQueryRequest{QueryText: "a", IndexName: `docs"; DROP SCHEMA ragd; --`}), connect.CodeNotFound, ""},
		{"a blank question", query(&ragdv1.VectorQueryRequest{QueryText: "  "}), connect.CodeInvalidArgument, "queryText"},
		{"wrong dimension", query(&ragdv1.VectorQueryRequest{QueryVector: []float32{1, 2, 3}}), connect.CodeInvalidArgument, "queryVector"},
		{"topK 0", query(topK(0)), connect.CodeInvalidArgument, "topK"},
		{"topK -1", query(topK(-1)), connect.CodeInvalidArgument, "topK"},
		{"topK 10^9", query(topK(1_000_000_000)), connect.CodeInvalidArgument, "topK"},
		{"an unknown search mode", query(&ragdv1.VectorQueryRequest{QueryText: "a", SearchMode: "magic"}), connect.CodeInvalidArgument, "searchMode"},
		{"another store", query(&ragdv1.VectorQueryRequest{QueryText: "a", VectorStoreName: "weaviate"}), connect.CodeInvalidArgument, "vectorStoreName"},
		{"a filter that is no object", query(&ragdv1.VectorQueryRequest{QueryText: "a", Filter: structpb.NewNumberValue(3)}), connect.CodeInvalidArgument, "filter"},

		{"a malformed index name", createIndex(&ragdv1.CreateIndexRequest{IndexName: "a b"}), connect.CodeInvalidArgument, "indexName"},
		{"an unknown metric", createIndex(&ragdv1.CreateIndexRequest{IndexName: "a", Metric: "manhattan"}), connect.CodeInvalidArgument, "metric"},
		{"another dimension than the model's", createIndex(&ragdv1.CreateIndexRequest{IndexName: "a", Dimension: 7, EmbeddingModel: "builtin/hash-512"}), connect.CodeInvalidArgument, "dimension"},
		{"an unknown model", createIndex(&ragdv1.CreateIndexRequest{IndexName: "a", EmbeddingModel: "builtin/nope"}), connect.CodeInvalidArgument, "embeddingModel"},
		{"a language with SQL in it", createIndex(&ragdv1.CreateIndexRequest{IndexName: "a", TextLanguage: "x'); DROP"}), connect.CodeInvalidArgument, "textLanguage"},
		{"an unknown language", createIndex(&ragdv1.CreateIndexRequest{IndexName: "a", TextLanguage: "klingon"}), connect.CodeInvalidArgument, "textLanguage"},
		{"the same name, other settings", createIndex(&ragdv1.CreateIndexRequest{IndexName: "docs", Metric: "euclidean"}), connect.CodeAlreadyExists, ""},

		{"a tenant id with quotes", createTenant(`a"b`), connect.CodeInvalidArgument, "tenantId"},
		{"a tenant id with SQL", createTenant(`x; DROP TABLE ragd.tenants`), connect.CodeInvalidArgument, "tenantId"},
		{"an over-long tenant id", createTenant(strings.Repeat("a", 41)), connect.CodeInvalidArgument, "tenantId"},
		{"an empty tenant id", createTenant(""), connect.CodeInvalidArgument, "tenantId"},
		{"a tenant id that is taken", createTenant("acme"), connect.CodeAlreadyExists, ""},

		{"no document named", func() error {
			_, err := acme.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: "docs"})
			return err
		}, connect.CodeInvalidArgument, "documentId"},
		{"a document id that is none", func() error {
			_, err := acme.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: "docs", DocumentId: "x"})
			return err
		}, connect.CodeNotFound, ""},
		{"a job id that is none", func() error { _, err := acme.GetJob(ctx, &ragdv1.GetJobRequest{JobId: "'"}); return err }, connect.CodeNotFound, ""},
		{"a page size over the limit", func() error {
			_, err := acme.ListDocuments(ctx, &ragdv1.ListDocumentsRequest{IndexName: "docs", PageSize: 5000})
			return err
		}, connect.CodeInvalidArgument, "pageSize"},
		{"a page token of somebody's own making", func() error {
			_, err := acme.ListDocuments(ctx, &ragdv1.ListDocumentsRequest{IndexName: "docs", PageToken: "abc"})
			return err
		}, connect.CodeInvalidArgument, "pageToken"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.call()
			servicetest.WantCode(t, tc.name, err, tc.code)
			if tc.field != "" && fieldOf(err) != tc.field {
				t.Errorf("blames %q, want %q: %v", fieldOf(err), tc.field, err)
			}
		})
	}
}

// fieldOf returns the first field that an error's details name, or "".
func fieldOf(err error) string {
	for _, field := range fieldsOf(err) {
		return field
	}
	return ""
}

// fieldsOf returns the fields that an error's details name.
func fieldsOf(err error) (fields []string) {
	var wired *connect.Error
	if !errors.As(err, &wired) {
		return nil
	}
	for _, detail := range wired.Details() {
		value, err := detail.Value()
		if err != nil {
			continue
		}
		if bad, ok := value.(*errdetails.BadRequest); ok {
			for _, violation := range bad.GetFieldViolations() {
				fields = append(fields, violation.GetField())
			}
		}
	}
	return fields
}

// Bodies that no generated client would send are rejected.
func TestBadBodies(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	for _, tc := range []struct {
		name, body string
		want       int
	}{
		{"bad JSON", `{"tex`, http.StatusBadRequest},
		{"a wrong type", `{"text": 3}`, http.StatusBadRequest},
		{"a misspelt field", `{"indexName": "docs", "txet": "a"}`, http.StatusBadRequest},
		{"invalid UTF-8", "{\"text\": \"\xff\"}", http.StatusBadRequest},
		{"nesting without end", strings.Repeat(`{"metadata":`, 100_000), http.StatusBadRequest},
		{"100 MB", fmt.Sprintf(`{"text": %q}`, strings.Repeat("x", 100<<20)), http.StatusTooManyRequests},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
				s.URL+"/ragd.v1.DocumentService/UploadDocument", bytes.NewReader([]byte(tc.body)))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer "+acme.Secret)
			status, body := do(t, req)
			if status != tc.want || len(body) > 1000 {
				t.Errorf("answer %d: %.200s", status, body)
			}
		})
	}
}

// do sends a request and returns the status and body of the answer.
func do(t *testing.T, req *http.Request) (int, string) {
	t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}
