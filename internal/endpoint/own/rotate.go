package own

import (
	"context"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/tenant"
)

// RotateFunc encrypts the secrets of one kind of a tenant with the first master key. It
// returns how many were encrypted with another key, and names of those that no key opens.
type RotateFunc func(ctx context.Context, id tenant.ID) (count int, lost []string, err error)

// Rotated is the outcome of Rotate.
type Rotated struct {
	Count int      // of secrets that were encrypted with another key
	Lost  []string // tenant/endpoint, or tenant/kind/name, of secrets that no key opens
}

// Rotate encrypts the secrets of all tenants with the first master key. tenants returns a page
// of the tenants, for a caller who is the operator, and the token of the next. Errors:
// those of tenants, and Precondition without master keys.
func (s *Service) Rotate(ctx context.Context, tenants func(ctx context.Context, pageSize int32, pageToken string) ([]tenant.Tenant, string, error)) (Rotated, error) {
	var all Rotated
	for token := ""; ; {
		page, next, err := tenants(ctx, 1000, token)
		if err != nil {
			return all, err
		}
		if s.config.Keys == nil {
			return all, fault.New(fault.Precondition, "this server has no master key: set RAGD_MASTER_KEY")
		}
		for _, t := range page {
			if err := s.rotate(ctx, t.TenantID, &all); err != nil {
				return all, err
			}
			if err := s.rotateOthers(ctx, t.TenantID, &all); err != nil {
				return all, err
			}
		}
		if token = next; token == "" {
			return all, nil
		}
	}
}

func (s *Service) rotate(ctx context.Context, id tenant.ID, all *Rotated) error {
	h := s.config.DB.Handle(id)
	rows, err := list(ctx, h, "", maxEndpoints)
	if fault.KindOf(err) == fault.NotFound { // deleted meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.Secret == nil || s.config.Keys.Current(r.Secret) {
			continue
		}
		secret, err := s.open(id, r)
		if err != nil {
			all.Lost = append(all.Lost, string(id)+"/"+r.EndpointName)
			continue
		}
		fresh := s.config.Keys.Seal(secret.encode(), belongsTo(id, r.EndpointName, r.BaseURL)...)
		if err := reseal(ctx, h, r.EndpointName, r.Secret, fresh); err != nil {
			return err
		}
		all.Count++
	}
	return nil
}

func (s *Service) rotateOthers(ctx context.Context, id tenant.ID, all *Rotated) error {
	for _, rotate := range s.config.Also {
		count, lost, err := rotate(ctx, id)
		all.Count += count
		for _, name := range lost {
			all.Lost = append(all.Lost, string(id)+"/"+name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
