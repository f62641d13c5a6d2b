package main

import (
	"testing"

	"github.com/ragdhq/ragd/internal/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/tenant/oauth"
)

func TestOAuthSettings(t *testing.T) {
	t.Parallel()
	const id, public = "https://id.example.com", "https://rag.example.com/"
	published := service.Config{MCP: mcphttp.Config{PublicURL: public}}
	for name, tc := range map[string]struct {
		settings settings
		takes    bool
		wrong    bool
	}{
		"none":                           {},
		"an issuer":                      {settings: settings{Service: published, OAuth: oauth.Config{Issuer: id}}, takes: true},
		"an issuer and no address":       {settings: settings{OAuth: oauth.Config{Issuer: id}}, wrong: true},
		"an audience and no issuer":      {settings: settings{Service: published, OAuth: oauth.Config{Audiences: []string{"a"}}}, wrong: true},
		"a filter's claim and no issuer": {settings: settings{Service: published, OAuth: oauth.Config{FilterClaim: "see"}}, wrong: true},
		"an open line":                   {settings: settings{Service: published, OAuth: oauth.Config{Issuer: "http://id.example.com"}}, wrong: true},
	} {
		tokens, err := tc.settings.tokens()
		if (err != nil) != tc.wrong || (tokens != nil) != tc.takes {
			t.Errorf("%s: %v, %v", name, tokens, err)
		}
		config, err := tc.settings.serviceConfig(nil)
		if servers := config.MCP.AuthorizationServers; (err != nil) != tc.wrong || tc.takes && (len(servers) != 1 || servers[0] != id) {
			t.Errorf("%s: servers %v, %v", name, servers, err)
		}
	}
}
