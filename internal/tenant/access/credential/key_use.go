package credential

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// keyUseInterval is how often the times at which keys were used are written.
	keyUseInterval = time.Minute
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

	mu   sync.Mutex
	uses map[string]keyUse // by the id of the key
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
	}
	use.last = now
	u.uses[subject] = use
}

// Run writes the times every minute, until ctx ends. Flush then writes the last ones.
func (u *KeyUses) Run(ctx context.Context, log *slog.Logger) error {
	ticker := time.NewTicker(keyUseInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := u.Flush(ctx); err != nil && ctx.Err() == nil {
				log.WarnContext(ctx, "the times at which keys were used are lost", "err", err)
			}
		}
	}
}

// Flush writes the times that are in memory.
func (u *KeyUses) Flush(ctx context.Context) error {
	u.mu.Lock()
	uses := u.uses
	u.uses = map[string]keyUse{}
	u.mu.Unlock()
	if len(uses) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, keyUsesDeadline)
	defer cancel()
	return u.store.addKeyUses(ctx, uses)
}
