package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/cache"
	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	// maxListedNames limits the index names in a schema; with more, list_indexes serves
	// models better.
	maxListedNames = 100
	// cacheTTL is how long names of indexes and tools of tenants are cached.
	cacheTTL = 5 * time.Second
	// maxCachedTenants limits the tenants in each cache.
	maxCachedTenants = 1000
)

// indexNames caches the names of tenants' indexes. Safe for concurrent use.
type indexNames struct {
	api   API
	known *cache.Cache[tenant.ID, []string]
}

func newIndexNames(api API) *indexNames {
	return &indexNames{api, cache.New(cache.Config[tenant.ID, []string]{Entries: maxCachedTenants, TTL: cacheTTL})}
}

// of returns the names of all indexes that the caller may see, or nil if there are more
// than maxListedNames or they cannot be loaded. All callers of a tenant see the same
// indexes and share the cached names.
func (n *indexNames) of(ctx context.Context) []string {
	if r, ok := tenant.FromContext(ctx); ok && !r.Principal.Has(tenant.Read) {
		return nil
	}
	id := tenantOf(ctx)
	if names, ok := n.known.Get(id); ok {
		return names
	}
	asked, size := time.Now(), int32(maxListedNames)
	res, err := n.api.ListIndexes(ctx, &ragdv1.ListIndexesRequest{PageSize: size})
	if err != nil {
		return nil
	}
	names := res.GetIndexNames()
	if res.GetNextPageToken() != "" {
		names = nil
	}
	n.known.PutLoaded(id, names, asked)
	return names
}

// forget drops the cached names of a tenant, or of all tenants if id is "".
func (n *indexNames) forget(id tenant.ID) {
	if id == "" {
		n.known.Clear()
		return
	}
	n.known.Remove(id)
}

// visible filters the list of tools for the caller: it adds schemas and the names of the
// indexes, and removes tools that the credential may not use. It only helps the model;
// the services check the rights.
func (s *toolset) visible(ctx context.Context, tools []mcpgo.Tool) []mcpgo.Tool {
	tools = s.allowed(ctx, tools)
	// With a single tool the library is about to call it and does not read its schema.
	if len(tools) < 2 {
		return tools
	}
	tools = s.addTenantTools(ctx, s.withSchemas(tools))
	names := s.indexes.of(ctx)
	if len(names) == 0 {
		return tools
	}
	shown := make([]mcpgo.Tool, len(tools))
	for i, t := range tools {
		t.RawInputSchema = nameIndexes(t.RawInputSchema, names)
		shown[i] = t
	}
	return shown
}

// allowed returns the tools that the credential may use.
func (s *toolset) allowed(ctx context.Context, tools []mcpgo.Tool) []mcpgo.Tool {
	if r, ok := tenant.FromContext(ctx); s.readOnly || ok && !r.Principal.Has(tenant.Write) {
		return slices.DeleteFunc(slices.Clone(tools), writes)
	}
	return tools
}

// withSchemas adds the schemas to the builtin tools.
func (s *toolset) withSchemas(tools []mcpgo.Tool) []mcpgo.Tool {
	tools = slices.Clone(tools)
	for i, t := range tools {
		if kind := s.tenantTools.kinds[t.Name]; kind != nil {
			tools[i] = kind.definition
		}
	}
	return tools
}

func writes(t mcpgo.Tool) bool {
	return t.Annotations.ReadOnlyHint != nil && !*t.Annotations.ReadOnlyHint
}

// needs returns the scope that a call of the tool needs.
func (s *toolset) needs(name string) tenant.Scope {
	for _, t := range s.tools {
		if t.definition.Name == name && writes(t.definition) {
			return tenant.Write
		}
	}
	return tenant.Read
}

// indexNameStart is the start of the shared entry indexName in a schema.
var indexNameStart = []byte(`"indexName":{"type":"string",`)

// nameIndexes adds the names as an enum to the schema of the argument indexName.
func nameIndexes(schema json.RawMessage, names []string) json.RawMessage {
	list, err := json.Marshal(names)
	if err != nil {
		return schema
	}
	named := append(slices.Clone(indexNameStart), `"enum":`+string(list)+`,`...)
	return bytes.Replace(schema, indexNameStart, named, 1)
}
