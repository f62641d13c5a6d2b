package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/httpserver"
	"github.com/ragdhq/ragd/internal/tenant"
)

// codes maps every kind of fault to its code on the wire.
var codes = map[fault.Kind]connect.Code{
	fault.Internal:        connect.CodeInternal,
	fault.Invalid:         connect.CodeInvalidArgument,
	fault.Unauthenticated: connect.CodeUnauthenticated,
	fault.Denied:          connect.CodePermissionDenied,
	fault.NotFound:        connect.CodeNotFound,
	fault.Exists:          connect.CodeAlreadyExists,
	fault.Conflict:        connect.CodeAborted,
	fault.Precondition:    connect.CodeFailedPrecondition,
	fault.Exhausted:       connect.CodeResourceExhausted,
	fault.Unavailable:     connect.CodeUnavailable,
	fault.Canceled:        connect.CodeCanceled,
	fault.Deadline:        connect.CodeDeadlineExceeded,
}

// challenge is the start of every WWW-Authenticate (RFC 6750).
const challenge = `Bearer realm="ragd"`

// wireError is what a caller sees of an error: code, public message, fields and
// the time to wait. requestID lets the operator find the rest in the log.
func wireError(err error, requestID string) *connect.Error {
	if wired := new(connect.Error); errors.As(err, &wired) {
		return wired // made by connect itself: a malformed or oversized message
	}
	kind := fault.KindOf(err)
	message := fault.Public(err)
	if kind == fault.Internal {
		message += fmt.Sprintf(" (request id %s)", requestID)
	}
	wired := connect.NewError(codes[kind], errors.New(message))
	var f *fault.Error
	if kind != fault.Internal && errors.As(err, &f) {
		addDetails(wired, f)
	}
	var lacking *tenant.ScopeError
	if errors.As(err, &lacking) {
		wired.Meta().Set("WWW-Authenticate", challenge+", "+lacking.Challenge())
	}
	return wired
}

func addDetails(wired *connect.Error, f *fault.Error) {
	if len(f.Violations) > 0 {
		bad := &errdetails.BadRequest{}
		for _, v := range f.Violations {
			bad.FieldViolations = append(bad.FieldViolations,
				&errdetails.BadRequest_FieldViolation{Field: v.Field, Description: v.Reason})
		}
		if detail, err := connect.NewErrorDetail(bad); err == nil {
			wired.AddDetail(detail)
		}
	}
	if f.RetryAfter > 0 {
		retry := &errdetails.RetryInfo{RetryDelay: durationpb.New(f.RetryAfter)}
		if detail, err := connect.NewErrorDetail(retry); err == nil {
			wired.AddDetail(detail)
		}
		seconds := (f.RetryAfter + time.Second - 1) / time.Second
		wired.Meta().Set("Retry-After", fmt.Sprint(int64(seconds)))
	}
}

// unaryTimeout ends a call whose caller set no deadline.
const unaryTimeout = 60 * time.Second

// edge is the interceptor around every call: deadline, what the log is to say of
// the call, and faults turned into what the wire knows.
type edge struct{}

// WrapUnary implements connect.Interceptor.
func (e edge) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		if _, ok := ctx.Deadline(); !ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, unaryTimeout)
			defer cancel()
		}
		var res connect.AnyResponse
		err := observe(ctx, func() (err error) {
			res, err = next(ctx, req)
			return err
		})
		return res, err
	}
}

// WrapStreamingClient implements connect.Interceptor; we are a server only.
func (e edge) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler implements connect.Interceptor.
func (e edge) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		return observe(ctx, func() error { return next(ctx, conn) })
	}
}

// observe makes a call and puts on the request's line who made it and how it
// ended.
func observe(ctx context.Context, call func() error) error {
	if r, ok := tenant.FromContext(ctx); ok {
		httpserver.Add(ctx, "tenant", r.Tenant, "subject", r.Principal.Subject)
	}
	err := call()
	if err == nil {
		return nil
	}
	logged := err
	if wired := new(connect.Error); errors.As(err, &wired) {
		logged = fault.Wrap(fault.Invalid, err, "%s", wired.Message()) // malformed or oversized, no failure of ours
	}
	httpserver.Fail(ctx, logged)
	return wireError(err, httpserver.RequestID(ctx))
}

// recovered turns a panicking handler into an internal error, which observe does
// not see: the panic passes it by.
func recovered(ctx context.Context, _ connect.Spec, _ http.Header, p any) error {
	err := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	httpserver.Fail(ctx, err)
	return wireError(err, httpserver.RequestID(ctx))
}

// Refuse answers a request that authentication turned away, in the protocol that
// its caller speaks.
func Refuse() func(http.ResponseWriter, *http.Request, error) {
	writer := connect.NewErrorWriter()
	return func(w http.ResponseWriter, r *http.Request, err error) {
		httpserver.Fail(r.Context(), err)
		kind := fault.KindOf(err)
		wired := wireError(err, httpserver.RequestID(r.Context()))
		// The rest of the body is not worth waiting for.
		w.Header().Set("Connection", "close")
		if kind == fault.Unauthenticated {
			refused := challenge
			if r.Header.Get("Authorization") != "" {
				refused += `, error="invalid_token"`
			}
			w.Header().Set("WWW-Authenticate", refused)
		}
		if writer.IsSupported(r) {
			_ = writer.Write(w, r, wired) // the caller is gone if this fails
			return
		}
		http.Error(w, wired.Message(), httpStatus(kind))
	}
}

// httpStatus serves callers that speak none of our protocols.
func httpStatus(kind fault.Kind) int {
	switch kind {
	case fault.Unauthenticated:
		return http.StatusUnauthorized
	case fault.Denied:
		return http.StatusForbidden
	case fault.Invalid:
		return http.StatusBadRequest
	case fault.NotFound:
		return http.StatusNotFound
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
