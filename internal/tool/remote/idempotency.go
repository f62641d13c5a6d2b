package remote

import "context"

type idempotencyKey struct{}

// WithIdempotencyKey returns a context whose calls of HTTP services have this header
// Idempotency-Key, because the same call may be made again later.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, idempotencyKey{}, key)
}

// IdempotencyKey returns the key of the context, "" for none.
func IdempotencyKey(ctx context.Context) string {
	key, _ := ctx.Value(idempotencyKey{}).(string)
	return key
}
