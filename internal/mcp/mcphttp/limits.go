package mcphttp

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"github.com/ragdhq/ragd/internal/fault"
)

// maxLimited limits the credentials whose rate is tracked. One that was evicted starts
// with a full bucket.
const maxLimited = 10_000

// limits holds a token bucket per credential that called recently on this instance. Safe
// for concurrent use.
type limits struct {
	perSecond int // 0 for no limit
	buckets   *lru.Cache[owner, *rate.Limiter]
}

func newLimits(perSecond int) *limits {
	buckets, err := lru.New[owner, *rate.Limiter](maxLimited)
	if err != nil {
		panic(err) // only a size under 1 is an error
	}
	return &limits{perSecond, buckets}
}

// take counts a request. Errors: Exhausted, with the time until the next is allowed.
func (l *limits) take(o owner) error {
	if l.perSecond == 0 {
		return nil
	}
	bucket, ok := l.buckets.Get(o)
	if !ok {
		made := rate.NewLimiter(rate.Limit(l.perSecond), 2*l.perSecond)
		if earlier, found, _ := l.buckets.PeekOrAdd(o, made); found {
			made = earlier
		}
		bucket = made
	}
	if bucket.Allow() {
		return nil
	}
	missing := 1 - bucket.Tokens()
	wait := time.Duration(missing / float64(l.perSecond) * float64(time.Second))
	return fault.Retry(max(wait, time.Millisecond), "this credential made more than %d requests a second", l.perSecond)
}
