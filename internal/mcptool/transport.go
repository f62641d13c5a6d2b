package mcptool

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/remote"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Bounds of answers.
const (
	maxAnswerBytes = 4 << 20  // of one request
	maxStreamBytes = 64 << 20 // of a stream of the older transport with server-sent events, after which it is opened anew
	maxEventBytes  = 1 << 20  // of one event of it
	maxEventCost   = 16 << 20 // of the memory that such an event takes
	maxEventLines  = 2000     // of any event, which the library joins one by one
)

// pinned sends requests to one host only, with the headers of the tool, and bounds answers.
// The library chooses addresses by what the server says.
type pinned struct {
	next    http.RoundTripper
	host    string // with its scheme
	headers map[string]string
	agent   string
	old     bool // by the older transport
}

// RoundTrip implements http.RoundTripper.
func (p pinned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme+"://"+r.URL.Host != p.host {
		return nil, fault.New(fault.Precondition, "the server refers to another address, %s: a tool calls one host only", r.URL.Host)
	}
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", p.agent)
	for name, value := range p.headers {
		r.Header.Set(name, value)
	}
	if caller, ok := tenant.FromContext(r.Context()); ok {
		r.Header.Set(tenant.DepthHeader, strconv.Itoa(caller.Depth+1))
	}
	response, err := p.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	stream := strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream")
	switch {
	case stream && p.old && r.Method == http.MethodGet:
		response.Body = &events{ReadCloser: &bounded{response.Body, maxStreamBytes}, maxBytes: maxEventBytes, maxCost: maxEventCost}
	case stream:
		whole := remote.Metered(r.Context(), &bounded{response.Body, maxAnswerBytes}, true)
		response.Body = &events{ReadCloser: whole, maxBytes: math.MaxInt64, maxCost: math.MaxInt64}
	default:
		response.Body = remote.Metered(r.Context(), &bounded{response.Body, maxAnswerBytes}, true)
	}
	if reason, ok := r.Context().Value(refusalKey{}).(*atomic.Pointer[error]); ok {
		response.Body = &refusing{response.Body, reason}
	}
	return response, nil
}

type refusalKey struct{}

// withRefusal returns a context for requests, and where the reason is stored for which an answer
// to one of them was not read to its end.
func withRefusal(ctx context.Context) (context.Context, *atomic.Pointer[error]) {
	reason := &atomic.Pointer[error]{}
	return context.WithValue(ctx, refusalKey{}, reason), reason
}

// refusing is a body that stores why it refuses to be read further.
type refusing struct {
	io.ReadCloser

	reason *atomic.Pointer[error]
}

// Read implements io.Reader.
func (b *refusing) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.As(err, new(*fault.Error)) {
		b.reason.Store(&err)
	}
	return n, err
}

// bounded is a body that fails after a number of bytes.
type bounded struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	return n, err
}

var errTooLong = fault.New(fault.Precondition, "the answer is longer than %d MiB: ask for less", maxAnswerBytes>>20)

// events is a stream of server-sent events that fails at an event that is too large. The
// library keeps an event until its end.
type events struct {
	io.ReadCloser

	maxBytes, maxCost int64 // of an event

	meter       remote.Meter
	bytes, cost int64 // of the event, without the line breaks
	lines       int
	blank       bool // nothing follows the last line break
}

// Read implements io.Reader.
func (e *events) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		rest = after
		content := bytes.TrimRight(line, "\r")
		if e.blank = e.blank && len(content) == 0; ended && e.blank {
			e.bytes, e.cost, e.lines = 0, 0, 0
		}
		e.bytes += int64(len(line))
		e.cost += e.meter.Weigh(line)
		if ended {
			e.meter, e.blank = remote.Meter{}, true
			e.lines++
		}
		if e.bytes > e.maxBytes || e.cost > e.maxCost || e.lines > maxEventLines {
			return 0, errTooLarge
		}
	}
	return n, err
}

var errTooLarge = fault.New(fault.Precondition, "the server sent an event of more than %d lines, or by the older transport of more than %d MiB: ask for less", maxEventLines, maxEventBytes>>20)

// cancelling tells a server with sessions that a call was cancelled. The library closes the
// connection only, which such servers ignore.
type cancelling struct{ *transport.StreamableHTTP }

// cancelTimeout bounds the time of the notification.
const cancelTimeout = 5 * time.Second

// SendRequest implements transport.Interface.
func (c cancelling) SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	response, err := c.StreamableHTTP.SendRequest(ctx, request)
	if err != nil && ctx.Err() != nil && request.Method == string(mcp.MethodToolsCall) && c.GetSessionId() != "" {
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
			defer cancel()
			_ = c.SendNotification(ctx, mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
				Method: string(mcp.MethodNotificationCancelled),
				Params: mcp.NotificationParams{AdditionalFields: map[string]any{"requestId": request.ID, "reason": "the caller has cancelled"}},
			}})
		}()
	}
	return response, err
}
