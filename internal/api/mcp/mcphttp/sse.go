package mcphttp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"sync"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
)

// Paths of the transport of revision 2024-11-05: a GET of SSEPath opens a stream, whose
// first event names the address at or under MessagePath that accepts the messages of the
// session. All answers are sent on the stream.
const (
	SSEPath     = "/sse"
	MessagePath = "/message"
)

// maxSSEBacklog limits the unsent messages of a stream, and the messages of a session
// served at the same time.
const maxSSEBacklog = 100

// sseSession implements the library's session for one open stream. Unlike the sessions of
// Path it ends with its connection.
type sseSession struct {
	id            string
	notifications chan mcpgo.JSONRPCNotification
	answers       chan mcpgo.JSONRPCMessage
	slots         chan struct{} // a slot for each message being answered
	ready         sync.Once
	initialized   chan struct{}
}

// SessionID implements server.ClientSession.
func (s *sseSession) SessionID() string { return s.id }

// Initialize implements server.ClientSession.
func (s *sseSession) Initialize() { s.ready.Do(func() { close(s.initialized) }) }

// Initialized implements server.ClientSession.
func (s *sseSession) Initialized() bool {
	select {
	case <-s.initialized:
		return true
	default:
		return false
	}
}

// NotificationChannel implements server.ClientSession.
func (s *sseSession) NotificationChannel() chan<- mcpgo.JSONRPCNotification { return s.notifications }

// serveSSE opens a stream and writes to it until one side ends it.
func (h *Handler) serveSSE(w http.ResponseWriter, r *http.Request) {
	caller, end, err := h.admit(r)
	if err == nil {
		defer end()
	}
	if err == nil && r.Method != http.MethodGet {
		w.Header().Set("Allow", "GET")
		err = &refusal{http.StatusMethodNotAllowed, mcpgo.INVALID_REQUEST, "this endpoint takes GET"}
	}
	if err != nil {
		h.reject(w, r, err)
		return
	}
	c, err := h.servers.begin(caller, message{verb: http.MethodGet, opensSSE: true})
	if err != nil {
		h.reject(w, r, err)
		return
	}
	defer c.end()
	s := &sseSession{
		id:            c.sessionID,
		notifications: make(chan mcpgo.JSONRPCNotification, maxSSEBacklog),
		answers:       make(chan mcpgo.JSONRPCMessage, maxSSEBacklog),
		slots:         make(chan struct{}, maxSSEBacklog),
		initialized:   make(chan struct{}),
	}
	if err := c.server.mcp.RegisterSession(c.ctx, s); err != nil {
		h.reject(w, r, fmt.Errorf("register the session: %w", err))
		return
	}
	defer c.server.mcp.UnregisterSession(context.WithoutCancel(c.ctx), s.id)
	c.stream(s)
	defer c.endStream()
	defer h.recheck(c, r.Header)()

	out := newResponse(newConnection(w, h.cfg.KeepAlive, h.cfg.WriteTimeout, c.cancel))
	defer out.close()
	out.Header().Set("Content-Type", "text/event-stream")
	out.Header().Set("Cache-Control", "no-store")
	out.WriteHeader(http.StatusOK)
	writeEvent(out, "endpoint", []byte(c.messagePath()+"?sessionId="+url.QueryEscape(s.id)))
	s.write(c.ctx, out)
}

// write sends notifications and answers of the session until ctx ends. Notifications
// queued before an answer are sent before it.
func (s *sseSession) write(ctx context.Context, out *response) {
	send := func(m any) {
		if raw, err := json.Marshal(m); err == nil { // cannot fail: the library decoded it from JSON
			writeEvent(out, "message", raw)
		}
	}
	for {
		select {
		case n := <-s.notifications:
			send(n)
		case a := <-s.answers:
			for range len(s.notifications) {
				send(<-s.notifications)
			}
			send(a)
		case <-ctx.Done():
			return
		}
	}
}

// writeEvent writes one event. data must not contain line breaks.
func writeEvent(out *response, name string, data []byte) {
	var event bytes.Buffer
	fmt.Fprintf(&event, "event: %s\ndata: %s\n\n", name, data)
	if _, err := out.Write(event.Bytes()); err == nil {
		out.Flush()
	}
}

// serveMessage accepts a message of a session, which is answered on the stream.
func (h *Handler) serveMessage(w http.ResponseWriter, r *http.Request) {
	caller, end, err := h.admit(r)
	if err != nil {
		h.reject(w, r, err)
		return
	}
	memory := h.cfg.Gate.Open(caller.Tenant)
	leave := func() { memory.Close(); end() }
	in, err := h.readSSEMessage(w, r, memory)
	var c *call
	if err == nil {
		c, err = h.servers.begin(caller, in)
	}
	if err != nil {
		leave()
		h.reject(w, r, err)
		return
	}
	leave = func() { c.end(); memory.Close(); end() }
	s := c.openStream()
	if s == nil {
		leave()
		h.reject(w, r, fault.New(fault.NotFound, "session not found: its stream is not open on this instance; open a new one at %s", SSEPath))
		return
	}
	select {
	case s.slots <- struct{}{}:
	default:
		leave()
		h.reject(w, r, fault.Retry(time.Second, "more than %d messages of this session are being answered", maxSSEBacklog))
		return
	}
	// Clients read the stream only after this request has ended, so the message is served
	// in the background.
	w.WriteHeader(http.StatusAccepted)
	go h.answer(c, s, leave)
}

// answer serves a message after its request has ended, as long as its stream is open, and
// then calls leave.
func (h *Handler) answer(c *call, s *sseSession, leave func()) {
	ctx, written := httpserver.Detach(c.ctx, h.cfg.Logger, "message")
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		if p := recover(); p != nil {
			httpserver.Fail(ctx, fmt.Errorf("panic: %c\n%s", p, debug.Stack()))
		}
		cancel()
		written()
		<-s.slots
		leave()
	}()
	for _, end := range []context.Context{c.session.ctx, h.servers.requests} {
		defer context.AfterFunc(end, cancel)()
	}
	answer := c.server.mcp.HandleMessage(c.server.mcp.WithContext(ctx, s), c.message.body)
	if answer == nil {
		return
	}
	select {
	case s.answers <- c.failing.instead(answer):
	case <-ctx.Done():
	}
}

func (h *Handler) readSSEMessage(w http.ResponseWriter, r *http.Request, memory *admission.Request) (message, error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		return message{}, &refusal{http.StatusMethodNotAllowed, mcpgo.INVALID_REQUEST, "this endpoint takes POST"}
	}
	in, err := h.read(w, r, memory)
	if err != nil {
		return message{}, err
	}
	if in.modern {
		return message{}, &refusal{http.StatusBadRequest, mcpgo.INVALID_REQUEST, "this transport has sessions: use " + Path + " for revisions without"}
	}
	in.session, in.overSSE = r.URL.Query().Get("sessionId"), true
	return in, nil
}

// messagePath returns the path that accepts the messages of the session.
func (c *call) messagePath() string {
	if c.caller.server == "" {
		return MessagePath
	}
	return MessagePath + "/" + c.caller.server
}

// stream registers the session's stream for the requests that will answer on it.
func (c *call) stream(s *sseSession) {
	c.servers.mu.Lock()
	defer c.servers.mu.Unlock()
	c.server.legacy[s.id] = s
}

// endStream ends the session with its stream.
func (c *call) endStream() {
	c.servers.mu.Lock()
	defer c.servers.mu.Unlock()
	delete(c.server.legacy, c.sessionID)
	c.server.sessions.finish(c.session)
}

// openStream returns the stream of the request's session, or nil.
func (c *call) openStream() *sseSession {
	c.servers.mu.Lock()
	defer c.servers.mu.Unlock()
	return c.server.legacy[c.sessionID]
}
