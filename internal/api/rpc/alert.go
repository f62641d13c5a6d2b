package rpc

import (
	"context"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/alert"
)

// CreateAlert implements AlertService.
func (h *Handlers) CreateAlert(ctx context.Context, req *ragdv1.CreateAlertRequest) (*ragdv1.Alert, error) {
	f, err := filterOf(req.GetFilter())
	if err != nil {
		return nil, err
	}
	made, err := h.Alerts.Create(ctx, alert.Alert{
		IndexName: req.GetIndexName(), Question: req.GetQueryText(), Mode: alert.Mode(req.GetSearchMode()), MinScore: req.MinScore, Filter: f,
		Namespace: req.GetNamespace(), DisplayName: req.GetDisplayName(), Paused: req.GetPaused(),
	})
	if err != nil {
		return nil, err
	}
	return alertMessage(made)
}

// GetAlert implements AlertService.
func (h *Handlers) GetAlert(ctx context.Context, req *ragdv1.GetAlertRequest) (*ragdv1.Alert, error) {
	found, err := h.Alerts.Get(ctx, req.GetAlertId())
	if err != nil {
		return nil, err
	}
	return alertMessage(found)
}

// ListAlerts implements AlertService.
func (h *Handlers) ListAlerts(ctx context.Context, req *ragdv1.ListAlertsRequest) (*ragdv1.ListAlertsResponse, error) {
	found, next, err := h.Alerts.List(ctx, req.GetIndexName(), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	alerts, err := convertAll(ctx, found, alertMessage)
	return &ragdv1.ListAlertsResponse{Alerts: alerts, NextPageToken: next}, err
}

// UpdateAlert implements AlertService.
func (h *Handlers) UpdateAlert(ctx context.Context, req *ragdv1.UpdateAlertRequest) (*ragdv1.Alert, error) {
	change := alert.Change{DisplayName: req.DisplayName, Question: req.QueryText, MinScore: req.MinScore, Paused: req.Paused}
	if req.SearchMode != nil {
		change.Mode = new(alert.Mode(req.GetSearchMode()))
	}
	if req.Filter != nil {
		f, err := filterOf(req.GetFilter())
		if err != nil {
			return nil, err
		}
		change.Filter = &f
	}
	changed, err := h.Alerts.Update(ctx, req.GetAlertId(), change)
	if err != nil {
		return nil, err
	}
	return alertMessage(changed)
}

// DeleteAlert implements AlertService.
func (h *Handlers) DeleteAlert(ctx context.Context, req *ragdv1.DeleteAlertRequest) (*ragdv1.DeleteAlertResponse, error) {
	return &ragdv1.DeleteAlertResponse{}, h.Alerts.Delete(ctx, req.GetAlertId())
}

// ListAlertMatches implements AlertService.
func (h *Handlers) ListAlertMatches(ctx context.Context, req *ragdv1.ListAlertMatchesRequest) (*ragdv1.ListAlertMatchesResponse, error) {
	found, next, err := h.Alerts.Matches(ctx, req.GetAlertId(), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	var reader objectReader
	matches, err := convertAll(ctx, found, func(m alert.Stored) (*ragdv1.AlertMatch, error) {
		source, err := reader.passageMessage(m)
		return &ragdv1.AlertMatch{MatchId: m.MatchID, Source: source, CreateTime: timestamp(m.CreatedAt)}, err
	})
	return &ragdv1.ListAlertMatchesResponse{Matches: matches, NextPageToken: next}, err
}

// PreviewAlert implements AlertService.
func (h *Handlers) PreviewAlert(ctx context.Context, req *ragdv1.PreviewAlertRequest) (*ragdv1.PreviewAlertResponse, error) {
	f, err := filterOf(req.GetFilter())
	if err != nil {
		return nil, err
	}
	found, err := h.Alerts.Preview(ctx, alert.Alert{
		IndexName: req.GetIndexName(), Question: req.GetQueryText(), Mode: alert.Mode(req.GetSearchMode()), MinScore: req.MinScore, Filter: f, Namespace: req.GetNamespace(),
	}, int(req.GetTopK()))
	if err != nil {
		return nil, err
	}
	var reader objectReader
	passages, err := convertAll(ctx, found.Passages, func(p alert.Previewed) (*ragdv1.PreviewedPassage, error) {
		source, err := reader.passageMessage(p.Stored)
		return &ragdv1.PreviewedPassage{Source: source, Matches: p.Matches}, err
	})
	return &ragdv1.PreviewAlertResponse{
		Passages: passages, MatchCount: int32(found.Matching), ComparedCount: int32(found.Compared), Complete: found.Complete,
	}, err
}

// passageMessage returns a passage that was compared with an alert.
func (r *objectReader) passageMessage(s alert.Stored) (*ragdv1.Source, error) {
	return r.sourceMessage(query.Source{
		ID: s.ChunkID, DocumentID: s.DocumentID, URI: s.URI, Title: s.Title, Ordinal: s.Ordinal, Text: s.Text, Metadata: s.Metadata, Score: s.Score,
		StartByte: s.StartByte, EndByte: s.EndByte,
	})
}

func alertMessage(a alert.Alert) (*ragdv1.Alert, error) {
	out := &ragdv1.Alert{
		AlertId: a.AlertID, DisplayName: a.DisplayName, IndexName: a.IndexName, Namespace: a.Namespace, QueryText: a.Question, SearchMode: string(a.Mode),
		Subject: a.Subject, EndedReason: a.EndedReason, Paused: a.Paused, CreateTime: timestamp(a.CreatedAt), UpdateTime: timestamp(a.UpdatedAt),
	}
	if a.MinScore != nil {
		out.MinScore = *a.MinScore
	}
	if a.Filter.IsZero() {
		return out, nil
	}
	var err error
	out.Filter, err = filterMessage(a.Filter)
	return out, err
}
