// Package mcpclient connects to MCP servers that tenants choose: over streamable HTTP or the older
// transport with server-sent events, in both eras of the protocol, with bounds on everything that a
// server sends.
package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
	"github.com/ragdhq/ragd/internal/tool/remote"
)

// Server is a server as one caller uses it.
type Server struct {
	URL *url.URL
	// Headers are sent with each request.
	Headers map[string]string
	// MaxAnswerBytes bounds the answer to one request. Default: 4 MiB.
	MaxAnswerBytes int64
	// Sent hears of each request before it is sent, and may refuse it; nil for nothing. It must be safe
	// for concurrent use.
	Sent func() error
	// Received hears of the bytes of answers; nil for nothing. It must be safe for concurrent use.
	Received func(bytes int)
	// Notified hears of the server's notifications, except those about the progress of a watched call;
	// nil for nothing. It must not block.
	Notified func(mcp.JSONRPCNotification)
	// Listen keeps a stream open on which a server of the older era sends notifications. The session has
	// the older era then.
	Listen bool
	// Lasting says that streams are no answers of which memory is taken, but last as long as the session.
	Lasting bool
	// Elicit declares that calls can ask a user for input. What a call is asked goes to the function of
	// WithElicitation.
	Elicit bool
	// Open declares with Elicit that the user can be asked to open addresses.
	Open bool
}

// host is the part of the address that no request may leave.
func (s Server) host() string { return s.URL.Scheme + "://" + s.URL.Host }

// eventBytes and eventCost bound an event of a stream that belongs to no call, and its memory.
func (s Server) eventBytes() int64 { return max(maxEventBytes, s.MaxAnswerBytes) }

func (s Server) eventCost() int64 { return max(maxEventCost, textCost*s.MaxAnswerBytes) }

// Session is a connection to a server. Safe for concurrent use.
type Session struct {
	*client.Client

	server Server
	old    bool               // over the transport with server-sent events
	end    context.CancelFunc // of what runs as long as the session

	mu       sync.Mutex
	progress map[string]func(mcp.JSONRPCNotification) // by token
}

// Connect opens a session: by streamable HTTP, or by the older transport with server-sent events if the
// server knows that only. Close must follow. Errors are those of the library, for Explain.
func Connect(ctx context.Context, c *remote.Client, to Server) (*Session, error) {
	web := c.HTTP()
	over := pinned{next: web.Transport, server: to, agent: c.UserAgent()}
	web.Transport = over
	quiet := slog.New(slog.DiscardHandler) // the library logs addresses and texts of errors
	options := []transport.StreamableHTTPCOption{transport.WithHTTPBasicClient(web), transport.WithHTTPLogger(quiet)}
	if to.Listen {
		options = append(options, transport.WithContinuousListening()) //nolint:staticcheck // what servers of the older era know
	}
	streamable, err := transport.NewStreamableHTTP(to.URL.String(), options...)
	if err != nil {
		return nil, err
	}
	s, err := start(ctx, c, to, carrying{streamable})
	if !errors.Is(err, transport.ErrLegacySSEServer) {
		return s, err
	}
	over.old = true
	web.Transport = over
	old, err := transport.NewSSE(to.URL.String(), transport.WithHTTPClient(web), transport.WithSSELogger(quiet))
	if err != nil {
		return nil, err
	}
	if s, err = start(ctx, c, to, old); err == nil {
		s.old = true
	}
	return s, err
}

// start opens a session over a transport.
func start(ctx context.Context, c *remote.Client, to Server, over transport.Interface) (*Session, error) {
	lasting, end := context.WithCancel(context.WithoutCancel(ctx))
	options := []client.ClientOption{client.WithMaxInputRoundTrips(1)}
	if to.Elicit {
		options = append(options, client.WithElicitationHandler(elicitor{}))
	}
	s := &Session{Client: client.NewClient(over, options...), end: end, server: to, progress: map[string]func(mcp.JSONRPCNotification){}}
	s.OnNotification(s.notified)
	stop := context.AfterFunc(ctx, end) // only while it starts
	defer stop()
	if err := s.Start(lasting); err != nil {
		s.Close()
		return nil, err
	}
	var request mcp.InitializeRequest
	request.Params.ClientInfo = mcp.Implementation{Name: "ragd", Version: c.Version}
	if to.Elicit && to.Open {
		request.Params.Capabilities.Elicitation = &mcp.ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}}
	}
	if _, err := s.Initialize(ctx, request); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close ends the session and tells the server.
func (s *Session) Close() {
	_ = s.Client.Close()
	s.end()
}

// Grow takes memory for the answer to a request if it arrives on a stream that belongs to no call.
func (s *Session) Grow(ctx context.Context) error {
	if !s.old {
		return nil
	}
	return admission.Grow(ctx, s.server.eventCost())
}

// Streams reports whether the server sends notifications without being asked to: on the stream of the
// older transport.
func (s *Session) Streams() bool { return s.old }

// Modern reports whether the session has revision 2026-07-28 of the protocol or later.
func (s *Session) Modern() bool { return mcp.IsModernProtocol(s.ProtocolVersion()) }

// notified passes a notification about progress to its call, and others to the owner of the session.
func (s *Session) notified(n mcp.JSONRPCNotification) {
	if n.Method != string(mcp.MethodNotificationProgress) {
		if s.server.Notified != nil {
			s.server.Notified(n)
		}
		return
	}
	token, _ := n.Params.AdditionalFields["progressToken"].(string)
	s.mu.Lock()
	report := s.progress[token]
	s.mu.Unlock()
	if report != nil {
		report(n)
	}
}

// Watch calls report for each notification about progress with the token, one at a time, and
// not after stop has returned.
func (s *Session) Watch(token string, report func(mcp.JSONRPCNotification)) (stop func()) {
	var reporting sync.Mutex
	stopped := false
	s.mu.Lock()
	s.progress[token] = func(n mcp.JSONRPCNotification) {
		reporting.Lock()
		defer reporting.Unlock()
		if !stopped {
			report(n)
		}
	}
	s.mu.Unlock()
	return func() {
		s.mu.Lock()
		delete(s.progress, token)
		s.mu.Unlock()
		reporting.Lock()
		defer reporting.Unlock()
		stopped = true
	}
}

// maxPages bounds the pages of a list.
const maxPages = 1000

// Pages calls page with each cursor of a list, first "", until there is no next one. page returns the
// next cursor. Errors: Precondition for a cursor that was there before, and for too many pages.
func Pages(page func(cursor mcp.Cursor) (next mcp.Cursor, err error)) error {
	seen := map[mcp.Cursor]bool{}
	for cursor := mcp.Cursor(""); ; {
		next, err := page(cursor)
		switch {
		case err != nil:
			return err
		case next == "":
			return nil
		case seen[next]:
			return fault.New(fault.Precondition, "the server's list does not end: it returns to a page that it had before")
		case len(seen) == maxPages:
			return fault.New(fault.Precondition, "the server's list has more than %d pages", maxPages)
		}
		seen[next] = true
		cursor = next
	}
}

// elicitor answers requests of servers for input of a user with the function of the call that they
// belong to. Other requests are declined.
type elicitor struct{}

type elicitKey struct{}

// Elicitation asks the user of a call: a request for input in the JSON of MCP, and the answer.
type Elicitation func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)

// WithElicitation returns a context for calls whose server may ask a user by the function while a call
// is under way.
func WithElicitation(ctx context.Context, ask Elicitation) context.Context {
	return context.WithValue(ctx, elicitKey{}, ask)
}

// Elicit implements client.ElicitationHandler.
func (elicitor) Elicit(ctx context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	declined := &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionDecline}}
	ask, _ := ctx.Value(elicitKey{}).(Elicitation)
	if ask == nil {
		return declined, nil
	}
	raw, err := json.Marshal(request.Params)
	if err != nil {
		return declined, nil //nolint:nilerr // what cannot be passed on is declined
	}
	answer, err := ask(ctx, raw)
	var result mcp.ElicitationResult
	if err != nil || json.Unmarshal(answer, &result) != nil {
		return declined, nil
	}
	return &result, nil
}

// Explain returns the public error for one of a session with a host: what a server says is shown on one
// line, without secrets.
func Explain(host string, err error, mask remote.Mask) error {
	said := textlimit.OneLine(mask.Text(err.Error()), MaxErrorBytes)
	var broken *url.Error
	switch {
	case errors.As(err, &broken):
		return remote.Unreachable(host, err)
	case errors.As(err, new(*transport.Error)):
		const form = "%s does not answer as MCP servers do; is the address that of its endpoint, such as https://mcp.example.com/mcp? %s"
		return fault.New(fault.Unavailable, form, host, trimTransport(said))
	}
	return fault.New(fault.Precondition, "%s: %s", host, said)
}

// NeedsAuthorization reports whether a server refused a request for want of a valid credential.
func NeedsAuthorization(err error) bool {
	return errors.Is(err, transport.ErrAuthorizationRequired) || errors.Is(err, transport.ErrUnauthorized)
}

// IsBroken reports whether an error says that the session cannot be used any more. An answer
// of the server, and a call that was cancelled, say nothing of the kind.
func IsBroken(err error) bool {
	var answered *transport.Error
	return errors.As(err, &answered) && !errors.Is(err, context.Canceled)
}

// MaxErrorBytes is how much an error shows of what a server says.
const MaxErrorBytes = 2 << 10

// cancelTimeout bounds the time of the notification that a call was cancelled.
const cancelTimeout = 5 * time.Second

var _ http.RoundTripper = pinned{}
