package rpc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// harbour is a corpus of three documents, the last of which is secret.
func harbour(t *testing.T, c servicetest.Client) {
	t.Helper()
	c.Index(t, "docs")
	for uri, text := range map[string]string{
		"harbour.txt": "The harbour of Otley was opened in 1921 by the mayor. It has two docks and a crane for heavy goods from overseas.",
		"bakery.txt":  "The bakery sells bread made of rye, baked each morning before sunrise in a wood oven by three brothers.",
		"plan.txt":    "The secret plan is to sell the quarry to a consortium of investors before the end of the coming winter.",
	} {
		level := "open"
		if uri == "plan.txt" {
			level = "secret"
		}
		c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Source: servicetest.Text(text), Metadata: servicetest.Object(t, map[string]any{"level": level})})
	}
}

func harbourQuestions() []*ragdv1.Question {
	return []*ragdv1.Question{
		{QuestionId: "answer", Text: "how many docks are there", Answer: "Two docks"},
		{QuestionId: "document", Text: "bread of rye", Relevant: []*ragdv1.Relevant{{Uri: "bakery.txt"}}},
		{QuestionId: "none", Text: "zeppelin maintenance", Unanswerable: true},
		{QuestionId: "secret", Text: "secret plan for the quarry", Relevant: []*ragdv1.Relevant{{Uri: "plan.txt"}}},
		{QuestionId: "span", Text: "crane for heavy goods", Relevant: []*ragdv1.Relevant{{Uri: "harbour.txt", StartByte: proto.Uint32(50), EndByte: proto.Uint32(100)}}},
	}
}

// evaluateNow runs an evaluation to its end.
func evaluateNow(t *testing.T, c servicetest.Client, req *ragdv1.StartEvaluationRequest) *ragdv1.Evaluation {
	t.Helper()
	started := need(t)(c.StartEvaluation(t.Context(), req)).(*ragdv1.Evaluation)
	return awaitEvaluation(t, c, started)
}

func awaitEvaluation(t *testing.T, c servicetest.Client, started *ragdv1.Evaluation) *ragdv1.Evaluation {
	t.Helper()
	if last := awaitJob(t, c, started.GetJob().GetJobId()); last.GetStatus() != "succeeded" {
		t.Fatalf("the job ended as %v", last)
	}
	found, err := c.GetEvaluation(t.Context(), &ragdv1.GetEvaluationRequest{EvaluationId: started.GetEvaluationId()})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func awaitJob(t *testing.T, c servicetest.Client, jobID string) *ragdv1.Job {
	t.Helper()
	watch, err := c.WatchJob(t.Context(), &ragdv1.WatchJobRequest{JobId: jobID})
	if err != nil {
		t.Fatal(err)
	}
	var last *ragdv1.Job
	for watch.Receive() {
		last = watch.Msg()
	}
	if err := watch.Err(); err != nil {
		t.Fatal(err)
	}
	return last
}

// need returns a function that ends the test at an error.
func need(t *testing.T) func(any, error) any {
	return func(res any, err error) any {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
}

func measured(e *ragdv1.Evaluation) map[string]float64 {
	values := map[string]float64{}
	for _, m := range e.GetMeasures() {
		values[m.GetName()] = m.GetValue()
	}
	return values
}

func keywordQuery() *ragdv1.StartEvaluationRequest_Query {
	return &ragdv1.StartEvaluationRequest_Query{Query: &ragdv1.VectorQueryRequest{SearchMode: "keyword"}}
}

func TestEvaluation(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	harbour(t, c)
	ctx := t.Context()
	set, err := c.CreateQuestionSet(ctx, &ragdv1.CreateQuestionSetRequest{SetName: "town", IndexName: "docs", Questions: harbourQuestions()})
	if err != nil || set.GetQuestionCount() != 5 {
		t.Fatalf("CreateQuestionSet = %v, %v", set, err)
	}
	first := evaluateNow(t, c, &ragdv1.StartEvaluationRequest{SetName: "town", K: []int32{5, 1}, MinScore: proto.Float64(0), Settings: keywordQuery(), Label: "words"})
	for name, want := range map[string]float64{"recall@1": 1, "recall@5": 1, "ndcg@5": 1, "all@5": 1, "mrr": 1, "unanswerableAuc": 1} {
		if got, ok := measured(first)[name]; !ok || got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if p, ok := measured(first)["precision"]; !ok || p <= 0 || p > 1 || measured(first)["p50Ms"] <= 0 {
		t.Errorf("measured %v", first.GetMeasures())
	}
	if first.GetUnanswerableCount() != 1 || first.GetQuestionCount() != 5 || first.GetQuery().GetSearchMode() != "keyword" || first.GetQuery().GetIndexName() != "docs" ||
		first.GetLabel() != "words" || !slices.Equal(first.GetK(), []int32{1, 5}) || first.GetJob().GetProgress().GetDone() != 5 {
		t.Errorf("the evaluation is %v", first)
	}
	second := evaluateNow(t, c, &ragdv1.StartEvaluationRequest{
		SetName: "town", K: []int32{1, 5}, Settings: &ragdv1.StartEvaluationRequest_Graph{Graph: &ragdv1.GraphRagRequest{SearchMode: "vector"}},
	})

	t.Run("the threshold is that of the query", func(t *testing.T) {
		for _, query := range []*ragdv1.VectorQueryRequest{
			{SearchMode: "keyword", MinScore: proto.Float64(0.25)},
			{SearchMode: "keyword", DatabaseConfig: &ragdv1.DatabaseConfig{Pgvector: &ragdv1.PgVectorConfig{MinScore: proto.Float64(0.25)}}},
		} {
			e := evaluateNow(t, c, &ragdv1.StartEvaluationRequest{SetName: "town", Settings: &ragdv1.StartEvaluationRequest_Query{Query: query}})
			if _, ok := measured(e)["precision"]; !ok || e.GetMinScore() != 0.25 {
				t.Errorf("%v: the threshold is %v, measured %v", query, e.GetMinScore(), e.GetMeasures())
			}
			if _, err := c.DeleteEvaluation(ctx, &ragdv1.DeleteEvaluationRequest{EvaluationId: e.GetEvaluationId()}); err != nil {
				t.Error(err)
			}
		}
	})

	t.Run("results are listed by question", func(t *testing.T) {
		var ids []string
		for token, more := "", true; more; more = token != "" {
			page, err := c.ListEvaluationResults(ctx, &ragdv1.ListEvaluationResultsRequest{EvaluationId: first.GetEvaluationId(), PageSize: 2, PageToken: token})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page.GetResults() {
				ids = append(ids, r.GetQuestionId())
				if !r.GetUnanswerable() && (r.GetFirstRank() != 1 || len(r.GetHits()) == 0 || !r.GetHits()[0].GetRelevant() || r.TopScore == nil || len(r.GetMeasures()) != 7) {
					t.Errorf("result %v", r)
				}
			}
			token = page.GetNextPageToken()
		}
		if got := strings.Join(ids, " "); got != "answer document none secret span" {
			t.Errorf("results of %s", got)
		}
	})
	t.Run("two are compared", func(t *testing.T) {
		same, err := c.CompareEvaluations(ctx, &ragdv1.CompareEvaluationsRequest{BaselineId: first.GetEvaluationId(), CandidateId: first.GetEvaluationId()})
		if err != nil || same.GetQuestionCount() != 5 || same.GetMeasure() != "ndcg@5" || len(same.GetChanges()) != 0 {
			t.Errorf("with itself: %v, %v", same, err)
		}
		if _, err := c.PutQuestions(ctx, &ragdv1.PutQuestionsRequest{SetName: "town", Questions: []*ragdv1.Question{
			{QuestionId: "document", Text: "bread of wheat", Relevant: []*ragdv1.Relevant{{Uri: "harbour.txt"}}},
			{QuestionId: "new", Text: "rye", Answer: "rye"},
		}}); err != nil {
			t.Fatal(err)
		}
		third := evaluateNow(t, c, &ragdv1.StartEvaluationRequest{SetName: "town", Settings: keywordQuery()})
		compared, err := c.CompareEvaluations(ctx, &ragdv1.CompareEvaluationsRequest{BaselineId: second.GetEvaluationId(), CandidateId: third.GetEvaluationId()})
		if err != nil || compared.GetQuestionCount() != 4 || compared.GetLeftOutCount() != 2 {
			t.Errorf("compared %v, %v", compared, err)
		}
		for _, d := range compared.GetDifferences() {
			if !strings.HasSuffix(d.GetName(), "Ms") && d.GetName() != "unanswerableAuc" && d.GetSignTest() == nil {
				t.Errorf("difference %v", d)
			}
		}
		_, err = c.CompareEvaluations(ctx, &ragdv1.CompareEvaluationsRequest{BaselineId: first.GetEvaluationId(), CandidateId: second.GetEvaluationId(), Measure: "recall@7"})
		servicetest.WantCode(t, "an unknown measure", err, connect.CodeInvalidArgument)
	})
	t.Run("are listed newest first", func(t *testing.T) {
		page, err := c.ListEvaluations(ctx, &ragdv1.ListEvaluationsRequest{SetName: "town", PageSize: 2})
		if err != nil || len(page.GetEvaluations()) != 2 || page.GetEvaluations()[1].GetEvaluationId() != second.GetEvaluationId() {
			t.Fatalf("ListEvaluations = %v, %v", page, err)
		}
		rest, err := c.ListEvaluations(ctx, &ragdv1.ListEvaluationsRequest{SetName: "town", PageSize: 2, PageToken: page.GetNextPageToken()})
		if err != nil || len(rest.GetEvaluations()) != 1 || rest.GetEvaluations()[0].GetEvaluationId() != first.GetEvaluationId() {
			t.Errorf("the second page = %v, %v", rest, err)
		}
	})
	t.Run("wrong settings are rejected at once", func(t *testing.T) {
		for name, query := range map[string]*ragdv1.VectorQueryRequest{
			"mode":     {SearchMode: "psychic"},
			"question": {QueryText: "one of my own"},
			"topK":     {TopK: proto.Int32(3)},
			"reranker": {Reranker: &ragdv1.Reranker{Kind: "none of them"}},
		} {
			_, err := c.StartEvaluation(ctx, &ragdv1.StartEvaluationRequest{SetName: "town", Settings: &ragdv1.StartEvaluationRequest_Query{Query: query}})
			servicetest.WantCode(t, name, err, connect.CodeInvalidArgument)
		}
		_, err := c.StartEvaluation(ctx, &ragdv1.StartEvaluationRequest{SetName: "town", K: []int32{0}})
		servicetest.WantCode(t, "k", err, connect.CodeInvalidArgument)
		_, err = c.StartEvaluation(ctx, &ragdv1.StartEvaluationRequest{SetName: "town", Settings: &ragdv1.StartEvaluationRequest_Query{Query: &ragdv1.VectorQueryRequest{IndexName: "nowhere"}}})
		servicetest.WantCode(t, "index", err, connect.CodeNotFound)
		if _, err := c.CreateQuestionSet(ctx, &ragdv1.CreateQuestionSetRequest{SetName: "empty", IndexName: "docs"}); err != nil {
			t.Fatal(err)
		}
		_, err = c.StartEvaluation(ctx, &ragdv1.StartEvaluationRequest{SetName: "empty"})
		servicetest.WantCode(t, "no questions", err, connect.CodeFailedPrecondition)
	})
	t.Run("are deleted, alone and with their set", func(t *testing.T) {
		if _, err := c.DeleteEvaluation(ctx, &ragdv1.DeleteEvaluationRequest{EvaluationId: first.GetEvaluationId()}); err != nil {
			t.Error(err)
		}
		_, err := c.GetEvaluation(ctx, &ragdv1.GetEvaluationRequest{EvaluationId: first.GetEvaluationId()})
		servicetest.WantCode(t, "a deleted evaluation", err, connect.CodeNotFound)
		if _, err := c.DeleteQuestionSet(ctx, &ragdv1.DeleteQuestionSetRequest{SetName: "town"}); err != nil {
			t.Error(err)
		}
		_, err = c.GetEvaluation(ctx, &ragdv1.GetEvaluationRequest{EvaluationId: second.GetEvaluationId()})
		servicetest.WantCode(t, "an evaluation of a deleted set", err, connect.CodeNotFound)
		var left int
		if err := s.Pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM ragd_shared.questions) + (SELECT count(*) FROM ragd_shared.evaluation_results)`).Scan(&left); err != nil || left != 0 {
			t.Errorf("%d rows are left, %v", left, err)
		}
	})
}

func TestQuestionSets(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	c := s.Tenant(t, "acme")
	c.Index(t, "docs")
	ctx := t.Context()
	create := func(req *ragdv1.CreateQuestionSetRequest) error {
		_, err := c.CreateQuestionSet(ctx, req)
		return err
	}
	if err := create(&ragdv1.CreateQuestionSetRequest{SetName: "one", IndexName: "docs", Questions: harbourQuestions()}); err != nil {
		t.Fatal(err)
	}
	servicetest.WantCode(t, "the same name", create(&ragdv1.CreateQuestionSetRequest{SetName: "one", IndexName: "docs"}), connect.CodeAlreadyExists)
	servicetest.WantCode(t, "a wrong name", create(&ragdv1.CreateQuestionSetRequest{SetName: "o n e", IndexName: "docs"}), connect.CodeInvalidArgument)
	servicetest.WantCode(t, "no such index", create(&ragdv1.CreateQuestionSetRequest{SetName: "two", IndexName: "nowhere"}), connect.CodeNotFound)
	for name, q := range map[string]*ragdv1.Question{
		"no judgement": {QuestionId: "x", Text: "x"}, "two kinds": {QuestionId: "x", Text: "x", Answer: "a", Unanswerable: true},
		"half a span": {QuestionId: "x", Text: "x", Relevant: []*ragdv1.Relevant{{Uri: "a", StartByte: proto.Uint32(4)}}},
		"no grade":    {QuestionId: "x", Text: "x", Relevant: []*ragdv1.Relevant{{Uri: "a", Grade: proto.Float64(0)}}},
	} {
		_, err := c.PutQuestions(ctx, &ragdv1.PutQuestionsRequest{SetName: "one", Questions: []*ragdv1.Question{q}})
		servicetest.WantCode(t, name, err, connect.CodeInvalidArgument)
	}
	var all []*ragdv1.Question
	for i := range 1001 {
		all = append(all, &ragdv1.Question{QuestionId: fmt.Sprint(i), Text: "x", Answer: "x", Drafted: true})
	}
	_, err := c.PutQuestions(ctx, &ragdv1.PutQuestionsRequest{SetName: "one", Questions: all})
	servicetest.WantCode(t, "too many in one call", err, connect.CodeInvalidArgument)
	set, err := c.PutQuestions(ctx, &ragdv1.PutQuestionsRequest{SetName: "one", Questions: all[:1000]})
	if err != nil || set.GetQuestionCount() != 1005 || set.GetDraftedCount() != 1000 {
		t.Fatalf("PutQuestions = %v, %v", set, err)
	}
	set, err = c.PutQuestions(ctx, &ragdv1.PutQuestionsRequest{SetName: "one", Questions: []*ragdv1.Question{{QuestionId: "7", Text: "reviewed", Answer: "y"}}})
	if err != nil || set.GetQuestionCount() != 1005 || set.GetDraftedCount() != 999 {
		t.Errorf("a reviewed question: %v, %v", set, err)
	}
	reviewed, err := c.ListQuestions(ctx, &ragdv1.ListQuestionsRequest{SetName: "one", Drafted: proto.Bool(false)})
	if err != nil || len(reviewed.GetQuestions()) != 6 || reviewed.GetQuestions()[0].GetText() != "reviewed" {
		t.Errorf("ListQuestions = %v, %v", reviewed, err)
	}
	set, err = c.DeleteQuestions(ctx, &ragdv1.DeleteQuestionsRequest{SetName: "one", QuestionIds: []string{"7", "8", "not there"}})
	if err != nil || set.GetQuestionCount() != 1003 {
		t.Errorf("DeleteQuestions = %v, %v", set, err)
	}
	changed, err := c.UpdateQuestionSet(ctx, &ragdv1.UpdateQuestionSetRequest{SetName: "one", Description: proto.String("of the town")})
	if err != nil || changed.GetDescription() != "of the town" || changed.GetIndexName() != "docs" {
		t.Errorf("UpdateQuestionSet = %v, %v", changed, err)
	}
	sets, err := c.ListQuestionSets(ctx, &ragdv1.ListQuestionSetsRequest{})
	if err != nil || len(sets.GetQuestionSets()) != 1 {
		t.Errorf("ListQuestionSets = %v, %v", sets, err)
	}
	// The limit of questions holds over calls.
	if _, err := s.Pool.Exec(ctx, `
		INSERT INTO ragd_shared.questions (tenant_id, set_name, question_id, question, byte_size, drafted)
		SELECT 'acme', 'one', 'more' || n, '{}', 1, false FROM generate_series(1, 10000 - 1003) AS n`); err != nil {
		t.Fatal(err)
	}
	_, err = c.PutQuestions(ctx, &ragdv1.PutQuestionsRequest{SetName: "one", Questions: []*ragdv1.Question{{QuestionId: "last", Text: "x", Answer: "x"}}})
	servicetest.WantCode(t, "over the limit of a set", err, connect.CodeResourceExhausted)
}

func TestEvaluationsOfAnotherTenantAreNotFound(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	harbour(t, acme)
	bolt.Index(t, "docs")
	ctx := t.Context()
	need(t)(acme.CreateQuestionSet(ctx, &ragdv1.CreateQuestionSetRequest{SetName: "town", IndexName: "docs", Questions: harbourQuestions()}))
	theirs := evaluateNow(t, acme, &ragdv1.StartEvaluationRequest{SetName: "town", Settings: keywordQuery()}).GetEvaluationId()
	notFoundBy(t, bolt, theirs)
	sets, err := bolt.ListQuestionSets(ctx, &ragdv1.ListQuestionSetsRequest{})
	if err != nil || len(sets.GetQuestionSets()) != 0 {
		t.Errorf("ListQuestionSets = %v, %v", sets, err)
	}
	list, err := bolt.ListEvaluations(ctx, &ragdv1.ListEvaluationsRequest{})
	if err != nil || len(list.GetEvaluations()) != 0 {
		t.Errorf("ListEvaluations = %v, %v", list, err)
	}
	// The same names are another tenant's own, and its limits and deletions count its own rows.
	need(t)(bolt.CreateQuestionSet(ctx, &ragdv1.CreateQuestionSetRequest{SetName: "town", IndexName: "docs", Questions: harbourQuestions()[:1]}))
	if set, err := bolt.DeleteQuestions(ctx, &ragdv1.DeleteQuestionsRequest{SetName: "town", QuestionIds: []string{"document"}}); err != nil || set.GetQuestionCount() != 1 {
		t.Errorf("DeleteQuestions = %v, %v", set, err)
	}
	empty := evaluateNow(t, bolt, &ragdv1.StartEvaluationRequest{SetName: "town", Settings: keywordQuery()})
	if measured(empty)["recall@5"] != 0 {
		t.Errorf("another tenant's documents were found: %v", empty)
	}
	_, err = bolt.CompareEvaluations(ctx, &ragdv1.CompareEvaluationsRequest{BaselineId: empty.GetEvaluationId(), CandidateId: theirs})
	servicetest.WantCode(t, "CompareEvaluations", err, connect.CodeNotFound)
	need(t)(bolt.DeleteQuestionSet(ctx, &ragdv1.DeleteQuestionSetRequest{SetName: "town"}))
	if e, err := acme.GetEvaluation(ctx, &ragdv1.GetEvaluationRequest{EvaluationId: theirs}); err != nil || len(e.GetMeasures()) == 0 {
		t.Errorf("GetEvaluation = %v, %v", e, err)
	}
}

// notFoundBy checks that a client can do nothing with the set "town" and an evaluation.
func notFoundBy(t *testing.T, c servicetest.Client, evaluation string) {
	t.Helper()
	ctx := t.Context()
	question := harbourQuestions()[:1]
	for name, call := range map[string]func() error{
		"GetQuestionSet": func() error {
			_, err := c.GetQuestionSet(ctx, &ragdv1.GetQuestionSetRequest{SetName: "town"})
			return err
		},
		"UpdateQuestionSet": func() error {
			_, err := c.UpdateQuestionSet(ctx, &ragdv1.UpdateQuestionSetRequest{SetName: "town"})
			return err
		},
		"DeleteQuestionSet": func() error {
			_, err := c.DeleteQuestionSet(ctx, &ragdv1.DeleteQuestionSetRequest{SetName: "town"})
			return err
		},
		"PutQuestions": func() error {
			_, err := c.PutQuestions(ctx, &ragdv1.PutQuestionsRequest{SetName: "town", Questions: question})
			return err
		},
		"ListQuestions": func() error {
			_, err := c.ListQuestions(ctx, &ragdv1.ListQuestionsRequest{SetName: "town"})
			return err
		},
		"DeleteQuestions": func() error {
			_, err := c.DeleteQuestions(ctx, &ragdv1.DeleteQuestionsRequest{SetName: "town", QuestionIds: []string{"span"}})
			return err
		},
		"DraftQuestions": func() error {
			_, err := c.DraftQuestions(ctx, &ragdv1.DraftQuestionsRequest{SetName: "town"})
			return err
		},
		"StartEvaluation": func() error {
			_, err := c.StartEvaluation(ctx, &ragdv1.StartEvaluationRequest{SetName: "town"})
			return err
		},
		"ListEvaluations": func() error {
			_, err := c.ListEvaluations(ctx, &ragdv1.ListEvaluationsRequest{SetName: "town"})
			return err
		},
		"GetEvaluation": func() error {
			_, err := c.GetEvaluation(ctx, &ragdv1.GetEvaluationRequest{EvaluationId: evaluation})
			return err
		},
		"ListEvaluationResults": func() error {
			_, err := c.ListEvaluationResults(ctx, &ragdv1.ListEvaluationResultsRequest{EvaluationId: evaluation})
			return err
		},
		"DeleteEvaluation": func() error {
			_, err := c.DeleteEvaluation(ctx, &ragdv1.DeleteEvaluationRequest{EvaluationId: evaluation})
			return err
		},
		"CompareEvaluations": func() error {
			_, err := c.CompareEvaluations(ctx, &ragdv1.CompareEvaluationsRequest{BaselineId: evaluation, CandidateId: evaluation})
			return err
		},
	} {
		servicetest.WantCode(t, name, call(), connect.CodeNotFound)
	}
}

func TestReadersCannotChangeEvaluations(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	c := s.Tenant(t, "acme")
	c.Index(t, "docs")
	ctx := t.Context()
	need(t)(c.CreateQuestionSet(ctx, &ragdv1.CreateQuestionSetRequest{SetName: "town", IndexName: "docs", Questions: harbourQuestions()}))
	started := need(t)(c.StartEvaluation(ctx, &ragdv1.StartEvaluationRequest{SetName: "town"})).(*ragdv1.Evaluation)
	reader := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}}))
	id := started.GetEvaluationId()
	for name, call := range map[string]func() error{
		"CreateQuestionSet": func() error {
			_, err := reader.CreateQuestionSet(ctx, &ragdv1.CreateQuestionSetRequest{SetName: "a", IndexName: "docs"})
			return err
		},
		"UpdateQuestionSet": func() error {
			_, err := reader.UpdateQuestionSet(ctx, &ragdv1.UpdateQuestionSetRequest{SetName: "town"})
			return err
		},
		"DeleteQuestionSet": func() error {
			_, err := reader.DeleteQuestionSet(ctx, &ragdv1.DeleteQuestionSetRequest{SetName: "town"})
			return err
		},
		"PutQuestions": func() error {
			_, err := reader.PutQuestions(ctx, &ragdv1.PutQuestionsRequest{SetName: "town", Questions: harbourQuestions()})
			return err
		},
		"DeleteQuestions": func() error {
			_, err := reader.DeleteQuestions(ctx, &ragdv1.DeleteQuestionsRequest{SetName: "town", QuestionIds: []string{"span"}})
			return err
		},
		"DraftQuestions": func() error {
			_, err := reader.DraftQuestions(ctx, &ragdv1.DraftQuestionsRequest{SetName: "town"})
			return err
		},
		"StartEvaluation": func() error {
			_, err := reader.StartEvaluation(ctx, &ragdv1.StartEvaluationRequest{SetName: "town"})
			return err
		},
		"DeleteEvaluation": func() error {
			_, err := reader.DeleteEvaluation(ctx, &ragdv1.DeleteEvaluationRequest{EvaluationId: id})
			return err
		},
	} {
		servicetest.WantCode(t, name, call(), connect.CodePermissionDenied)
	}
	if _, err := reader.GetEvaluation(ctx, &ragdv1.GetEvaluationRequest{EvaluationId: id}); err != nil {
		t.Error(err)
	}
	if list, err := reader.ListQuestions(ctx, &ragdv1.ListQuestionsRequest{SetName: "town"}); err != nil || len(list.GetQuestions()) != 5 {
		t.Errorf("ListQuestions = %v, %v", list, err)
	}
}

// What a credential with a mandatory filter evaluates and drafts reaches only what it may
// read, and what others evaluated stays hidden from it.
func TestEvaluationsFollowMandatoryFilters(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	harbour(t, c)
	ctx := t.Context()
	key := func(level string) servicetest.Client {
		return s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"write"}, MandatoryFilter: servicetest.Object(t, map[string]any{"level": level})}))
	}
	open, secret, openToo := key("open"), key("secret"), key("open")
	need(t)(open.CreateQuestionSet(ctx, &ragdv1.CreateQuestionSetRequest{SetName: "town", IndexName: "docs", Questions: harbourQuestions()}))
	limited := evaluateNow(t, open, &ragdv1.StartEvaluationRequest{SetName: "town", Settings: keywordQuery()})
	if got := measured(limited)["recall@5"]; got != 0.75 {
		t.Errorf("recall %v, want 0.75: the secret document must not be found", got)
	}
	notFoundBy(t, secret, limited.GetEvaluationId())
	_, err := secret.GetJob(ctx, &ragdv1.GetJobRequest{JobId: limited.GetJob().GetJobId()})
	servicetest.WantCode(t, "GetJob", err, connect.CodeNotFound)
	if e, err := openToo.GetEvaluation(ctx, &ragdv1.GetEvaluationRequest{EvaluationId: limited.GetEvaluationId()}); err != nil || e.GetSetName() != "town" {
		t.Errorf("by a key with the same filter: %v, %v", e, err)
	}
	whole := evaluateNow(t, c, &ragdv1.StartEvaluationRequest{SetName: "town", Settings: keywordQuery()})
	if got := measured(whole)["recall@5"]; got != 1 {
		t.Errorf("recall without a filter %v, want 1", got)
	}
	_, err = open.GetEvaluation(ctx, &ragdv1.GetEvaluationRequest{EvaluationId: whole.GetEvaluationId()})
	servicetest.WantCode(t, "an evaluation without a filter", err, connect.CodeNotFound)
	_, err = open.CompareEvaluations(ctx, &ragdv1.CompareEvaluationsRequest{BaselineId: limited.GetEvaluationId(), CandidateId: whole.GetEvaluationId()})
	servicetest.WantCode(t, "a comparison with it", err, connect.CodeNotFound)
	list, err := open.ListEvaluations(ctx, &ragdv1.ListEvaluationsRequest{})
	if err != nil || len(list.GetEvaluations()) != 1 {
		t.Errorf("ListEvaluations = %v, %v", list, err)
	}
	jobs, err := open.ListJobs(ctx, &ragdv1.ListJobsRequest{})
	if err != nil || slices.ContainsFunc(jobs.GetJobs(), func(j *ragdv1.Job) bool { return j.GetJobId() == whole.GetJob().GetJobId() }) {
		t.Errorf("ListJobs = %v, %v", jobs, err)
	}
	// The filter of the request context applies too.
	narrow := s.Client(c.Secret, "Ragd-Context", `{"filter": {"level": "secret"}, "topK": 1}`)
	if got := measured(evaluateNow(t, narrow, &ragdv1.StartEvaluationRequest{SetName: "town", Settings: keywordQuery()}))["recall@5"]; got != 0.25 {
		t.Errorf("recall in the request context %v, want 0.25", got)
	}
	// Drafts in a set are limited by the filter of the set, whoever starts them.
	for _, by := range []servicetest.Client{open, c} {
		started, err := by.DraftQuestions(ctx, &ragdv1.DraftQuestionsRequest{SetName: "town", Count: 10})
		if err != nil {
			t.Fatal(err)
		}
		if last := awaitJob(t, open, started.GetJob().GetJobId()); last.GetStatus() != "succeeded" {
			t.Fatalf("the draft ended as %v", last)
		}
		drafts, err := open.ListQuestions(ctx, &ragdv1.ListQuestionsRequest{SetName: "town", Drafted: proto.Bool(true)})
		if err != nil || len(drafts.GetQuestions()) != 2 {
			t.Fatalf("drafted %v, %v", drafts, err)
		}
		for _, q := range drafts.GetQuestions() {
			if q.GetRelevant()[0].GetUri() == "plan.txt" {
				t.Errorf("drafted from a hidden document: %v", q)
			}
		}
	}
}

// An evaluation whose instance died continues after the results that it stored, and one that
// was cancelled continues when it is tried again.
func TestEvaluationsContinue(t *testing.T) {
	t.Parallel()
	idle := servicetest.New(t, service.Config{NoWorkers: true})
	c := idle.Tenant(t, "acme")
	c.Index(t, "docs")
	ctx := t.Context()
	var questions []*ragdv1.Question
	for i := range 60 {
		questions = append(questions, &ragdv1.Question{QuestionId: fmt.Sprintf("q%02d", i), Text: "nothing", Answer: "nothing"})
	}
	need(t)(c.CreateQuestionSet(ctx, &ragdv1.CreateQuestionSetRequest{SetName: "many", IndexName: "docs", Questions: questions}))
	started := need(t)(c.StartEvaluation(ctx, &ragdv1.StartEvaluationRequest{SetName: "many", K: []int32{5}, Settings: keywordQuery()})).(*ragdv1.Evaluation)
	cancelled := need(t)(c.CancelJob(ctx, &ragdv1.CancelJobRequest{JobId: started.GetJob().GetJobId()})).(*ragdv1.Job)
	if cancelled.GetStatus() != "cancelled" {
		t.Fatalf("cancelled: %v", cancelled)
	}
	if _, err := idle.Pool.Exec(ctx, `
		INSERT INTO ragd_shared.evaluation_results (tenant_id, evaluation_id, batch, result_count, results)
		SELECT 'acme', $1, 1, 25, jsonb_agg(jsonb_build_object('id', 'q' || to_char(n, 'FM00'), 'answerable', true, 'cuts', '[{"k": 5, "recall": 1}]'::jsonb) ORDER BY n)
		FROM generate_series(0, 24) AS n`, started.GetEvaluationId()); err != nil {
		t.Fatal(err)
	}
	again := need(t)(c.RetryJob(ctx, &ragdv1.RetryJobRequest{JobId: started.GetJob().GetJobId()})).(*ragdv1.Job)
	_, err := c.RetryJob(ctx, &ragdv1.RetryJobRequest{JobId: started.GetJob().GetJobId()})
	servicetest.WantCode(t, "a second retry", err, connect.CodeFailedPrecondition)

	servicetest.New(t, service.Config{AdminPool: idle.Pool})
	if last := awaitJob(t, c, again.GetJobId()); last.GetStatus() != "succeeded" || last.GetProgress().GetDone() != 60 {
		t.Fatalf("the job ended as %v", last)
	}
	ended := need(t)(c.GetEvaluation(ctx, &ragdv1.GetEvaluationRequest{EvaluationId: started.GetEvaluationId()})).(*ragdv1.Evaluation)
	if got := measured(ended)["recall@5"]; got != 25.0/60 {
		t.Errorf("recall %v: the stored results were not kept", got)
	}
	results, err := c.ListEvaluationResults(ctx, &ragdv1.ListEvaluationResultsRequest{EvaluationId: started.GetEvaluationId()})
	if err != nil || len(results.GetResults()) != 60 {
		t.Errorf("%d results, %v", len(results.GetResults()), err)
	}
}

func TestDraftsFromTheCorpus(t *testing.T) {
	t.Parallel()
	models := modelserver.New(t)
	models.Chat = func(asked modelserver.Chat) string {
		return fmt.Sprintf(`{"question": "What was asked of %x?"}`, len(asked.User)+len(models.Requests()))
	}
	s := servicetest.New(t, service.Config{Providers: service.Providers{OpenAI: endpoint.Config{BaseURL: models.URL + "/v1", APIKey: modelserver.Key}}})
	c := s.Tenant(t, "acme")
	c.Index(t, "docs")
	ctx := t.Context()
	for i := range 6 {
		text := fmt.Sprintf("# Guide %d\n\n## Opening hours\n\nThe office number %d is open every day from nine to five, except on holidays and in the week of the fair.", i, i)
		c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: fmt.Sprintf("guide%d.md", i), ContentType: "text/markdown", Source: servicetest.Text(text)})
	}
	draft := func(req *ragdv1.DraftQuestionsRequest) []*ragdv1.Question {
		t.Helper()
		need(t)(c.CreateQuestionSet(ctx, &ragdv1.CreateQuestionSetRequest{SetName: req.GetSetName(), IndexName: "docs"}))
		started := need(t)(c.DraftQuestions(ctx, req)).(*ragdv1.DraftQuestionsResponse)
		if last := awaitJob(t, c, started.GetJob().GetJobId()); last.GetStatus() != "succeeded" || last.GetKind() != "draft" {
			t.Fatalf("the draft ended as %v", last)
		}
		return need(t)(c.ListQuestions(ctx, &ragdv1.ListQuestionsRequest{SetName: req.GetSetName()})).(*ragdv1.ListQuestionsResponse).GetQuestions()
	}
	first := draft(&ragdv1.DraftQuestionsRequest{SetName: "a", Count: 4, Seed: 7})
	uris := map[string]bool{}
	for _, q := range first {
		uris[q.GetRelevant()[0].GetUri()] = true
		if !q.GetDrafted() || !strings.Contains(q.GetText(), "Guide") || q.GetRelevant()[0].GetEndByte() == 0 {
			t.Errorf("drafted %v", q)
		}
	}
	if len(first) != 4 || len(uris) != 4 {
		t.Fatalf("drafted %v", first)
	}
	same := draft(&ragdv1.DraftQuestionsRequest{SetName: "b", Count: 4, Seed: 7})
	other := draft(&ragdv1.DraftQuestionsRequest{SetName: "c", Count: 4, Seed: 8})
	ids := func(questions []*ragdv1.Question) (all []string) {
		for _, q := range questions {
			all = append(all, q.GetQuestionId())
		}
		return all
	}
	if !slices.Equal(ids(first), ids(same)) || slices.Equal(ids(first), ids(other)) {
		t.Errorf("drafted %v, %v and %v", ids(first), ids(same), ids(other))
	}
	written := draft(&ragdv1.DraftQuestionsRequest{SetName: "d", Count: 2, Model: "openai/some-model"})
	if len(written) != 2 || !strings.HasPrefix(written[0].GetText(), "What was asked") {
		t.Errorf("a model wrote %v", written)
	}
	if e := evaluateNow(t, c, &ragdv1.StartEvaluationRequest{SetName: "a", Settings: keywordQuery()}); measured(e)["recall@10"] != 1 {
		t.Errorf("drafts are not found: %v", e)
	}
	_, err := c.DraftQuestions(ctx, &ragdv1.DraftQuestionsRequest{SetName: "a", Model: "none"})
	servicetest.WantCode(t, "a model that does not exist", err, connect.CodeInvalidArgument)
	_, err = c.DraftQuestions(ctx, &ragdv1.DraftQuestionsRequest{SetName: "a", Count: 1001})
	servicetest.WantCode(t, "too many", err, connect.CodeInvalidArgument)
}
