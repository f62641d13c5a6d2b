package rpc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ragdhq/ragd/internal/fault"
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

// edge is the interceptor around every call: deadline, one log line, and faults
// turned into what the wire knows.
type edge struct {
	log *slog.Logger
}

// WrapUnary implements connect.Interceptor.
func (e *edge) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		if _, ok := ctx.Deadline(); !ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, unaryTimeout)
			defer cancel()
		}
		var res connect.AnyResponse
		err := e.observe(ctx, req.Spec().Procedure, req.Header(), func() (err error) {
			res, err = next(ctx, req)
			return err
		})
		return res, err
	}
}

// WrapStreamingClient implements connect.Interceptor; we are a server only.
func (e *edge) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler implements connect.Interceptor.
func (e *edge) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		return e.observe(ctx, conn.Spec().Procedure, conn.RequestHeader(), func() error { return next(ctx, conn) })
	}
}

func (e *edge) observe(ctx context.Context, procedure string, header http.Header, call func() error) error {
	start := time.Now()
	err := call()
	requestID := requestIDOf(header)
	attrs := []any{
		"method", procedure, "code", fault.KindOf(err).String(), "request_id", requestID,
		"duration_ms", float64(time.Since(start).Microseconds()) / 1000,
	}
	if r, ok := tenant.FromContext(ctx); ok {
		attrs = append(attrs, "tenant", r.Tenant, "subject", r.Principal.Subject)
	}
	if err == nil {
		attrs[3] = "ok"
		e.log.DebugContext(ctx, "request", attrs...)
		return nil
	}
	level := slog.LevelInfo
	if fault.KindOf(err) == fault.Internal && connect.CodeOf(err) == connect.CodeUnknown {
		level = slog.LevelError
	}
	e.log.Log(ctx, level, "request", append(attrs, "err", err)...)
	return wireError(err, requestID)
}

// requestIDOf returns the caller's request id if it is a plain one, else a new
// one.
func requestIDOf(header http.Header) string {
	const maxRequestIDBytes = 64
	id := header.Get("X-Request-Id")
	plain := func(r rune) bool { return r > ' ' && r < 0x7f }
	if id == "" || len(id) > maxRequestIDBytes || strings.IndexFunc(id, func(r rune) bool { return !plain(r) }) >= 0 {
		return strings.ToLower(rand.Text()[:16])
	}
	return id
}

// recovered turns a panicking handler into an internal error.
func recovered(log *slog.Logger) func(context.Context, connect.Spec, http.Header, any) error {
	return func(ctx context.Context, spec connect.Spec, header http.Header, p any) error {
		id := requestIDOf(header)
		log.ErrorContext(ctx, "panic", "method", spec.Procedure, "request_id", id, "panic", p, "stack", string(debug.Stack()))
		return wireError(fmt.Errorf("panic: %v", p), id)
	}
}

// Refuse answers a request that authentication turned away, in the protocol that
// its caller speaks.
func Refuse(log *slog.Logger) func(http.ResponseWriter, *http.Request, error) {
	writer := connect.NewErrorWriter()
	return func(w http.ResponseWriter, r *http.Request, err error) {
		id := requestIDOf(r.Header)
		kind := fault.KindOf(err)
		level := slog.LevelInfo
		if kind == fault.Internal {
			level = slog.LevelError
		}
		log.Log(r.Context(), level, "request refused", "method", r.URL.Path, "code", kind.String(), "request_id", id, "err", err)
		wired := wireError(err, id)
		// The rest of the body is not worth waiting for.
		w.Header().Set("Connection", "close")
		if kind == fault.Unauthenticated {
			w.Header().Set("WWW-Authenticate", `Bearer realm="ragd"`)
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
