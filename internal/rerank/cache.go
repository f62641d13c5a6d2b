package rerank

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/ragdhq/ragd/internal/operate/cache"
)

// scoreCache caches scores by tenant, scorer, query and text. The tenant is part of
// the key because a faster answer would tell one tenant what another has asked, and
// about which text.
type scoreCache struct {
	scores *cache.Cache[[sha256.Size]byte, float64]
}

func newScoreCache(bytes int64) *scoreCache {
	if bytes == 0 {
		bytes = 16 << 20
	}
	return &scoreCache{cache.New(cache.Config[[sha256.Size]byte, float64]{
		Bytes: bytes, Weigh: func(key [sha256.Size]byte, _ float64) int { return len(key) + 8 },
	})}
}

func (c *scoreCache) get(s scorer, t task, text string) (float64, bool) {
	if s.key() == "" {
		return 0, false
	}
	return c.scores.Get(cacheKey(s, t, text))
}

func (c *scoreCache) put(s scorer, t task, text string, score float64) {
	if s.key() != "" {
		c.scores.Put(cacheKey(s, t, text), score)
	}
}

// cacheKey hashes everything that a score depends on. Each field follows its length,
// so that different inputs have different keys.
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

// ScoreCache returns the counts of the cache of scores.
func (r *Reranker) ScoreCache() cache.Stats { return r.cache.scores.Stats() }
