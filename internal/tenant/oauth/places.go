package oauth

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
)

const (
	// maxQuestions bounds the questions under way: whoever sends tokens that he made
	// up should not bring the issuer down through us.
	maxQuestions = 32
	// maxStrange bounds those about tokens of which the issuer has not said that they
	// are good. The rest is for callers who are known.
	maxStrange = 24
	// maxWaiting bounds the strange tokens of one address that wait for a place.
	maxWaiting = 64
)

// errCrowded is why a question is not asked.
var errCrowded = errors.New("too many unknown tokens of this address wait to be asked about")

// places shares out the questions to the issuer. Tokens that were good go first;
// among the others, the address that has the fewest places. Whoever sends made-up
// tokens waits for himself: neither those who are known nor those who call from
// elsewhere wait for him. Safe for concurrent use.
type places struct {
	mu      sync.Mutex
	used    int
	strange int
	using   map[netip.Prefix]int // strange ones, by address
	waiting []*waiter            // in the order in which they came
}

type waiter struct {
	from  netip.Prefix
	known bool
	ready chan struct{} // closed when it has a place
}

func newPlaces() *places { return &places{using: map[netip.Prefix]int{}} }

// enter waits for a place, and returns how to give it back. Errors: errCrowded;
// that of ctx.
func (p *places) enter(ctx context.Context, from netip.Addr, known bool) (leave func(), err error) {
	w := &waiter{from: neighbourhood(from), known: known, ready: make(chan struct{})}
	if err := p.queue(w); err != nil {
		return nil, err
	}
	select {
	case <-w.ready:
		return func() { p.leave(w) }, nil
	case <-ctx.Done():
		p.leave(w)
		return nil, ctx.Err()
	}
}

func (p *places) queue(w *waiter) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := 0
	for _, other := range p.waiting {
		if !other.known && other.from == w.from {
			before++
		}
	}
	if !w.known && before >= maxWaiting {
		return errCrowded
	}
	p.waiting = append(p.waiting, w)
	p.seat()
	return nil
}

// leave takes a waiter out, whether or not it had a place.
func (p *places) leave(w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := slices.Index(p.waiting, w); at >= 0 {
		p.waiting = slices.Delete(p.waiting, at, at+1)
		return
	}
	p.used--
	if !w.known {
		p.strange--
		if p.using[w.from]--; p.using[w.from] == 0 {
			delete(p.using, w.from)
		}
	}
	p.seat()
}

// seat gives free places to those whose turn it is.
func (p *places) seat() {
	for p.used < maxQuestions {
		at := p.next()
		if at < 0 {
			return
		}
		w := p.waiting[at]
		p.waiting = slices.Delete(p.waiting, at, at+1)
		p.used++
		if !w.known {
			p.strange++
			p.using[w.from]++
		}
		close(w.ready)
	}
}

// next returns whose turn it is, -1 for no one's.
func (p *places) next() int {
	best := -1
	for i, w := range p.waiting {
		switch {
		case w.known:
			return i
		case p.strange >= maxStrange:
		case best < 0 || p.using[w.from] < p.using[p.waiting[best].from]:
			best = i
		}
	}
	return best
}

// neighbourhood is what one caller has of addresses: of IPv6 usually a network.
func neighbourhood(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	network, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // all whose address is not known
	}
	return network
}
