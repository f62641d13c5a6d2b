package graph

import (
	"time"

	"github.com/ragdhq/ragd/internal/tenant"
)

// CountsOf reads the size of the graph of an index.
var CountsOf = countsOf

// LimitCache replaces the cache of edges by an empty one of that size.
func (s *Service) LimitCache(bytes int64) { s.edges = newEdgeCache(bytes) }

// CacheBytes returns the size of the cached edges.
func (s *Service) CacheBytes() int64 { return s.edges.Bytes() }

// Forge caches an edge that does not exist, for a tenant, index and version.
func (s *Service) Forge(id tenant.ID, index, version int64, from, to ChunkRef) {
	s.edges.Put(edgeKey{id, index, version, from}, []chunkEdge{{from: from, to: to, kind: Mention, weight: 1, label: "forged"}})
}

// Limit sets the bounds of what one query loads.
func (s *Service) Limit(nodes, edges int, bytes int64, time time.Duration) {
	s.bounds = bounds{nodes, edges, bytes, time}
}

// Statements that load edges without a filter.
var (
	AdjacentSQL = adjacentSQL(visibility{"true", true})
	FollowedSQL = followedSQL(visibility{"true", true})
)

// Lookups returns the names and values of their settings.
func Lookups() map[string]string {
	out := map[string]string{}
	for _, s := range lookups {
		out[s.name] = s.value
	}
	return out
}
