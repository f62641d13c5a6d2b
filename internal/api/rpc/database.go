package rpc

import (
	"context"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/place/placement"
)

// RegisterDatabase implements DatabaseService.
func (h *Handlers) RegisterDatabase(ctx context.Context, req *ragdv1.RegisterDatabaseRequest) (*ragdv1.Database, error) {
	d, err := h.Databases.Register(ctx, placement.Registration{
		Name: req.GetDatabaseName(), URL: req.GetUrl(), Owner: tenant.ID(req.GetOwnerTenantId()), MaxConnections: int(req.GetMaxConnections()),
		Distribution: req.GetDistribution(),
	})
	if err != nil {
		return nil, err
	}
	return databaseMessage(d), nil
}

// ListDatabases implements DatabaseService.
func (h *Handlers) ListDatabases(ctx context.Context, _ *ragdv1.ListDatabasesRequest) (*ragdv1.ListDatabasesResponse, error) {
	found, err := h.Databases.List(ctx)
	if err != nil {
		return nil, err
	}
	res := &ragdv1.ListDatabasesResponse{}
	for _, d := range found {
		res.Databases = append(res.Databases, databaseMessage(d))
	}
	return res, nil
}

// UpdateDatabase implements DatabaseService.
func (h *Handlers) UpdateDatabase(ctx context.Context, req *ragdv1.UpdateDatabaseRequest) (*ragdv1.Database, error) {
	change := placement.Change{URL: req.Url}
	if req.MaxConnections != nil {
		n := int(req.GetMaxConnections())
		change.MaxConnections = &n
	}
	d, err := h.Databases.Update(ctx, req.GetDatabaseName(), change)
	if err != nil {
		return nil, err
	}
	return databaseMessage(d), nil
}

// DeleteDatabase implements DatabaseService.
func (h *Handlers) DeleteDatabase(ctx context.Context, req *ragdv1.DeleteDatabaseRequest) (*ragdv1.DeleteDatabaseResponse, error) {
	return &ragdv1.DeleteDatabaseResponse{}, h.Databases.Delete(ctx, req.GetDatabaseName())
}

func databaseMessage(d placement.Database) *ragdv1.Database {
	message := &ragdv1.Database{
		DatabaseName: d.Name, Address: d.Address, OwnerTenantId: string(d.Owner), MaxConnections: int32(d.MaxConnections), Tenants: int32(d.Tenants),
		Answers: d.Answers, Problem: d.Problem, Bytes: float64(d.Bytes), SchemaVersion: int32(d.Version), NewestSchemaVersion: int32(d.Newest),
		Distribution: d.Distribution,
	}
	if !d.CreatedAt.IsZero() {
		message.CreateTime, message.UpdateTime = timestamp(d.CreatedAt), timestamp(d.UpdatedAt)
	}
	return message
}
