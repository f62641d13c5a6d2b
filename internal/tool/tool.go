package tool

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

// Kind is the builtin tool that a tenant's tool is based on.
type Kind string

// The kinds.
const (
	VectorQuery     Kind = "vector_query"
	GraphRag        Kind = "graph_rag"
	DocumentChunker Kind = "document_chunker"

	HTTP Kind = "http" // a request to an HTTP service
	MCP  Kind = "mcp"  // a tool of another MCP server
)

// Remote reports whether a tool of the kind calls another service. Its arguments are those of
// its input schema.
func (k Kind) Remote() bool { return k == HTTP || k == MCP }

// Kinds lists the kinds for messages.
const Kinds = "vector_query, graph_rag, document_chunker, http or mcp"

// arguments are the default arguments of each kind.
var arguments = map[Kind][]string{
	VectorQuery:     {"queryText", "topK", "filter"},
	GraphRag:        {"queryText", "topK", "filter"},
	DocumentChunker: {"text"},
}

// descriptions are the default descriptions of each kind, written for models.
var descriptions = map[Kind]string{
	VectorQuery:     "Finds the passages of the stored documents that answer a question best. Ask one question per call, in full words, and cite a passage by its number.",
	GraphRag:        "Finds passages that answer a question together, by following what they mention and what they have in common. Use it for questions about connections, which no single passage answers. Cite a passage by its number.",
	DocumentChunker: "Cuts a text into chunks and stores nothing.",
}

// Tool is a tool that a tenant has defined.
type Tool struct {
	Name        string
	Kind        Kind
	Title       string
	Description string
	// Settings are fields of the kind's request, by their JSON names.
	Settings map[string]any
	// Arguments are the fields of the kind's request that a model may give.
	Arguments []string
	// Fixed keeps the request context from changing the settings.
	Fixed bool
	// Annotations are hints that replace those of the kind.
	Annotations Annotations
	// Meta is the _meta of the tool for MCP clients; nil for none.
	Meta map[string]any
	// OutputSchema is a JSON Schema of an object that replaces the one of the kind; nil
	// leaves that.
	OutputSchema map[string]any
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// Annotations are hints to clients how a tool behaves. Nil leaves what is known of the kind.
type Annotations struct {
	ReadOnlyHint    *bool `json:"readOnlyHint,omitempty"`
	DestructiveHint *bool `json:"destructiveHint,omitempty"`
	IdempotentHint  *bool `json:"idempotentHint,omitempty"`
	OpenWorldHint   *bool `json:"openWorldHint,omitempty"`
}

// EnableFilter is the setting of a query that says whether the model may give a filter.
const EnableFilter = "enableFilter"

// Limits.
const (
	maxTools            = 100
	maxTitleBytes       = 200
	maxDescriptionBytes = 4 << 10
	maxSettingsBytes    = 16 << 10
	maxRemoteBytes      = 96 << 10 // of the settings of a tool that calls another service, with its schemas
	maxArguments        = 64
	maxMetaBytes        = 8 << 10
)

// reserved are names that tenants cannot use: those of builtin tools, present and
// planned.
var reserved = []string{
	"vector_query", "graph_rag", "rerank", "document_chunker", "list_indexes", "list_topics", "describe_index", "create_index", "update_index", "delete_index",
	"list_documents", "get_document", "upload_document", "delete_document", "delete_documents", "get_chunks", "list_chunks", "count_chunks", "get_job", "list_jobs",
	"cancel_job", "retry_job", "sync_source", "list_sources", "embed", "search", "fetch", "research", "record_feedback", "list_tables", "query_table", "list_tools", "create_tool", "delete_tool",
	"alerts", "remember", "recall", "forget",
}

// Reserved reports whether tenants cannot use a name. Case does not matter.
func Reserved(name string) bool {
	return slices.Contains(reserved, strings.ToLower(name)) || strings.HasPrefix(strings.ToLower(name), "ragd")
}

// complete sets the defaults of empty fields and checks the tool. Errors: Invalid.
func (t *Tool) complete() error {
	if err := catalog.CheckName("toolName", t.Name, 64); err != nil {
		return err
	}
	if Reserved(t.Name) {
		return fault.Field("toolName", "%q is a name of the service's own tools: take another", t.Name)
	}
	if t.Kind == "" {
		return fault.Field("kind", "is missing: take %s", Kinds)
	}
	if arguments[t.Kind] == nil && !t.Kind.Remote() {
		return fault.Field("kind", "must be %s, got %q", Kinds, t.Kind)
	}
	if t.Title == "" {
		t.Title = t.Name
	}
	if t.Description == "" {
		t.Description = descriptions[t.Kind]
	}
	if len(t.Arguments) == 0 {
		t.Arguments = append([]string{}, arguments[t.Kind]...)
	}
	if t.Settings == nil {
		t.Settings = map[string]any{}
	}
	for _, object := range []*map[string]any{&t.Meta, &t.OutputSchema} {
		if len(*object) == 0 {
			*object = nil
		}
	}
	if err := t.enableFilter(); err != nil {
		return err
	}
	for _, check := range []func() error{t.check, t.checkFilter, t.checkStore, t.checkPresentation} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// enableFilter makes filter an argument, or none, as the setting EnableFilter says. Errors:
// Invalid.
func (t *Tool) enableFilter() error {
	given, ok := t.Settings[EnableFilter]
	if !ok || t.Kind != VectorQuery && t.Kind != GraphRag {
		return nil
	}
	enabled, ok := given.(bool)
	if !ok {
		return fault.Field("settings."+EnableFilter, "must be true or false")
	}
	const filter = "filter"
	without := slices.DeleteFunc(slices.Clone(t.Arguments), func(name string) bool { return name == filter })
	switch {
	case !enabled:
		t.Arguments = without
	case !slices.Contains(t.Arguments, filter):
		t.Arguments = append(without, filter)
	}
	return nil
}

// checkFilter validates the filter of the settings. Errors: Invalid.
func (t *Tool) checkFilter() error {
	given, ok := t.Settings["filter"]
	if !ok {
		return nil
	}
	_, err := filter.Parse(given)
	return fault.Under("settings", err)
}

// checkStore validates the name that the settings give the vector store. Errors: Invalid.
func (t *Tool) checkStore() error {
	name, ok := t.Settings["vectorStoreName"].(string)
	if !ok || name == "" {
		return nil
	}
	return tenant.CheckStore("settings.vectorStoreName", name)
}

// checkPresentation validates what MCP clients see besides texts. Errors: Invalid.
func (t *Tool) checkPresentation() error {
	raw, err := json.Marshal(t.Meta)
	if err != nil {
		return fault.Field("meta", "cannot be written as JSON")
	}
	if len(raw) > maxMetaBytes {
		return fault.Field("meta", "must be at most %d bytes of JSON, got %d", maxMetaBytes, len(raw))
	}
	for key := range t.Meta {
		if strings.HasPrefix(key, "ragd/") {
			return fault.Field("meta", "must have no key that begins with ragd/, got %q", key)
		}
	}
	if t.OutputSchema == nil {
		return nil
	}
	if raw, err = json.Marshal(t.OutputSchema); err != nil {
		return fault.Field("outputSchema", "cannot be written as JSON")
	}
	if t.OutputSchema["type"] != "object" {
		return fault.Field("outputSchema", `must have the type "object"`)
	}
	_, err = schema.Compile("outputSchema", raw)
	return err
}

func (t *Tool) check() error {
	if err := textlimit.Check("title", t.Title, maxTitleBytes); err != nil {
		return err
	}
	if err := textlimit.Check("description", t.Description, maxDescriptionBytes); err != nil {
		return err
	}
	if len(t.Arguments) > maxArguments {
		return fault.Field("arguments", "must be at most %d, got %d", maxArguments, len(t.Arguments))
	}
	for i, name := range t.Arguments {
		if slices.Contains(t.Arguments[:i], name) {
			return fault.Field("arguments", "has %q twice", name)
		}
	}
	raw, err := json.Marshal(t.Settings)
	if err != nil {
		return fault.Field("settings", "cannot be written as JSON")
	}
	most := maxSettingsBytes
	if t.Kind.Remote() {
		most = maxRemoteBytes
	}
	if len(raw) > most {
		return fault.Field("settings", "must be at most %d bytes of JSON, got %d", most, len(raw))
	}
	if t.Kind.Remote() {
		return t.checkRemote()
	}
	_, named := t.Settings["indexName"]
	if t.Kind != DocumentChunker && !named && !slices.Contains(t.Arguments, "indexName") {
		return fault.Field("settings.indexName", "is missing: name the index that the tool is over, or have the model give indexName")
	}
	return nil
}

func (t *Tool) checkRemote() error {
	switch {
	case t.Description == "":
		return fault.Field("description", "is missing: say for models what the tool does, and when to use it")
	case len(t.Arguments) > 0:
		return fault.Field("arguments", "are those of settings.inputSchema for a tool of the kind %s", t.Kind)
	}
	return nil
}
