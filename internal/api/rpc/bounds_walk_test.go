package rpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/rpc"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// target has the names and ids of an index and of what belongs to it.
type target map[string]string

// secretText is in all texts of the hidden index.
const secretText = "kumquat"

// hide makes an index that a bound key may not use, with all that can belong to it.
func hide(t *testing.T, c servicetest.Client) target {
	t.Helper()
	ctx := t.Context()
	c.Index(t, "zebra-secret")
	doc := c.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "zebra-secret", Uri: "kumquat-doc1.txt", Title: "The kumquat plan", Source: servicetest.Text("The kumquat plan is to plant trees."),
		Metadata: servicetest.Object(t, map[string]any{"fruit": "kumquat", "of": "kumquat"}),
	})
	_, err := c.CreateRankingProfile(ctx, &ragdv1.CreateRankingProfileRequest{
		IndexName: "zebra-secret", ProfileName: "kumquat-fresh1", Description: "kumquats first", Ranking: &ragdv1.Ranking{Diversity: new(0.1)},
	})
	noError(t, err)
	alert, err := c.CreateAlert(ctx, &ragdv1.CreateAlertRequest{IndexName: "zebra-secret", QueryText: "kumquat trees", SearchMode: "keyword"})
	noError(t, err)
	jobs, err := c.ListJobs(ctx, &ragdv1.ListJobsRequest{})
	noError(t, err)
	_, err = c.CreateTool(ctx, &ragdv1.CreateToolRequest{
		ToolName: "kumquat_tool1", Kind: "vector_query", Description: "Finds kumquats.", Settings: servicetest.Object(t, map[string]any{"indexName": "zebra-secret"}),
	})
	noError(t, err)
	_, err = c.CreateQuestionSet(ctx, &ragdv1.CreateQuestionSetRequest{
		SetName: "kumquat-set1", IndexName: "zebra-secret", Description: "about kumquats",
		Questions: []*ragdv1.Question{{QuestionId: "q1", Text: "Where do kumquats grow?", Relevant: []*ragdv1.Relevant{{Uri: "kumquat-doc1.txt"}}}},
	})
	noError(t, err)
	run, err := c.StartEvaluation(ctx, &ragdv1.StartEvaluationRequest{SetName: "kumquat-set1"})
	noError(t, err)
	watch, err := c.WatchJob(ctx, &ragdv1.WatchJobRequest{JobId: run.Job.JobId})
	noError(t, err)
	for watch.Receive() { // until the job has ended
	}
	noError(t, watch.Err())
	key, err := c.CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{DisplayName: "kumquat key", Scopes: []string{"read"}})
	noError(t, err)
	return target{
		"index_name": "zebra-secret", "document_id": doc.DocumentId, "job_id": jobs.Jobs[0].JobId, "set_name": "kumquat-set1",
		"evaluation_id": run.EvaluationId, "tool_name": "kumquat_tool1", "profile_name": "kumquat-fresh1", "uri": "kumquat-doc1.txt", "api_key_id": key.ApiKey.ApiKeyId,
		"alert_id": alert.AlertId,
	}
}

// absent names nothing that exists.
var absent = target{
	"index_name": "zebra-absent", "document_id": "0198c3a4-0000-7000-8000-000000000001", "job_id": "0198c3a4-0000-7000-8000-000000000002",
	"set_name": "absents-set1", "evaluation_id": "0198c3a4-0000-7000-8000-000000000003", "tool_name": "absents_tool1", "profile_name": "absents-fresh1", "uri": "absents-doc1.txt",
	"api_key_id": "abcdefghijkl", "alert_id": "0198c3a4-0000-7000-8000-000000000005",
}

// fields returns a request about the target, as JSON: every field that names something names
// that of the target, and required texts have some value.
func (to target) fields(m protoreflect.MessageDescriptor, depth int) map[string]any {
	values := map[string]any{}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if value := to.value(f, depth); value != nil {
			if f.IsList() {
				value = []any{value}
			}
			values[f.JSONName()] = value
		}
	}
	return values
}

func (to target) value(f protoreflect.FieldDescriptor, depth int) any {
	name := strings.TrimSuffix(string(f.Name()), "s")
	if name == "baseline_id" || name == "candidate_id" {
		name = "evaluation_id"
	}
	switch f.FullName() {
	case "ragd.v1.VectorQueryRequest.index_names", "ragd.v1.VectorQueryRequest.index_weights", "ragd.v1.GraphRagRequest.index_names", "ragd.v1.GraphRagRequest.index_weights":
		return nil // instead of index_name; TestSeveralIndexesKeepWalls and TestSeveralWalksKeepWalls ask with it
	}
	if f.Name() == "boosts" {
		return nil // the fields of a boost exclude each other
	}
	if f.FullName() == "ragd.v1.QueryTableRequest.plan" {
		return nil // instead of sql
	}
	if f.FullName() == "ragd.v1.RenderPageRequest.highlights" {
		return nil // an empty range is refused before the document is looked up
	}
	if f.FullName() == "ragd.v1.CountChunksRequest.query_vector" {
		return nil // is for a search; without it, the words are counted
	}
	if value, ok := to[name]; ok && f.Kind() == protoreflect.StringKind {
		return value
	}
	switch {
	case f.FullName() == "ragd.v1.CreateToolRequest.settings", f.FullName() == "ragd.v1.UpdateToolRequest.settings":
		return map[string]any{"indexName": to["index_name"]}
	case f.Name() == "ranking":
		return map[string]any{"diversity": 0.1}
	case f.FullName() == "ragd.v1.Curation.pins":
		return map[string]any{"uri": to["uri"]}
	case f.FullName() == "ragd.v1.Curation.question", f.FullName() == "ragd.v1.Synonym.terms", f.FullName() == "ragd.v1.Synonym.targets",
		f.Name() == "synonym_ids", f.Name() == "curation_ids":
		return "trees"
	case f.FullName() == "ragd.v1.CreateToolRequest.kind":
		return "vector_query"
	case f.Message() != nil && f.Message().ParentFile().Package() == "ragd.v1" && f.IsList() && depth > 0:
		return to.fields(f.Message(), depth-1)
	case f.FullName() == "ragd.v1.UploadDocumentsRequest.document", f.FullName() == "ragd.v1.CallToolStreamRequest.call":
		return to.fields(f.Message(), 0)
	case f.IsList() && f.Kind() == protoreflect.FloatKind || f.IsList() && f.Kind() == protoreflect.DoubleKind:
		return 0.5
	}
	switch f.Name() {
	case "query_text", "prefix", "text", "query", "id", "ids", "question_id", "question_ids", "texts", "document", "answer", "fingerprint":
		if f.Kind() == protoreflect.StringKind {
			return "trees"
		}
	case "sql":
		return "SELECT * FROM trees"
	case "uri_prefix":
		return to["uri"]
	case "field":
		return "of"
	case "tenant_id":
		return "acme"
	case "source":
		if f.Kind() == protoreflect.StringKind {
			return "s1"
		}
	}
	return nil
}

// encoded matches the binary form of an error's detail, which the answer has as JSON too.
var encoded = regexp.MustCompile(`"value":"[^"]*"`)

// neutral returns an answer without the names and ids of the target.
func (to target) neutral(answer string) string {
	answer = encoded.ReplaceAllString(answer, "")
	for _, name := range []string{"index_name", "document_id", "job_id", "set_name", "evaluation_id", "tool_name", "uri", "api_key_id", "profile_name", "alert_id"} {
		answer = strings.ReplaceAll(answer, to[name], "<"+name+">")
	}
	return answer
}

// call calls a method with a message in JSON and returns the status and the body of the answer.
func call(t *testing.T, s *servicetest.Service, secret, path string, streams bool, message map[string]any) (int, string) {
	t.Helper()
	body, err := json.Marshal(message)
	noError(t, err)
	contentType := "application/json"
	if streams {
		contentType = "application/connect+json"
		body = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
	}
	ctx := t.Context()
	if strings.HasSuffix(path, "/WatchEvents") { // it does not end by itself
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path, bytes.NewReader(body))
	noError(t, err)
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Authorization", "Bearer "+secret)
	res, err := http.DefaultClient.Do(req)
	if err != nil && ctx.Err() != nil {
		return http.StatusOK, ""
	}
	noError(t, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if ctx.Err() == nil {
		noError(t, err)
	}
	return res.StatusCode, string(answer)
}

// methods returns the methods of the API, those that delete or create what others need at the
// end.
func methods(t *testing.T) []protoreflect.MethodDescriptor {
	t.Helper()
	var all []protoreflect.MethodDescriptor
	for _, name := range rpc.ServiceNames() {
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
		noError(t, err)
		list := found.(protoreflect.ServiceDescriptor).Methods()
		for i := range list.Len() {
			all = append(all, list.Get(i))
		}
	}
	last := []string{"RevokeApiKey", "DeleteAlert", "DeleteEvaluation", "DeleteQuestions", "DeleteQuestionSet", "DeleteTool", "Delete", "SyncSource", "DeleteDocument", "DeleteDocuments", "TruncateIndex", "DeleteIndex",
		"CreateQuestionSet", "CreateTool", "CreateIndex"}
	slices.SortStableFunc(all, func(a, b protoreflect.MethodDescriptor) int {
		return slices.Index(last, string(a.Name())) - slices.Index(last, string(b.Name()))
	})
	return all
}

// A key that is bound to an index gets from every method the same answer for another index, and
// for what belongs to it, as for one that does not exist. The unbound key shows that the methods
// tell the two apart.
func TestNoMethodShowsABoundKeyAnotherIndex(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "faq")
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "faq", Uri: "faq.txt", Source: servicetest.Text("The faq answers questions about trees.")})
	hidden := hide(t, acme)
	admin := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}})
	bound := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}, Indexes: names("faq")})
	// Services of indexes and what belongs to them, and those of their methods that need none.
	ofIndexes := []protoreflect.Name{"IndexService", "DocumentService", "QueryService", "VectorService", "EvaluateService", "ToolService", "AlertService"}
	same := []string{"Rerank", "Embed", "RecordFeedback"} // the last takes an answer, whose name is good for one credential
	var saw []string
	for _, m := range methods(t) {
		path := "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
		streams := m.IsStreamingClient() || m.IsStreamingServer()
		ask := func(secret string, to target) (int, string) {
			message := to.fields(m.Input(), 1)
			if message["documentId"] != nil || message["documentIds"] != nil { // methods take these or uris
				delete(message, "uri")
				delete(message, "uris")
			}
			status, answer := call(t, s, secret, path, streams, message)
			return status, to.neutral(answer)
		}
		hiddenStatus, hiddenAnswer := ask(bound, hidden)
		absentStatus, absentAnswer := ask(bound, absent)
		differs := hiddenAnswer != absentAnswer && (hiddenStatus != http.StatusOK || absentStatus != http.StatusOK || streams)
		if m.Name() == "WatchEvents" { // its cursor tells the time
			differs = false
		}
		if hiddenStatus != absentStatus || differs {
			t.Errorf("%s answers a bound key\n%d %s\nfor a hidden index, and for an absent one\n%d %s", m.Name(), hiddenStatus, hiddenAnswer, absentStatus, absentAnswer)
		}
		for _, answer := range []string{hiddenAnswer, absentAnswer} {
			if strings.Contains(answer, secretText) || strings.Contains(answer, "zebra") {
				t.Errorf("%s shows a bound key %s", m.Name(), answer)
			}
		}
		hiddenStatus, hiddenAnswer = ask(admin, hidden)
		absentStatus, absentAnswer = ask(admin, absent)
		if hiddenStatus != absentStatus || hiddenAnswer != absentAnswer || strings.Contains(hiddenAnswer, secretText) || strings.Contains(hiddenAnswer, "<index_name>") {
			saw = append(saw, string(m.Name()))
		} else if slices.Contains(ofIndexes, m.Parent().Name()) && !slices.Contains(same, string(m.Name())) {
			t.Errorf("%s answers an unbound key the same for an index and an absent one, so that the test shows nothing: %d %s", m.Name(), hiddenStatus, hiddenAnswer)
		}
	}
	t.Logf("%d methods tell the index from an absent one: %v", len(saw), saw)
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
