package replica

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// tokenWait is how long a read waits for a replica to reach its write token.
	tokenWait = 200 * time.Millisecond
	// firstPause is the first pause of that wait, which doubles.
	firstPause = 5 * time.Millisecond
)

// Do runs statements on a connection to a replica, in one round trip that begins with the check. It
// may be called again after an error, and its statements may run again at the primary, so it must
// keep nothing of a call that failed.
type Do func(ctx context.Context, conn *pgxpool.Conn, check Check) error

// Reading is one request that reads: all of its statements see the same replica, or from some
// statement on the primary, never an older state after a newer one. Safe for concurrent use. A
// nil Reading reads at the primary.
type Reading struct {
	set       *Set
	tenant    string
	staleness time.Duration
	token     string

	mu      sync.Mutex
	begun   bool
	replica *replica // nil: the primary
	check   Check
	waits   bool // the write token demands more than the staleness
}

// Begin returns a Reading for a tenant, of data that may be so stale but not older than the write
// tokens, if there are any, with commas between. A nil staleness is the Set's own. It is nil if the primary has to answer.
func (s *Set) Begin(tenant string, staleness *time.Duration, token string) *Reading {
	if s == nil {
		return nil
	}
	allowed := s.staleness
	if staleness != nil {
		allowed = *staleness
	}
	if allowed <= 0 {
		s.counts.primary.Add(1)
		return nil
	}
	return &Reading{set: s, tenant: tenant, staleness: allowed, token: token}
}

// Run calls do at a replica. done is false if the statements have to run at the primary: no replica
// is fresh enough, or do failed there for a reason that the primary may not have.
func (r *Reading) Run(ctx context.Context, do Do) (done bool, err error) {
	if r == nil {
		return false, nil
	}
	at, check, waits := r.choose()
	if at == nil {
		r.set.counts.primary.Add(1)
		return false, nil
	}
	deadline := time.Now().Add(tokenWait)
	err = at.run(ctx, r.tenant, check, do)
	for pause := firstPause; waits && readReason(ctx, err) == Behind && time.Now().Add(pause).Before(deadline); pause *= 2 {
		if !sleep(ctx, pause) {
			return true, ctx.Err()
		}
		err = at.run(ctx, r.tenant, check, do)
	}
	reason := readReason(ctx, err)
	if reason == "" {
		r.set.counts.replica.Add(1)
		return true, err
	}
	if reason == Down || reason == Promoted || reason == Timeline {
		at.avoid()
	}
	r.leave(reason)
	r.set.counts.primary.Add(1)
	return false, nil
}

// choose returns the replica of the request and the check that it has to pass, nil for the primary.
// The first call chooses.
func (r *Reading) choose() (at *replica, check Check, waits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.begun {
		r.begun = true
		if reason := r.begin(); reason != "" {
			r.set.counts.fallbacks[reason].Add(1)
			r.replica = nil
		}
	}
	return r.replica, r.check, r.waits
}

// leave makes the primary answer all that follows.
func (r *Reading) leave(reason Reason) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.replica != nil {
		r.replica = nil
		r.set.counts.fallbacks[reason].Add(1)
	}
}

// begin chooses the replica and the position that it needs. It returns a reason if there is none.
func (r *Reading) begin() Reason {
	seen := r.set.observed()
	needed, ok := seen.needed(time.Now(), r.staleness)
	if !ok {
		return Unobserved
	}
	if r.token != "" {
		written, ok := decodeTokens(seen.timeline, r.tenant, r.token)
		if !ok {
			return Token
		}
		r.waits = written > needed
		needed = max(needed, written)
	}
	r.check = checkOf(seen.timeline, needed)
	var reason Reason
	r.replica, reason = r.set.pick(r.staleness, needed)
	return reason
}

// pick returns a replica that was at most so stale when last seen: in turn, those that had replayed
// the position first.
func (s *Set) pick(staleness time.Duration, position int64) (*replica, Reason) {
	first, reason := s.turn.Add(1), Down
	var hopeful *replica
	for i := range s.replicas {
		r := s.replicas[(first+uint64(i))%uint64(len(s.replicas))]
		lag, replayed, ok := r.usable()
		switch {
		case !ok:
		case lag > staleness:
			reason = Behind
		case replayed >= position:
			return r, ""
		case hopeful == nil:
			hopeful = r
		}
	}
	if hopeful != nil {
		return hopeful, ""
	}
	return nil, reason
}
