package front

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	// largeBytes is from where on a request is large. It is read whole and decoded
	// several times over, so that a few dozen of the largest fill a machine.
	largeBytes = 1 << 20
	// maxLarge bounds the large requests at a time on an instance, maxLargeEach those
	// of one tenant.
	maxLarge     = 32
	maxLargeEach = 8
	// maxArrival bounds the time in which a request arrives: whoever sends a byte now
	// and then would keep his place.
	maxArrival = 2 * time.Minute
)

// large counts the large requests that are being read or answered. The zero value
// is ready for use, by many at a time.
type large struct {
	mu       sync.Mutex
	all      int
	byTenant map[tenant.ID]int
}

// hold is the place of one request, which it takes once it turns out to be large.
type hold struct {
	large *large
	of    tenant.ID
	taken bool
}

func (l *large) hold(of tenant.ID) *hold { return &hold{large: l, of: of} }

// take takes the place. Errors: Exhausted.
func (h *hold) take() error {
	l := h.large
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= maxLarge || l.byTenant[h.of] >= maxLargeEach {
		return fault.Retry(time.Second, "too many requests of more than %d bytes at a time: send fewer at once", largeBytes)
	}
	if l.byTenant == nil {
		l.byTenant = map[tenant.ID]int{}
	}
	l.all++
	l.byTenant[h.of]++
	h.taken = true
	return nil
}

// release gives the place back, if it was taken.
func (h *hold) release() {
	if !h.taken {
		return
	}
	l := h.large
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.byTenant[h.of]--; l.byTenant[h.of] == 0 {
		delete(l.byTenant, h.of)
	}
}

// heldReader takes the place when more than largeBytes were read.
type heldReader struct {
	io.Reader
	hold  *hold
	began time.Time
	read  int64
}

// Read implements io.Reader. Errors: those of take; *refusal after maxArrival.
func (r *heldReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err == nil && time.Since(r.began) > maxArrival {
		err = &refusal{http.StatusRequestTimeout, mcpgo.INVALID_REQUEST, fmt.Sprintf("the request did not arrive within %v", maxArrival)}
	}
	r.read += int64(n)
	if r.read > largeBytes && !r.hold.taken {
		if full := r.hold.take(); full != nil {
			return n, full
		}
	}
	return n, err
}
