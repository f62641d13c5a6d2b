package mcphttp

import (
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/server"
)

// metadataPath is where RFC 9728 has clients look for the metadata of a
// protected resource; that of a resource with a path is below it.
const metadataPath = server.WellKnownProtectedResourcePath

// serveMetadata says what a credential must be for. It is open to everyone.
func (h *Handler) serveMetadata(w http.ResponseWriter, r *http.Request) {
	server.NewProtectedResourceMetadataHandler(server.ProtectedResourceMetadataConfig{
		Resource:               h.resource(r),
		AuthorizationServers:   h.cfg.AuthorizationServers,
		ScopesSupported:        []string{"read", "write"},
		BearerMethodsSupported: []string{"header"},
		ResourceName:           "ragd",
	}).ServeHTTP(w, r)
}

// baseURL is the service's address as the client knows it, without a slash at
// its end.
func (h *Handler) baseURL(r *http.Request) string {
	if h.cfg.PublicURL != "" {
		return strings.TrimRight(h.cfg.PublicURL, "/")
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// resource is the canonical URI of the endpoint: what a token must be issued
// for.
func (h *Handler) resource(r *http.Request) string { return h.baseURL(r) + Path }

func (h *Handler) metadataURL(r *http.Request) string { return h.baseURL(r) + metadataPath + Path }
