package rpc

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/automation/evaluate"
	"github.com/ragdhq/ragd/internal/automation/evaluate/measure"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/notable"
)

// StartEvaluation implements EvaluateService.
func (h *Handlers) StartEvaluation(ctx context.Context, req *ragdv1.StartEvaluationRequest) (*ragdv1.Evaluation, error) {
	settings, indexName, err := evaluationSettings(req)
	if err != nil {
		return nil, err
	}
	if settings.Agent == nil {
		if settings, err = h.pinned(ctx, req.GetSetName(), indexName, settings); err != nil {
			return nil, err
		}
	}
	started, err := h.Evaluations.Start(ctx, req.GetSetName(), indexName, settings)
	if err != nil {
		return nil, err
	}
	return evaluationMessage(started)
}

// pinned returns settings whose query names the version of the ranking profile that it has now, so that all questions are asked with it.
func (h *Handlers) pinned(ctx context.Context, setName, indexName string, s evaluate.Settings) (evaluate.Settings, error) {
	if indexName == "" {
		set, err := h.Evaluations.GetSet(ctx, setName)
		if err != nil {
			return s, err
		}
		indexName = set.IndexName
	}
	var message interface {
		proto.Message
		GetProfile() string
	} = &ragdv1.VectorQueryRequest{}
	if s.Graph {
		message = &ragdv1.GraphRagRequest{}
	}
	err := protojson.Unmarshal(s.Request, message)
	if err != nil {
		return s, err
	}
	profile, err := h.Queries.PinnedProfile(ctx, indexName, message.GetProfile())
	if err != nil {
		return s, err
	}
	if profile == index.NoProfile && message.GetProfile() == "" {
		return s, nil
	}
	fields := message.ProtoReflect().Descriptor().Fields()
	message.ProtoReflect().Set(fields.ByName("profile"), protoreflect.ValueOfString(profile))
	s.Request, err = protojson.Marshal(message)
	return s, err
}

// evaluationSettings converts the settings of a request, with the name of its index. Errors:
// Invalid.
func evaluationSettings(req *ragdv1.StartEvaluationRequest) (s evaluate.Settings, indexName string, err error) {
	s = evaluate.Settings{MinScore: req.MinScore, Label: req.GetLabel()}
	if a := req.GetAgent(); a != nil {
		s.Agent = &evaluate.AgentSettings{Name: a.GetAgentName(), Judge: a.GetJudgeModel(), DeclinePattern: a.GetDeclinePattern()}
	}
	for _, k := range req.GetK() {
		s.Ks = append(s.Ks, int(k))
	}
	if err := s.Complete(); err != nil || s.Agent != nil {
		return s, "", err
	}
	var message proto.Message
	if given := req.GetGraph(); given != nil {
		m := proto.CloneOf(given)
		indexName, message, s.Graph = m.GetIndexName(), m, true
		if err := checkAsked("graph", m.GetQueryText(), m.GetQueryVector(), m.TopK, s); err != nil {
			return s, "", err
		}
		m.IndexName, m.IncludeVectors, m.IncludeSources, m.Explain, m.Highlight = "", nil, nil, false, false
	} else {
		m := &ragdv1.VectorQueryRequest{}
		if given := req.GetQuery(); given != nil {
			m = proto.CloneOf(given)
		}
		indexName, message = m.GetIndexName(), m
		if err := checkAsked("query", m.GetQueryText(), m.GetQueryVector(), m.TopK, s); err != nil {
			return s, "", err
		}
		m.IndexName, m.IncludeVectors, m.IncludeSources, m.Explain, m.Highlight = "", nil, nil, false, false
		if s.MinScore == nil {
			s.MinScore = m.MinScore
		}
		if p := m.GetDatabaseConfig().GetPgvector(); p != nil && s.MinScore == nil {
			s.MinScore = p.MinScore
		}
	}
	s.Request, err = protojson.Marshal(message)
	return s, indexName, err
}

// checkAsked checks the fields of a query that an evaluation sets itself. Errors: Invalid.
func checkAsked(field, text string, vector []float32, topK *int32, s evaluate.Settings) error {
	switch most := s.Ks[len(s.Ks)-1]; {
	case text != "":
		return fault.Field(field+".queryText", "must be empty: the questions are those of the set")
	case len(vector) > 0:
		return fault.Field(field+".queryVector", "must be empty: the questions are those of the set")
	case topK != nil && int(*topK) < most:
		return fault.Field(field+".topK", "must be at least the largest k, which is %d, got %d", most, *topK)
	}
	return nil
}

// SearchFor asks one question with the settings of an evaluation. It is an
// evaluate.SearchFunc.
func (h *Handlers) SearchFor(ctx context.Context, indexName string, s evaluate.Settings, question string) ([]evaluate.Hit, error) {
	// The answer is not sent: it does not count in the slot of a request.
	ctx = context.WithValue(ctx, codecSlotKey{}, (*codecSlot)(nil))
	topK := int32(s.Ks[len(s.Ks)-1])
	read := protojson.UnmarshalOptions{DiscardUnknown: true} // of fields that a later version removed
	var sources []*ragdv1.Source
	ctx = notable.Without(ctx)
	if s.Graph {
		req := &ragdv1.GraphRagRequest{}
		if err := read.Unmarshal(s.Request, req); err != nil {
			return nil, fmt.Errorf("read the settings of an evaluation: %w", err)
		}
		req.QueryText, req.IndexName = question, indexName
		if req.TopK == nil {
			req.TopK = &topK
		}
		req.Distinct = cmp.Or(req.Distinct, new(false)) // each place is judged by itself
		res, err := h.GraphRag(ctx, req)
		if err != nil {
			return nil, err
		}
		sources = res.GetSources()
	} else {
		req := &ragdv1.VectorQueryRequest{}
		if err := read.Unmarshal(s.Request, req); err != nil {
			return nil, fmt.Errorf("read the settings of an evaluation: %w", err)
		}
		req.QueryText, req.IndexName = question, indexName
		if req.TopK == nil {
			req.TopK = &topK
		}
		req.Distinct = cmp.Or(req.Distinct, new(false))
		res, err := h.VectorQuery(ctx, req)
		if err != nil {
			return nil, err
		}
		sources = res.GetSources()
	}
	hits := make([]evaluate.Hit, len(sources))
	for i, source := range sources {
		hits[i] = evaluate.Hit{
			URI: source.GetUri(), Span: evaluate.Span{Start: int(source.GetStartByte()), End: int(source.GetEndByte())},
			Text: source.GetDocument(), Score: source.GetScore(),
		}
	}
	return hits, nil
}

// GetEvaluation implements EvaluateService.
func (h *Handlers) GetEvaluation(ctx context.Context, req *ragdv1.GetEvaluationRequest) (*ragdv1.Evaluation, error) {
	found, err := h.Evaluations.Get(ctx, req.GetEvaluationId())
	if err != nil {
		return nil, err
	}
	return evaluationMessage(found)
}

// ListEvaluations implements EvaluateService.
func (h *Handlers) ListEvaluations(ctx context.Context, req *ragdv1.ListEvaluationsRequest) (*ragdv1.ListEvaluationsResponse, error) {
	found, next, err := h.Evaluations.List(ctx, req.GetSetName(), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	evaluations, err := convertAll(ctx, found, evaluationMessage)
	return &ragdv1.ListEvaluationsResponse{Evaluations: evaluations, NextPageToken: next}, err
}

// DeleteEvaluation implements EvaluateService.
func (h *Handlers) DeleteEvaluation(ctx context.Context, req *ragdv1.DeleteEvaluationRequest) (*ragdv1.DeleteEvaluationResponse, error) {
	return &ragdv1.DeleteEvaluationResponse{}, h.Evaluations.Delete(ctx, req.GetEvaluationId())
}

// ListEvaluationResults implements EvaluateService.
func (h *Handlers) ListEvaluationResults(ctx context.Context, req *ragdv1.ListEvaluationResultsRequest) (*ragdv1.ListEvaluationResultsResponse, error) {
	found, next, err := h.Evaluations.Results(ctx, req.GetEvaluationId(), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	res := &ragdv1.ListEvaluationResultsResponse{NextPageToken: next}
	for _, r := range found {
		res.Results = append(res.Results, resultMessage(r))
	}
	return res, nil
}

// CompareEvaluations implements EvaluateService.
func (h *Handlers) CompareEvaluations(ctx context.Context, req *ragdv1.CompareEvaluationsRequest) (*ragdv1.EvaluationComparison, error) {
	found, err := h.Evaluations.Compare(ctx, req.GetBaselineId(), req.GetCandidateId(), req.GetMeasure(), int(req.GetLimit()))
	if err != nil {
		return nil, err
	}
	res := &ragdv1.EvaluationComparison{QuestionCount: int32(found.Questions), LeftOutCount: int32(found.LeftOut), Measure: found.Measure}
	for _, d := range found.Differences {
		res.Differences = append(res.Differences, differenceMessage(d))
	}
	for _, c := range found.Changes {
		res.Changes = append(res.Changes, &ragdv1.QuestionChange{
			QuestionId: c.ID, Text: c.Text, Baseline: c.Baseline, Candidate: c.Candidate,
			BaselineFirstRank: int32(c.BaselineRank), CandidateFirstRank: int32(c.CandidateRank),
		})
	}
	return res, nil
}

func differenceMessage(d measure.Difference) *ragdv1.MeasureDifference {
	message := &ragdv1.MeasureDifference{
		Name: d.Name, Baseline: d.Baseline, Candidate: d.Candidate, Difference: d.Difference, Low: d.Low, High: d.High, PValue: d.P,
	}
	if d.Wins+d.Losses+d.Ties > 0 {
		message.SignTest = &ragdv1.SignTest{Wins: int32(d.Wins), Losses: int32(d.Losses), Ties: int32(d.Ties), PValue: d.SignP}
	}
	return message
}

func evaluationMessage(e evaluate.Evaluation) (*ragdv1.Evaluation, error) {
	message := &ragdv1.Evaluation{
		EvaluationId: e.ID, SetName: e.SetName, IndexName: e.IndexName, Label: e.Settings.Label, MinScore: e.Settings.MinScore,
		QuestionCount: int32(e.Questions), UnanswerableCount: int32(e.Unanswerable), CreateTime: timestamppb.New(e.CreatedAt),
	}
	for _, k := range e.Settings.Ks {
		message.K = append(message.K, int32(k))
	}
	for _, m := range e.Estimates {
		message.Measures = append(message.Measures, &ragdv1.Measure{Name: m.Name, Value: m.Value, Low: m.Low, High: m.High})
	}
	if e.Job != nil {
		message.Job = jobMessage(*e.Job)
	}
	if a := e.Settings.Agent; a != nil {
		message.Settings = &ragdv1.Evaluation_Agent{Agent: &ragdv1.AnswerSettings{AgentName: a.Name, JudgeModel: a.Judge, DeclinePattern: a.DeclinePattern}}
		message.Usage = answerUsage(e.Usage)
		return message, nil
	}
	if t := e.Settings.Tuning; t != nil {
		message.Settings = &ragdv1.Evaluation_Tuning{Tuning: &ragdv1.TuningSettings{Adopt: t.Adopt, Namespace: t.Namespace}}
		message.TuningOutcome = outcomeMessage(*t, e.Outcome)
		return message, nil
	}
	return message, readSettings(e.Settings, e.IndexName, message)
}

func answerUsage(u evaluate.AnswerUsage) *ragdv1.AnswerUsage {
	return &ragdv1.AnswerUsage{
		Steps: u.Steps, ToolCalls: u.ToolCalls, InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, Cost: u.Cost, RemovedCitations: u.RemovedCitations,
		JudgeCalls: u.JudgeCalls, JudgeInputTokens: u.JudgeInputTokens, JudgeOutputTokens: u.JudgeOutputTokens,
	}
}

// readSettings sets the settings of a message.
func readSettings(s evaluate.Settings, indexName string, into *ragdv1.Evaluation) error {
	var request proto.Message
	if s.Graph {
		m := &ragdv1.GraphRagRequest{}
		request, into.Settings = m, &ragdv1.Evaluation_Graph{Graph: m}
		defer func() { m.IndexName = indexName }()
	} else {
		m := &ragdv1.VectorQueryRequest{}
		request, into.Settings = m, &ragdv1.Evaluation_Query{Query: m}
		defer func() { m.IndexName = indexName }()
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(s.Request, request); err != nil {
		return fmt.Errorf("read the settings of an evaluation: %w", err)
	}
	return nil
}

func resultMessage(r evaluate.Result) *ragdv1.QuestionResult {
	message := &ragdv1.QuestionResult{
		QuestionId: r.ID, Text: r.Text, Unanswerable: !r.Answerable, FirstRank: int32(r.FirstRank), TopScore: r.TopScore,
		LatencyMs: float64(r.Latency) / float64(time.Millisecond), Missing: r.Missing,
	}
	measures := measure.Values(r.Result)
	if a := r.Answer; a != nil {
		measures = measure.AnswerValues(a.AnswerResult)
		message.Answer = &ragdv1.QuestionAnswer{Text: a.Text, Error: a.Error, Declined: a.Declined, Usage: agentUsage(a.Usage)}
		if v := a.Verdict; v != nil {
			message.Answer.Verdict = &ragdv1.AnswerVerdict{Error: v.Error, Correctness: v.Correctness, Faithfulness: v.Faithfulness, Reason: v.Reason}
		}
	}
	for _, m := range measures {
		message.Measures = append(message.Measures, &ragdv1.Measure{Name: m.Name, Value: m.Value, Low: m.Low, High: m.High})
	}
	for _, hit := range r.Hits {
		message.Hits = append(message.Hits, &ragdv1.QuestionHit{
			Uri: hit.URI, StartByte: uint32(hit.Span.Start), EndByte: uint32(hit.Span.End), Score: hit.Score, Relevant: hit.Relevant,
		})
	}
	return message
}
