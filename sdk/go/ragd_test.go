package ragd_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	ragd "github.com/ragdhq/ragd/sdk/go"
)

const (
	gate   = "# Gate\n\nThe gate opens two hours before high water. The keeper is Mara Holt.\n"
	keeper = "# Mara Holt\n\nShe keeps the sluice since 1998 and lives in Otley.\n"
)

// start starts a service with the tenant acme and returns a client of it.
func start(t *testing.T, config service.Config) (*servicetest.Service, *ragd.Client) {
	t.Helper()
	s := servicetest.New(t, config)
	s.Tenant(t, "acme")
	return s, connectTo(t, ragd.Options{URL: s.URL, APIKey: s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme"})})
}

func connectTo(t *testing.T, o ragd.Options) *ragd.Client {
	t.Helper()
	client, err := ragd.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// A client has a field for each service of the API.
func TestAClientCallsEveryService(t *testing.T) {
	t.Parallel()
	client := reflect.ValueOf(connectTo(t, ragd.Options{URL: "http://127.0.0.1:8484"})).Elem()
	has := map[string]bool{}
	for field, value := range client.Fields() {
		if field.IsExported() && !value.IsNil() {
			has[field.Type.Name()] = true
		}
	}
	protoregistry.GlobalFiles.RangeFilesByPackage("ragd.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			if name := file.Services().Get(i).Name(); !has[string(name)+"Client"] {
				t.Errorf("no field of a client calls the %s", name)
			}
		}
		return true
	})
}

func TestFirstFiveMinutes(t *testing.T) {
	t.Parallel()
	_, client := start(t, service.Config{})
	ctx, docs := t.Context(), client.Index("docs")
	if _, err := docs.Create(ctx, nil); err != nil {
		t.Fatal(err)
	}
	folder := fstest.MapFS{".git/config": {Data: []byte("secret")}, "gate.md": {Data: []byte(gate)}, "people/keeper.md": {Data: []byte(keeper)}}
	for n := range 48 {
		folder[fmt.Sprintf("berths/%02d.md", n)] = &fstest.MapFile{Data: fmt.Appendf(nil, "# Berth %d\n\nBerth %d takes ships of %d metres.\n", n, n, n+10)}
	}
	var progress int
	for uploaded, err := range docs.UploadFolder(ctx, folder, ragd.Upload{URI: "notes", Metadata: map[string]any{"team": "harbour"}, Progress: func(ragd.Progress) { progress++ }}) {
		if err != nil || uploaded.Document.GetStatus() != "ready" {
			t.Fatal(uploaded, err)
		}
	}
	if index, err := docs.Describe(ctx); err != nil || index.GetDocumentCount() != 50 || progress < 150 {
		t.Fatalf("%v, %v, %d reports of progress", index, err, progress)
	}
	found, err := docs.Query(ctx, "when does the gate open?", &ragdv1.VectorQueryRequest{TopK: new(int32(1))})
	if err != nil || len(found.GetSources()) != 1 || found.GetSources()[0].GetUri() != "notes/gate.md" {
		t.Errorf("query: %v, %v", found, err)
	}
	if found, err := docs.Query(ctx, "when does the gate open?", &ragdv1.VectorQueryRequest{MaxTokens: new(int32(512))}); err != nil || found.GetBudget().GetUsedTokens() == 0 || found.GetBudget().GetUsedTokens() > 512 {
		t.Errorf("query with a budget: %v, %v", found, err)
	}
	filter, err := structpb.NewValue(map[string]any{"team": "nobody"})
	if err != nil {
		t.Fatal(err)
	}
	if found, err := docs.Query(ctx, "gate", &ragdv1.VectorQueryRequest{Filter: filter}); err != nil || len(found.GetSources()) != 0 {
		t.Errorf("query with a filter: %v, %v", found, err)
	}
	walked, err := docs.Graph(ctx, "Who keeps the gate, and where does the keeper live?", nil)
	if err != nil || !strings.Contains(walked.GetRelevantContext(), "Otley") {
		t.Errorf("graph: %v, %v", walked, err)
	}
	var uris []string
	for d, err := range docs.Documents(ctx, &ragdv1.ListDocumentsRequest{Search: "e", OrderBy: "uri desc"}) {
		if err != nil {
			t.Fatal(err)
		}
		uris = append(uris, d.GetUri())
	}
	if len(uris) != 50 || uris[0] != "notes/people/keeper.md" {
		t.Errorf("documents %v", uris)
	}
	for chunk, err := range docs.Chunks(ctx, found.GetSources()[0].GetDocumentId()) {
		if err != nil || chunk.GetOrdinal() != 0 {
			t.Errorf("chunk %v, %v", chunk, err)
		}
	}
	if text, err := docs.Read(ctx, found.GetSources()[0].GetDocumentId()); err != nil || text != gate {
		t.Errorf("read %q, %v", text, err)
	}
	if n, err := docs.Delete(ctx, "notes/gate.md", "notes/none.md"); n != 1 || err != nil {
		t.Errorf("deleted %d, %v", n, err)
	}
	if vectors, err := client.Embed(ctx, "", "a", "b"); err != nil || len(vectors) != 2 || len(vectors[1]) != 512 {
		t.Errorf("embeddings: %v", err)
	}
	bound := ragd.WithContext(ctx, map[string]any{"filter": map[string]any{"$uri": "notes/berths/17.md"}})
	if found, err := docs.Query(bound, "which berth?", nil); err != nil || len(found.GetSources()) != 1 {
		t.Errorf("in a request context: %v, %v", found, err)
	}
	if err := docs.Drop(ctx); err != nil {
		t.Error(err)
	}
}

// Several indexes are asked in one order, and several questions in one call.
func TestSeveralIndexesAndQuestions(t *testing.T) {
	t.Parallel()
	_, client := start(t, service.Config{})
	ctx := t.Context()
	for name, text := range map[string]string{"a-gates": gate, "a-people": keeper, "b": gate} {
		if _, err := client.Index(name).Create(ctx, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Index(name).Upload(ctx, strings.NewReader(text), ragd.Upload{URI: name + ".md"}); err != nil {
			t.Fatal(err)
		}
	}
	found, err := client.Query(ctx, "who is Mara Holt?", &ragdv1.VectorQueryRequest{IndexNames: []string{"a-*"}})
	if err != nil || len(found.GetSources()) != 2 || found.GetQueryId() == "" {
		t.Fatal(found, err)
	}
	if all, err := client.Query(ctx, "who is Mara Holt?", nil); err != nil || len(all.GetSources()) != 2 || all.GetSources()[0].GetIndexName() == "" {
		t.Error(all, err)
	}
	if walked, err := client.Graph(ctx, "who is Mara Holt?", &ragdv1.GraphRagRequest{IndexNames: []string{"a-*"}}); err != nil || len(walked.GetSources()) == 0 || !strings.HasPrefix(walked.GetSources()[0].GetIndexName(), "a-") {
		t.Error(walked, err)
	}
	answers, err := client.Batch(ctx, &ragdv1.VectorQueryRequest{IndexName: "b", QueryText: "gate"}, &ragdv1.VectorQueryRequest{IndexName: "none", QueryText: "gate"})
	if err != nil || len(answers) != 2 || len(answers[0].GetAnswer().GetSources()) != 1 || answers[1].GetError().GetCode() != "not_found" {
		t.Error(answers, err)
	}
}

func TestLargeDocumentsAreSentInPieces(t *testing.T) {
	t.Parallel()
	_, client := start(t, service.Config{NoWorkers: true})
	docs := client.Index("docs")
	if _, err := docs.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("The tide turns twice a day.\n"), 400_000)
	var sent []int64
	uploaded, err := docs.Upload(t.Context(), bytes.NewReader(content), ragd.Upload{URI: "book.txt", NoWait: true, Progress: func(p ragd.Progress) { sent = append(sent, p.Sent) }})
	if err != nil || int(uploaded.Document.GetByteSize()) != len(content) || len(sent) < 10 || sent[len(sent)-1] != int64(len(content)) {
		t.Fatalf("%v, %v, sent %v", uploaded, err, sent)
	}
	if _, err := client.Documents.CancelJob(t.Context(), &ragdv1.CancelJobRequest{JobId: uploaded.Job.GetJobId()}); err != nil {
		t.Fatal(err)
	}
	var failed *ragd.JobError
	if _, err := client.Wait(t.Context(), uploaded.Job.GetJobId(), nil); !errors.As(err, &failed) || failed.Job.GetStatus() != "cancelled" {
		t.Errorf("waiting for a cancelled job: %v", err)
	}
	var refused *ragd.Error
	if _, err := docs.Upload(t.Context(), bytes.NewReader(content), ragd.Upload{URI: strings.Repeat("x", 5000), NoWait: true}); !errors.As(err, &refused) || refused.Code != connect.CodeInvalidArgument || len(refused.Violations) != 1 {
		t.Errorf("a long uri: %v", err)
	}
}

func TestAnswersAreStreamed(t *testing.T) {
	t.Parallel()
	models := modelserver.New(t)
	models.Script(modelserver.Turn{Calls: []modelserver.Call{{Name: "vector_query", Arguments: `{"indexName": "docs", "queryText": "gate"}`}}}, modelserver.Turn{Text: "Before high water [1]."})
	config := service.Config{}
	config.Providers.OpenAI = endpoint.Config{BaseURL: models.URL + "/v1", APIKey: modelserver.Key, Models: []string{"*"}}
	_, client := start(t, config)
	if _, err := client.Index("docs").Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Index("docs").UploadText(t.Context(), gate, ragd.Upload{URI: "gate.md"}); err != nil {
		t.Fatal(err)
	}
	definition, err := structpb.NewStruct(map[string]any{"description": "Answers.", "model": "openai/gpt-test"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Agents.CreateAgent(t.Context(), &ragdv1.CreateAgentRequest{AgentName: "helper", Definition: definition}); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	var answer *ragdv1.AskAgentResponse
	for event, err := range client.Ask(t.Context(), "helper", "When does the gate open?", "") {
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(event.GetText())
		answer = event.GetAnswer()
	}
	if !strings.Contains(text.String(), "Before high water") || len(answer.GetCitations()) != 1 || answer.GetCitations()[0].GetUri() != "gate.md" {
		t.Errorf("%q, %v", text.String(), answer)
	}
	for _, err := range client.Ask(t.Context(), "nobody", "a", "") {
		var refused *ragd.Error
		if !errors.As(err, &refused) || refused.Code != connect.CodeNotFound {
			t.Errorf("an unknown agent: %v", err)
		}
	}
}

func TestErrorsAreTyped(t *testing.T) {
	t.Parallel()
	s, client := start(t, service.Config{NoWorkers: true})
	_, err := client.Index("none").Query(t.Context(), "a", nil)
	var refused *ragd.Error
	if !errors.As(err, &refused) || refused.Code != connect.CodeNotFound || refused.RequestID == "" || connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("an unknown index: %#v", err)
	}
	if _, err := client.Index("docs").Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	_, err = client.Index("docs").Query(t.Context(), "a", &ragdv1.VectorQueryRequest{TopK: new(int32(5000))})
	if !errors.As(err, &refused) || len(refused.Violations) != 1 || refused.Violations[0].Field != "topK" {
		t.Errorf("topK: %#v", err)
	}
	_, err = connectTo(t, ragd.Options{URL: s.URL, APIKey: "ragd_wrong"}).Index("docs").Describe(t.Context())
	if !errors.As(err, &refused) || refused.Code != connect.CodeUnauthenticated || strings.Contains(err.Error(), "ragd_wrong") {
		t.Errorf("a wrong key: %v", err)
	}
	for _, o := range []ragd.Options{{}, {URL: "localhost:8484"}, {URL: "ftp://a"}, {URL: "http://a", APIKey: "secret\n"}} {
		if _, err := ragd.New(o); !errors.As(err, &refused) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v: %v", o, err)
		}
	}
}

// answers starts a server that refuses with a code so many times, and returns how often it was called.
func answers(t *testing.T, code, retryAfter string, times int) (url string, calls func() int, last func() http.Header) {
	t.Helper()
	made, headers := make(chan int, 1), make(chan http.Header, 1)
	made <- 0
	headers <- nil
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := <-made
		made <- n + 1
		<-headers
		headers <- r.Header
		w.Header().Set("Content-Type", "application/json")
		if n >= times {
			w.Header().Set("Content-Type", "application/proto")
			return // an empty answer
		}
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		_ = json.NewEncoder(w).Encode(map[string]string{"code": code, "message": "not now"})
	}))
	t.Cleanup(server.Close)
	return server.URL, func() int { n := <-made; made <- n; return n }, func() http.Header { h := <-headers; headers <- h; return h }
}

func TestCallsAreRepeatedWhereThatDoesNoHarm(t *testing.T) {
	t.Parallel()
	retry := ragd.Retry{First: time.Millisecond}
	query := func(c *ragd.Client) error {
		_, err := c.Index("docs").Query(t.Context(), "a", nil)
		return err
	}
	upload := func(uri string) func(c *ragd.Client) error {
		return func(c *ragd.Client) error {
			_, err := c.Index("docs").UploadText(t.Context(), "a", ragd.Upload{URI: uri, NoWait: true})
			return err
		}
	}
	for name, tc := range map[string]struct {
		code, retryAfter string
		times, want      int
		call             func(*ragd.Client) error
	}{
		"a question":                    {"unavailable", "", 2, 3, query},
		"a question that never works":   {"unavailable", "", 99, 5, query},
		"a quota":                       {"resource_exhausted", "", 99, 1, query},
		"a limit that passes":           {"resource_exhausted", "1", 1, 2, query},
		"a limit that passes next hour": {"resource_exhausted", "3600", 99, 1, query},
		"a mistake":                     {"invalid_argument", "", 99, 1, query},
		"an upload with a uri":          {"unavailable", "", 1, 2, upload("a.md")},
		"an upload without a uri":       {"unavailable", "", 1, 2, upload("")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, calls, _ := answers(t, tc.code, tc.retryAfter, tc.times)
			err := tc.call(connectTo(t, ragd.Options{URL: url, Retry: retry}))
			if calls() != tc.want || (err == nil) != (tc.times < 99) {
				t.Errorf("%d calls, want %d; error %v", calls(), tc.want, err)
			}
		})
	}
}

// Where a second call would do harm, all attempts have one key; the program may give it.
func TestRepeatedCallsHaveAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	upload := func(o ragd.Options, uri, key string) string {
		url, calls, last := answers(t, "unavailable", "", 1)
		o.URL, o.Retry.First = url, time.Millisecond
		ctx := t.Context()
		if key != "" {
			ctx = ragd.WithIdempotencyKey(ctx, key)
		}
		_, err := connectTo(t, o).Index("docs").UploadText(ctx, "a", ragd.Upload{URI: uri, NoWait: true})
		if (err == nil) != (o.Retry.Max >= 0) || calls() != map[bool]int{true: 2, false: 1}[err == nil] {
			t.Errorf("%d calls, %v", calls(), err)
		}
		return last().Get("Idempotency-Key")
	}
	one, other := upload(ragd.Options{}, "", ""), upload(ragd.Options{}, "", "")
	if one == "" || one == other {
		t.Errorf("keys are %q and %q", one, other)
	}
	for name, got := range map[string]string{"mine": upload(ragd.Options{}, "", "mine"), "yours": upload(ragd.Options{Retry: ragd.Retry{Max: -1}}, "a.md", "yours")} {
		if got != name {
			t.Errorf("the key is %q, want %q", got, name)
		}
	}
	if got := upload(ragd.Options{}, "a.md", ""); got != "" {
		t.Errorf("a call that does no harm has the key %q", got)
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	url, _, last := answers(t, "", "", 0)
	client := connectTo(t, ragd.Options{URL: url + "/", APIKey: "key", Tenant: "acme", Context: map[string]any{"topK": 3}, Header: http.Header{"X-Team": {"a"}}})
	if _, err := client.Index("docs").Query(ragd.WithContext(t.Context(), map[string]any{"indexName": "b"}), "a", nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"Authorization": "Bearer key", "Ragd-Tenant": "acme", "X-Team": "a", "Ragd-Context": `{"indexName":"b","topK":3}`} {
		if got := last().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
