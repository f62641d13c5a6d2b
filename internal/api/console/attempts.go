package console

import (
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
)

// attempts limits how often something may be tried from an address: a number of times at once,
// and once more in each interval. Safe for concurrent use.
type attempts struct {
	most  float64
	every time.Duration

	mu   sync.Mutex
	used *cache.Cache[netip.Prefix, usage]
}

// usage is how many attempts of an address counted at a time.
type usage struct {
	count float64
	at    time.Time
}

// maxAddresses limits the addresses that are tracked. One that was evicted starts anew.
const maxAddresses = 10_000

func newAttempts(most int, every time.Duration) *attempts {
	return &attempts{most: float64(most), every: every, used: cache.New(cache.Config[netip.Prefix, usage]{Entries: maxAddresses})}
}

// take counts an attempt. It returns a function that does not count it after all. Errors:
// Exhausted with the time until the next attempt is allowed.
func (a *attempts) take(r *http.Request) (giveBack func(), err error) {
	from := origin(credential.ClientOf(r.Context()))
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now(from)
	if now.count+1 > a.most {
		wait := time.Duration((now.count + 1 - a.most) * float64(a.every))
		return nil, fault.Retry(max(wait, time.Second), "too many sign-ins were tried from this address: wait a moment")
	}
	now.count++
	a.used.Put(from, now)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		now := a.now(from)
		now.count = max(0, now.count-1)
		a.used.Put(from, now)
	}, nil
}

// now returns the usage of an address, less what has passed since.
func (a *attempts) now(from netip.Prefix) usage {
	u, _ := a.used.Get(from)
	now := time.Now()
	if !u.at.IsZero() {
		u.count = max(0, u.count-float64(now.Sub(u.at))/float64(a.every))
	}
	u.at = now
	return u
}

// origin returns the addresses that count as one: of IPv6, a network has 2^64.
func origin(client netip.Addr) netip.Prefix {
	client = client.Unmap()
	bits := client.BitLen()
	if client.Is6() {
		bits = 64
	}
	prefix, _ := client.WithZone("").Prefix(bits) // the zero Prefix for an unknown address
	return prefix
}

// try does something that may fail for want of a valid secret, and counts it if it does. Errors:
// those of do; Exhausted.
func (h *Handler) try(r *http.Request, do func() error) error {
	giveBack, err := h.failures.take(r)
	if err != nil {
		return err
	}
	err = do()
	if fault.KindOf(err) != fault.Unauthenticated {
		giveBack()
	}
	return err
}
