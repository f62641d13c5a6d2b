package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
	"github.com/ragdhq/ragd/internal/tenant/access/oauth"
)

// issuerEntry is an entry of the file of the setting oauth-issuers-file: the settings oauth-* of
// one more issuer, and the tenants that it is for.
type issuerEntry struct {
	Issuer           string         `json:"issuer"`
	Audiences        []string       `json:"audiences"`
	JWKSURL          string         `json:"jwksUrl"`
	IntrospectionURL string         `json:"introspectionUrl"`
	ClientID         string         `json:"clientId"`
	ClientSecret     string         `json:"clientSecret"`
	TenantClaim      string         `json:"tenantClaim"`
	ScopeClaim       string         `json:"scopeClaim"`
	ScopePrefix      string         `json:"scopePrefix"`
	Scopes           []access.Scope `json:"scopes"`
	FilterClaim      string         `json:"filterClaim"`
	BoundsClaim      string         `json:"boundsClaim"`
	Tenants          []string       `json:"tenants"`
}

// issuers returns the operator's issuers: that of the settings oauth-*, and those of the file.
// Errors do not show secrets.
func (s Settings) issuers() ([]oauth.Config, error) {
	var all []oauth.Config
	switch c := s.OAuth; {
	case c.Issuer != "":
		all = append(all, c)
	case len(c.Audiences) > 0 || c.JWKSURL != "" || c.IntrospectionURL != "" || c.FilterClaim != "" || c.BoundsClaim != "":
		return nil, errors.New("oauth-issuer is missing: it says whose access tokens are taken")
	}
	if s.IssuersFile == "" {
		return all, nil
	}
	text, err := os.ReadFile(s.IssuersFile)
	if err != nil {
		return nil, fmt.Errorf("read oauth-issuers-file: %w", err)
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(text, &entries); err != nil {
		return nil, fmt.Errorf("oauth-issuers-file: %s is no JSON list of issuers", s.IssuersFile)
	}
	for i, raw := range entries {
		config, err := parseIssuer(raw)
		if err != nil {
			return nil, fmt.Errorf("oauth-issuers-file: issuer %d: %w", i+1, err)
		}
		all = append(all, config)
	}
	return all, nil
}

func parseIssuer(raw json.RawMessage) (oauth.Config, error) {
	var e issuerEntry
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e); err != nil {
		return oauth.Config{}, errors.New("must be an object with issuer and, where they differ from the defaults, audiences, jwksUrl, introspectionUrl, " +
			"clientId, clientSecret, tenantClaim, scopeClaim, scopePrefix, scopes, filterClaim, boundsClaim and tenants")
	}
	for _, name := range e.Tenants {
		if _, err := tenant.ParseID(name); err != nil {
			return oauth.Config{}, fmt.Errorf("tenants: %q is no name of a tenant", name)
		}
	}
	return oauth.Config{
		Issuer: e.Issuer, Audiences: e.Audiences, JWKSURL: e.JWKSURL, IntrospectionURL: e.IntrospectionURL, ClientID: e.ClientID,
		ClientSecret: e.ClientSecret, TenantClaim: e.TenantClaim, ScopeClaim: e.ScopeClaim, ScopePrefix: e.ScopePrefix, Scopes: e.Scopes,
		FilterClaim: e.FilterClaim, BoundsClaim: e.BoundsClaim, Tenants: e.Tenants,
		QualifySubjects: true,
	}, nil
}

// Tokens returns the verifier of access tokens: those of the operator's issuers, and those that
// tenants accept for themselves. It is nil without public-url, as the audience of a token must
// not depend on the host name of a request.
func (s Settings) Tokens() (credential.Tokens, error) {
	issuers, err := s.issuers()
	if err != nil {
		return nil, err
	}
	if s.Service.MCP.PublicURL == "" {
		if len(issuers) > 0 {
			return nil, fmt.Errorf("%s needs public-url, the address that tokens are issued for", cmp.Or(map[bool]string{true: "oauth-issuer"}[s.OAuth.Issuer != ""], "oauth-issuers-file"))
		}
		return nil, nil
	}
	guard, err := outbound.New(s.Service.AllowedPrivateNetworks)
	if err != nil {
		return nil, err
	}
	tokens, err := oauth.NewIssuers(oauth.IssuersConfig{Operator: issuers, PublicURL: s.Service.MCP.PublicURL, Guard: guard})
	if err != nil {
		return nil, err
	}
	return tokens, nil
}
