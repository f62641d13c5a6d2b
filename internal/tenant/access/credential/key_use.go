package credential

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// keyUseInterval is how often the times at which keys were used are written. That of a key that was not used in the
	// interval before is written within firstUseDelay: somebody may be waiting for it.
	keyUseInterval = time.Minute
	firstUseDelay  = time.Second
	// maxKeyUses is how many keys' times are kept in memory. Those of others are lost.
	maxKeyUses      = 10_000
	keyUsesDeadline = 10 * time.Second
)

// keyUse has the first and last use of a key in an interval.
type keyUse struct{ first, last time.Time }

// KeyUses notes when API keys were used. Safe for concurrent use.
type KeyUses struct {
	store *store
	now   func() time.Time

	mu      sync.Mutex
	uses    map[string]keyUse   // by the id of the key
	written map[string]struct{} // keys of this interval whose use has been written
	early   chan struct{}       // has room for one: there is a key whose use is not
}

func newKeyUses(store *store, now func() time.Time) *KeyUses {
	return &KeyUses{store: store, now: now, uses: map[string]keyUse{}, written: map[string]struct{}{}, early: make(chan struct{}, 1)}
}

// Used notes that an accepted request had this subject. Only those of API keys count.
func (u *KeyUses) Used(subject string) {
	if len(subject) != apiKeyIDChars {
		return
	}
	now := u.now()
	u.mu.Lock()
	defer u.mu.Unlock()
	use, ok := u.uses[subject]
	if !ok {
		if len(u.uses) >= maxKeyUses {
			return
		}
		use.first = now
		if _, ok := u.written[subject]; !ok {
			select {
			case u.early <- struct{}{}:
			default:
			}
		}
	}
	use.last = now
	u.uses[subject] = use
}

// Run writes the times every minute, and those of keys that were not used in the minute before within a second, until ctx
// ends. Flush then writes the last ones.
func (u *KeyUses) Run(ctx context.Context, log *slog.Logger) error {
	ticker := time.NewTicker(keyUseInterval)
	defer ticker.Stop()
	var delayed <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-u.early:
			if delayed == nil {
				delayed = time.After(firstUseDelay)
			}
			continue
		case <-delayed:
		case <-ticker.C:
			u.mu.Lock()
			clear(u.written)
			u.mu.Unlock()
		}
		delayed = nil
		if err := u.Flush(ctx); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "the times at which keys were used are lost", "err", err)
		}
	}
}

// Flush writes the times that are in memory.
func (u *KeyUses) Flush(ctx context.Context) error {
	u.mu.Lock()
	uses := u.uses
	u.uses = map[string]keyUse{}
	for id := range uses {
		if len(u.written) < maxKeyUses {
			u.written[id] = struct{}{}
		}
	}
	u.mu.Unlock()
	if len(uses) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, keyUsesDeadline)
	defer cancel()
	return u.store.addKeyUses(ctx, uses)
}
