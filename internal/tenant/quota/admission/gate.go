// Package admission limits the requests of each tenant: their rate, their number at once and
// the memory of their messages. It reads, decompresses and weighs a message before it is
// decoded, and takes the memory from the quota of the caller's tenant.
//
//	end, err := gate.Begin(ctx, tenant, quotas)
//	defer end()
//	request := gate.Open(tenant)
//	defer request.Close()
//	data, err := request.Read(ctx, body, length)
//	err = request.Admit(ctx, admission.Weight(data, decodedBytes))
package admission

import (
	"cmp"
	"context"
	"errors"
	"time"

	"golang.org/x/time/rate"

	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	// smallBytes is the memory that a message may take without a quota, so that small
	// messages never wait for large ones.
	smallBytes = 64 << 10
	// maxWait limits the time that a message waits for memory.
	maxWait = 5 * time.Second
	// retryAfter is the delay that a caller is told when it got no memory.
	retryAfter = 2 * time.Second
	// MaxArrival is the default time in which a message must arrive.
	MaxArrival = 2 * time.Minute
)

// ErrTooLarge is the cause of an error about a message that is too large ever to be
// accepted.
var ErrTooLarge = errors.New("message too large")

// Config configures a Gate. Zero values mean the defaults.
type Config struct {
	// MaxMessageBytes limits a message, compressed and decompressed. Default: 32 MiB, in
	// which the largest upload fits as base64.
	MaxMessageBytes int64
	// MaxMemory limits the memory of all messages at once, in bytes. A quarter is for
	// messages that arrive, the rest for decoded ones, and one tenant gets at most half
	// of each. Default: 512 MiB.
	MaxMemory int64
	// MaxArrival limits the time in which a message must arrive. Default: MaxArrival.
	MaxArrival time.Duration
	// RequestsPerSecond and ConcurrentRequests are the quotas of tenants whose settings
	// have none. 0 means no limit.
	RequestsPerSecond, ConcurrentRequests int
	// PageRequestsPerSecond is how many requests web pages may make with one API key. 0 means no limit.
	PageRequestsPerSecond int
}

// Gate admits messages within the limits of its Config. Safe for concurrent use.
type Gate struct {
	config            Config
	maxDecoded        int64 // of one message
	arriving, decoded *limit.Limiter[tenant.ID]
	rates             *cache.Cache[tenant.ID, *rate.Limiter] // of tenants that called recently
	running           *limit.Limiter[tenant.ID]              // requests
	pageRates         *cache.Cache[pageKey, *rate.Limiter]   // of keys that pages used recently
	pages             *limit.Limiter[tenant.ID]              // requests of pages that are running
}

// New returns a Gate.
func New(config Config) *Gate {
	config.MaxMessageBytes = cmp.Or(config.MaxMessageBytes, 32<<20)
	config.MaxMemory = cmp.Or(config.MaxMemory, 512<<20)
	config.MaxArrival = cmp.Or(config.MaxArrival, MaxArrival)
	arriving := max(config.MaxMemory/4, 2*config.MaxMessageBytes)
	decoded := config.MaxMemory - config.MaxMemory/4
	return &Gate{
		config: config, maxDecoded: decoded / 2,
		arriving: limit.New[tenant.ID](arriving, arriving/2),
		decoded:  limit.New[tenant.ID](decoded, decoded/2),
		rates:    cache.New(cache.Config[tenant.ID, *rate.Limiter]{Entries: maxRates}),
		running:  limit.New[tenant.ID](0, 0),

		pageRates: cache.New(cache.Config[pageKey, *rate.Limiter]{Entries: maxRates}),
		pages:     limit.New[tenant.ID](0, 0),
	}
}

// Request holds the memory that one request of a tenant has taken. Not safe for concurrent
// use.
type Request struct {
	gate              *Gate
	of                tenant.ID
	arriving, decoded int64
}

// Open returns the Request of a tenant, which has taken no memory yet. Close must follow.
func (g *Gate) Open(of tenant.ID) *Request { return &Request{gate: g, of: of} }

// Close returns all memory that the request has taken.
func (r *Request) Close() {
	r.Arrived()
	release(r.gate.decoded, r.of, &r.decoded)
}

// Arrived returns the memory taken by Read and Inflate, once their results are no longer
// used.
func (r *Request) Arrived() { release(r.gate.arriving, r.of, &r.arriving) }

// release returns the memory that was taken, if any.
func release(quota *limit.Limiter[tenant.ID], of tenant.ID, taken *int64) {
	if *taken > 0 {
		quota.Release(of, *taken)
	}
	*taken = 0
}

// Admit takes the memory of a decoded message, in place of that of the last one, and waits
// for it for a short time. Errors: Exhausted, with ErrTooLarge if a tenant's quota is
// smaller than that, else with a delay.
func (r *Request) Admit(ctx context.Context, bytes int64) error {
	release(r.gate.decoded, r.of, &r.decoded)
	if bytes <= smallBytes {
		return nil
	}
	if most := r.gate.maxDecoded; bytes > most {
		return fault.Wrap(fault.Exhausted, ErrTooLarge,
			"the message takes about %d MiB of memory once it is decoded, over the limit of %d MiB: divide it", bytes>>20, most>>20)
	}
	if err := take(ctx, r.gate.decoded, r.of, bytes); err != nil {
		return err
	}
	r.decoded = bytes
	return nil
}

// take waits for memory. Errors: Exhausted with a delay; that of ctx.
func take(ctx context.Context, quota *limit.Limiter[tenant.ID], of tenant.ID, bytes int64) error {
	waiting, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	if err := quota.AcquireN(waiting, of, bytes); err == nil || ctx.Err() != nil {
		return err
	}
	return fault.Retry(retryAfter, "the messages that are being answered leave no memory for one more of this size: send fewer large messages at once, or the operator raises the setting max-request-memory")
}

// Weight returns the memory that a message takes while it is decoded and answered, in
// bytes: copies of the message itself, and the decoded values.
func Weight(message []byte, decoded int64) int64 {
	n := int64(len(message))
	return max(3*n, n+decoded)
}
