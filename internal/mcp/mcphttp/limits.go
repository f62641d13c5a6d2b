package mcphttp

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/ragdhq/ragd/internal/cache"
	"github.com/ragdhq/ragd/internal/fault"
)

// maxLimited limits the credentials whose rate is tracked. One that was evicted starts
// with a full bucket.
const maxLimited = 10_000

// limits holds a token bucket per credential that called recently on this instance. Safe
// for concurrent use.
type limits struct {
	perSecond int // 0 for no limit
	buckets   *cache.Cache[owner, *rate.Limiter]
}

func newLimits(perSecond int) *limits {
	return &limits{perSecond, cache.New(cache.Config[owner, *rate.Limiter]{Entries: maxLimited})}
}

// take counts a request. Errors: Exhausted, with the time until the next is allowed.
func (l *limits) take(o owner) error {
	if l.perSecond == 0 {
		return nil
	}
	bucket, ok := l.buckets.Get(o)
	if !ok {
		bucket = l.buckets.PutIfAbsent(o, rate.NewLimiter(rate.Limit(l.perSecond), 2*l.perSecond))
	}
	if bucket.Allow() {
		return nil
	}
	missing := 1 - bucket.Tokens()
	wait := time.Duration(missing / float64(l.perSecond) * float64(time.Second))
	return fault.Retry(max(wait, time.Millisecond), "this credential made more than %d requests a second: make fewer, or the operator raises the setting mcp-request-rate", l.perSecond)
}
