package toolset

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// maxListedNames limits the index names in a schema; with more, list_indexes serves
// models better.
const maxListedNames = 100

// indexNames caches the names of tenants' indexes. Safe for concurrent use.
type indexNames struct {
	*byCaller[[]string]

	api API
}

func newIndexNames(api API) *indexNames { return &indexNames{newByCaller[[]string](), api} }

// of returns the names of all indexes that the caller may see, or nil if there are more
// than maxListedNames or they cannot be loaded.
func (n *indexNames) of(ctx context.Context) []string {
	if r, ok := access.FromContext(ctx); ok && !r.Principal.Has(access.Read) {
		return nil
	}
	if names, ok := n.get(ctx); ok {
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
	n.put(ctx, names, asked)
	return names
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
