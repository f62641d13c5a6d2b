package server

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/tenant"
)

// registrySchema is the version of the registry's schema that Document follows.
const registrySchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

// Limits of the registry, in characters.
const (
	registryTitle       = 100
	registryDescription = 100
	registryNameMost    = 200
)

// URL returns the address of the server for MCP clients of the service at base, which has no
// slash at the end.
func (s *Server) URL(base string) string {
	if s.Name == Default {
		return base + "/mcp"
	}
	return base + "/mcp/" + s.Name
}

// Package is a package of a registry such as npm or OCI that contains the program ragd, with which
// clients can reach a server over standard input and output.
type Package struct {
	Type       string // oci, npm, pypi, nuget or mcpb
	Identifier string // name or address
	Version    string // empty if the identifier has it
}

var packagePattern = regexp.MustCompile(`^(oci|npm|pypi|nuget|mcpb):([^\s@]+|@[^\s@]+)(?:@([^\s@]+))?$`)

// ParsePackage parses a package, such as oci:registry.example.com/ragd:1.2.0 or npm:@acme/ragd@1.2.0.
func ParsePackage(text string) (Package, error) {
	m := packagePattern.FindStringSubmatch(text)
	if m == nil || m[3] == "latest" || m[1] != "oci" && m[1] != "mcpb" && m[3] == "" {
		return Package{}, fmt.Errorf("%q is not a package such as oci:registry.example.com/ragd:1.2.0 or npm:@acme/ragd@1.2.0", text)
	}
	return Package{Type: m[1], Identifier: m[2], Version: m[3]}, nil
}

// entry returns the package as the registry describes it, for the server of the name on the
// service at base.
func (p Package) entry(name, base string) map[string]any {
	arguments := []any{map[string]any{"type": "positional", "value": "mcp"}}
	named := func(flag, value string) {
		arguments = append(arguments, map[string]any{"type": "named", "name": flag, "value": value})
	}
	named("--server", base)
	if name != Default {
		named("--mcp-server", name)
	}
	return strip(map[string]any{
		"registryType": p.Type, "identifier": p.Identifier, "version": p.Version,
		"transport": map[string]any{"type": "stdio"}, "packageArguments": arguments,
		"environmentVariables": []any{map[string]any{
			"name": "RAGD_API_KEY", "description": "A key of the service.", "isRequired": true, "isSecret": true,
		}},
	})
}

// Document returns the document server.json of the MCP registry for a server of the tenant on
// the service at base, with the package of ragd if there is one. Icons in data URIs are left
// out, because the registry takes addresses only.
func (s *Server) Document(id tenant.ID, base string, of *Package) map[string]any {
	document := map[string]any{
		"$schema":     registrySchema,
		"name":        s.registryName(id, base),
		"description": cut(strings.Join(strings.Fields(s.Description), " "), registryDescription),
		"version":     s.Version,
		"remotes": []any{map[string]any{
			"type": "streamable-http", "url": s.URL(base),
			"headers": []any{map[string]any{
				"name": "Authorization", "description": "A key of the service: Bearer, a space and the key.",
				"isRequired": true, "isSecret": true, "value": "Bearer {api_key}",
				"variables": map[string]any{"api_key": map[string]any{"description": "A key of the service.", "isRequired": true, "isSecret": true}},
			}},
		}},
	}
	if of != nil {
		document["packages"] = []any{of.entry(s.Name, base)}
	}
	if document["description"] == "" {
		document["description"] = cut(s.Title, registryDescription)
	}
	if s.Title != "" {
		document["title"] = cut(s.Title, registryTitle)
	}
	if s.WebsiteURL != "" {
		document["websiteUrl"] = s.WebsiteURL
	}
	if r := s.Repository; r != nil {
		document["repository"] = strip(map[string]any{"url": r.URL, "source": r.Source, "id": r.ID, "subfolder": r.Subfolder})
	}
	if icons := s.registryIcons(); len(icons) > 0 {
		document["icons"] = icons
	}
	return document
}

// registryName returns the name that the tenant chose, or one of the host name from its end,
// the tenant and the server.
func (s *Server) registryName(id tenant.ID, base string) string {
	if s.RegistryName != "" {
		return s.RegistryName
	}
	namespace := "local"
	if u, err := url.Parse(base); err == nil && u.Hostname() != "" {
		if namespace = u.Hostname(); net.ParseIP(namespace) == nil {
			labels := strings.Split(strings.Trim(namespace, "."), ".")
			slices.Reverse(labels)
			namespace = strings.Join(labels, ".")
		}
		namespace = strings.ReplaceAll(namespace, ":", "-") // of IPv6
	}
	suffix := "/" + string(id) + "." + s.Name
	return namespace[:min(len(namespace), registryNameMost-len(suffix))] + suffix
}

func (s *Server) registryIcons() (icons []any) {
	for _, i := range s.Icons {
		if i.embedded() {
			continue
		}
		icon := strip(map[string]any{"src": i.Source, "mimeType": i.MIMEType, "theme": i.Theme})
		if len(i.Sizes) > 0 {
			sizes := make([]any, len(i.Sizes))
			for n, size := range i.Sizes {
				sizes[n] = size
			}
			icon["sizes"] = sizes
		}
		icons = append(icons, icon)
	}
	return icons
}

// strip removes empty strings.
func strip(m map[string]any) map[string]any {
	for k, v := range m {
		if v == "" {
			delete(m, k)
		}
	}
	return m
}

// cut returns at most a number of characters of a text, the last of them an ellipsis if it is
// longer.
func cut(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return strings.TrimSpace(string(runes[:most-1])) + "…"
}
