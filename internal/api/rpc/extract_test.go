package rpc_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// extracting starts a service with a language model and returns it with a tenant that has
// an index.
func extracting(t *testing.T) (*servicetest.Service, servicetest.Client, *modelserver.Server) {
	t.Helper()
	fake := modelserver.New(t)
	fake.Chat = func(asked modelserver.Chat) string {
		switch {
		case strings.Contains(asked.System, `"summary"`):
			return `{"summary": "About a harbour."}`
		case strings.Contains(asked.System, "JSON Schema"):
			return `{"gates": 2, "team": "red"}`
		}
		return `{}`
	}
	s := servicetest.New(t, service.Config{Providers: service.Providers{OpenAI: endpoint.Config{
		BaseURL: fake.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1, Timeout: 5 * time.Second,
	}}})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	return s, acme, fake
}

func stored(t *testing.T, c servicetest.Client, d *ragdv1.Document) []*ragdv1.Chunk {
	t.Helper()
	res, err := c.ListChunks(t.Context(), &ragdv1.ListChunksRequest{IndexName: "docs", DocumentId: d.DocumentId})
	if err != nil {
		t.Fatal(err)
	}
	return res.Chunks
}

func TestExtraction(t *testing.T) {
	t.Parallel()
	s, acme, fake := extracting(t)
	ctx := t.Context()
	const body = "# The harbour\n\nThe harbour has two gates."
	uploadOf := func(uri string, extract map[string]any) *ragdv1.UploadDocumentRequest {
		return &ragdv1.UploadDocumentRequest{
			IndexName: "docs", Uri: uri, Source: servicetest.Text(body), ContentType: "text/markdown",
			Metadata: servicetest.Object(t, map[string]any{"team": "blue"}), Extract: servicetest.Object(t, extract),
		}
	}
	jobOf := func(req *ragdv1.UploadDocumentRequest) (*ragdv1.Document, *ragdv1.Job) {
		t.Helper()
		res, err := acme.UploadDocument(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		d := acme.Await(t, "docs", res.Job.JobId, res.Document.DocumentId)
		job, err := acme.GetJob(ctx, &ragdv1.GetJobRequest{JobId: res.Job.JobId})
		if err != nil {
			t.Fatal(err)
		}
		return d, job
	}
	everything := map[string]any{
		"model": "openai/m", "title": map[string]any{"model": ""}, "summary": true, "keywords": map[string]any{"model": "", "keywords": 2},
		"questions": true, "schema": map[string]any{"schema": map[string]any{"type": "object"}},
	}

	t.Run("goes into the chunks' metadata", func(t *testing.T) {
		d, job := jobOf(uploadOf("all", everything))
		got := stored(t, acme, d)[0].Metadata.AsMap()
		for key, want := range map[string]any{
			"documentTitle": "The harbour", "sectionSummary": "About a harbour.", "excerptKeywords": "harbour, gates", "gates": 2.0, "team": "blue",
		} {
			if got[key] != want {
				t.Errorf("%s is %v, want %v", key, got[key], want)
			}
		}
		if e := job.Extraction; d.Status != "ready" || e.GetCalls() != 3 || e.GetInputTokens() == 0 || e.GetOutputTokens() == 0 || e.GetFailed() != 1 ||
			len(e.Failures) != 1 || e.Failures[0].Field != "questions" || e.Failures[0].Reason == "" {
			t.Errorf("%s, extraction %v", d.Status, e)
		}
		res, err := acme.VectorQuery(ctx, &ragdv1.VectorQueryRequest{
			QueryText: "gates", Filter: structpb.NewStructValue(servicetest.Object(t, map[string]any{"gates": map[string]any{"$gte": 2}, "sectionSummary": map[string]any{"$contains": "harbour"}})),
		})
		if err != nil || len(res.Sources) != 1 {
			t.Errorf("a filter on an extracted field finds %v, %v", res, err)
		}
		red := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})}))
		if res, err := red.VectorQuery(ctx, &ragdv1.VectorQueryRequest{QueryText: "gates"}); err != nil || len(res.Sources) > 0 {
			t.Errorf("metadata injected by a text exposes %v, %v", res, err)
		}
	})
	t.Run("the model is called again only for other settings", func(t *testing.T) {
		before := len(fake.Requests())
		if _, job := jobOf(uploadOf("all", everything)); len(fake.Requests()) != before || job.Extraction.GetCalls() != 3 {
			t.Errorf("%d more calls", len(fake.Requests())-before)
		}
		d, job := jobOf(uploadOf("all", map[string]any{"title": true}))
		metadata := stored(t, acme, d)[0].Metadata.AsMap()
		if d.Version != 2 || metadata["documentTitle"] != "The harbour" || metadata["sectionSummary"] != nil || job.Extraction.GetCalls() != 0 {
			t.Errorf("version %d, %v", d.Version, metadata)
		}
		if d, job = jobOf(uploadOf("all", nil)); d.Version != 3 || job.Extraction != nil {
			t.Errorf("version %d, %v", d.Version, job)
		}
	})
	t.Run("a failing provider fails no document", func(t *testing.T) {
		fake.Set(modelserver.Fault{Status: http.StatusUnauthorized})
		d, job := jobOf(uploadOf("refused", map[string]any{"model": "openai/other", "summary": true, "keywords": map[string]any{"model": ""}}))
		metadata := stored(t, acme, d)[0].Metadata.AsMap()
		if d.Status != "ready" || metadata["sectionSummary"] != nil || metadata["excerptKeywords"] == nil || job.Extraction.GetFailed() != 1 {
			t.Errorf("%v, %v, %v", d, metadata, job.Extraction)
		}
		fake.Set(modelserver.Fault{Status: http.StatusInternalServerError, Times: 1})
		d, job = jobOf(uploadOf("down", map[string]any{"model": "openai/third", "summary": true}))
		if d.Status != "ready" || stored(t, acme, d)[0].Metadata.AsMap()["sectionSummary"] == nil || job.Attempts != 2 || job.Extraction.GetCalls() != 2 {
			t.Errorf("%v, %v", d, job)
		}
		fake.Set(modelserver.Fault{})
	})
	t.Run("of an index's uploads by default", func(t *testing.T) {
		_, err := acme.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "titled", Extract: servicetest.Object(t, map[string]any{"summery": true})})
		if fieldOf(err) != "extract.summery" {
			t.Errorf("a misspelt option: %v", err)
		}
		made, err := acme.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "titled", Extract: servicetest.Object(t, map[string]any{"title": true})})
		if err != nil || made.GetExtract().GetFields()["title"] == nil {
			t.Fatalf("%v, %v", made, err)
		}
		titleOf := func(uri string, extract *structpb.Struct) any {
			t.Helper()
			res, err := acme.UploadDocument(ctx, &ragdv1.UploadDocumentRequest{IndexName: "titled", Uri: uri, Source: servicetest.Text(body), ContentType: "text/markdown", Extract: extract})
			if err != nil {
				t.Fatal(err)
			}
			acme.Await(t, "titled", res.Job.JobId, res.Document.DocumentId)
			chunks, err := acme.ListChunks(ctx, &ragdv1.ListChunksRequest{IndexName: "titled", DocumentId: res.Document.DocumentId})
			if err != nil {
				t.Fatal(err)
			}
			return chunks.Chunks[0].Metadata.AsMap()["documentTitle"]
		}
		if got := titleOf("a", nil); got != "The harbour" {
			t.Errorf("the default extracts %v", got)
		}
		if got := titleOf("b", &structpb.Struct{}); got != nil {
			t.Errorf("an empty object extracts %v", got)
		}
		if _, err := acme.UpdateIndex(ctx, &ragdv1.UpdateIndexRequest{IndexName: "titled", Extract: &structpb.Struct{}}); err != nil {
			t.Fatal(err)
		}
		if got := titleOf("c", nil); got != nil {
			t.Errorf("without a default it extracts %v", got)
		}
	})
	t.Run("of a text that is not stored", func(t *testing.T) {
		res, err := acme.ChunkText(ctx, &ragdv1.ChunkTextRequest{
			Source: &ragdv1.ChunkTextRequest_Text{Text: body}, ContentType: "text/markdown", Extract: servicetest.Object(t, everything),
			Metadata: servicetest.Object(t, map[string]any{"team": "blue"}),
		})
		if err != nil {
			t.Fatal(err)
		}
		got := res.Chunks[0].Metadata.AsMap()
		if got["documentTitle"] != "The harbour" || got["sectionSummary"] != "About a harbour." || got["team"] != "blue" || res.Extraction.GetFailed() != 1 {
			t.Errorf("%v, %v", got, res.Extraction)
		}
		_, err = acme.ChunkText(ctx, &ragdv1.ChunkTextRequest{
			Source: &ragdv1.ChunkTextRequest_Text{Text: strings.Repeat("word ", 1000)}, Extract: servicetest.Object(t, map[string]any{"model": "openai/m", "summary": true}),
			Chunking: &ragdv1.Chunking{MaxSize: new(int32(5)), Overlap: new(int32(0))},
		})
		if fieldOf(err) != "extract" {
			t.Errorf("a thousand calls: %v", err)
		}
	})
	for name, tc := range map[string]struct {
		extract map[string]any
		code    connect.Code
		field   string
	}{
		"an unknown option":   {map[string]any{"titel": true}, connect.CodeInvalidArgument, "extract.titel"},
		"no model":            {map[string]any{"summary": true}, connect.CodeInvalidArgument, "extract.summary.model"},
		"an unknown provider": {map[string]any{"model": "acme/m", "summary": true}, connect.CodeInvalidArgument, "extract.summary.model"},
	} {
		_, err := acme.UploadDocument(ctx, uploadOf("bad", tc.extract))
		servicetest.WantCode(t, name, err, tc.code)
		if fieldOf(err) != tc.field {
			t.Errorf("%s blames %q, want %q: %v", name, fieldOf(err), tc.field, err)
		}
	}
	plain := servicetest.New(t, service.Config{NoWorkers: true}).Tenant(t, "acme")
	plain.Index(t, "docs")
	_, err := plain.UploadDocument(ctx, uploadOf("bad", map[string]any{"model": "openai/m", "summary": true}))
	servicetest.WantCode(t, "an unconfigured provider", err, connect.CodeFailedPrecondition)
}
