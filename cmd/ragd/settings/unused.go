package settings

import (
	"strings"

	"github.com/ragdhq/ragd/internal/model/endpoint"
)

// Unused is a setting of the service that was given but has no effect.
type Unused struct{ Setting, Reason string }

// Unused returns the settings of the service that were given but have no effect, because of
// another setting. given reports whether a setting was given.
func (s Settings) Unused(given func(string) bool) []Unused {
	var found []Unused
	check := func(without bool, reason string, names ...string) {
		for _, name := range names {
			if without && given(name) {
				found = append(found, Unused{name, reason})
			}
		}
	}
	external := s.Service.DatabaseURL != ""
	check(external, "it concerns the embedded database, but database-url is set", "min-free-bytes", "first-tenant", "backup-folder", "backup-interval", "backup-keep", "backup-wal")
	check(!external && s.Service.Backup.Folder == "", "backup-folder is not set", "backup-interval", "backup-keep")
	check(external && s.Service.ModelsDir != "", "it concerns the embedded database and the default of models-dir, but database-url and models-dir are set", "data-dir")
	check(!external && s.OperatorKey != "", "with operator-key no first tenant is made", "first-tenant")
	check(s.DatabaseReadURLs == "", "database-read-urls is not set", "database-max-staleness")
	check(s.Service.Metrics.Listen == "", "metrics-listen is not set", "metrics-tenants")
	check(s.Service.Traces.URL == "", "traces-url is not set", "traces-share")
	check(s.Service.MCP.Stateless, "with mcp-stateless there are no sessions", "session-key")
	check(s.OAuth.Issuer == "", "oauth-issuer is not set", "console-client-id", "console-client-secret", "oauth-client-id", "oauth-client-secret", "oauth-tenant-claim", "oauth-scope-claim", "oauth-scope-prefix")
	check(s.OAuth.Issuer != "" && s.OAuth.IntrospectionURL == "", "oauth-introspection-url is not set", "oauth-client-id", "oauth-client-secret")
	place := s.Service.Sleep.Place
	check(!strings.Contains(place, "://"), "sleep-storage is not a bucket", "sleep-access-key-id", "sleep-secret-access-key")
	check(external && place == "", "sleep-storage is not set", "sleep-after", "sleep-keep")
	providers := 0
	for _, provider := range s.Providers() {
		check(!provider.Endpoint.Configured(), provider.Name+"-api-key and "+provider.Name+"-base-url are not set", provider.Name+"-models")
		if provider.Endpoint.Configured() {
			providers++
		}
	}
	check(providers == 0, "no model provider is set", "provider-calls", "provider-calls-per-tenant")
	return found
}

// Provider is a model provider with its settings.
type Provider struct {
	Name     string
	Endpoint *endpoint.Config
}

// Providers returns all model providers. Their names begin the names of their settings.
func (s *Settings) Providers() []Provider {
	p := &s.Service.Providers
	return []Provider{{"openai", &p.OpenAI}, {"cohere", &p.Cohere}, {"jina", &p.Jina}, {"voyage", &p.Voyage}, {"tei", &p.TEI}, {"ollama", &p.Ollama}, {"gemini", &p.Gemini}}
}
