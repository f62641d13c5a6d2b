package mcpclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tool/remote"
)

// Bounds of answers.
const (
	maxAnswerBytes = 4 << 20  // of one request, by default
	maxStreamBytes = 64 << 20 // of a stream of the older transport with server-sent events, after which it is opened anew
	maxEventBytes  = 1 << 20  // of one event of it
	maxEventCost   = 16 << 20 // of the memory that such an event takes
	maxEventLines  = 2000     // of any event, which the library joins one by one
	textCost       = 8        // of the memory that a byte of a large event takes
)

// pinned sends requests to one host only, with the headers of the server, and bounds answers.
// The library chooses addresses by what the server says.
type pinned struct {
	next   http.RoundTripper
	server Server
	agent  string
	old    bool // by the older transport
}

// RoundTrip implements http.RoundTripper.
func (p pinned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme+"://"+r.URL.Host != p.server.host() {
		return nil, fault.New(fault.Precondition, "the server refers to another address, %s: only one host is called", r.URL.Host)
	}
	if p.server.Sent != nil {
		if err := p.server.Sent(); err != nil {
			return nil, err
		}
	}
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", p.agent)
	for name, value := range p.server.Headers {
		r.Header.Set(name, value)
	}
	if caller, ok := access.FromContext(r.Context()); ok {
		r.Header.Set(access.DepthHeader, strconv.Itoa(caller.Depth+1))
	}
	response, err := p.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if p.server.Received != nil {
		response.Body = &counted{response.Body, p.server.Received}
	}
	stream := strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream")
	if p.old && r.Method == http.MethodGet && response.StatusCode == http.StatusOK && !stream { // for whose events the library would wait
		_ = response.Body.Close()
		return nil, fault.New(fault.Precondition, "it does not answer as MCP servers do; is the address that of its endpoint, such as https://mcp.example.com/mcp?")
	}
	most := cmp.Or(p.server.MaxAnswerBytes, maxAnswerBytes)
	switch {
	case stream && (p.server.Lasting || p.old && r.Method == http.MethodGet):
		response.Body = &events{ReadCloser: &bounded{response.Body, maxStreamBytes, maxStreamBytes}, maxBytes: p.server.eventBytes(), maxCost: p.server.eventCost()}
	case stream:
		whole := remote.Metered(r.Context(), &bounded{response.Body, most, most}, true)
		response.Body = &events{ReadCloser: whole, maxBytes: math.MaxInt64, maxCost: math.MaxInt64}
	default:
		response.Body = remote.Metered(r.Context(), &bounded{response.Body, most, most}, true)
	}
	if reason, ok := r.Context().Value(refusalKey{}).(*atomic.Pointer[error]); ok {
		response.Body = &refusing{response.Body, reason}
	}
	return response, nil
}

// counted is a body that reports how many bytes were read.
type counted struct {
	io.ReadCloser

	received func(int)
}

// Read implements io.Reader.
func (b *counted) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.received(n)
	return n, err
}

type refusalKey struct{}

// WithRefusal returns a context for requests, and where the reason is stored for which an answer
// to one of them was not read to its end.
func WithRefusal(ctx context.Context) (context.Context, *atomic.Pointer[error]) {
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
	left, most int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fault.New(fault.Precondition, "the answer is longer than %d MiB: ask for less", b.most>>20)
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	return n, err
}

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
			return 0, e.tooLarge()
		}
	}
	return n, err
}

// tooLarge returns the error for an event that is too large.
func (e *events) tooLarge() error {
	return fault.New(fault.Precondition, "the server sent an event of more than %d lines, or by the older transport of more than %d MiB: ask for less", maxEventLines, min(e.maxBytes, maxStreamBytes)>>20)
}

// carrying is a transport that tells a server with sessions that a call was cancelled, which the library
// leaves to the connection that such servers ignore. It keeps what a call is asked for, and adds the
// answers to the next call: the library would have to answer at once.
type carrying struct{ *transport.StreamableHTTP }

// SendRequest implements transport.Interface.
func (c carrying) SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	input, _ := ctx.Value(inputKey{}).(*Input)
	carries := input != nil && request.Method == string(mcp.MethodToolsCall)
	if carries {
		if err := input.addTo(&request); err != nil {
			return nil, err
		}
	}
	response, err := c.StreamableHTTP.SendRequest(ctx, request)
	if err == nil && carries {
		input.takeFrom(response)
	}
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

// Input is what one call gives a server that asked for input in an earlier one, and what the server asks
// for then. All of it is in the JSON of MCP.
type Input struct {
	Responses map[string]json.RawMessage // by id
	State     string                     // of the earlier question

	Asked      map[string]json.RawMessage // by id; nil if the server asks for nothing
	AskedState string
}

type inputKey struct{}

// WithInput returns a context for one call of a tool with input.
func WithInput(ctx context.Context, input *Input) context.Context {
	return context.WithValue(ctx, inputKey{}, input)
}

// addTo adds the answers to a request.
func (i *Input) addTo(request *transport.JSONRPCRequest) error {
	if len(i.Responses) == 0 && i.State == "" {
		return nil
	}
	raw, err := json.Marshal(request.Params)
	if err != nil {
		return err
	}
	var params map[string]json.RawMessage
	if err := json.Unmarshal(raw, &params); err != nil {
		return err
	}
	if len(i.Responses) > 0 {
		if params["inputResponses"], err = json.Marshal(i.Responses); err != nil {
			return err
		}
	}
	if i.State != "" {
		if params["requestState"], err = json.Marshal(i.State); err != nil {
			return err
		}
	}
	request.Params = params
	return nil
}

// takeFrom keeps what an answer asks for.
func (i *Input) takeFrom(response *transport.JSONRPCResponse) {
	var result struct {
		ResultType    string                     `json:"resultType"`
		InputRequests map[string]json.RawMessage `json:"inputRequests"`
		RequestState  string                     `json:"requestState"`
	}
	if response == nil || json.Unmarshal(response.Result, &result) != nil || result.ResultType != string(mcp.ResultTypeInputRequired) || len(result.InputRequests) == 0 {
		return
	}
	i.Asked, i.AskedState = result.InputRequests, result.RequestState
}

func trimTransport(text string) string { return strings.TrimPrefix(text, "transport error: ") }
