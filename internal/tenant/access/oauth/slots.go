package oauth

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
)

const (
	// maxRequests bounds the concurrent introspection requests, so that a caller who
	// sends made-up tokens cannot overload the issuer.
	maxRequests = 32
	// maxUnverified bounds the concurrent requests about tokens that the issuer has not
	// called active before. The other slots are for tokens that were active.
	maxUnverified = 24
	// maxWaiting bounds the unverified tokens of one network that wait for a slot.
	maxWaiting = 64
)

var errTooManyWaiting = errors.New("too many unverified tokens of this network are waiting for introspection")

// slots bounds the concurrent introspection requests. A free slot goes first to a token
// that was active before, else to the network that uses the fewest slots. So a caller who
// sends made-up tokens delays only unverified tokens of the same network. Safe for
// concurrent use.
type slots struct {
	mu         sync.Mutex
	used       int
	unverified int                  // of used, for unverified tokens
	byNetwork  map[netip.Prefix]int // of unverified, by network
	waiting    []*waiter            // in order of arrival
}

// waiter is a request that waits for a slot or uses one.
type waiter struct {
	network  netip.Prefix
	verified bool          // whether the token was active before
	ready    chan struct{} // closed when it gets a slot
}

func newSlots() *slots { return &slots{byNetwork: map[netip.Prefix]int{}} }

// acquire waits for a slot. The caller must call release. Errors: errTooManyWaiting; the
// context's error.
func (s *slots) acquire(ctx context.Context, from netip.Addr, verified bool) (release func(), err error) {
	w := &waiter{network: networkOf(from), verified: verified, ready: make(chan struct{})}
	if err := s.enqueue(w); err != nil {
		return nil, err
	}
	select {
	case <-w.ready:
		return func() { s.remove(w) }, nil
	case <-ctx.Done():
		s.remove(w)
		return nil, ctx.Err()
	}
}

func (s *slots) enqueue(w *waiter) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := 0
	for _, other := range s.waiting {
		if !other.verified && other.network == w.network {
			before++
		}
	}
	if !w.verified && before >= maxWaiting {
		return errTooManyWaiting
	}
	s.waiting = append(s.waiting, w)
	s.grant()
	return nil
}

// remove ends the waiting of w, or frees its slot if it has one.
func (s *slots) remove(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.waiting, w); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
		return
	}
	s.used--
	if !w.verified {
		s.unverified--
		if s.byNetwork[w.network]--; s.byNetwork[w.network] == 0 {
			delete(s.byNetwork, w.network)
		}
	}
	s.grant()
}

// grant gives the free slots to waiters.
func (s *slots) grant() {
	for s.used < maxRequests {
		i := s.next()
		if i < 0 {
			return
		}
		w := s.waiting[i]
		s.waiting = slices.Delete(s.waiting, i, i+1)
		s.used++
		if !w.verified {
			s.unverified++
			s.byNetwork[w.network]++
		}
		close(w.ready)
	}
}

// next returns the index of the waiter that gets the next slot; -1 if none may have it.
func (s *slots) next() int {
	best := -1
	for i, w := range s.waiting {
		switch {
		case w.verified:
			return i
		case s.unverified >= maxUnverified:
		case best < 0 || s.byNetwork[w.network] < s.byNetwork[s.waiting[best].network]:
			best = i
		}
	}
	return best
}

// networkOf returns the addresses that one caller usually has: a single IPv4 address or an
// IPv6 network of 64 bits. All unknown addresses count as one network.
func networkOf(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	network, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return network
}
