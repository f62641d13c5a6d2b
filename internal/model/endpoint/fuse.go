package endpoint

import (
	"context"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// A fuse blows after blowAfter failed calls in a row, and then for minBlown, twice as long
// each time up to maxBlown.
const (
	blowAfter = 5
	minBlown  = time.Second
	maxBlown  = time.Minute
)

// fuse makes calls to an endpoint that keeps failing fail at once, so that they do not take
// the time of workers which others need. When its time is over, one call is tried. The nil
// fuse never blows.
type fuse struct {
	name string

	mu     sync.Mutex
	failed int // calls in a row
	blown  time.Duration
	until  time.Time // of blown; zero if it is not
}

// check returns Unavailable, with the time to wait, while the fuse is blown.
func (f *fuse) check() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	wait := time.Until(f.until)
	if wait <= 0 {
		if f.blown > 0 {
			f.until = time.Now().Add(f.blown) // the others wait for this call
		}
		return nil
	}
	err := fault.New(fault.Unavailable, "%s failed %d times in a row, and is not called again for %v", f.name, f.failed, wait.Round(time.Second)+time.Second)
	err.RetryAfter = wait
	return err
}

// record counts the outcome of a call. A caller who left says nothing about the endpoint.
func (f *fuse) record(ctx context.Context, err error) {
	if f == nil || err != nil && ctx.Err() != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if kind := fault.KindOf(err); err == nil || kind != fault.Unavailable && kind != fault.Exhausted {
		f.failed, f.blown, f.until = 0, 0, time.Time{}
		return
	}
	if f.failed++; f.failed >= blowAfter {
		f.blown = min(max(minBlown, 2*f.blown), maxBlown)
		f.until = time.Now().Add(f.blown)
	}
}
