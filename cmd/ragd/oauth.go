package main

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ragdhq/ragd/internal/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/oauth"
)

// registerOAuth makes the settings of an authorization server whose access tokens
// are taken besides API keys.
func (s *serviceSettings) registerOAuth(flags *pflag.FlagSet) {
	c := &s.OAuth
	flags.StringVar(&c.Issuer, "oauth-issuer", "", "authorization server whose access tokens are taken besides API keys (default: none)")
	flags.StringSliceVar(&c.Audiences, "oauth-audience", nil, "names that a token may be issued for (default: the public address, and that with /mcp)")
	flags.StringVar(&c.JWKSURL, "oauth-jwks-url", "", "where the issuer publishes its keys (default: as its metadata says)")
	flags.StringVar(&c.IntrospectionURL, "oauth-introspection-url", "", "where to ask about tokens that are not JWTs (default: tokens are JWTs)")
	flags.StringVar(&c.ClientID, "oauth-client-id", "", "the service's name at oauth-introspection-url")
	flags.StringVar(&c.TenantClaim, "oauth-tenant-claim", "tenant", "claim that names the tenant; within others with dots")
	flags.StringVar(&c.ScopeClaim, "oauth-scope-claim", "scope", "claim with the scopes, of which read, write and admin count")
	flags.StringVar(&c.ScopePrefix, "oauth-scope-prefix", "", "what the issuer puts before the scopes")
	flags.StringVar(&c.FilterClaim, "oauth-filter-claim", "", "claim with the mandatory filter, which every token must have then (default: none)")
	flags.StringVar(&c.ClientSecret, "oauth-client-secret", "", "")
	markSettings(flags, "oauth-issuer", "oauth-audience", "oauth-jwks-url", "oauth-introspection-url", "oauth-client-id",
		"oauth-tenant-claim", "oauth-scope-claim", "oauth-scope-prefix", "oauth-filter-claim")
	markSecrets(flags, "oauth-client-secret")
}

// tokens returns what verifies access tokens; nil when none are taken.
func (s serviceSettings) tokens() (tenant.Tokens, error) {
	c := s.OAuth
	if c.Issuer == "" {
		if len(c.Audiences) > 0 || c.JWKSURL != "" || c.IntrospectionURL != "" || c.FilterClaim != "" {
			return nil, errors.New("oauth-issuer is missing: it says whose access tokens are taken")
		}
		return nil, nil
	}
	if s.PublicURL == "" {
		// Where clients get their tokens must not hang on the name they called us by.
		return nil, errors.New("oauth-issuer needs public-url, the address that tokens are issued for")
	}
	if len(c.Audiences) == 0 {
		address := strings.TrimRight(s.PublicURL, "/")
		c.Audiences = []string{address, address + mcphttp.Path}
	}
	verifier, err := oauth.New(c)
	if err != nil {
		return nil, err
	}
	return verifier, nil
}

// authorizationServers are whom clients are sent to for a token.
func (s serviceSettings) authorizationServers() []string {
	if s.OAuth.Issuer == "" {
		return nil
	}
	return []string{s.OAuth.Issuer}
}
