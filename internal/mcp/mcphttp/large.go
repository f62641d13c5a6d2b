package mcphttp

import (
	"fmt"
	"io"
	"net/http"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/limit"
	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	// largeBytes is the size above which a request is large. Large requests are limited
	// because a request is held in memory and decoded several times, so a few dozen of
	// the largest fill a machine.
	largeBytes = 1 << 20
	// maxLarge limits the concurrent large requests on an instance, maxLargeEach those of
	// one tenant.
	maxLarge     = 32
	maxLargeEach = 8
	// maxArrival limits the time in which a request must arrive, so that slow senders do
	// not keep their slots.
	maxArrival = 2 * time.Minute
)

// newLarge returns the quota of large requests being read or answered.
func newLarge() *limit.Limiter[tenant.ID] { return limit.New[tenant.ID](maxLarge, maxLargeEach) }

// slot is the slot of one request in the quota of large requests, taken once the
// request turns out to be large.
type slot struct {
	large *limit.Limiter[tenant.ID]
	of    tenant.ID
	taken bool
}

// take takes the slot. Errors: Exhausted.
func (s *slot) take() error {
	if !s.large.TryAcquire(s.of, 1) {
		return fault.Retry(time.Second, "too many requests of more than %d bytes at a time: send fewer at once", largeBytes)
	}
	s.taken = true
	return nil
}

// release frees the slot if it was taken.
func (s *slot) release() {
	if s.taken {
		s.large.Release(s.of, 1)
	}
}

// slotReader takes the slot once more than largeBytes were read.
type slotReader struct {
	io.Reader
	slot       *slot
	began      time.Time
	read       int64
	discarding bool // the bytes are thrown away and need no slot
}

// Read implements io.Reader. Errors: those of take; *refusal after maxArrival.
func (r *slotReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err == nil && time.Since(r.began) > maxArrival {
		err = &refusal{http.StatusRequestTimeout, mcpgo.INVALID_REQUEST, fmt.Sprintf("the request did not arrive within %v", maxArrival)}
	}
	r.read += int64(n)
	if r.read > largeBytes && !r.slot.taken && !r.discarding {
		if full := r.slot.take(); full != nil {
			return n, full
		}
	}
	return n, err
}
