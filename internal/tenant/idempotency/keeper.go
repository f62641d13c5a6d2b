// Package idempotency makes calls safe to repeat: a call with a key of the caller runs once, and for
// a day a repeat with the same key gets the same answer.
//
//	answer, repeated, err := keeper.Do(ctx, call, func(ctx context.Context) ([]byte, error) { ... })
//
// A key counts for one caller in one tenant. The states of a key in the database:
//
//	        claim                      end
//	(none) -------> running -------------------------> ended --- a day ---> (none)
//	  ^               |  a transient error                repeats get the answer
//	  +---------------+
//	  repeats are told to wait; once the claim of an instance that is gone lapses, one of them runs
//
// Answers and the errors that the caller caused are kept; other errors are not, so that a repeat runs
// again. Answers that show a secret rest sealed with the operator's master key. Neither the key nor
// the request is stored, only hashes.
package idempotency

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Headers of requests and answers.
const (
	// Header is the key that a caller gives to a call. It is the field in errors, too.
	Header = "Idempotency-Key"
	// ReplayedHeader is "true" in an answer that was kept from an earlier call.
	ReplayedHeader = "Idempotent-Replayed"
)

const (
	// Retention is how long a key and its answer are kept.
	Retention = 24 * time.Hour
	// MaxKeyBytes limits a key.
	MaxKeyBytes = 255
	// MaxAnswerBytes limits an answer that is kept. The repeat of a call whose answer is larger is refused.
	MaxAnswerBytes = 256 << 10
	// MaxKeys limits the keys that are kept of the callers of a tenant. They are counted once in countTTL on each instance.
	MaxKeys = 1_000_000
	// MaxBytes limits the bytes of the answers that are kept of a tenant, which are counted in the same way.
	MaxBytes = 1 << 30

	// lease is how long a claim holds without being renewed; renewEvery is how often a running call
	// renews it.
	lease      = 30 * time.Second
	renewEvery = 10 * time.Second
	// retryAfter is what the repeat of a running call is asked to wait.
	retryAfter = time.Second
	// maxDetached limits a call that goes on without its caller, unless the call has a limit of its own.
	maxDetached = 60 * time.Second
	// writeTimeout bounds the statement that keeps an answer.
	writeTimeout = 5 * time.Second
	countTTL     = time.Minute
	sweepEvery   = 10 * time.Minute
)

// Control runs statements on the control schema with the rights of the service.
type Control interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Config configures a Keeper.
type Config struct {
	Control Control      // required
	Keys    *seal.Keys   // the master keys; nil if there are none
	Logger  *slog.Logger // required
}

// Keeper runs calls once. A nil Keeper ignores keys. Safe for concurrent use.
type Keeper struct {
	config Config

	mu     sync.Mutex
	counts map[tenant.ID]count
}

// New returns a Keeper. Run deletes what is older than Retention.
func New(config Config) *Keeper { return &Keeper{config: config, counts: map[tenant.ID]count{}} }

// Call is a call that may be repeated.
type Call struct {
	// Key is the value of Header.
	Key string
	// Request is all that has to be equal in a repeat, besides the rights of the caller: the name of the
	// method, headers that count, and the body.
	Request [][]byte
	// Secret is true if the answer shows a secret that is shown once.
	Secret bool
}

// CheckKey returns an error unless the values of Header are one key that Do accepts. Errors: Invalid.
func CheckKey(values []string) error {
	if len(values) != 1 {
		return fault.Field(Header, "is there %d times: send one", len(values))
	}
	key := values[0]
	if key == "" || len(key) > MaxKeyBytes {
		return fault.Field(Header, "must have 1 to %d characters, such as those of a random UUID, got %d", MaxKeyBytes, len(key))
	}
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return fault.Field(Header, "may have letters, digits and other visible characters of ASCII only, such as a random UUID")
		}
	}
	return nil
}

// Do runs a call of the caller in the context, or returns the answer or the error that the first one
// with its key had; then repeated is true. The context of run does not end when the caller leaves, so
// that a repeat finds the answer: it ends with the caller's deadline, but not before maxDetached, or
// not at all if there is none. Errors, besides those of run: Invalid if the key was used for
// another request, Conflict with the time to wait while the first call runs, Precondition if it has
// succeeded and its answer was not kept, because of its size, or because it shows a secret and there was no
// master key; Exhausted if too many keys are kept; Unavailable.
func (k *Keeper) Do(ctx context.Context, call Call, run func(context.Context) ([]byte, error)) (answer []byte, repeated bool, err error) {
	if k == nil {
		answer, err = run(ctx)
		return answer, false, err
	}
	r, ok := access.FromContext(ctx)
	if !ok {
		r = &access.Request{}
	}
	e := entryOf(r, call)
	if err := k.checkQuota(ctx, e.tenant); err != nil {
		return nil, false, err
	}
	kept, err := k.claim(ctx, e)
	if err != nil {
		return nil, false, err
	}
	if kept != nil {
		answer, err = k.replay(e, kept)
		return answer, true, err
	}
	answer, err = k.run(ctx, e, call.Secret, run)
	return answer, false, err
}

// run runs a claimed call and keeps its answer, or gives the claim back.
func (k *Keeper) run(ctx context.Context, e entry, secret bool, run func(context.Context) ([]byte, error)) (answer []byte, err error) {
	within, cancel := detached(ctx)
	defer cancel()
	defer k.renew(within, e)()
	ended := false
	defer func() {
		if !ended {
			k.settle(within, e, func(ctx context.Context) error { return k.release(ctx, e) })
		}
	}()
	answer, err = run(within)
	caused := causedByCaller(err)
	if err != nil && caused == nil {
		return answer, err
	}
	ended = true
	k.settle(within, e, func(ctx context.Context) error { return k.end(ctx, e, answer, caused, secret) })
	return answer, err
}

// detached returns a context that goes on when the caller has left.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	until, limited := ctx.Deadline()
	ctx = context.WithoutCancel(ctx)
	if !limited {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, max(time.Until(until), maxDetached))
}

// settle runs a statement that ends a claim. If that fails, the claim lapses, and a repeat runs the
// call again.
func (k *Keeper) settle(ctx context.Context, e entry, do func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	if err := do(ctx); err != nil {
		k.config.Logger.WarnContext(ctx, "the answer of a call with an idempotency key was not kept: a repeat runs it again", "tenant", e.tenant, "err", err)
	}
}

// renew keeps the claim of a running call until stop is called.
func (k *Keeper) renew(ctx context.Context, e entry) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(renewEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				k.settle(ctx, e, func(ctx context.Context) error { return k.extend(ctx, e) })
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// causedByCaller returns the public part of an error that the caller caused and that a repeat gets
// again; nil for others.
func causedByCaller(err error) *fault.Error {
	var f *fault.Error
	switch fault.KindOf(err) {
	case fault.Invalid, fault.NotFound, fault.Exists, fault.Precondition:
		if errors.As(err, &f) {
			return &fault.Error{Kind: f.Kind, Message: f.Message, Violations: f.Violations}
		}
	}
	return nil
}

// entry is a key of a caller, and the request that it stands for.
type entry struct {
	tenant tenant.ID // empty for an operator's call about none
	call   []byte    // SHA-256 of tenant, caller and key
	// request is the HMAC of the request under the key: who reads the database cannot guess from it
	// what was sent.
	request []byte
	claim   uuid.UUID // of this run
}

func entryOf(r *access.Request, call Call) entry {
	p := r.Principal
	who := sha256.New()
	for _, text := range []string{string(r.Tenant), p.Issuer, p.Subject, call.Key} {
		who.Write(sized([]byte(text)))
	}
	request := hmac.New(sha256.New, []byte(call.Key))
	rights := p.MandatoryFilter.String() + "\x00" + r.Bounds.String()
	for _, scope := range p.AllScopes() {
		rights += "\x00" + string(scope)
	}
	request.Write(sized([]byte(rights)))
	for _, piece := range call.Request {
		request.Write(sized(piece))
	}
	return entry{tenant: r.Tenant, call: who.Sum(nil), request: request.Sum(nil), claim: uuid.New()}
}

// sized returns the bytes after their length, so that different lists have different encodings.
func sized(piece []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(make([]byte, 0, 8+len(piece)), uint64(len(piece))), piece...)
}

// Sealed is the column with answers that show a secret, for package reseal.
var Sealed = seal.Column{
	Table: "ragd.idempotent_calls", Name: "sealed_answer", Row: "'answers/' || encode(call_hash, 'hex')",
	BelongsTo: "ARRAY['idempotent call', coalesce(tenant_id, ''), encode(call_hash, 'hex')]", Needed: "false",
}

// replay returns the answer or the error that an earlier call had.
func (k *Keeper) replay(e entry, kept *row) ([]byte, error) {
	switch {
	case !hmac.Equal(kept.RequestHash, e.request):
		return nil, fault.Field(Header, "was sent with another request, or with other rights, in the last %d hours: a new request needs a new key", Retention/time.Hour)
	case kept.Running:
		running := fault.New(fault.Conflict, "the first call with this %s is still running: repeat it later to get its answer", Header)
		running.RetryAfter = retryAfter
		return nil, running
	case kept.NotKept:
		return nil, impossible("the first call with this key has succeeded, but its answer was not kept, because it has more than %d bytes, or because it shows a secret and this server has no master key: it was not run again; read what it made", MaxAnswerBytes)
	case kept.Fault != nil:
		return nil, kept.Fault
	case kept.SealedAnswer != nil:
		answer, err := k.config.Keys.Open(kept.SealedAnswer, e.belongsTo()...)
		if err != nil {
			return nil, impossible("the first call with this key has succeeded, but its answer was encrypted with a master key that is no longer set: it was not run again; read what it made")
		}
		return answer, nil
	}
	return kept.Answer, nil
}

// impossible returns the error for a key that cannot do what it is for.
func impossible(format string, args ...any) error {
	err := fault.Field(Header, format, args...)
	err.Kind = fault.Precondition
	return err
}

// count is what is kept of a tenant.
type count struct {
	keys  int64
	bytes int64
	at    time.Time
}

// checkQuota returns an error if too much is kept of a tenant. Errors: Exhausted; Unavailable.
func (k *Keeper) checkQuota(ctx context.Context, of tenant.ID) error {
	if of == "" {
		return nil
	}
	k.mu.Lock()
	known, ok := k.counts[of]
	k.mu.Unlock()
	if !ok || time.Since(known.at) > countTTL {
		fresh, err := k.count(ctx, of)
		if err != nil {
			return err
		}
		k.mu.Lock()
		k.counts[of] = fresh
		k.mu.Unlock()
	}
	k.mu.Lock()
	known = k.counts[of]
	known.keys++
	k.counts[of] = known
	k.mu.Unlock()
	if known.keys > MaxKeys || known.bytes >= MaxBytes {
		return fault.Retry(countTTL, "this tenant has sent %s in %d calls with answers of %d MB in the last %d hours: %d and %d MB are kept; leave the header out, or wait",
			Header, known.keys-1, known.bytes>>20, Retention/time.Hour, MaxKeys, MaxBytes>>20)
	}
	return nil
}

// Run deletes what is older than Retention, until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		k.forgetCounts()
		if err := k.Sweep(ctx); err != nil && ctx.Err() == nil {
			k.config.Logger.WarnContext(ctx, "deleting old idempotency keys", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (k *Keeper) forgetCounts() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for of, known := range k.counts {
		if time.Since(known.at) > countTTL {
			delete(k.counts, of)
		}
	}
}
