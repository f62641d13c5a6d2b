package embed

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/ragdhq/ragd/internal/operate/cache"
)

// EmbedQuery returns the vector of a tenant's question. The vector is shared: do not
// change it. Vectors of recent questions are cached, and a question that several
// callers of a tenant ask at once is embedded once.
//
// No vector is shared between tenants: a faster answer would tell one tenant what
// another has asked. Neither do the questions of one tenant displace those of another
// that has asked less.
//
// Errors: those of Model.Embed, and that of ctx. When the context of one caller ends,
// the embedding goes on for the others who wait for it.
func (r *Registry) EmbedQuery(ctx context.Context, tenant string, model *Model, text string) ([]float32, error) {
	embed := func(ctx context.Context) ([]float32, error) {
		vectors, err := model.embed(ctx, tenant, []string{text}, question)
		if err != nil {
			return nil, err
		}
		return vectors[0], nil
	}
	if model.here {
		return embed(ctx) // faster than the cache
	}
	return r.questions.get(ctx, tenant, questionKey(tenant, model, text), embed)
}

// EmbedQueries embeds the tenant's questions that are not cached in one call, and caches them for EmbedQuery.
// Errors: those of Model.Embed.
func (r *Registry) EmbedQueries(ctx context.Context, tenant string, model *Model, texts []string) error {
	if model.here {
		return nil // faster than the cache
	}
	var missing []string
	var keys [][sha256.Size]byte // of missing
	for _, text := range texts {
		key := questionKey(tenant, model, text)
		if _, ok := r.questions.vectors.Get(tenant, key); !ok && !slices.Contains(keys, key) {
			missing, keys = append(missing, text), append(keys, key)
		}
	}
	if len(missing) < 2 {
		return nil
	}
	vectors, err := model.embed(ctx, tenant, missing, question)
	if err != nil {
		return err
	}
	for n, vector := range vectors {
		r.questions.vectors.Put(tenant, keys[n], vector)
	}
	return nil
}

// questionKey hashes everything that the vector depends on. Each part follows its
// length, so that different questions have different keys.
func questionKey(tenant string, model *Model, text string) [sha256.Size]byte {
	h := sha256.New()
	var length [8]byte
	for _, part := range []string{tenant, model.scope, model.Name, text} {
		binary.LittleEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	binary.LittleEndian.PutUint64(length[:], uint64(model.Dimension))
	h.Write(length[:])
	return [sha256.Size]byte(h.Sum(nil))
}

// questionCache caches vectors and joins callers who ask for the same one.
type questionCache struct {
	vectors *cache.Fair[string, [sha256.Size]byte, []float32] // by tenant

	mu      sync.Mutex
	flights map[[sha256.Size]byte]*flight
}

// flight is an embedding in progress.
type flight struct {
	waiting int // callers; guarded by questionCache.mu
	cancel  context.CancelFunc
	done    chan struct{}
	vector  []float32 // set before done is closed, as is err
	err     error
}

func newQuestionCache(bytes int64) *questionCache {
	if bytes == 0 {
		bytes = 64 << 20
	}
	return &questionCache{
		vectors: cache.NewFair[string](bytes, func(key [sha256.Size]byte, vector []float32) int { return len(key) + 24 + 4*len(vector) }),
		flights: map[[sha256.Size]byte]*flight{},
	}
}

func (c *questionCache) get(ctx context.Context, tenant string, key [sha256.Size]byte, embed func(context.Context) ([]float32, error)) ([]float32, error) {
	if vector, ok := c.vectors.Get(tenant, key); ok {
		return vector, nil
	}
	f := c.board(ctx, tenant, key, embed)
	select {
	case <-f.done:
		return f.vector, f.err
	case <-ctx.Done():
		c.leave(key, f)
		return nil, fmt.Errorf("embed the question: %w", ctx.Err())
	}
}

// board joins the flight for the key, or starts one. A flight is cancelled when its last
// caller leaves.
func (c *questionCache) board(ctx context.Context, tenant string, key [sha256.Size]byte, embed func(context.Context) ([]float32, error)) *flight {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.flights[key]; f != nil {
		f.waiting++
		return f
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight{waiting: 1, cancel: cancel, done: make(chan struct{})}
	c.flights[key] = f
	go func() {
		defer cancel()
		f.vector, f.err = embed(ctx)
		if f.err == nil {
			c.vectors.Put(tenant, key, f.vector)
		}
		c.mu.Lock()
		if c.flights[key] == f {
			delete(c.flights, key)
		}
		c.mu.Unlock()
		close(f.done)
	}()
	return f
}

func (c *questionCache) leave(key [sha256.Size]byte, f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.waiting--; f.waiting == 0 {
		f.cancel()
		if c.flights[key] == f { // later callers must not board a cancelled flight
			delete(c.flights, key)
		}
	}
}

// QuestionCache returns the counts of the cache of questions' vectors.
func (r *Registry) QuestionCache() cache.Stats { return r.questions.vectors.Stats() }
