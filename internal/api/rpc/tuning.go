package rpc

import (
	"context"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/automation/evaluate"
	"github.com/ragdhq/ragd/internal/index"
)

// TuneIndex implements EvaluateService.
func (h *Handlers) TuneIndex(ctx context.Context, req *ragdv1.TuneIndexRequest) (*ragdv1.Evaluation, error) {
	started, err := h.Evaluations.Tune(ctx, req.GetSetName(), req.GetIndexName(), req.GetLabel(), evaluate.TuningSettings{Adopt: req.GetAdopt(), Namespace: req.GetNamespace()})
	if err != nil {
		return nil, err
	}
	return evaluationMessage(started)
}

// RestoreTuning implements EvaluateService.
func (h *Handlers) RestoreTuning(ctx context.Context, req *ragdv1.RestoreTuningRequest) (*ragdv1.RestoreTuningResponse, error) {
	restored, err := h.Indexes.RestoreTuning(ctx, req.GetIndexName())
	if err != nil {
		return nil, err
	}
	return &ragdv1.RestoreTuningResponse{Tuning: tuningMessage(restored)}, nil
}

func tuningMessage(t *index.Tuning) *ragdv1.IndexTuning {
	if t == nil {
		return nil
	}
	return &ragdv1.IndexTuning{VectorLogOdds: t.VectorLogOdds, SetName: t.SetName, EvaluationId: t.EvaluationID, AdoptTime: timestamp(t.AdoptedAt)}
}

func outcomeMessage(t evaluate.TuningSettings, o *evaluate.TuningOutcome) *ragdv1.TuningOutcome {
	if o == nil {
		return nil
	}
	message := &ragdv1.TuningOutcome{
		VectorLogOdds: o.Chosen, PresentVectorLogOdds: t.Present, ChosenCount: int32(o.Choosing), ComparedCount: int32(o.Comparing),
		Difference: differenceMessage(o.Difference), Adopted: o.Adopted,
	}
	for i, value := range t.Tried {
		message.Candidates = append(message.Candidates, &ragdv1.TuningCandidate{VectorLogOdds: value, Ndcg: o.NDCG[i]})
	}
	return message
}
