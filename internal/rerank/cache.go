package rerank

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/ragdhq/ragd/internal/lru"
)

// cache keeps scores by tenant, scorer, query and text. The tenant is part of
// the key because an answer that comes sooner than usual would tell one tenant
// what another has asked, and of what.
type cache struct {
	scores *lru.Cache[[sha256.Size]byte, float64]
}

func newCache(bytes int64) *cache {
	if bytes == 0 {
		bytes = 16 << 20
	}
	return &cache{lru.New[[sha256.Size]byte, float64](bytes)}
}

func (c *cache) get(s scorer, t task, text string) (float64, bool) {
	if s.key() == "" {
		return 0, false
	}
	return c.scores.Get(cacheKey(s, t, text))
}

func (c *cache) put(s scorer, t task, text string, score float64) {
	if s.key() != "" {
		c.scores.Put(cacheKey(s, t, text), score, sha256.Size+8)
	}
}

// cacheKey writes lengths in front, so that no two different questions are
// written alike.
func cacheKey(s scorer, t task, text string) [sha256.Size]byte {
	h := sha256.New()
	var length [8]byte
	for _, part := range []string{t.tenant, s.key(), t.query, text} {
		binary.LittleEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	return [sha256.Size]byte(h.Sum(nil))
}
