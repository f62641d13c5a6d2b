package graph

import (
	"time"

	"github.com/ragdhq/ragd/internal/lru"
	"github.com/ragdhq/ragd/internal/tenant"
)

// LimitCache gives the edges of all tenants so many bytes, and forgets them.
func (s *Service) LimitCache(bytes int64) { s.edges = lru.New[edgeKey, []placedEdge](bytes) }

// CacheBytes returns what they take.
func (s *Service) CacheBytes() int64 { return s.edges.Bytes() }

// Forge remembers an edge that is not there, under a tenant, index and version.
func (s *Service) Forge(id tenant.ID, index, version int64, from, to Place) {
	s.edges.Put(edgeKey{id, index, version, from}, []placedEdge{{from: from, to: to, kind: Mention, weight: 1, words: "forged"}}, 100)
}

// Limit bounds what is loaded for one query.
func (s *Service) Limit(nodes, edges int, bytes int64, time time.Duration) {
	s.bounds = bounds{nodes, edges, bytes, time}
}
