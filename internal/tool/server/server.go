// Package server stores and checks the MCP servers that tenants define: names under which
// agents see chosen tools, prompts and indexes, with instructions and a request context of
// their own. Package mcp serves them.
package server

import (
	"encoding/json"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tool/template"
)

// Default is the name of the server at /mcp itself. It exists without a definition, and then
// shows everything that the caller may use.
const Default = "default"

// Server is an MCP server of a tenant.
type Server struct {
	Name string
	Definition
	CreatedAt time.Time
	UpdatedAt time.Time

	defaults, fixed access.Overrides // see parse
}

// Definition is what a tenant has set of a server.
type Definition struct {
	Version     string `json:"version"`
	Title       string `json:"title"`
	Description string `json:"description"`
	// Instructions tell models how to use the server: a template over the request context.
	Instructions string      `json:"instructions,omitempty"`
	Icons        []Icon      `json:"icons,omitempty"`
	WebsiteURL   string      `json:"websiteUrl,omitempty"`
	Repository   *Repository `json:"repository,omitempty"`
	// Tools, Prompts and Indexes are the names that the server shows: nil for all. Names of
	// tools are those of the tenant, not those in Presented.
	Tools   []string `json:"tools"`
	Prompts []string `json:"prompts"`
	Indexes []string `json:"indexes"`
	// HideResources serves no resources.
	HideResources bool `json:"hideResources,omitempty"`
	// Presented are tools that have other names or texts on this server.
	Presented []Presentation `json:"presented,omitempty"`
	// DefaultContext is the request context of calls that set nothing else, FixedContext one
	// that callers cannot change. The filters of both always hold.
	DefaultContext map[string]any `json:"defaultContext,omitempty"`
	FixedContext   map[string]any `json:"fixedContext,omitempty"`
	// RegistryName is the name in the registry document, in reverse-DNS form. Empty to derive
	// it from the address.
	RegistryName string `json:"registryName,omitempty"`
}

// Repository is where the source of a server is.
type Repository struct {
	URL       string `json:"url"`
	Source    string `json:"source"` // of the hosting service, such as github
	ID        string `json:"id,omitempty"`
	Subfolder string `json:"subfolder,omitempty"`
}

// Presentation is how a server shows a tool. Empty fields show the tool's own.
type Presentation struct {
	Tool        string `json:"toolName"`
	Name        string `json:"name,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
}

// Limits.
const (
	maxServers           = 100
	maxVersionBytes      = 100
	maxTitleBytes        = 200
	maxDescriptionBytes  = 4 << 10
	maxInstructionsBytes = 16 << 10
	maxURLBytes          = 2 << 10
	maxPresented         = 200
	maxContextBytes      = 16 << 10
	maxDefinitionBytes   = 256 << 10
	defaultVersion       = "1.0.0"
)

var (
	namePattern     = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$`)
	registryPattern = regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)
	versionRange    = regexp.MustCompile(`^[\^~<>=]|\*|\.[xX](\.|$)|\s`)
)

// IsName reports whether a server may have the name.
func IsName(name string) bool { return namePattern.MatchString(name) }

// complete sets the defaults of empty fields and checks the server. Errors: Invalid.
func (s *Server) complete() error {
	if !IsName(s.Name) {
		return fault.Field("serverName", "must be 1 to 63 of a-z, 0-9, _ and -, the first and the last a letter or a digit")
	}
	if s.Version == "" {
		s.Version = defaultVersion
	}
	if s.Title == "" {
		s.Title = s.Name
	}
	for _, check := range []func() error{s.checkTexts, s.checkLinks, s.checkIcons, s.checkLists, s.checkPresented, s.checkContext} {
		if err := check(); err != nil {
			return err
		}
	}
	if raw, err := json.Marshal(s.Definition); err != nil || len(raw) > maxDefinitionBytes {
		return fault.Field("serverName", "the definition must be at most %d bytes of JSON, got %d", maxDefinitionBytes, len(raw))
	}
	return nil
}

func (s *Server) checkTexts() error {
	for _, text := range []struct {
		field, value string
		most         int
	}{
		{"version", s.Version, maxVersionBytes}, {"title", s.Title, maxTitleBytes},
		{"description", s.Description, maxDescriptionBytes}, {"instructions", s.Instructions, maxInstructionsBytes},
	} {
		if err := textlimit.Check(text.field, text.value, text.most); err != nil {
			return err
		}
	}
	if err := template.CheckInstructions("instructions", s.Instructions); err != nil {
		return err
	}
	if versionRange.MatchString(s.Version) || s.Version == "latest" {
		return fault.Field("version", "must be one version such as 1.2.0, not a range, got %q", s.Version)
	}
	return nil
}

func (s *Server) checkLinks() error {
	if s.WebsiteURL != "" {
		if err := checkURL("websiteUrl", s.WebsiteURL); err != nil {
			return err
		}
	}
	if s.RegistryName != "" && (len(s.RegistryName) > maxTitleBytes || !registryPattern.MatchString(s.RegistryName)) {
		return fault.Field("registryName", "must be a namespace in reverse-DNS form, / and a name, such as com.example/handbook, of at most %d bytes", maxTitleBytes)
	}
	r := s.Repository
	if r == nil {
		return nil
	}
	if err := checkURL("repository.url", r.URL); err != nil {
		return err
	}
	if r.Source == "" {
		return fault.Field("repository.source", "is missing: name the hosting service, such as github")
	}
	if r.Subfolder != "" && (path.Clean(r.Subfolder) != r.Subfolder || path.IsAbs(r.Subfolder) || strings.HasPrefix(r.Subfolder, "..")) {
		return fault.Field("repository.subfolder", "must be a clean relative path, such as servers/handbook")
	}
	for field, text := range map[string]string{"repository.source": r.Source, "repository.id": r.ID, "repository.subfolder": r.Subfolder} {
		if err := textlimit.Check(field, text, maxTitleBytes); err != nil {
			return err
		}
	}
	return nil
}

// checkURL refuses what a client could not open in a browser. Errors: Invalid.
func checkURL(field, text string) error {
	if err := textlimit.Check(field, text, maxURLBytes); err != nil {
		return err
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || strings.ContainsAny(text, " \t\r\n") {
		return fault.Field(field, "must be an address that begins with https:// or http://")
	}
	return nil
}

// checkLists sorts the lists of names.
func (s *Server) checkLists() (err error) {
	bounds, err := s.Bounds().Check()
	s.Tools, s.Prompts, s.Indexes = bounds.Tools, bounds.Prompts, bounds.Indexes
	return err
}

// Bounds returns what the server shows. It does not limit servers.
func (d Definition) Bounds() access.Bounds {
	return access.Bounds{Tools: d.Tools, Prompts: d.Prompts, Indexes: d.Indexes}
}

func (s *Server) checkPresented() error {
	if len(s.Presented) > maxPresented {
		return fault.Field("presented", "must be at most %d tools, got %d", maxPresented, len(s.Presented))
	}
	tools, names := map[string]bool{}, map[string]bool{}
	for _, p := range s.Presented {
		if err := p.check(); err != nil {
			return fault.Under("presented", err)
		}
		if tools[p.Tool] {
			return fault.Field("presented.toolName", "names %q twice", p.Tool)
		}
		if p.Name != "" && names[p.Name] {
			return fault.Field("presented.name", "gives two tools the name %q", p.Name)
		}
		tools[p.Tool], names[p.Name] = true, true
	}
	for _, p := range s.Presented {
		shown := s.Tools != nil && slices.Contains(s.Tools, p.Name)
		if p.Name != "" && p.Name != p.Tool && s.Bounds().MayUseTool(p.Tool) && shown && !s.renamed(p.Name) {
			return fault.Field("presented.name", "%q is a tool that this server shows under its own name", p.Name)
		}
	}
	return nil
}

// renamed reports whether the server shows a tool under another name.
func (d Definition) renamed(tool string) bool {
	return slices.ContainsFunc(d.Presented, func(p Presentation) bool {
		return p.Tool == tool && p.Name != "" && p.Name != tool
	})
}

func (p Presentation) check() error {
	if p.Tool == "" {
		return fault.Field("toolName", "is missing")
	}
	if err := textlimit.Check("toolName", p.Tool, maxTitleBytes); err != nil {
		return err
	}
	if p.Name != "" && !catalog.IsName(p.Name, 64) {
		return fault.Field("name", "must be 1 to 64 letters, digits, _ and -")
	}
	if err := textlimit.Check("title", p.Title, maxTitleBytes); err != nil {
		return err
	}
	return textlimit.Check("description", p.Description, maxDescriptionBytes)
}

// checkContext refuses a request context that calls could not use, and one that is too large.
func (s *Server) checkContext() error {
	for field, values := range map[string]map[string]any{"defaultContext": s.DefaultContext, "fixedContext": s.FixedContext} {
		if _, err := parseContext(field, values); err != nil {
			return err
		}
	}
	for key := range s.FixedContext {
		if _, both := s.DefaultContext[key]; both && key != "filter" {
			return fault.Field("fixedContext", "has %q, which defaultContext has too", key)
		}
	}
	return nil
}

// checkDeclared refuses values of keys that are not declared, or that callers cannot set. Values
// that old has are not checked again. Errors: Invalid and Denied, naming the key.
func (s *Server) checkDeclared(r *access.Request, old Definition) error {
	for field, values := range map[string][2]map[string]any{
		"defaultContext": {old.DefaultContext, s.DefaultContext}, "fixedContext": {old.FixedContext, s.FixedContext},
	} {
		if reflect.DeepEqual(values[0], values[1]) {
			continue
		}
		given, err := parseContext(field, values[1])
		if err != nil {
			return err
		}
		if _, err := r.Accept(access.OriginServer, given); err != nil {
			return fault.Rename("Ragd-Context", field, err)
		}
	}
	return nil
}

// parseContext converts a request context to overrides. Errors: Invalid, naming field.
func parseContext(field string, values map[string]any) (access.Overrides, error) {
	if len(values) == 0 {
		return access.Overrides{}, nil
	}
	raw, err := json.Marshal(values)
	if err != nil || len(raw) > maxContextBytes {
		return access.Overrides{}, fault.Field(field, "must be at most %d bytes of JSON, got %d", maxContextBytes, len(raw))
	}
	overrides, err := access.ParseOverrides(raw)
	return overrides, fault.Rename("Ragd-Context", field, err)
}
