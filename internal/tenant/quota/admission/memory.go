package admission

import (
	"context"
	"sync"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
)

// memory is what the answers of other services take that one request of a tenant waits for.
// Safe for concurrent use.
type memory struct {
	gate   *Gate
	of     tenant.ID
	mu     sync.Mutex
	used   int64 // asked for by Grow
	taken  int64 // of the quota
	closed bool
}

type memoryKey struct{}

// WithMemory returns a context in which Grow takes memory from the quota of the tenant, and a
// function that returns it all and must be called when the request is answered. A context that
// has such memory already is returned as it is.
func (g *Gate) WithMemory(ctx context.Context, of tenant.ID) (_ context.Context, release func()) {
	if _, ok := ctx.Value(memoryKey{}).(*memory); ok {
		return ctx, func() {}
	}
	m := &memory{gate: g, of: of}
	return context.WithValue(ctx, memoryKey{}, m), m.close
}

// Afresh returns a context without the memory of the request in ctx, for work that goes on after the request was
// answered and takes its own with WithMemory.
func Afresh(ctx context.Context) context.Context { return context.WithValue(ctx, memoryKey{}, nil) }

// Grow takes memory, in bytes, for what the request in ctx receives from another service. It is
// returned when the request has been answered. Without WithMemory there is no limit. Errors:
// Exhausted when the request has taken more than a tenant's quota, and with a delay when other
// requests have taken it.
func Grow(ctx context.Context, bytes int64) error {
	m, ok := ctx.Value(memoryKey{}).(*memory)
	if !ok {
		return nil
	}
	return m.grow(ctx, bytes)
}

func (m *memory) grow(ctx context.Context, bytes int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return context.Canceled
	}
	used := m.used + bytes
	if most := m.gate.maxDecoded; used > most {
		return fault.New(fault.Exhausted, "the answer takes about %d MiB of memory once it is decoded, over the limit of %d MiB: ask for less", used>>20, most>>20)
	}
	if used > smallBytes {
		if err := take(ctx, m.gate.decoded, m.of, used-m.taken); err != nil {
			return err
		}
		m.taken = used
	}
	m.used = used
	return nil
}

func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	release(m.gate.decoded, m.of, &m.taken)
}
