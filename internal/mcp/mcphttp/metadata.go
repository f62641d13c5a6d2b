package mcphttp

import (
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/server"
)

// metadataPath is the well-known path of the metadata of a protected resource (RFC 9728).
// The metadata of a resource with a path is below it.
const metadataPath = server.WellKnownProtectedResourcePath

// serveMetadata serves the protected resource metadata, without authentication.
func (h *Handler) serveMetadata(w http.ResponseWriter, r *http.Request) {
	server.NewProtectedResourceMetadataHandler(server.ProtectedResourceMetadataConfig{
		Resource:               h.resource(r),
		AuthorizationServers:   h.cfg.AuthorizationServers,
		ScopesSupported:        []string{"read", "write"},
		BearerMethodsSupported: []string{"header"},
		ResourceName:           "ragd",
	}).ServeHTTP(w, r)
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

// resource returns the canonical URI of the endpoint, the audience of access tokens.
func (h *Handler) resource(r *http.Request) string { return h.baseURL(r) + Path }

func (h *Handler) metadataURL(r *http.Request) string { return h.baseURL(r) + metadataPath + Path }
