package client

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"connectrpc.com/connect"

	ragd "github.com/ragdhq/ragd/sdk/go"
)

// patience is how long a call is repeated that the service refuses for now.
const patience = 2 * time.Minute

// idempotencyHeader names the calls that the service makes once, however often they are sent.
const idempotencyHeader = "Idempotency-Key"

// waiting repeats calls that the service refuses for now and asks to send again, as those of a tenant that was asleep. It
// is an interceptor; streams are not repeated.
type waiting struct {
	note func(reason string) // is called with each new reason, before the pause
}

// WrapUnary implements connect.Interceptor.
func (w waiting) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		if req.Spec().IdempotencyLevel == connect.IdempotencyUnknown && req.Header().Get(idempotencyHeader) == "" {
			req.Header().Set(idempotencyHeader, rand.Text())
		}
		deadline, said := time.Now().Add(patience), ""
		for {
			res, err := next(ctx, req)
			refused := refusal(err)
			if refused == nil || time.Now().Add(refused.RetryAfter).After(deadline) {
				return res, err
			}
			if refused.Message != said {
				said = refused.Message
				w.note(said)
			}
			select {
			case <-time.After(refused.RetryAfter):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (w waiting) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler implements connect.Interceptor.
func (w waiting) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

// refusal returns the error of a call for which the service is unavailable and which it asks to send again; nil for other
// errors, and if the service does not answer.
func refusal(err error) *ragd.Error {
	var refused *ragd.Error
	if !errors.As(ragd.ErrorOf(err), &refused) || refused.Code != connect.CodeUnavailable || refused.RetryAfter <= 0 {
		return nil
	}
	return refused
}
