package mcphttp

import (
	"fmt"
	"io"
	"net/http"
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

// newLarge counts the large requests that are being read or answered.
func newLarge() *tenant.Quota { return tenant.NewQuota(maxLarge, maxLargeEach) }

// hold is the place of one request, which it takes once it turns out to be large.
type hold struct {
	large *tenant.Quota
	of    tenant.ID
	taken bool
}

// take takes the place. Errors: Exhausted.
func (h *hold) take() error {
	if !h.large.Take(h.of, 1) {
		return fault.Retry(time.Second, "too many requests of more than %d bytes at a time: send fewer at once", largeBytes)
	}
	h.taken = true
	return nil
}

// release gives the place back, if it was taken.
func (h *hold) release() {
	if h.taken {
		h.large.Release(h.of, 1)
	}
}

// heldReader takes the place when more than largeBytes were read.
type heldReader struct {
	io.Reader
	hold  *hold
	began time.Time
	read  int64
	waste bool // what is read needs no place
}

// Read implements io.Reader. Errors: those of take; *refusal after maxArrival.
func (r *heldReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err == nil && time.Since(r.began) > maxArrival {
		err = &refusal{http.StatusRequestTimeout, mcpgo.INVALID_REQUEST, fmt.Sprintf("the request did not arrive within %v", maxArrival)}
	}
	r.read += int64(n)
	if r.read > largeBytes && !r.hold.taken && !r.waste {
		if full := r.hold.take(); full != nil {
			return n, full
		}
	}
	return n, err
}
