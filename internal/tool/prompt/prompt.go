// Package prompt stores and renders the prompts that tenants define: messages with arguments, in
// versions. Package mcp lists them beside the builtin ones.
package prompt

import (
	"encoding/json"
	"github.com/ragdhq/ragd/internal/tool/template"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tool/remote"
)

// Prompt is a version of a prompt.
type Prompt struct {
	Name        string
	Version     int    // from 1
	VersionName string // "" for none
	Definition
	CreatedAt time.Time // of the version
	Versions  []int     // that exist, the newest first; only from Get
}

// ETag returns the etag of the prompt, which changes with its latest version.
func (p Prompt) ETag() string {
	return catalog.ETag(p.Name, p.CreatedAt, strconv.Itoa(p.Version), p.VersionName)
}

// Definition is what a version of a prompt consists of.
type Definition struct {
	Title       string     `json:"title"`
	Description string     `json:"description"`
	Arguments   []Argument `json:"arguments"`
	Messages    []Message  `json:"messages"`
}

// Argument is a value that a user fills in.
type Argument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// Message is a message with exactly one of Text, Link, Resource, Image and Audio. Text and URIs are
// templates.
type Message struct {
	Role     string    `json:"role"`
	Text     string    `json:"text,omitempty"`
	Link     *Resource `json:"link,omitempty"`
	Resource *Resource `json:"resource,omitempty"` // whose content the client gets
	Image    *Media    `json:"image,omitempty"`
	Audio    *Media    `json:"audio,omitempty"`
}

// Media is an image or a sound.
type Media struct {
	MIMEType string `json:"mimeType"`
	Data     []byte `json:"data"`
}

// Resource names a resource of the service.
type Resource struct {
	URI         string `json:"uri"`
	Name        string `json:"name,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
}

// Roles of messages.
const (
	User      = "user"
	Assistant = "assistant"
)

// Limits.
const (
	maxPrompts         = 100 // of a tenant
	maxVersions        = 100 // of a prompt
	maxArguments       = 32
	maxMessages        = 32
	maxEmbedded        = 8 // messages with the content of a resource
	maxDefinitionBytes = 64 << 10
	maxTypeBytes       = 100      // of the type of an image or a sound
	maxArgumentBytes   = 16 << 10 // of the value of an argument
	maxRenderedBytes   = 1 << 20  // of all messages, without resources
)

// latest is the name of the version that is used by default.
const latest = "latest"

// builtin are the names of the prompts of package mcp.
var builtin = []string{"answer_with_sources", "compare_documents", "summarise_document", "build_filter"}

var versionPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]{0,63}$`)

// uriPattern matches URIs with a scheme, and one placeholder alone.
var uriPattern = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*:.|\{\{[^{}]*\}\}$)`)

// complete sets defaults and checks the prompt. Errors: Invalid.
func (p *Prompt) complete() error {
	if err := catalog.CheckName("promptName", p.Name, 64); err != nil {
		return err
	}
	if Reserved(p.Name) {
		return fault.Field("promptName", "%q is a name of the service's own prompts: take another", p.Name)
	}
	if err := checkVersionName(p.VersionName); err != nil {
		return err
	}
	if p.Title == "" {
		p.Title = p.Name
	}
	if err := p.checkArguments(); err != nil {
		return err
	}
	if err := p.checkMessages(); err != nil {
		return err
	}
	raw, err := json.Marshal(p.Definition)
	if err != nil || len(raw) > maxDefinitionBytes {
		return fault.Field("messages", "the prompt must be at most %d bytes of JSON, got %d", maxDefinitionBytes, len(raw))
	}
	return textlimit.Check("messages", string(raw), maxDefinitionBytes)
}

func checkVersionName(name string) error {
	if name != "" && (!versionPattern.MatchString(name) || name == latest) {
		return fault.Field("versionName", "must be 1 to 64 letters, digits, ., _ and -, the first a letter, and not %s", latest)
	}
	return nil
}

func (p *Prompt) checkArguments() error {
	if len(p.Arguments) > maxArguments {
		return fault.Field("arguments", "must be at most %d, got %d", maxArguments, len(p.Arguments))
	}
	for i, a := range p.Arguments {
		if !catalog.IsName(a.Name, 64) {
			return fault.Field("arguments", "the name %q must be 1 to 64 letters, digits, _ and -", textlimit.Shorten(a.Name, 100))
		}
		if slices.ContainsFunc(p.Arguments[:i], func(other Argument) bool { return other.Name == a.Name }) {
			return fault.Field("arguments", "has %q twice", a.Name)
		}
	}
	return nil
}

func (p *Prompt) checkMessages() error {
	if len(p.Messages) == 0 || len(p.Messages) > maxMessages {
		return fault.Field("messages", "must be 1 to %d, got %d", maxMessages, len(p.Messages))
	}
	embedded := 0
	for i := range p.Messages {
		m := &p.Messages[i]
		if m.Role == "" {
			m.Role = User
		}
		if m.Role != User && m.Role != Assistant {
			return fault.Field("messages.role", "must be %s or %s, got %q", User, Assistant, textlimit.Shorten(m.Role, 50))
		}
		if m.Resource != nil {
			embedded++
		}
		if err := p.checkMessage(*m); err != nil {
			return err
		}
	}
	if embedded > maxEmbedded {
		return fault.Field("messages.resource", "at most %d messages may have the content of a resource, got %d", maxEmbedded, embedded)
	}
	return nil
}

func (p *Prompt) checkMessage(m Message) error {
	field, text := "messages.text", m.Text
	contents := 0
	for _, has := range []bool{m.Text != "", m.Link != nil, m.Resource != nil, m.Image != nil, m.Audio != nil} {
		if has {
			contents++
		}
	}
	if contents > 1 {
		return fault.Field("messages", "a message has exactly one of text, resourceLink, resource, image and audio")
	}
	switch resource := m.resource(); {
	case m.Image != nil:
		return m.Image.check("messages.image", "image/")
	case m.Audio != nil:
		return m.Audio.check("messages.audio", "audio/")
	case resource != nil:
		field, text = "messages.uri", resource.URI
		if !uriPattern.MatchString(text) || strings.HasPrefix(strings.ToLower(text), "file:") { // a file of the client
			return fault.Field(field, "must be the URI of a resource of this service, such as ragd://indexes/docs/documents/{{arguments.documentId}}, or of a document, such as https://example.com/terms.md, or one placeholder alone, got %q", textlimit.Shorten(text, 100))
		}
	}
	if text == "" {
		return fault.Field(field, "is empty")
	}
	parsed, err := template.Parse(field, text)
	if err != nil {
		return err
	}
	for _, path := range parsed.Paths() {
		root, name, _ := strings.Cut(path, ".")
		switch {
		case root == "secrets":
			return fault.Field(field, "has the placeholder {{%s}}: prompts cannot show secrets", path)
		case root == "arguments" && !slices.ContainsFunc(p.Arguments, func(a Argument) bool { return a.Name == name }):
			return fault.Field(field, "has the placeholder {{%s}}, but the prompt has no such argument", path)
		}
	}
	return nil
}

// check checks an image or a sound. Errors: Invalid.
func (m Media) check(field, prefix string) error {
	if !strings.HasPrefix(m.MIMEType, prefix) || len(m.MIMEType) > maxTypeBytes || len(m.Data) == 0 {
		return fault.Field(field, "needs data, and a mimeType that begins with %s", prefix)
	}
	return textlimit.Check(field+".mimeType", m.MIMEType, maxTypeBytes)
}

// resource returns the resource that a message names, nil for a text.
func (m Message) resource() *Resource {
	if m.Link != nil {
		return m.Link
	}
	return m.Resource
}

// render returns the messages with the placeholders replaced. request returns values of the
// request context. Errors: Invalid for arguments that are missing, unknown or too long.
func (p *Prompt) render(given map[string]string, request func(string) (any, bool)) ([]Message, error) {
	values, err := p.values(given)
	if err != nil {
		return nil, err
	}
	lookup := template.Values{Arguments: values, Request: request}.Lookup
	rendered, budget := slices.Clone(p.Messages), template.NewBudget("the prompt", maxRenderedBytes)
	for i := range rendered {
		m := &rendered[i]
		switch {
		case m.Link != nil:
			m.Link, err = m.Link.render(budget, lookup)
		case m.Resource != nil:
			m.Resource, err = m.Resource.render(budget, lookup)
		case m.Image != nil, m.Audio != nil:
		default:
			m.Text, err = renderText(budget, "messages.text", m.Text, lookup, template.Text)
		}
		if err != nil {
			return nil, err
		}
	}
	return rendered, nil
}

// values returns the arguments of a call for templates.
func (p *Prompt) values(given map[string]string) (map[string]any, error) {
	values, known := map[string]any{}, map[string]bool{}
	for _, a := range p.Arguments {
		value, ok := given[a.Name]
		known[a.Name] = true
		if a.Required && strings.TrimSpace(value) == "" {
			return nil, fault.Field(a.Name, "is required")
		}
		if err := textlimit.Check(a.Name, value, maxArgumentBytes); err != nil {
			return nil, err
		}
		if ok {
			values[a.Name] = value
		}
	}
	for name := range given {
		if !known[name] {
			return nil, fault.Field("arguments", "the prompt has no argument %q", textlimit.Shorten(name, 100))
		}
	}
	return values, nil
}

// render returns the resource with the placeholders of its URI replaced. Errors: Invalid, naming
// the argument, for a value that is missing.
func (r Resource) render(budget *template.Budget, lookup func(string) (any, bool)) (*Resource, error) {
	parsed, err := template.Parse("messages.uri", r.URI)
	if err != nil {
		return nil, err
	}
	given := func(path string) (any, bool) {
		value, ok := lookup(path)
		return value, ok && value != ""
	}
	for _, placeholder := range parsed.Placeholders() {
		if _, ok := placeholder.Value(given); !ok {
			return nil, fault.Field(strings.TrimPrefix(placeholder.Paths[0], "arguments."), "is needed: the prompt has the resource %s", r.URI)
		}
	}
	encode := remote.Segment
	if strings.HasPrefix(r.URI, "{{") { // the whole URI
		encode = template.Text
	}
	r.URI, err = parsed.Render(budget, given, encode)
	return &r, err
}

func renderText(budget *template.Budget, field, text string, lookup func(string) (any, bool), encode func(any) (string, error)) (string, error) {
	parsed, err := template.Parse(field, text)
	if err != nil {
		return "", err
	}
	return parsed.Render(budget, lookup, encode)
}
