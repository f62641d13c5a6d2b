package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/cmd/ragd/settings"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/tenant/access/oauth"
)

func TestIssuersFile(t *testing.T) {
	t.Parallel()
	read := func(text string) (settings.Settings, error) {
		path := filepath.Join(t.TempDir(), "issuers.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := settings.Settings{
			Service: service.Config{MCP: mcphttp.Config{PublicURL: "https://rag.example.com"}}, IssuersFile: path,
			OAuth: oauth.Config{Issuer: "https://id.example.com"},
		}
		_, err := s.Tokens()
		return s, err
	}
	s, err := read(`[{"issuer": "https://id.acme.example", "tenants": ["acme"], "scopePrefix": "ragd:", "scopes": ["read"]}]`)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := s.Tokens()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"": 2, "acme": 2, "globex": 1} {
		if got := tokens.Issuers(name); len(got) != want {
			t.Errorf("issuers of %q: %v", name, got)
		}
	}
	for text, want := range map[string]string{
		`{}`: "is no JSON list of issuers",
		`[{"isuer": "https://a.example", "clientSecret": "s3cret"}]`: "issuer 1: must be an object with issuer",
		`[{"issuer": "http://a.example"}]`:                           "must begin with https://",
		`[{"issuer": "https://id.example.com"}]`:                     "is given twice",
		`[{"issuer": "https://a.example", "tenants": ["A"]}]`:        `tenants: "A" is no name of a tenant`,
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", text, err)
		}
	}
	s.Service.MCP.PublicURL, s.OAuth = "", oauth.Config{}
	if _, err := s.Tokens(); err == nil || !strings.HasPrefix(err.Error(), "oauth-issuers-file needs public-url") {
		t.Errorf("without an address: %v", err)
	}
}
