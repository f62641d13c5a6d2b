package mcphttp

import (
	"context"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/server"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
)

const (
	// metadataPath is the well-known path of the metadata of a protected resource (RFC 9728).
	// The metadata of a resource with a path is below it.
	metadataPath = server.WellKnownProtectedResourcePath
	// TenantPath is the path below which the endpoint of each tenant is, under its name:
	// /t/{tenant}/mcp is /mcp for requests that name the tenant.
	TenantPath = "/t/"
)

// named returns a handler for addresses that name the tenant. It passes them to routes without
// the name, which it puts into the header that names a tenant elsewhere.
func (h *Handler) named(routes http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("tenant")
		path := strings.TrimPrefix(r.URL.Path, credential.Resource{Tenant: name}.Base())
		if path != Path && !strings.HasPrefix(path, Path+"/") {
			h.serveUnknown(w, r)
			return
		}
		if given := r.Header.Get("Ragd-Tenant"); given != "" && given != name {
			h.reject(w, r, fault.Field("Ragd-Tenant", "names another tenant than the address"))
			return
		}
		inner := r.Clone(context.WithValue(r.Context(), namedKey{}, name))
		inner.URL.Path, inner.URL.RawPath = path, ""
		inner.Header.Set("Ragd-Tenant", name)
		routes.ServeHTTP(w, inner)
	})
}

// namedKey is the key of the tenant that the address of a request names.
type namedKey struct{}

// resourceOf returns the resource that a request to the endpoint is about.
func resourceOf(r *http.Request) credential.Resource {
	name, _ := r.Context().Value(namedKey{}).(string)
	return credential.Resource{Tenant: name, Server: r.PathValue("server")}
}

// parseResource returns the resource with a path, such as /t/acme/mcp/front.
func parseResource(path string) (to credential.Resource, ok bool) {
	if rest, ok := strings.CutPrefix(path, TenantPath); ok {
		to.Tenant, path, _ = strings.Cut(rest, "/")
		if path = "/" + path; to.Tenant == "" {
			return to, false
		}
	}
	switch server, found := strings.CutPrefix(path, Path+"/"); {
	case path == Path:
		return to, true
	case found && server != "" && !strings.Contains(server, "/"):
		to.Server = server
		return to, true
	}
	return to, false
}

// serveMetadata serves the protected resource metadata, without authentication: that of /mcp
// and of the resources below and beside it. It does not tell whether a server or a tenant
// exists. Where only API keys are accepted there is none.
func (h *Handler) serveMetadata(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, metadataPath)
	if path == "" || path == "/" {
		path = Path
	}
	to, ok := parseResource(path)
	if !ok || h.cfg.Issuers == nil {
		h.serveUnknown(w, r)
		return
	}
	issuers, err := h.cfg.Issuers(r.Context(), to.Tenant)
	if err != nil {
		h.reject(w, r, err)
		return
	}
	if len(issuers) == 0 {
		h.serveUnknown(w, r)
		return
	}
	name := "ragd"
	if to.Server != "" {
		name += " " + to.Server
	}
	config := server.ProtectedResourceMetadataConfig{
		Resource:               h.baseURL(r) + to.Path(),
		BearerMethodsSupported: []string{"header"},
		ResourceName:           name,
	}
	for _, i := range issuers {
		config.AuthorizationServers = append(config.AuthorizationServers, i.URL)
	}
	if prefix, ok := commonPrefix(issuers); ok {
		config.ScopesSupported = strings.Fields(access.ScopesUpTo(access.Write, prefix))
	}
	server.NewProtectedResourceMetadataHandler(config).ServeHTTP(w, r)
}

// commonPrefix returns the prefix of the scopes of all issuers; false if they differ. A client
// that is told scopes which its issuer does not have cannot log in; without any it asks for the
// issuer's default.
func commonPrefix(issuers []credential.Issuer) (string, bool) {
	for _, i := range issuers {
		if i.ScopePrefix != issuers[0].ScopePrefix {
			return "", false
		}
	}
	return issuers[0].ScopePrefix, true
}

// issuers returns the authorization servers whose tokens a request to the endpoint may have.
func (h *Handler) issuers(r *http.Request) ([]credential.Issuer, error) {
	if h.cfg.Issuers == nil {
		return nil, nil
	}
	return h.cfg.Issuers(r.Context(), resourceOf(r).Tenant)
}

// baseURL returns the address of the service for the client, without a trailing slash.
func (h *Handler) baseURL(r *http.Request) string {
	if h.cfg.PublicURL != "" {
		return strings.TrimRight(h.cfg.PublicURL, "/")
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// metadataURL returns the address of the metadata of the resource that a request is about.
func (h *Handler) metadataURL(r *http.Request) string {
	return h.baseURL(r) + metadataPath + resourceOf(r).Path()
}
