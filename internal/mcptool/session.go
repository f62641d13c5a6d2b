package mcptool

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/textlimit"
)

// session is a connection to a server with the headers of one caller. Safe for concurrent use.
type session struct {
	client *client.Client
	end    context.CancelFunc // of what runs as long as the session
	old    bool               // by the transport with server-sent events

	mu       sync.Mutex
	progress map[string]func(mcp.JSONRPCNotification) // by token
}

// connect opens a session: by streamable HTTP, or by the older transport with server-sent
// events if the server knows that only.
func (r *Runner) connect(ctx context.Context, d *Definition, headers map[string]string) (*session, error) {
	web := r.client.HTTP()
	to := pinned{next: web.Transport, host: d.url.Scheme + "://" + d.url.Host, headers: headers, agent: r.client.UserAgent()}
	web.Transport = to
	quiet := slog.New(slog.DiscardHandler) // the library logs addresses and texts of errors
	streamable, err := transport.NewStreamableHTTP(d.url.String(), transport.WithHTTPBasicClient(web), transport.WithHTTPLogger(quiet))
	if err != nil {
		return nil, err
	}
	s, err := r.start(ctx, cancelling{streamable})
	if !isOld(err) {
		return s, err
	}
	to.old = true
	web.Transport = to
	old, err := transport.NewSSE(d.url.String(), transport.WithHTTPClient(web), transport.WithSSELogger(quiet))
	if err != nil {
		return nil, err
	}
	if s, err = r.start(ctx, old); err == nil {
		s.old = true
	}
	return s, err
}

// isOld reports whether a server may know the older transport only.
func isOld(err error) bool {
	return errors.Is(err, transport.ErrLegacySSEServer)
}

// start opens a session over a transport.
func (r *Runner) start(ctx context.Context, over transport.Interface) (*session, error) {
	lasting, end := context.WithCancel(context.WithoutCancel(ctx))
	s := &session{client: client.NewClient(over, client.WithMaxInputRoundTrips(1)), end: end, progress: map[string]func(mcp.JSONRPCNotification){}}
	s.client.OnNotification(s.notified)
	stop := context.AfterFunc(ctx, end) // only while it starts
	defer stop()
	if err := s.client.Start(lasting); err != nil {
		s.close()
		return nil, err
	}
	var request mcp.InitializeRequest
	request.Params.ClientInfo = mcp.Implementation{Name: "ragd", Version: r.client.Version}
	if _, err := s.client.Initialize(ctx, request); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *session) close() {
	_ = s.client.Close()
	s.end()
}

// notified passes a notification about progress to its call.
func (s *session) notified(n mcp.JSONRPCNotification) {
	if n.Method != string(mcp.MethodNotificationProgress) {
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

// watch calls report for each notification about progress with the token, one at a time, and
// not after stop has returned.
func (s *session) watch(token string, report func(mcp.JSONRPCNotification)) (stop func()) {
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

// maxPages bounds the pages of a server's list of tools.
const maxPages = 50

// describe returns what the server says about a tool. Errors: NotFound.
func (s *session) describe(ctx context.Context, name string) (mcp.Tool, error) {
	var request mcp.ListToolsRequest
	var names []string
	for range maxPages {
		page, err := s.client.ListToolsByPage(ctx, request)
		if err != nil {
			return mcp.Tool{}, err
		}
		for _, t := range page.Tools {
			if t.Name == name {
				return t, nil
			}
			if len(names) <= maxNames {
				names = append(names, textlimit.OneLine(t.Name, maxListedBytes))
			}
		}
		if page.NextCursor == "" {
			break
		}
		request.Params.Cursor = page.NextCursor
	}
	return mcp.Tool{}, fault.New(fault.NotFound, "the server has no tool %q; it has %s", name, listed(names))
}

// Bounds of the names in an error.
const (
	maxNames       = 20
	maxListedBytes = 64
)

// listed returns the names for an error.
func listed(names []string) string {
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > maxNames:
		return strings.Join(names[:maxNames], ", ") + " and others"
	}
	return strings.Join(names, ", ")
}

// Bounds of sessions on an instance.
const (
	maxSessions       = 1000
	maxTenantSessions = 16
	idleTime          = 5 * time.Minute
)

var _ http.RoundTripper = pinned{}
