package tenant

import (
	"context"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/fault"
)

// shareWait is how long a statement waits while its tenant has all the
// connections that one tenant may have.
const shareWait = 5 * time.Second

// shares bounds how many connections each tenant has at a time, so that one with
// slow statements cannot leave the others without.
type shares struct {
	each int

	mu   sync.Mutex
	held map[ID]*share
}

// share is one tenant's. It lives as long as somebody holds or awaits a place.
type share struct {
	places chan struct{}
	users  int
}

func newShares(each int) *shares {
	return &shares{each: each, held: map[ID]*share{}}
}

// take waits for a place of the tenant and returns what gives it back. Errors:
// Exhausted after shareWait, the context's error.
func (s *shares) take(ctx context.Context, id ID) (release func(), err error) {
	own := s.enter(id)
	release = func() { <-own.places; s.leave(id, own) }
	select {
	case own.places <- struct{}{}:
		return release, nil
	default:
	}
	timer := time.NewTimer(shareWait)
	defer timer.Stop()
	select {
	case own.places <- struct{}{}:
		return release, nil
	case <-timer.C:
		err = fault.Retry(time.Second, "this tenant has %d statements running, as many as it may have at once: send fewer requests at a time", s.each)
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.leave(id, own)
	return nil, err
}

func (s *shares) enter(id ID) *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	own, ok := s.held[id]
	if !ok {
		own = &share{places: make(chan struct{}, s.each)}
		s.held[id] = own
	}
	own.users++
	return own
}

func (s *shares) leave(id ID, own *share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(s.held, id)
	}
}
