package service

import (
	"cmp"
	"context"
	"time"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/quota"
	"github.com/ragdhq/ragd/internal/tenant/quota/plan"
	"github.com/ragdhq/ragd/internal/tenant/quota/usage"
)

// newPlans returns the service of plans, with the quotas of tenants that have none.
func (s *Service) newPlans(db *data.DB) *plan.Service {
	return plan.New(plan.Config{
		Control: s.database.requests, Changed: s.Credentials.Auth.Forget, Contact: s.config.PlanContact,
		Standard: map[string]int64{
			quota.MaxIndexes:         int64(cmp.Or(s.config.MaxIndexes, index.DefaultMaxIndexes)),
			quota.RequestsPerSecond:  int64(s.config.TenantRequestRate),
			quota.ConcurrentRequests: int64(s.config.TenantConcurrentRequests),
		},
		Used: func(ctx context.Context, id tenant.ID) (map[string]int64, error) {
			tokens, err := s.usage.Tokens(ctx, id, time.Now())
			if err != nil {
				return nil, err
			}
			stored, err := ingest.StoredBy(ctx, db.Handle(id))
			return map[string]int64{
				quota.MaxTokensPerMonth: tokens, quota.MaxDocuments: stored.Documents, quota.MaxDocumentBytes: stored.Bytes, quota.MaxIndexes: stored.Indexes,
			}, err
		},
	})
}

// warn warns a tenant of a quota that it comes near.
func warn(work *data.DB) func(context.Context, tenant.ID, usage.Amount) error {
	return func(ctx context.Context, id tenant.ID, a usage.Amount) error {
		amounts := []usage.Amount{a}
		return work.Handle(id).Tx(ctx, func(tx *data.Tx) error { return usage.Warn(ctx, tx, amounts, amounts) })
	}
}

// allowModel returns an error unless the plan of a tenant has a model.
func (s *Service) allowModel(ctx context.Context, id, model string) error {
	limits, err := s.Credentials.Auth.Limits(ctx, tenant.ID(id))
	if err != nil {
		return err
	}
	return limits.CheckModel(model, endpoint.Matches)
}
