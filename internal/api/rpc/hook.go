package rpc

import (
	"context"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/automation/event/journal"
	"github.com/ragdhq/ragd/internal/automation/hook"
)

// CreateHook implements HookService.
func (h *Handlers) CreateHook(ctx context.Context, req *ragdv1.CreateHookRequest) (*ragdv1.CreateHookResponse, error) {
	made, secret, err := h.Hooks.Create(ctx, hook.Hook{
		Name: req.GetHookName(), URL: req.GetUrl(), Description: req.GetDescription(), Events: req.GetEvents(), Tools: req.GetTools(),
		Indexes: req.GetIndexes(), Headers: req.GetHeaders(), MaxPayloadBytes: int(req.GetMaxPayloadBytes()),
		IncludeContent: req.IncludeContent == nil || req.GetIncludeContent(), Enabled: req.Enabled == nil || req.GetEnabled(),
	})
	if err != nil {
		return nil, err
	}
	return &ragdv1.CreateHookResponse{Hook: hookMessage(made), Secret: secret}, nil
}

// GetHook implements HookService.
func (h *Handlers) GetHook(ctx context.Context, req *ragdv1.GetHookRequest) (*ragdv1.Hook, error) {
	found, err := h.Hooks.Get(ctx, req.GetHookName())
	if err != nil {
		return nil, err
	}
	return hookMessage(found), nil
}

// ListHooks implements HookService.
func (h *Handlers) ListHooks(ctx context.Context, req *ragdv1.ListHooksRequest) (*ragdv1.ListHooksResponse, error) {
	found, next, err := h.Hooks.List(ctx, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	res := &ragdv1.ListHooksResponse{NextPageToken: next}
	for _, one := range found {
		res.Hooks = append(res.Hooks, hookMessage(one))
	}
	return res, nil
}

// UpdateHook implements HookService.
func (h *Handlers) UpdateHook(ctx context.Context, req *ragdv1.UpdateHookRequest) (*ragdv1.Hook, error) {
	change := hook.Change{
		ETag: req.GetEtag(),
		URL:  req.Url, Events: req.GetEvents(), Description: req.Description, IncludeContent: req.IncludeContent, Enabled: req.Enabled,
		Tools: names(req.Tools), Indexes: names(req.Indexes),
	}
	if req.MaxPayloadBytes != nil {
		change.MaxPayloadBytes = new(int(req.GetMaxPayloadBytes()))
	}
	if req.Headers != nil {
		if change.Headers = req.GetHeaders().GetHeaders(); change.Headers == nil {
			change.Headers = map[string]string{}
		}
	}
	changed, err := h.Hooks.Update(ctx, req.GetHookName(), change)
	if err != nil {
		return nil, err
	}
	return hookMessage(changed), nil
}

// names returns the names of a filter, nil if it was not given.
func names(filter *ragdv1.HookFilter) []string {
	if filter == nil {
		return nil
	}
	return append([]string{}, filter.GetNames()...)
}

// DeleteHook implements HookService.
func (h *Handlers) DeleteHook(ctx context.Context, req *ragdv1.DeleteHookRequest) (*ragdv1.DeleteHookResponse, error) {
	return &ragdv1.DeleteHookResponse{}, h.Hooks.Delete(ctx, req.GetHookName())
}

// RotateHookSecret implements HookService.
func (h *Handlers) RotateHookSecret(ctx context.Context, req *ragdv1.RotateHookSecretRequest) (*ragdv1.RotateHookSecretResponse, error) {
	var grace *time.Duration
	if req.GraceSeconds != nil {
		grace = new(time.Duration(req.GetGraceSeconds()) * time.Second)
	}
	rotated, secret, err := h.Hooks.Rotate(ctx, req.GetHookName(), grace)
	if err != nil {
		return nil, err
	}
	return &ragdv1.RotateHookSecretResponse{Hook: hookMessage(rotated), Secret: secret}, nil
}

// TestHook implements HookService.
func (h *Handlers) TestHook(ctx context.Context, req *ragdv1.TestHookRequest) (*ragdv1.Delivery, error) {
	tested, err := h.Hooks.Test(ctx, req.GetHookName())
	if err != nil {
		return nil, err
	}
	return deliveryMessage(tested)
}

// ListDeliveries implements HookService.
func (h *Handlers) ListDeliveries(ctx context.Context, req *ragdv1.ListDeliveriesRequest) (*ragdv1.ListDeliveriesResponse, error) {
	found, next, err := h.Hooks.Deliveries(ctx, req.GetHookName(), req.GetStatus(), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	deliveries, err := convertAll(ctx, found, deliveryMessage)
	return &ragdv1.ListDeliveriesResponse{Deliveries: deliveries, NextPageToken: next}, err
}

// ReplayDelivery implements HookService.
func (h *Handlers) ReplayDelivery(ctx context.Context, req *ragdv1.ReplayDeliveryRequest) (*ragdv1.Delivery, error) {
	replayed, err := h.Hooks.Replay(ctx, req.GetHookName(), req.GetDeliveryId())
	if err != nil {
		return nil, err
	}
	return deliveryMessage(replayed)
}

// ReplayFailed implements HookService.
func (h *Handlers) ReplayFailed(ctx context.Context, req *ragdv1.ReplayFailedRequest) (*ragdv1.ReplayFailedResponse, error) {
	var since *time.Time
	if req.StartTime != nil {
		since = new(req.GetStartTime().AsTime())
	}
	n, err := h.Hooks.ReplayFailed(ctx, req.GetHookName(), since)
	if err != nil {
		return nil, err
	}
	return &ragdv1.ReplayFailedResponse{ReplayedCount: int32(n)}, nil
}

func hookMessage(h hook.Hook) *ragdv1.Hook {
	out := &ragdv1.Hook{
		HookName: h.Name, Url: h.URL, Description: h.Description, Events: h.Events, Tools: h.Tools, Indexes: h.Indexes, Headers: h.Headers,
		IncludeContent: h.IncludeContent, MaxPayloadBytes: int32(h.MaxPayloadBytes), Enabled: h.Enabled, DisabledReason: h.DisabledReason,
		Failures: int32(h.Failures), CreateTime: timestamp(h.CreatedAt), UpdateTime: timestamp(h.UpdatedAt), Etag: h.ETag(),
	}
	if h.FailingSince != nil {
		out.FailingSinceTime = timestamp(*h.FailingSince)
	}
	if h.PreviousExpiresAt != nil {
		out.PreviousSecretExpireTime = timestamp(*h.PreviousExpiresAt)
	}
	return out
}

func deliveryMessage(d hook.Delivery) (*ragdv1.Delivery, error) {
	out := &ragdv1.Delivery{
		DeliveryId: d.DeliveryID, HookName: d.HookName, EventId: d.EventID, Type: d.Type, Status: string(d.Status), Attempts: int32(d.Attempts),
		StatusCode: int32(d.StatusCode), Error: d.Error, Response: d.Response, DurationMs: int32(d.DurationMS), CreateTime: timestamp(d.CreatedAt),
	}
	if d.AttemptedAt != nil {
		out.AttemptTime = timestamp(*d.AttemptedAt)
	}
	if d.Status == hook.Pending {
		out.NextAttemptTime = timestamp(d.NextAttemptAt)
	}
	var err error
	if d.Data != nil {
		out.Event, err = eventMessage(journal.Event{EventID: d.EventID, Type: d.Type, CreatedAt: d.EventAt, Data: d.Data})
	}
	return out, err
}
