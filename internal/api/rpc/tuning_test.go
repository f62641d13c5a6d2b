package rpc_test

import (
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

const tunedTopics = 60

// topicName is a word of a topic that is in no other topic's.
func topicName(n int) string { return fmt.Sprintf("x%c%cz", 'a'+n/26, 'a'+n%26) }

// tuned starts a service with an index of a tenant in which each topic has two documents: one that answers its question
// in other words, whose embedding is that of the question, and one with the words of the question, whose embedding is far off. The
// first are relevant to the questions of the set topics.
func tuned(t *testing.T, config service.Config) (*servicetest.Service, servicetest.Client) {
	t.Helper()
	ai := modelserver.New(t)
	ai.Dimension = tunedTopics + 1
	ai.Embed = func(text string) []float32 {
		v := make([]float32, ai.Dimension)
		for n := range tunedTopics {
			if strings.Contains(text, topicName(n)) && !strings.Contains(text, "merely") {
				v[n] = 1
				return v
			}
		}
		v[tunedTopics] = 1
		return v
	}
	config.Providers.OpenAI = endpoint.Config{BaseURL: ai.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1}
	s := servicetest.New(t, config)
	c := s.Tenant(t, "acme")
	need(t)(c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", EmbeddingModel: "openai/some-model"}))
	var documents []*ragdv1.UploadDocumentRequest
	var questions []*ragdv1.Question
	for n := range tunedTopics {
		name := topicName(n)
		documents = append(documents,
			&ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: name + "-answer", Source: servicetest.Text("All of it is in volume v" + name + " and nowhere else.")},
			&ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: name + "-words", Source: servicetest.Text("This one merely mentions mending " + name + " and harbours.")},
		)
		questions = append(questions, &ragdv1.Question{QuestionId: name, Text: "mending " + name, Relevant: []*ragdv1.Relevant{{Uri: name + "-answer"}}})
	}
	c.UploadAll(t, documents)
	c.AwaitAll(t, "docs")
	need(t)(c.CreateQuestionSet(t.Context(), &ragdv1.CreateQuestionSetRequest{SetName: "topics", IndexName: "docs", Questions: questions}))
	return s, c
}

// tuneNow tunes the index docs by the set topics.
func tuneNow(t *testing.T, c servicetest.Client, adopt bool) *ragdv1.Evaluation {
	t.Helper()
	return awaitEvaluation(t, c, need(t)(c.TuneIndex(t.Context(), &ragdv1.TuneIndexRequest{IndexName: "docs", SetName: "topics", Adopt: adopt, Label: "by topics"})).(*ragdv1.Evaluation))
}

func tuningOf(t *testing.T, c servicetest.Client) *ragdv1.IndexTuning {
	t.Helper()
	return need(t)(c.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "docs"})).(*ragdv1.Index).GetTuning()
}

func TestAnIndexIsTunedByJudgedQuestions(t *testing.T) {
	t.Parallel()
	_, c := tuned(t, service.Config{})
	ctx := t.Context()
	ask := func(hybrid *ragdv1.Hybrid) *ragdv1.VectorQueryResponse {
		t.Helper()
		return need(t)(c.VectorQuery(ctx, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "mending " + topicName(3), Hybrid: hybrid, Explain: true})).(*ragdv1.VectorQueryResponse)
	}
	before := ask(nil)
	if first := before.GetSources()[0].GetUri(); first != topicName(3)+"-words" {
		t.Fatalf("found %s first before the tuning", first)
	}
	_, err := c.RestoreTuning(ctx, &ragdv1.RestoreTuningRequest{IndexName: "docs"})
	servicetest.WantCode(t, "RestoreTuning before the first", err, connect.CodeFailedPrecondition)

	dry := tuneNow(t, c, false)
	o := dry.GetTuningOutcome()
	if o.GetAdopted() || o.GetVectorLogOdds() <= 0 || o.GetPresentVectorLogOdds() != 0 || o.GetChosenCount()+o.GetComparedCount() != tunedTopics ||
		o.GetDifference().GetName() != "ndcg@10" || o.GetDifference().GetLow() <= 0 || o.GetDifference().GetSignTest().GetWins() != o.GetComparedCount() {
		t.Errorf("without adopt: %v", o)
	}
	if len(o.GetCandidates()) != 11 || o.GetCandidates()[0].GetVectorLogOdds() != -3 {
		t.Errorf("tried %v", o.GetCandidates())
	}
	if dry.GetTuning() == nil || dry.GetTuning().GetAdopt() || dry.GetLabel() != "by topics" || measured(dry)["ndcg@10"] >= 1 {
		t.Errorf("the evaluation is %v", dry)
	}
	if found := tuningOf(t, c); found != nil {
		t.Errorf("a tuning without adopt is stored: %v", found)
	}

	adopted := tuneNow(t, c, true)
	value := adopted.GetTuningOutcome().GetVectorLogOdds()
	if !adopted.GetTuningOutcome().GetAdopted() || value != o.GetVectorLogOdds() {
		t.Fatalf("with adopt: %v, after %v", adopted.GetTuningOutcome(), o)
	}
	stored := tuningOf(t, c)
	if stored.GetVectorLogOdds() != value || stored.GetSetName() != "topics" || stored.GetEvaluationId() != adopted.GetEvaluationId() || stored.GetAdoptTime().AsTime().IsZero() {
		t.Errorf("stored %v", stored)
	}
	after := ask(nil)
	if after.GetSources()[0].GetUri() != topicName(3)+"-answer" || after.GetExplain().GetVectorLogOdds() != value || after.GetExplain().GetCalibration() == before.GetExplain().GetCalibration() {
		t.Errorf("with the tuning: %v, %v", after.GetSources()[0].GetUri(), after.GetExplain())
	}
	none, half := 0.0, 0.5
	for _, own := range []*ragdv1.Hybrid{{VectorLogOdds: &none}, {VectorWeight: &half}, {Fusion: "rrf"}} {
		if got := ask(own).GetExplain().GetVectorLogOdds(); got != 0 {
			t.Errorf("%v: the tuning adds %v to what the query sets", own, got)
		}
	}
	// Asked again, nothing is better than the present value.
	if again := tuneNow(t, c, true).GetTuningOutcome(); again.GetAdopted() || again.GetVectorLogOdds() != value || again.GetPresentVectorLogOdds() != value {
		t.Errorf("a second tuning: %v", again)
	}
	for _, want := range []float64{0, value, 0, value} {
		res, err := c.RestoreTuning(ctx, &ragdv1.RestoreTuningRequest{IndexName: "docs"})
		if err != nil || res.GetTuning().GetVectorLogOdds() != want || tuningOf(t, c).GetVectorLogOdds() != want || ask(nil).GetExplain().GetVectorLogOdds() != want {
			t.Errorf("RestoreTuning = %v, %v, want %v", res, err, want)
		}
	}
}

// A tuning belongs to the embeddings that were judged and to the contents.
func TestATuningEndsWithItsEmbeddingsAndContents(t *testing.T) {
	t.Parallel()
	_, c := tuned(t, service.Config{})
	ctx := t.Context()
	tuneNow(t, c, true)
	if tuningOf(t, c) == nil {
		t.Fatal("no tuning was adopted")
	}
	started := need(t)(c.UpdateIndex(ctx, &ragdv1.UpdateIndexRequest{IndexName: "docs", EmbeddingModel: "openai/another-model"})).(*ragdv1.Index)
	if last := awaitJob(t, c, started.GetReembedJobId()); last.GetStatus() != "succeeded" {
		t.Fatalf("the job ended as %v", last)
	}
	if found := tuningOf(t, c); found != nil {
		t.Errorf("with other embeddings the index is tuned by %v", found)
	}
	need(t)(c.TruncateIndex(ctx, &ragdv1.TruncateIndexRequest{IndexName: "docs"}))
	_, err := c.RestoreTuning(ctx, &ragdv1.RestoreTuningRequest{IndexName: "docs"})
	servicetest.WantCode(t, "RestoreTuning of an empty index", err, connect.CodeFailedPrecondition)
}

func TestWhoMayTuneAnIndex(t *testing.T) {
	t.Parallel()
	s, c := tuned(t, service.Config{})
	ctx := t.Context()
	tuneNow(t, c, true)
	want := tuningOf(t, c)
	other := s.Tenant(t, "bolt")
	key := func(req *ragdv1.CreateApiKeyRequest) servicetest.Client {
		req.TenantId = "acme"
		return s.Client(s.Key(t, req))
	}
	for name, by := range map[string]struct {
		client servicetest.Client
		code   connect.Code
	}{
		"another tenant":         {other, connect.CodeNotFound},
		"a reader":               {key(&ragdv1.CreateApiKeyRequest{Scopes: []string{"read"}}), connect.CodePermissionDenied},
		"a mandatory filter":     {key(&ragdv1.CreateApiKeyRequest{Scopes: []string{"admin"}, MandatoryFilter: servicetest.Object(t, map[string]any{"a": 1})}), connect.CodePermissionDenied},
		"a key of another index": {key(&ragdv1.CreateApiKeyRequest{Scopes: []string{"admin"}, Indexes: names("faq")}), connect.CodeNotFound},
	} {
		_, err := by.client.TuneIndex(ctx, &ragdv1.TuneIndexRequest{IndexName: "docs", SetName: "topics", Adopt: true})
		servicetest.WantCode(t, "TuneIndex by "+name, err, by.code)
		_, err = by.client.RestoreTuning(ctx, &ragdv1.RestoreTuningRequest{IndexName: "docs"})
		servicetest.WantCode(t, "RestoreTuning by "+name, err, by.code)
	}
	if got := tuningOf(t, c); got.GetEvaluationId() != want.GetEvaluationId() {
		t.Errorf("the tuning was changed to %v", got)
	}
	// The same names of another tenant are its own.
	need(t)(other.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "docs", EmbeddingModel: "openai/some-model"}))
	if found := tuningOf(t, other); found != nil {
		t.Errorf("another tenant's index is tuned: %v", found)
	}
	_, err := other.TuneIndex(ctx, &ragdv1.TuneIndexRequest{IndexName: "docs", SetName: "topics"})
	servicetest.WantCode(t, "TuneIndex by another tenant's set", err, connect.CodeNotFound)

	// An archive keeps it.
	data, _ := exportTenant(t, s.Operator(), &ragdv1.ExportTenantRequest{TenantId: "acme"})
	need(t)(importTenant(t, s.Operator(), &ragdv1.ImportOptions{TenantId: "copy"}, data))
	copied := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "copy", Scopes: []string{"write"}}))
	if got := tuningOf(t, copied); got.GetVectorLogOdds() != want.GetVectorLogOdds() || got.GetEvaluationId() != want.GetEvaluationId() {
		t.Errorf("of an archive comes the tuning %v, want %v", got, want)
	}
}

func TestATuningNeedsEnoughReviewedQuestions(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	c := s.Tenant(t, "acme")
	c.Index(t, "docs")
	var questions []*ragdv1.Question
	for n := range 60 {
		q := &ragdv1.Question{QuestionId: topicName(n), Text: topicName(n), Answer: "an answer"}
		switch {
		case n >= 50:
			q.Answer, q.Unanswerable = "", true
		case n >= 35:
			q.Drafted = true
		}
		questions = append(questions, q)
	}
	put := func(name string, questions []*ragdv1.Question) {
		need(t)(c.CreateQuestionSet(t.Context(), &ragdv1.CreateQuestionSetRequest{SetName: name, IndexName: "docs", Questions: questions}))
	}
	put("few", questions)
	var same []*ragdv1.Question // all in one half
	for n := range 45 {
		same = append(same, &ragdv1.Question{QuestionId: topicName(n), Text: "the  " + strings.Repeat(" ", n) + "same", Answer: "an answer"})
	}
	put("same", same)
	for set, want := range map[string]string{"few": "has 35 questions that say what is relevant and are not drafts, a tuning needs 40", "same": "a tuning needs 10 in each"} {
		_, err := c.TuneIndex(t.Context(), &ragdv1.TuneIndexRequest{IndexName: "docs", SetName: set})
		servicetest.WantCode(t, "TuneIndex by the set "+set, err, connect.CodeFailedPrecondition)
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("by the set %s: %v, want %q", set, err, want)
		}
	}
	_, err := c.TuneIndex(t.Context(), &ragdv1.TuneIndexRequest{SetName: "few"})
	servicetest.WantCode(t, "TuneIndex without an index", err, connect.CodeInvalidArgument)
}
