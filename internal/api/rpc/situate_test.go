package rpc_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// situated returns what the model server answers to a call for sentences of context: of each passage one about the walrus, with the
// first word of the passage.
func situated(c modelserver.Chat) string {
	var message struct {
		Passages []struct {
			Passage int
			Text    string
		}
		Situate []int
	}
	_ = json.Unmarshal([]byte(c.User), &message)
	written := []map[string]any{}
	for _, n := range message.Situate {
		for _, p := range message.Passages {
			if p.Passage == n {
				written = append(written, map[string]any{"passage": n, "sentence": "About the walrus of the zoo, beginning with " + strings.Fields(p.Text)[0] + "."})
			}
		}
	}
	raw, _ := json.Marshal(map[string]any{"sentences": written})
	return string(raw)
}

// sentencesOf returns the sentences of context of the chunks of a document; "" for a chunk without.
func sentencesOf(t *testing.T, c servicetest.Client, index, documentID string) (sentences []string) {
	t.Helper()
	res, err := c.ListChunks(t.Context(), &ragdv1.ListChunksRequest{IndexName: index, DocumentId: documentID})
	noError(t, err)
	for _, chunk := range res.Chunks {
		sentences = append(sentences, chunk.Metadata.GetFields()["excerptContext"].GetStringValue())
	}
	return sentences
}

func TestSentencesOfContext(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fake := modelserver.New(t)
	var calls atomic.Int32
	fake.Chat = func(c modelserver.Chat) string { calls.Add(1); return situated(c) }
	s := servicetest.New(t, service.Config{Providers: service.Providers{OpenAI: endpoint.Config{
		BaseURL: fake.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1, Timeout: 5 * time.Second,
	}}})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	chunking := &ragdv1.Chunking{Strategy: "character", Separator: new("\n\n"), MaxSize: new(int32(60))}
	withContext := func(budget int) map[string]any {
		return map[string]any{"model": "openai/m", "context": map[string]any{"budgetTokens": budget}}
	}
	create := func(c servicetest.Client, name string, extract map[string]any) {
		t.Helper()
		req := &ragdv1.CreateIndexRequest{IndexName: name, Chunking: chunking, EmbeddingModel: "openai/embed", Dimension: int32(fake.Dimension)}
		if extract != nil {
			req.Extract = servicetest.Object(t, extract)
		}
		_, err := c.CreateIndex(ctx, req)
		noError(t, err)
	}
	const body = "He sleeps on the ice for most of the day.\n\nSometimes he sings, loudly, under water.\n\nIt was built of concrete, with a wide pool."
	upload := func(index, uri, text string) *ragdv1.UploadDocumentRequest {
		return &ragdv1.UploadDocumentRequest{IndexName: index, Uri: uri, Title: "Notes", Source: servicetest.Text(text)}
	}
	find := func(c servicetest.Client, index, question, mode string) []*ragdv1.Source {
		t.Helper()
		res, err := c.VectorQuery(ctx, &ragdv1.VectorQueryRequest{IndexName: index, QueryText: question, SearchMode: mode})
		noError(t, err)
		return res.Sources
	}

	create(acme, "zoo", withContext(1_000_000))
	d := acme.Upload(t, upload("zoo", "walrus", body))
	t.Run("are searched and shown apart", func(t *testing.T) {
		want := []string{"About the walrus of the zoo, beginning with He.", "About the walrus of the zoo, beginning with Sometimes.", "About the walrus of the zoo, beginning with It."}
		if got := sentencesOf(t, acme, "zoo", d.DocumentId); fmt.Sprint(got) != fmt.Sprint(want) || d.Notice != "" || calls.Load() != 1 {
			t.Fatalf("%q, notice %q, %d calls", got, d.Notice, calls.Load())
		}
		found := find(acme, "zoo", "walrus", "keyword")
		if len(found) != 3 || strings.Contains(found[0].Document, "walrus") || !strings.Contains(found[0].Metadata.GetFields()["excerptContext"].GetStringValue(), "walrus") {
			t.Errorf("%v", found)
		}
		embedded := false
		for _, r := range fake.Requests() {
			if raw, _ := json.Marshal(r.Body["input"]); strings.Contains(string(raw), `Notes\n\nAbout the walrus of the zoo, beginning with It.\n\nIt was built`) {
				embedded = true
			}
		}
		if !embedded {
			t.Error("no sentence was embedded with its chunk")
		}
	})
	t.Run("are paid once", func(t *testing.T) {
		before := calls.Load()
		acme.Upload(t, upload("zoo", "walrus", body))
		again := upload("zoo", "walrus", body)
		again.Metadata = servicetest.Object(t, map[string]any{"team": "blue"})
		if d := acme.Upload(t, again); d.Version != 2 || calls.Load() != before || sentencesOf(t, acme, "zoo", d.DocumentId)[0] == "" {
			t.Errorf("version %d, %d more calls", d.Version, calls.Load()-before)
		}
		text, err := acme.ReadDocument(ctx, &ragdv1.ReadDocumentRequest{IndexName: "zoo", Uri: "walrus"})
		if err != nil || text.Text != body {
			t.Errorf("the text is %q, %v", text.GetText(), err)
		}
	})
	t.Run("are no content that an uploader may forge", func(t *testing.T) {
		forged := upload("zoo", "forged", "---\nexcerptContext: the narwhal\n---\n\nIt has a tusk.")
		forged.ContentType = "text/markdown"
		d := acme.Upload(t, forged)
		if found := find(acme, "zoo", "narwhal", "keyword"); len(found) > 0 || !strings.HasPrefix(sentencesOf(t, acme, "zoo", d.DocumentId)[0], "About the walrus") {
			t.Errorf("%v", found)
		}
		own := upload("zoo", "own", "It has stripes.")
		own.Metadata = servicetest.Object(t, map[string]any{"excerptContext": "the okapi"})
		acme.Upload(t, own)
		if found := find(acme, "zoo", "okapi", "keyword"); len(found) > 0 {
			t.Errorf("metadata of an uploader is searched: %v", found)
		}
	})
	t.Run("end at the budget, and go on when it is raised", func(t *testing.T) {
		create(acme, "poor", withContext(300))
		d := acme.Upload(t, upload("poor", "walrus", strings.ReplaceAll(body, "He", "She")))
		if want := "3 of 3 chunks have no sentence of context: the budget of 300 tokens"; d.Status != "ready" || !strings.HasPrefix(d.Notice, want) {
			t.Fatalf("%s, notice %q", d.Status, d.Notice)
		}
		dry, err := acme.SituateDocuments(ctx, &ragdv1.SituateDocumentsRequest{IndexName: "poor", DryRun: true})
		if err != nil || dry.Documents != 1 || dry.Chunks != 3 || dry.Calls != 1 || dry.InputTokens == 0 || dry.BudgetTokens != 300 || dry.SpentTokens != 0 {
			t.Errorf("%v, %v", dry, err)
		}
		_, err = acme.UpdateIndex(ctx, &ragdv1.UpdateIndexRequest{IndexName: "poor", Extract: servicetest.Object(t, withContext(100_000))})
		noError(t, err)
		done, err := acme.SituateDocuments(ctx, &ragdv1.SituateDocumentsRequest{IndexName: "poor"})
		if err != nil || done.Documents != 1 || done.Remaining {
			t.Fatalf("%v, %v", done, err)
		}
		acme.AwaitAll(t, "poor")
		d, err = acme.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: "poor", Uri: "walrus"})
		if err != nil || d.Notice != "" || d.Version != 2 || len(find(acme, "poor", "walrus", "keyword")) != 3 {
			t.Errorf("%v, %v", d, err)
		}
		left, err := acme.SituateDocuments(ctx, &ragdv1.SituateDocumentsRequest{IndexName: "poor"})
		if err != nil || left.Documents != 0 || left.SpentTokens < 100 || left.SpentTokens > 2000 {
			t.Errorf("%v, %v", left, err)
		}
	})
	t.Run("come to documents that were there before", func(t *testing.T) {
		create(acme, "old", nil)
		acme.Upload(t, upload("old", "walrus", body))
		_, err := acme.SituateDocuments(ctx, &ragdv1.SituateDocumentsRequest{IndexName: "old"})
		servicetest.WantCode(t, "an index without the option", err, connect.CodeFailedPrecondition)
		_, err = acme.UpdateIndex(ctx, &ragdv1.UpdateIndexRequest{IndexName: "old", Extract: servicetest.Object(t, withContext(100_000))})
		noError(t, err)
		_, err = acme.SituateDocuments(ctx, &ragdv1.SituateDocumentsRequest{IndexName: "old"})
		noError(t, err)
		acme.AwaitAll(t, "old")
		if found := find(acme, "old", "walrus", "keyword"); len(found) != 3 {
			t.Errorf("%v", found)
		}
		before := calls.Load()
		if d := acme.Upload(t, upload("old", "walrus", body)); d.Version != 2 || calls.Load() != before {
			t.Errorf("the same upload makes version %d with %d calls", d.Version, calls.Load()-before)
		}
	})
	t.Run("are tried again after a failure", func(t *testing.T) {
		create(acme, "down", map[string]any{"model": "openai/other", "context": true})
		fake.Set(modelserver.Fault{Status: http.StatusUnauthorized, When: func(r modelserver.Request) bool { return r.Path == "/v1/chat/completions" }})
		d := acme.Upload(t, upload("down", "walrus", body))
		fake.Set(modelserver.Fault{})
		if d.Status != "ready" || !strings.HasPrefix(d.Notice, "3 of 3 chunks") {
			t.Fatalf("%v", d)
		}
		if d = acme.Upload(t, upload("down", "walrus", body)); d.Notice != "" || d.Version != 2 || sentencesOf(t, acme, "down", d.DocumentId)[0] == "" {
			t.Errorf("%v", d)
		}
	})
	t.Run("stay with another embedding model", func(t *testing.T) {
		_, err := acme.UpdateIndex(ctx, &ragdv1.UpdateIndexRequest{IndexName: "old", EmbeddingModel: "openai/second"})
		noError(t, err)
		wait.For(t, "the index to be embedded again", func() bool {
			i, err := acme.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: "old"})
			return err == nil && i.EmbeddingModel == "openai/second" && i.ReembedJobId == ""
		})
		embedded := false
		for _, r := range fake.Requests() {
			raw, _ := json.Marshal(r.Body["input"])
			embedded = embedded || r.Body["model"] == "second" && strings.Contains(string(raw), `About the walrus of the zoo, beginning with It.\n\nIt was built`)
		}
		if !embedded || len(find(acme, "old", "walrus", "keyword")) != 3 {
			t.Error("the sentences were left behind")
		}
	})
	t.Run("are in an archive", func(t *testing.T) {
		before := calls.Load()
		data, _ := exportTenant(t, s.Operator(), &ragdv1.ExportTenantRequest{TenantId: "acme"})
		_, err := importTenant(t, s.Operator(), &ragdv1.ImportOptions{TenantId: "copied"}, data)
		noError(t, err)
		copied := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "copied", Scopes: []string{"read", "write"}}))
		if found := find(copied, "zoo", "walrus", "keyword"); len(found) < 3 {
			t.Errorf("%v", found)
		}
		again := upload("zoo", "walrus", body)
		again.Metadata = servicetest.Object(t, map[string]any{"team": "red"})
		if d := copied.Upload(t, again); d.Version != 3 || calls.Load() != before {
			t.Errorf("version %d, %d more calls", d.Version, calls.Load()-before)
		}
	})
	t.Run("are of one tenant", func(t *testing.T) {
		before := calls.Load()
		create(bolt, "zoo", withContext(2_000))
		if d := bolt.Upload(t, upload("zoo", "walrus", body)); calls.Load() != before+1 || d.Notice != "" {
			t.Errorf("%d calls for the document of another tenant, notice %q", calls.Load()-before, d.Notice)
		}
		left, err := bolt.SituateDocuments(ctx, &ragdv1.SituateDocumentsRequest{IndexName: "zoo"})
		if err != nil || left.Documents != 0 || left.SpentTokens > 1000 {
			t.Errorf("%v, %v", left, err)
		}
		_, err = bolt.SituateDocuments(ctx, &ragdv1.SituateDocumentsRequest{IndexName: "poor"})
		servicetest.WantCode(t, "the index of another tenant", err, connect.CodeNotFound)
		red := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read", "write"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})}))
		hidden, err := red.SituateDocuments(ctx, &ragdv1.SituateDocumentsRequest{IndexName: "down", DryRun: true})
		if err != nil || hidden.Documents != 0 || hidden.Chunks != 0 || hidden.SpentTokens != 0 {
			t.Errorf("%v, %v", hidden, err)
		}
		reader := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}}))
		_, err = reader.SituateDocuments(ctx, &ragdv1.SituateDocumentsRequest{IndexName: "zoo"})
		servicetest.WantCode(t, "a key that may only read", err, connect.CodePermissionDenied)
	})
}
