package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	// maxNamed bounds the indexes that a schema names; a model that has to choose
	// from more does better with list_indexes.
	maxNamed = 100
	// namesFresh is how long names are taken from memory.
	namesFresh = 5 * time.Second
	// maxNamers bounds the tenants whose names are in memory.
	maxNamers = 1000
)

// indexNames knows the names of a tenant's indexes. Safe for concurrent use.
type indexNames struct {
	api   API
	known *expirable.LRU[tenant.ID, []string]
}

func newIndexNames(api API) *indexNames {
	return &indexNames{api, expirable.NewLRU[tenant.ID, []string](maxNamers, nil, namesFresh)}
}

// of returns the names of all indexes that the caller may see, or nil when there
// are more than maxNamed or they cannot be told now. Indexes are seen by the
// whole tenant, so that its callers share what is in memory.
func (n *indexNames) of(ctx context.Context) []string {
	if r, ok := tenant.FromContext(ctx); ok && !r.Principal.Has(tenant.Read) {
		return nil
	}
	id := tenantOf(ctx)
	if names, ok := n.known.Get(id); ok {
		return names
	}
	size := int32(maxNamed)
	res, err := n.api.ListIndexes(ctx, &ragdv1.ListIndexesRequest{PageSize: size})
	if err != nil {
		return nil
	}
	names := res.GetIndexNames()
	if res.GetNextPageToken() != "" {
		names = nil
	}
	n.known.Add(id, names)
	return names
}

// forget makes the next call look again, for every tenant if none is named.
func (n *indexNames) forget(id tenant.ID) {
	if id == "" {
		n.known.Purge()
		return
	}
	n.known.Remove(id)
}

// visible is the list of tools as the caller sees it: with their schemas, without
// those that its credential may not use, and with the names of the indexes there are. It says
// what is worth trying; what may be done is decided by the services.
func (s *toolset) visible(ctx context.Context, tools []mcpgo.Tool) []mcpgo.Tool {
	if r, ok := tenant.FromContext(ctx); ok && !r.Principal.Has(tenant.Write) {
		tools = slices.DeleteFunc(slices.Clone(tools), writes)
	}
	// The library asks about a single tool when it is called: no one reads its
	// schema then.
	if len(tools) < 2 {
		return tools
	}
	tools = s.withOwn(ctx, s.withSchemas(tools))
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

// withSchemas gives the tools that the library knows their schemas.
func (s *toolset) withSchemas(tools []mcpgo.Tool) []mcpgo.Tool {
	tools = slices.Clone(tools)
	for i, t := range tools {
		if kind := s.own.kinds[t.Name]; kind != nil {
			tools[i] = kind.definition
		}
	}
	return tools
}

func writes(t mcpgo.Tool) bool {
	return t.Annotations.ReadOnlyHint != nil && !*t.Annotations.ReadOnlyHint
}

// needs returns the scope that a tool needs.
func (s *toolset) needs(name string) tenant.Scope {
	for _, t := range s.tools {
		if t.definition.Name == name && writes(t.definition) {
			return tenant.Write
		}
	}
	return tenant.Read
}

// indexNameStart is how the part indexName begins in a schema.
var indexNameStart = []byte(`"indexName":{"type":"string",`)

// nameIndexes puts the names into the schema of the argument indexName.
func nameIndexes(schema json.RawMessage, names []string) json.RawMessage {
	list, err := json.Marshal(names)
	if err != nil {
		return schema
	}
	named := append(slices.Clone(indexNameStart), `"enum":`+string(list)+`,`...)
	return bytes.Replace(schema, indexNameStart, named, 1)
}
