package rpc

import (
	"context"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/tenant/quota"
	"github.com/ragdhq/ragd/internal/tenant/quota/plan"
)

// CreatePlan implements PlanService.
func (h *Handlers) CreatePlan(ctx context.Context, req *ragdv1.CreatePlanRequest) (*ragdv1.Plan, error) {
	features := featuresOf(req.GetFeatures())
	p, err := h.Plans.Create(ctx, plan.Plan{DisplayName: req.GetDisplayName(), Plan: quota.Plan{
		Name: req.GetPlanName(), Settings: mapOf(req.GetSettings()), Without: features.Without, Models: features.Models,
	}})
	if err != nil {
		return nil, err
	}
	return tenantPlanMessage(p)
}

// GetPlan implements PlanService.
func (h *Handlers) GetPlan(ctx context.Context, req *ragdv1.GetPlanRequest) (*ragdv1.Plan, error) {
	p, err := h.Plans.Get(ctx, req.GetPlanName())
	if err != nil {
		return nil, err
	}
	return tenantPlanMessage(p)
}

// ListPlans implements PlanService.
func (h *Handlers) ListPlans(ctx context.Context, req *ragdv1.ListPlansRequest) (*ragdv1.ListPlansResponse, error) {
	found, next, err := h.Plans.List(ctx, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	plans, err := convertAll(ctx, found, tenantPlanMessage)
	return &ragdv1.ListPlansResponse{Plans: plans, NextPageToken: next}, err
}

// UpdatePlan implements PlanService.
func (h *Handlers) UpdatePlan(ctx context.Context, req *ragdv1.UpdatePlanRequest) (*ragdv1.Plan, error) {
	change := plan.Change{DisplayName: req.DisplayName, Settings: mapOf(req.GetSettings())}
	if req.Features != nil {
		features := featuresOf(req.GetFeatures())
		change.Features = &features
	}
	p, err := h.Plans.Update(ctx, req.GetPlanName(), change)
	if err != nil {
		return nil, err
	}
	return tenantPlanMessage(p)
}

// DeletePlan implements PlanService.
func (h *Handlers) DeletePlan(ctx context.Context, req *ragdv1.DeletePlanRequest) (*ragdv1.DeletePlanResponse, error) {
	return &ragdv1.DeletePlanResponse{}, h.Plans.Delete(ctx, req.GetPlanName())
}

// GetQuotas implements UsageService.
func (h *Handlers) GetQuotas(ctx context.Context, _ *ragdv1.GetQuotasRequest) (*ragdv1.GetQuotasResponse, error) {
	found, err := h.Plans.Quotas(ctx)
	if err != nil {
		return nil, err
	}
	res := &ragdv1.GetQuotasResponse{PlanContact: found.Contact}
	if found.Plan != nil {
		res.PlanName, res.Without, res.Models = found.Plan.Name, featureNames(found.Plan.Without), found.Plan.Models
	}
	for _, q := range found.Quotas {
		message := quotaMessage(q.Effective)
		if q.Used != nil {
			used := float64(*q.Used)
			message.Used = &used
		}
		res.Quotas = append(res.Quotas, message)
	}
	return res, nil
}

func quotaMessage(e quota.Effective) *ragdv1.Quota {
	return &ragdv1.Quota{Name: e.Key, Limit: float64(e.Limit), Source: string(e.Source)}
}

func featuresOf(m *ragdv1.PlanFeatures) plan.Features {
	f := plan.Features{Models: m.GetModels()}
	for _, name := range m.GetWithout() {
		f.Without = append(f.Without, quota.Feature(name))
	}
	return f
}

func featureNames(features []quota.Feature) []string {
	names := make([]string, len(features))
	for i, f := range features {
		names[i] = string(f)
	}
	return names
}

func tenantPlanMessage(p plan.Plan) (*ragdv1.Plan, error) {
	settings, err := structOf(p.Settings)
	return &ragdv1.Plan{
		PlanName: p.Name, DisplayName: p.DisplayName, Settings: settings, Tenants: int32(p.Tenants),
		Features:   &ragdv1.PlanFeatures{Without: featureNames(p.Without), Models: p.Models},
		CreateTime: timestamp(p.CreatedAt), UpdateTime: timestamp(p.UpdatedAt),
	}, err
}
