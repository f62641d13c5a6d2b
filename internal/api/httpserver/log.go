package httpserver

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/logrepeat"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// line collects the attributes of a request for its line in the log.
type line struct {
	id   string
	host string // under which the service was called, with the port
	tls  bool
	// repeats decides whether the line of a request that was refused or failed is written.
	repeats *logrepeat.Requests
	client  string // its address

	mu    sync.Mutex
	attrs []any
	err   error
}

type lineKey struct{}

// Log returns middleware that sends the id of each request in X-Request-Id and writes a
// line when the request has been answered: at debug level, at info if it was refused, at
// error if it failed with an internal error. Lines of the latter two kinds are summed up by repeats
// if a caller has many; nil writes them all. answered, if not nil, hears of every request.
func Log(log *slog.Logger, repeats *logrepeat.Requests, answered func(*http.Request, Answer)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			l := &line{id: idOf(r.Header), host: r.Host, tls: r.TLS != nil, repeats: repeats, client: clientAddress(r.RemoteAddr)}
			w.Header().Set("X-Request-Id", l.id)
			start, out := time.Now(), &writer{ResponseWriter: w}
			// Deferred, because a handler that aborts its answer panics.
			defer func() {
				took := time.Since(start)
				l.write(r.Context(), log, "request", took, r, "status", out.status)
				if answered != nil {
					answered(r, l.answer(out.status, took))
				}
				l.describe(trace.SpanFromContext(r.Context()))
			}()
			next.ServeHTTP(out, r.WithContext(context.WithValue(r.Context(), lineKey{}, l)))
		})
	}
}

// Answer is how a request was answered.
type Answer struct {
	Code              string // ok, or the kind of the error
	Tenant, MCPMethod string // "" if they are not known
	Subject           string // who called; "" if it is not known
	Client            string // the address of the caller; of one of IPv6 its network of 64 bits
	RequestID         string
	// Audited says that the audit log has an entry of this request.
	Audited bool
	Took    time.Duration
}

// AuditEntry is the name of the attribute with the id of the request's entry in the audit log.
const AuditEntry = "audit_entry"

// answer returns how the request was answered.
func (l *line) answer(status int, took time.Duration) Answer {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := Answer{
		Code: "ok", Tenant: l.attribute("tenant"), MCPMethod: l.attribute("mcp_method"), Subject: l.attribute("subject"),
		Client: l.client, RequestID: l.id, Audited: l.attribute(AuditEntry) != "", Took: took,
	}
	switch {
	case l.err != nil:
		a.Code = fault.KindOf(l.err).String()
	case status >= http.StatusInternalServerError:
		a.Code = fault.Internal.String()
	case status == http.StatusNotFound:
		a.Code = fault.NotFound.String()
	case status >= http.StatusBadRequest:
		a.Code = fault.Invalid.String()
	}
	return a
}

// maxPathBytes and maxRefusalBytes limit the texts of a caller in the line of a refused request.
const (
	maxPathBytes    = 256
	maxRefusalBytes = 1 << 10
)

// clientAddress returns the address of a client without its port. Of one of IPv6 it is the network
// of 64 bits, all of which a single client can use.
func clientAddress(remote string) string {
	parsed, err := netip.ParseAddrPort(remote)
	if err != nil {
		return ""
	}
	address := parsed.Addr().Unmap().WithZone("")
	if address.Is6() {
		return netip.PrefixFrom(address, 64).Masked().String()
	}
	return address.String()
}

// write writes the line to the log, unless the caller has too many. r is nil for work that is not
// a request of its own.
func (l *line) write(ctx context.Context, log *slog.Logger, what string, took time.Duration, r *http.Request, more ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	level, code := slog.LevelDebug, "ok"
	if l.err != nil {
		kind := fault.KindOf(l.err)
		if level, code = slog.LevelInfo, kind.String(); kind == fault.Internal {
			level = slog.LevelError
		}
	}
	if !log.Enabled(ctx, level) {
		return
	}
	failed := logrepeat.Request{Tenant: l.attribute("tenant"), Address: l.client, Code: code, Internal: level == slog.LevelError, Err: l.err}
	if r != nil {
		failed.Method, failed.Path = r.Method, r.URL.Path
	}
	if level == slog.LevelInfo {
		failed.Path, failed.Err = textlimit.Shorten(failed.Path, maxPathBytes), shortened{l.err}
	}
	if l.err != nil && !l.repeats.Passes(failed) {
		return
	}
	var attrs []any
	if r != nil {
		attrs = append(attrs, "method", failed.Method, "path", failed.Path)
	}
	attrs = append(append(attrs, more...), "code", code, "request_id", l.id, "duration_ms", float64(took.Microseconds())/1000)
	attrs = append(attrs, l.attrs...)
	if l.err != nil {
		attrs = append(attrs, "err", failed.Err)
	}
	log.Log(ctx, level, what, attrs...)
}

// attribute returns the text of an attribute, "" if it is not known. The caller holds mu.
func (l *line) attribute(name string) string {
	for i := 0; i+1 < len(l.attrs); i += 2 {
		if l.attrs[i] == name {
			return fmt.Sprint(l.attrs[i+1])
		}
	}
	return ""
}

// shortened is the error of a refused request, which may contain texts of the caller.
type shortened struct{ error }

func (s shortened) Error() string { return textlimit.Shorten(s.error.Error(), maxRefusalBytes) }

func (s shortened) Unwrap() error { return s.error }

// describe copies the attributes of the line to the request's span, without the error's
// text, which may contain texts of the caller.
func (l *line) describe(span trace.Span) {
	if !span.IsRecording() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	span.SetAttributes(attribute.String("request_id", l.id))
	for i := 0; i+1 < len(l.attrs); i += 2 {
		span.SetAttributes(attribute.String(fmt.Sprint(l.attrs[i]), fmt.Sprint(l.attrs[i+1])))
	}
	if l.err == nil {
		return
	}
	kind := fault.KindOf(l.err)
	span.SetAttributes(attribute.String("code", kind.String()))
	if kind == fault.Internal {
		span.SetStatus(codes.Error, kind.String())
	}
}

// Add adds attributes, alternating keys and values, to the log line of the request in
// ctx, if there is one.
func Add(ctx context.Context, attrs ...any) {
	if l, ok := ctx.Value(lineKey{}).(*line); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.attrs = append(l.attrs, attrs...)
	}
}

// Fail sets the error in the log line of the request in ctx, if there is one. A later error
// replaces it; a nil error is ignored.
func Fail(ctx context.Context, err error) {
	if l, ok := ctx.Value(lineKey{}).(*line); ok && err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.err = err
	}
}

// Detach returns a context for work that continues after its request was answered, and a
// function that writes a log line for the work, with the request's id. The context does
// not end with the request.
func Detach(ctx context.Context, log *slog.Logger, what string) (context.Context, func()) {
	l, start := &line{id: RequestID(ctx)}, time.Now()
	if of, ok := ctx.Value(lineKey{}).(*line); ok {
		l.repeats, l.client = of.repeats, of.client
	}
	ctx = context.WithValue(context.WithoutCancel(ctx), lineKey{}, l)
	return ctx, func() { l.write(ctx, log, what, time.Since(start), nil) }
}

// WithRequestID returns a context with a new request id, for a request that did not arrive
// over HTTP.
func WithRequestID(ctx context.Context) context.Context {
	return context.WithValue(ctx, lineKey{}, &line{id: newID()})
}

// RequestID returns the id of the request in ctx, as in the log; empty without a request.
func RequestID(ctx context.Context) string {
	if l, ok := ctx.Value(lineKey{}).(*line); ok {
		return l.id
	}
	return ""
}

// BaseURL returns the address under which the request in ctx called the service, without a
// slash at the end; empty without a request. Behind a proxy it may not be the address that
// clients use.
func BaseURL(ctx context.Context) string {
	l, ok := ctx.Value(lineKey{}).(*line)
	switch {
	case !ok || l.host == "":
		return ""
	case l.tls:
		return "https://" + l.host
	}
	return "http://" + l.host
}

func newID() string { return strings.ToLower(rand.Text()[:16]) }

// idOf returns the X-Request-Id of a request if it is printable ASCII without spaces, at
// most 64 bytes; else a new id.
func idOf(header http.Header) string {
	const maxBytes = 64
	id := header.Get("X-Request-Id")
	odd := func(r rune) bool { return r <= ' ' || r >= 0x7f }
	if id == "" || len(id) > maxBytes || strings.ContainsFunc(id, odd) {
		return newID()
	}
	return id
}

// writer records the status of the answer.
type writer struct {
	http.ResponseWriter
	status int
}

func (w *writer) WriteHeader(status int) {
	if w.status == 0 || w.status < http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Flush implements http.Flusher, which gRPC asks for.
func (w *writer) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// Unwrap lets http.ResponseController reach the writer.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
