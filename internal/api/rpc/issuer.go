package rpc

import (
	"context"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
)

// CreateIssuer implements IssuerService.
func (h *Handlers) CreateIssuer(ctx context.Context, req *ragdv1.CreateIssuerRequest) (*ragdv1.Issuer, error) {
	made, err := h.Credentials.CreateIssuer(ctx, credential.OwnIssuer{
		Name: req.GetIssuerName(), URL: req.GetUrl(), Audiences: req.GetAudiences(), JWKSURL: req.GetJwksUrl(), ScopeClaim: req.GetScopeClaim(),
		ScopePrefix: req.GetScopePrefix(), Scopes: scopesOf(req.GetScopes()), FilterClaim: req.GetFilterClaim(), BoundsClaim: req.GetBoundsClaim(),
	})
	if err != nil {
		return nil, err
	}
	return issuerMessage(made)
}

// GetIssuer implements IssuerService.
func (h *Handlers) GetIssuer(ctx context.Context, req *ragdv1.GetIssuerRequest) (*ragdv1.Issuer, error) {
	found, err := h.Credentials.GetIssuer(ctx, req.GetIssuerName())
	if err != nil {
		return nil, err
	}
	return issuerMessage(found)
}

// ListIssuers implements IssuerService.
func (h *Handlers) ListIssuers(ctx context.Context, req *ragdv1.ListIssuersRequest) (*ragdv1.ListIssuersResponse, error) {
	found, next, err := h.Credentials.ListIssuers(ctx, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	issuers, err := convertAll(ctx, found, issuerMessage)
	return &ragdv1.ListIssuersResponse{Issuers: issuers, NextPageToken: next}, err
}

// UpdateIssuer implements IssuerService.
func (h *Handlers) UpdateIssuer(ctx context.Context, req *ragdv1.UpdateIssuerRequest) (*ragdv1.Issuer, error) {
	change := credential.IssuerChange{
		JWKSURL: req.JwksUrl, ScopeClaim: req.ScopeClaim, ScopePrefix: req.ScopePrefix, Scopes: scopesOf(req.GetScopes()),
		FilterClaim: req.FilterClaim, BoundsClaim: req.BoundsClaim,
	}
	if req.Audiences != nil {
		change.Audiences = append([]string{}, req.Audiences.GetAudiences()...)
	}
	changed, err := h.Credentials.UpdateIssuer(ctx, req.GetIssuerName(), change)
	if err != nil {
		return nil, err
	}
	return issuerMessage(changed)
}

// DeleteIssuer implements IssuerService.
func (h *Handlers) DeleteIssuer(ctx context.Context, req *ragdv1.DeleteIssuerRequest) (*ragdv1.DeleteIssuerResponse, error) {
	return &ragdv1.DeleteIssuerResponse{}, h.Credentials.DeleteIssuer(ctx, req.GetIssuerName())
}

// scopesOf returns the scopes with these names, nil for none.
func scopesOf(names []string) []access.Scope {
	var scopes []access.Scope
	for _, name := range names {
		scopes = append(scopes, access.Scope(name))
	}
	return scopes
}

func issuerMessage(i credential.OwnIssuer) (*ragdv1.Issuer, error) {
	return &ragdv1.Issuer{
		IssuerName: i.Name, Url: i.URL, Audiences: i.Audiences, JwksUrl: i.JWKSURL, ScopeClaim: i.ScopeClaim, ScopePrefix: i.ScopePrefix,
		Scopes: scopeNames(i.Scopes), FilterClaim: i.FilterClaim, BoundsClaim: i.BoundsClaim,
		CreateTime: timestamp(i.CreatedAt), UpdateTime: timestamp(i.UpdatedAt),
	}, nil
}
