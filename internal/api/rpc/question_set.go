package rpc

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/automation/evaluate"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// CreateQuestionSet implements EvaluateService.
func (h *Handlers) CreateQuestionSet(ctx context.Context, req *ragdv1.CreateQuestionSetRequest) (*ragdv1.QuestionSet, error) {
	questions, err := questionsOf(req.GetQuestions())
	if err != nil {
		return nil, err
	}
	return setMessage(h.Evaluations.CreateSet(ctx, evaluate.Set{Name: req.GetSetName(), IndexName: req.GetIndexName(), Description: req.GetDescription()}, questions))
}

// GetQuestionSet implements EvaluateService.
func (h *Handlers) GetQuestionSet(ctx context.Context, req *ragdv1.GetQuestionSetRequest) (*ragdv1.QuestionSet, error) {
	return setMessage(h.Evaluations.GetSet(ctx, req.GetSetName()))
}

// ListQuestionSets implements EvaluateService.
func (h *Handlers) ListQuestionSets(ctx context.Context, req *ragdv1.ListQuestionSetsRequest) (*ragdv1.ListQuestionSetsResponse, error) {
	found, next, err := h.Evaluations.ListSets(ctx, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	sets, err := convertAll(ctx, found, func(s evaluate.Set) (*ragdv1.QuestionSet, error) { return setMessage(s, nil) })
	return &ragdv1.ListQuestionSetsResponse{QuestionSets: sets, NextPageToken: next}, err
}

// UpdateQuestionSet implements EvaluateService.
func (h *Handlers) UpdateQuestionSet(ctx context.Context, req *ragdv1.UpdateQuestionSetRequest) (*ragdv1.QuestionSet, error) {
	return setMessage(h.Evaluations.UpdateSet(ctx, req.GetSetName(), evaluate.SetChange{IndexName: req.IndexName, Description: req.Description}))
}

// DeleteQuestionSet implements EvaluateService.
func (h *Handlers) DeleteQuestionSet(ctx context.Context, req *ragdv1.DeleteQuestionSetRequest) (*ragdv1.DeleteQuestionSetResponse, error) {
	return &ragdv1.DeleteQuestionSetResponse{}, h.Evaluations.DeleteSet(ctx, req.GetSetName())
}

// PutQuestions implements EvaluateService.
func (h *Handlers) PutQuestions(ctx context.Context, req *ragdv1.PutQuestionsRequest) (*ragdv1.QuestionSet, error) {
	questions, err := questionsOf(req.GetQuestions())
	if err != nil {
		return nil, err
	}
	return setMessage(h.Evaluations.PutQuestions(ctx, req.GetSetName(), questions))
}

// ListQuestions implements EvaluateService.
func (h *Handlers) ListQuestions(ctx context.Context, req *ragdv1.ListQuestionsRequest) (*ragdv1.ListQuestionsResponse, error) {
	found, next, err := h.Evaluations.ListQuestions(ctx, req.GetSetName(), req.Drafted, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	questions, err := convertAll(ctx, found, questionMessage)
	return &ragdv1.ListQuestionsResponse{Questions: questions, NextPageToken: next}, err
}

// DeleteQuestions implements EvaluateService.
func (h *Handlers) DeleteQuestions(ctx context.Context, req *ragdv1.DeleteQuestionsRequest) (*ragdv1.QuestionSet, error) {
	return setMessage(h.Evaluations.DeleteQuestions(ctx, req.GetSetName(), req.GetQuestionIds()))
}

// RecordFeedback implements EvaluateService.
func (h *Handlers) RecordFeedback(ctx context.Context, req *ragdv1.RecordFeedbackRequest) (*ragdv1.RecordFeedbackResponse, error) {
	set, question, err := h.Evaluations.RecordFeedback(ctx, evaluate.Feedback{QueryID: req.GetQueryId(), Source: req.GetSource(), Helpful: req.Helpful, Withdraw: req.GetWithdraw()})
	return &ragdv1.RecordFeedbackResponse{SetName: set, QuestionId: question}, err
}

// DraftQuestions implements EvaluateService.
func (h *Handlers) DraftQuestions(ctx context.Context, req *ragdv1.DraftQuestionsRequest) (*ragdv1.DraftQuestionsResponse, error) {
	set, started, err := h.Evaluations.DraftQuestions(ctx, req.GetSetName(), evaluate.Draft{
		Count: int(req.GetCount()), Model: req.GetModel(), Seed: req.GetSeed(), Namespace: req.GetNamespace(),
	})
	if err != nil {
		return nil, err
	}
	message, err := setMessage(set, nil)
	return &ragdv1.DraftQuestionsResponse{QuestionSet: message, Job: jobMessage(started)}, err
}

// questionsOf converts questions. Errors: Invalid.
func questionsOf(given []*ragdv1.Question) ([]evaluate.Question, error) {
	questions := make([]evaluate.Question, len(given))
	for i, g := range given {
		q := evaluate.Question{ID: g.GetQuestionId(), Text: g.GetText(), Answer: g.GetAnswer(), AlternativeAnswers: g.GetAlternativeAnswers(), Unanswerable: g.GetUnanswerable(), Drafted: g.GetDrafted()}
		for n, r := range g.GetRelevant() {
			field := fmt.Sprintf("questions[%d].relevant[%d]", i, n)
			relevant := evaluate.Relevant{URI: r.GetUri(), Grade: 1}
			if r.Grade != nil {
				if relevant.Grade = r.GetGrade(); relevant.Grade == 0 {
					return nil, fault.Field(field+".grade", "must be above 0: leave out what is not relevant")
				}
			}
			if (r.StartByte == nil) != (r.EndByte == nil) {
				return nil, fault.Field(field+".endByte", "and startByte belong together: give both or none")
			}
			if r.StartByte != nil {
				relevant.Span = &evaluate.Span{Start: int(r.GetStartByte()), End: int(r.GetEndByte())}
			}
			q.Relevant = append(q.Relevant, relevant)
		}
		questions[i] = q
	}
	return questions, nil
}

func questionMessage(q evaluate.Question) (*ragdv1.Question, error) {
	message := &ragdv1.Question{QuestionId: q.ID, Text: q.Text, Answer: q.Answer, AlternativeAnswers: q.AlternativeAnswers, Unanswerable: q.Unanswerable, Drafted: q.Drafted}
	for _, r := range q.Relevant {
		relevant := &ragdv1.Relevant{Uri: r.URI}
		if r.Grade != 1 {
			relevant.Grade = &r.Grade
		}
		if s := r.Span; s != nil {
			start, end := uint32(s.Start), uint32(s.End)
			relevant.StartByte, relevant.EndByte = &start, &end
		}
		message.Relevant = append(message.Relevant, relevant)
	}
	return message, nil
}

// setMessage converts a set, unless there is an error.
func setMessage(s evaluate.Set, err error) (*ragdv1.QuestionSet, error) {
	if err != nil {
		return nil, err
	}
	return &ragdv1.QuestionSet{
		SetName: s.Name, IndexName: s.IndexName, Description: s.Description, QuestionCount: int32(s.Questions), DraftedCount: int32(s.Drafted),
		DraftJobId: s.DraftJobID, CreateTime: timestamppb.New(s.CreatedAt), UpdateTime: timestamppb.New(s.UpdatedAt),
	}, nil
}
