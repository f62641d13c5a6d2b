package index

import "github.com/ragdhq/ragd/internal/operate/fault"

// Type is the kind of Postgres index over the embeddings.
type Type string

// The types.
const (
	HNSW    Type = "hnsw"
	IVFFlat Type = "ivfflat"
	Flat    Type = "flat" // none: every search is exact
)

// Config describes the Postgres index over the embeddings.
type Config struct {
	Type           Type `json:"type"`
	M              int  `json:"m,omitempty"`              // links per node, hnsw
	EfConstruction int  `json:"efConstruction,omitempty"` // candidates while building, hnsw
	Lists          int  `json:"lists,omitempty"`          // clusters, ivfflat; 0: by the number of rows
}

// check validates the config and fills in the defaults. Errors: Invalid.
func (c *Config) check() error {
	if c.Type == "" {
		c.Type = HNSW
	}
	switch c.Type {
	case HNSW, IVFFlat, Flat:
	default:
		return fault.Field("indexConfig.type", "unknown type %q; known are hnsw, ivfflat and flat", c.Type)
	}
	if c.Type != HNSW && (c.M != 0 || c.EfConstruction != 0) {
		return fault.Field("indexConfig.hnsw", "has no meaning for type %s", c.Type)
	}
	if c.Type != IVFFlat && c.Lists != 0 {
		return fault.Field("indexConfig.ivf", "has no meaning for type %s", c.Type)
	}
	if c.Lists < 0 || c.Lists > 32_768 {
		return fault.Field("indexConfig.ivf.lists", "must be between 1 and 32768, or 0 to have it chosen, got %d", c.Lists)
	}
	if c.Type == HNSW {
		return c.checkHNSW()
	}
	return nil
}

func (c *Config) checkHNSW() error {
	if c.M == 0 {
		c.M = 16
	}
	if c.M < 2 || c.M > 100 {
		return fault.Field("indexConfig.hnsw.m", "must be between 2 and 100, got %d", c.M)
	}
	if c.EfConstruction == 0 {
		c.EfConstruction = max(64, 2*c.M)
	}
	if c.EfConstruction < 2*c.M || c.EfConstruction > 1000 {
		return fault.Field("indexConfig.hnsw.efConstruction", "must be between twice m (%d) and 1000, got %d", 2*c.M, c.EfConstruction)
	}
	return nil
}

// lists returns the number of clusters for a number of rows: one for a thousand rows,
// as pgvector advises.
func (c Config) lists(rows int64) int64 {
	if c.Lists > 0 {
		return int64(c.Lists)
	}
	return min(max(rows/1000, 10), 4000)
}
