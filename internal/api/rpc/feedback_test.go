package rpc_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// answered asks a question and returns the answer, which has a name.
func answered(t *testing.T, c servicetest.Client, req *ragdv1.VectorQueryRequest) *ragdv1.VectorQueryResponse {
	t.Helper()
	res, err := c.VectorQuery(t.Context(), req)
	if err != nil || res.QueryId == "" || len(res.Sources) == 0 {
		t.Fatalf("%v: %v, %v", req, res, err)
	}
	return res
}

// judge records what a caller says of a source.
func judge(t *testing.T, c servicetest.Client, queryID, source string, helpful bool) *ragdv1.RecordFeedbackResponse {
	t.Helper()
	return need(t)(c.RecordFeedback(t.Context(), &ragdv1.RecordFeedbackRequest{QueryId: queryID, Source: source, Helpful: &helpful})).(*ragdv1.RecordFeedbackResponse)
}

// judgements returns the uris that are relevant to the questions of a set, by their texts; nil for no set.
func judgements(t *testing.T, c servicetest.Client, set string) map[string][]string {
	t.Helper()
	list, err := c.ListQuestions(t.Context(), &ragdv1.ListQuestionsRequest{SetName: set})
	if connect.CodeOf(err) == connect.CodeNotFound {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, q := range list.Questions {
		for _, r := range q.Relevant {
			all[q.Text] = append(all[q.Text], r.Uri)
		}
	}
	return all
}

func feedbackRows(t *testing.T, s *servicetest.Service, tenant string) (rows int) {
	t.Helper()
	if err := s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM ragd_shared.feedback WHERE tenant_id = $1`, tenant).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestFeedbackBecomesAQuestionSet(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	harbour(t, acme)
	ctx := t.Context()
	const bread, docks = "who bakes bread of rye", "docks and a crane"
	readers := []servicetest.Client{}
	for range 2 {
		readers = append(readers, s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}})))
	}
	first := answered(t, readers[0], &ragdv1.VectorQueryRequest{QueryText: bread})
	recorded := judge(t, readers[0], first.QueryId, first.Sources[0].Id, true)
	if recorded.SetName != "feedback-docs" {
		t.Errorf("recorded in %v", recorded)
	}
	walked, err := readers[0].GraphRag(ctx, &ragdv1.GraphRagRequest{QueryText: docks, Expand: "document"})
	if err != nil || walked.QueryId == "" {
		t.Fatal(walked, err)
	}
	judge(t, readers[0], walked.QueryId, walked.Sources[0].Hits[0].Id, true)
	want := map[string][]string{bread: {"bakery.txt"}, docks: {"harbour.txt"}}
	if diff := cmp.Diff(want, judgements(t, acme, "feedback-docs")); diff != "" {
		t.Error(diff)
	}
	e := evaluateNow(t, acme, &ragdv1.StartEvaluationRequest{SetName: "feedback-docs", Settings: keywordQuery()})
	if got := measured(e); got["recall@5"] != 1 || got["mrr"] != 1 {
		t.Errorf("the set is measured as %v", got)
	}

	// Callers outvote each other, and take back what they said.
	second := answered(t, readers[1], &ragdv1.VectorQueryRequest{QueryText: strings.ToUpper(bread)})
	judge(t, readers[1], second.QueryId, first.Sources[0].Id, false)
	delete(want, bread)
	if diff := cmp.Diff(want, judgements(t, acme, "feedback-docs")); diff != "" {
		t.Error("one for and one against:", diff)
	}
	judge(t, readers[1], second.QueryId, first.Sources[0].Id, true)
	if got := judgements(t, acme, "feedback-docs")[strings.ToUpper(bread)]; len(got) != 1 {
		t.Errorf("two for: %v", got)
	}
	if rows := feedbackRows(t, s, "acme"); rows != 3 {
		t.Errorf("%d judgements are stored, want 3", rows)
	}
	for _, c := range readers {
		res := answered(t, c, &ragdv1.VectorQueryRequest{QueryText: bread})
		need(t)(c.RecordFeedback(ctx, &ragdv1.RecordFeedbackRequest{QueryId: res.QueryId, Source: first.Sources[0].Id, Withdraw: true}))
	}
	if diff := cmp.Diff(want, judgements(t, acme, "feedback-docs")); diff != "" {
		t.Error("withdrawn:", diff)
	}

	// It is deleted with its question and its set.
	judge(t, readers[0], first.QueryId, first.Sources[0].Id, true)
	need(t)(acme.DeleteQuestions(ctx, &ragdv1.DeleteQuestionsRequest{SetName: "feedback-docs", QuestionIds: []string{recorded.QuestionId}}))
	if rows := feedbackRows(t, s, "acme"); rows != 1 {
		t.Errorf("%d judgements are left with the other question, want 1", rows)
	}
	need(t)(acme.DeleteQuestionSet(ctx, &ragdv1.DeleteQuestionSetRequest{SetName: "feedback-docs"}))
	if rows := feedbackRows(t, s, "acme"); rows != 0 {
		t.Errorf("%d judgements are left without a set", rows)
	}
	judge(t, readers[0], first.QueryId, first.Sources[0].Id, true)

	// A namespace has a set of its own.
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Namespace: "north", Uri: "ferry.txt", Source: servicetest.Text("The ferry leaves at noon.")})
	res := answered(t, acme, &ragdv1.VectorQueryRequest{QueryText: "when does the ferry leave", Namespace: "north"})
	if got := judge(t, acme, res.QueryId, res.Sources[0].Id, true).SetName; got == "feedback-docs" || !strings.HasPrefix(got, "feedback-docs-") || len(judgements(t, acme, got)) != 1 {
		t.Errorf("the set of a namespace is %q", got)
	}

	// What is gone cannot be judged.
	need(t)(acme.DeleteDocument(ctx, &ragdv1.DeleteDocumentRequest{IndexName: "docs", Uri: "bakery.txt"}))
	_, err = readers[0].RecordFeedback(ctx, &ragdv1.RecordFeedbackRequest{QueryId: first.QueryId, Source: first.Sources[0].Id, Helpful: new(true)})
	servicetest.WantCode(t, "a deleted chunk", err, connect.CodeNotFound)
	if res, err := acme.VectorQuery(ctx, &ragdv1.VectorQueryRequest{QueryText: strings.Repeat("bread ", 2000)}); err != nil || res.QueryId != "" {
		t.Errorf("an answer to a very long question has the name %q, %v", res.GetQueryId(), err)
	}
}

// A name of an answer is good for the credential alone that got it, and for what the answer showed.
func TestForgedFeedbackIsRefused(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	harbour(t, acme)
	harbour(t, bolt)
	ctx := t.Context()
	colleague := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme"}))
	visitor := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", MandatoryFilter: servicetest.Object(t, map[string]any{"level": "open"})}))
	ask := &ragdv1.VectorQueryRequest{QueryText: "crane", TopK: new(int32(1))}
	own, theirs, seen := answered(t, acme, ask), answered(t, bolt, ask), answered(t, visitor, ask)
	all := answered(t, acme, &ragdv1.VectorQueryRequest{QueryText: "secret plan for the quarry", TopK: new(int32(1))})
	flipped := []byte(own.QueryId)
	flipped[len(flipped)/2] ^= 1
	yes := true
	for name, tc := range map[string]struct {
		by    servicetest.Client
		req   *ragdv1.RecordFeedbackRequest
		field string
	}{
		"another tenant's answer":              {bolt, &ragdv1.RecordFeedbackRequest{QueryId: own.QueryId, Source: own.Sources[0].Id, Helpful: &yes}, "queryId"},
		"another tenant's answer, own source":  {bolt, &ragdv1.RecordFeedbackRequest{QueryId: own.QueryId, Source: theirs.Sources[0].Id, Helpful: &yes}, "queryId"},
		"own answer, another tenant's source":  {acme, &ragdv1.RecordFeedbackRequest{QueryId: own.QueryId, Source: theirs.Sources[0].Id, Helpful: &yes}, "source"},
		"another credential's answer":          {colleague, &ragdv1.RecordFeedbackRequest{QueryId: own.QueryId, Source: own.Sources[0].Id, Helpful: &yes}, "queryId"},
		"an answer without a mandatory filter": {visitor, &ragdv1.RecordFeedbackRequest{QueryId: all.QueryId, Source: all.Sources[0].Id, Helpful: &yes}, "queryId"},
		"a source that was hidden":             {visitor, &ragdv1.RecordFeedbackRequest{QueryId: seen.QueryId, Source: all.Sources[0].Id, Helpful: &yes}, "source"},
		"a source that was not shown":          {acme, &ragdv1.RecordFeedbackRequest{QueryId: own.QueryId, Source: all.Sources[0].Id, Helpful: &yes}, "source"},
		"a changed name":                       {acme, &ragdv1.RecordFeedbackRequest{QueryId: string(flipped), Source: own.Sources[0].Id, Helpful: &yes}, "queryId"},
		"no name":                              {acme, &ragdv1.RecordFeedbackRequest{Source: own.Sources[0].Id, Helpful: &yes}, "queryId"},
		"no source":                            {acme, &ragdv1.RecordFeedbackRequest{QueryId: own.QueryId, Helpful: &yes}, "source"},
		"no judgement":                         {acme, &ragdv1.RecordFeedbackRequest{QueryId: own.QueryId, Source: own.Sources[0].Id}, "helpful"},
		"two judgements":                       {acme, &ragdv1.RecordFeedbackRequest{QueryId: own.QueryId, Source: own.Sources[0].Id, Helpful: &yes, Withdraw: true}, "withdraw"},
	} {
		_, err := tc.by.RecordFeedback(ctx, tc.req)
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), tc.field+": ") {
			t.Errorf("%s: %v, want an error of %s", name, err, tc.field)
		}
	}
	if rows := feedbackRows(t, s, "acme") + feedbackRows(t, s, "bolt"); rows != 0 {
		t.Errorf("%d judgements were stored", rows)
	}

	// What a credential with a mandatory filter says has a set of its own, as the sets that it makes.
	judge(t, acme, all.QueryId, all.Sources[0].Id, true)
	filtered := judge(t, visitor, seen.QueryId, seen.Sources[0].Id, true).SetName
	if filtered == "feedback-docs" || len(judgements(t, visitor, filtered)) != 1 || judgements(t, visitor, "feedback-docs") != nil {
		t.Errorf("the set of a mandatory filter is %q", filtered)
	}
	judge(t, bolt, theirs.QueryId, theirs.Sources[0].Id, true)
	if got := judgements(t, acme, "feedback-docs"); len(got) != 1 || len(got["crane"]) != 0 {
		t.Errorf("the feedback of acme is %v", got)
	}
	// Of a chunk that is hidden since, nothing is stored.
	if _, err := s.Pool.Exec(ctx, `UPDATE tenant_acme.chunk_1 SET metadata = '{"level": "secret"}'`); err != nil {
		t.Fatal(err)
	}
	_, err := visitor.RecordFeedback(ctx, &ragdv1.RecordFeedbackRequest{QueryId: seen.QueryId, Source: seen.Sources[0].Id, Helpful: &yes})
	servicetest.WantCode(t, "a chunk that is hidden since", err, connect.CodeNotFound)

	// A set of the name that is over another index is not changed.
	need(t)(bolt.DeleteQuestionSet(ctx, &ragdv1.DeleteQuestionSetRequest{SetName: "feedback-docs"}))
	bolt.Index(t, "other")
	need(t)(bolt.CreateQuestionSet(ctx, &ragdv1.CreateQuestionSetRequest{SetName: "feedback-docs", IndexName: "other"}))
	named := answered(t, bolt, &ragdv1.VectorQueryRequest{QueryText: "crane", IndexName: "docs"})
	_, err = bolt.RecordFeedback(ctx, &ragdv1.RecordFeedbackRequest{QueryId: named.QueryId, Source: named.Sources[0].Id, Helpful: &yes})
	servicetest.WantCode(t, "a set of another index", err, connect.CodeAlreadyExists)
}
