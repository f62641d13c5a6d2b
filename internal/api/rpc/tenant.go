package rpc

import (
	"context"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

// CreateTenant implements TenantService.
func (h *Handlers) CreateTenant(ctx context.Context, req *ragdv1.CreateTenantRequest) (*ragdv1.Tenant, error) {
	t, err := h.Tenants.CreateNew(ctx, provision.Creation{
		TenantID: req.GetTenantId(), DisplayName: req.GetDisplayName(), Settings: req.GetSettings().AsMap(), Database: req.GetDatabase(),
		PlanName: req.GetPlanName(),
	})
	if err != nil {
		return nil, err
	}
	return h.tenantMessage(t)
}

// GetTenant implements TenantService.
func (h *Handlers) GetTenant(ctx context.Context, req *ragdv1.GetTenantRequest) (*ragdv1.Tenant, error) {
	t, err := h.Tenants.Get(ctx, req.GetTenantId())
	if err != nil {
		return nil, err
	}
	return h.tenantMessage(t)
}

// ListTenants implements TenantService.
func (h *Handlers) ListTenants(ctx context.Context, req *ragdv1.ListTenantsRequest) (*ragdv1.ListTenantsResponse, error) {
	found, next, err := h.Tenants.ListOfPlan(ctx, req.GetPlanName(), provision.State(req.GetState()), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	tenants, err := convertAll(ctx, found, tenantMessage)
	return &ragdv1.ListTenantsResponse{Tenants: tenants, NextPageToken: next}, err
}

// UpdateTenant implements TenantService.
func (h *Handlers) UpdateTenant(ctx context.Context, req *ragdv1.UpdateTenantRequest) (*ragdv1.Tenant, error) {
	change := provision.Change{DisplayName: req.DisplayName, PlanName: req.PlanName}
	if req.Settings != nil {
		change.Settings = req.Settings.AsMap()
	}
	t, err := h.Tenants.Update(ctx, req.GetTenantId(), change)
	if err != nil {
		return nil, err
	}
	return h.tenantMessage(t)
}

// DeleteTenant implements TenantService.
func (h *Handlers) DeleteTenant(ctx context.Context, req *ragdv1.DeleteTenantRequest) (*ragdv1.DeleteTenantResponse, error) {
	remove := h.Tenants.Delete
	if req.GetErase() {
		remove = h.Tenants.Erase
	}
	done, err := remove(ctx, req.GetTenantId())
	if err != nil {
		return nil, err
	}
	res := &ragdv1.DeleteTenantResponse{DeletedBytes: float64(done.Bytes), EraseTime: optionalTimestamp(done.RestorableUntil)}
	for _, r := range done.Deleted {
		res.Deleted = append(res.Deleted, &ragdv1.TenantRows{Kind: r.Kind, Count: float64(r.Count)})
	}
	for _, k := range done.Kept {
		res.Kept = append(res.Kept, &ragdv1.TenantRows{Kind: k.Kind, Count: float64(k.Count), Reason: k.Reason})
	}
	return res, nil
}

// RestoreTenant implements TenantService.
func (h *Handlers) RestoreTenant(ctx context.Context, req *ragdv1.RestoreTenantRequest) (*ragdv1.Tenant, error) {
	t, err := h.Tenants.Restore(ctx, req.GetTenantId())
	if err != nil {
		return nil, err
	}
	return h.tenantMessage(t)
}

// RepairTenant implements TenantService.
func (h *Handlers) RepairTenant(ctx context.Context, req *ragdv1.RepairTenantRequest) (*ragdv1.RepairTenantResponse, error) {
	problem, err := h.Tenants.RepairNamed(ctx, req.GetTenantId())
	return &ragdv1.RepairTenantResponse{Problem: problem}, err
}

// SleepTenant implements TenantService.
func (h *Handlers) SleepTenant(ctx context.Context, req *ragdv1.SleepTenantRequest) (*ragdv1.Tenant, error) {
	t, err := h.Sleeps.Sleep(ctx, req.GetTenantId())
	if err != nil {
		return nil, err
	}
	return h.tenantMessage(t)
}

// WakeTenant implements TenantService.
func (h *Handlers) WakeTenant(ctx context.Context, req *ragdv1.WakeTenantRequest) (*ragdv1.Tenant, error) {
	t, err := h.Sleeps.Wake(ctx, req.GetTenantId())
	if err != nil {
		return nil, err
	}
	return h.tenantMessage(t)
}

// ReencryptSecrets implements TenantService.
func (h *Handlers) ReencryptSecrets(ctx context.Context, _ *ragdv1.ReencryptSecretsRequest) (*ragdv1.ReencryptSecretsResponse, error) {
	done, err := h.Reseal.Run(ctx)
	if err != nil {
		return nil, err
	}
	return &ragdv1.ReencryptSecretsResponse{Reencrypted: int32(done.Count), Lost: done.Lost}, nil
}

// CreateApiKey implements TenantService.
func (h *Handlers) CreateApiKey(ctx context.Context, req *ragdv1.CreateApiKeyRequest) (*ragdv1.CreateApiKeyResponse, error) {
	mandatory, err := filterOf(req.GetMandatoryFilter())
	if err != nil {
		return nil, fault.Rename("filter", "mandatoryFilter", err)
	}
	if req.MandatoryFilter != nil && mandatory.IsZero() {
		return nil, fault.Field("mandatoryFilter", "restricts nothing: leave it out, or give a condition")
	}
	wanted := credential.NewKey{
		TenantID: req.GetTenantId(), DisplayName: req.GetDisplayName(), Scopes: req.GetScopes(), MandatoryFilter: mandatory,
		Bounds: access.Bounds{
			Servers: allowedNames(req.GetServers()), Indexes: allowedNames(req.GetIndexes()),
			Tools: allowedNames(req.GetTools()), Prompts: allowedNames(req.GetPrompts()),
		},
		Origins: req.GetOrigins(),
	}
	if req.Attributes != nil {
		wanted.Attributes = req.Attributes.AsMap()
	}
	if req.ExpireTime != nil {
		if err := req.ExpireTime.CheckValid(); err != nil {
			return nil, fault.Field("expireTime", "is not a valid time")
		}
		expires := req.ExpireTime.AsTime().Truncate(time.Microsecond)
		wanted.ExpiresAt = &expires
	}
	key, secret, err := h.Credentials.CreateKey(ctx, wanted)
	if err != nil {
		return nil, err
	}
	message, err := apiKeyMessage(key)
	return &ragdv1.CreateApiKeyResponse{ApiKey: message, Secret: secret}, err
}

// ListApiKeys implements TenantService.
func (h *Handlers) ListApiKeys(ctx context.Context, req *ragdv1.ListApiKeysRequest) (*ragdv1.ListApiKeysResponse, error) {
	found, next, err := h.Credentials.ListKeys(ctx, req.GetTenantId(), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	keys, err := convertAll(ctx, found, apiKeyMessage)
	return &ragdv1.ListApiKeysResponse{ApiKeys: keys, NextPageToken: next}, err
}

// RevokeApiKey implements TenantService.
func (h *Handlers) RevokeApiKey(ctx context.Context, req *ragdv1.RevokeApiKeyRequest) (*ragdv1.RevokeApiKeyResponse, error) {
	return &ragdv1.RevokeApiKeyResponse{}, h.Credentials.RevokeKey(ctx, req.GetApiKeyId())
}

// SetVectorStoreNames implements TenantService.
func (h *Handlers) SetVectorStoreNames(ctx context.Context, req *ragdv1.SetVectorStoreNamesRequest) (*ragdv1.SetVectorStoreNamesResponse, error) {
	if err := h.Tenants.SetStores(ctx, req.GetVectorStoreNames()); err != nil {
		return nil, err
	}
	return &ragdv1.SetVectorStoreNamesResponse{VectorStoreNames: req.GetVectorStoreNames()}, nil
}

// GetVectorStoreNames implements TenantService.
func (h *Handlers) GetVectorStoreNames(ctx context.Context, _ *ragdv1.GetVectorStoreNamesRequest) (*ragdv1.GetVectorStoreNamesResponse, error) {
	names, err := h.Tenants.Stores(ctx)
	return &ragdv1.GetVectorStoreNamesResponse{VectorStoreNames: names}, err
}

// WhoAmI implements TenantService.
func (h *Handlers) WhoAmI(ctx context.Context, _ *ragdv1.WhoAmIRequest) (*ragdv1.WhoAmIResponse, error) {
	r, err := access.Caller(ctx)
	if err != nil {
		return nil, err
	}
	return &ragdv1.WhoAmIResponse{
		Subject: r.Principal.Subject, TenantId: string(r.Tenant), Scopes: scopeNames(r.Principal.AllScopes()),
		AccessToken: r.Principal.ByToken, Filtered: !r.Principal.MandatoryFilter.IsZero(),
		Servers: allowedNamesMessage(r.Bounds.Servers), Indexes: allowedNamesMessage(r.Bounds.Indexes),
		Tools: allowedNamesMessage(r.Bounds.Tools), Prompts: allowedNamesMessage(r.Bounds.Prompts),
	}, nil
}

func scopeNames(scopes []access.Scope) []string {
	names := make([]string, len(scopes))
	for i, scope := range scopes {
		names[i] = string(scope)
	}
	return names
}

// tenantMessage returns a tenant with its quotas.
func (h *Handlers) tenantMessage(t provision.Tenant) (*ragdv1.Tenant, error) {
	message, err := tenantMessage(t)
	for _, e := range h.Plans.Effective(t.Settings, t.Plan) {
		message.Quotas = append(message.Quotas, quotaMessage(e))
	}
	return message, err
}

func tenantMessage(t provision.Tenant) (*ragdv1.Tenant, error) {
	settings, err := structOf(t.Settings)
	message := &ragdv1.Tenant{
		TenantId: string(t.TenantID), DisplayName: t.DisplayName, Settings: settings,
		CreateTime: timestamp(t.CreatedAt), UpdateTime: timestamp(t.UpdatedAt), Database: t.Database,
		State: string(t.State), AsleepTime: optionalTimestamp(t.AsleepSince), ArchivedBytes: float64(t.ArchivedBytes),
		DeleteTime: optionalTimestamp(t.DeletedAt), EraseTime: optionalTimestamp(t.EraseAt),
	}
	if t.Plan != nil {
		message.PlanName = t.Plan.Name
	}
	return message, err
}

func apiKeyMessage(k credential.APIKey) (*ragdv1.ApiKey, error) {
	attributes, err := structOf(k.Attributes)
	if err != nil {
		return nil, err
	}
	mandatory, err := filterMessage(k.MandatoryFilter)
	return &ragdv1.ApiKey{
		ApiKeyId: k.APIKeyID, TenantId: string(k.TenantID), DisplayName: k.DisplayName, Prefix: k.Prefix(),
		Scopes: scopeNames(k.Scopes), MandatoryFilter: mandatory, CreateTime: timestamp(k.CreatedAt),
		ExpireTime: optionalTimestamp(k.ExpiresAt), RevokeTime: optionalTimestamp(k.RevokedAt),
		FirstUseTime: optionalTimestamp(k.FirstUsedAt), LastUseTime: optionalTimestamp(k.LastUsedAt),
		Servers: allowedNamesMessage(k.Bounds.Servers), Indexes: allowedNamesMessage(k.Bounds.Indexes),
		Tools: allowedNamesMessage(k.Bounds.Tools), Prompts: allowedNamesMessage(k.Bounds.Prompts), Attributes: attributes,
		UnusableReason: k.UnusableReason, Origins: k.Origins,
	}, err
}

// allowedNames returns the names of a list; nil if the list is missing, which allows all names.
func allowedNames(list *ragdv1.AllowedNames) []string {
	if list == nil {
		return nil
	}
	return append([]string{}, list.GetNames()...)
}

func allowedNamesMessage(names []string) *ragdv1.AllowedNames {
	if names == nil {
		return nil
	}
	return &ragdv1.AllowedNames{Names: names}
}
