package stdio

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// session is a session of a revision that has them.
type session struct {
	id      string // empty if the service has no sessions
	version string // that the service chose
	opened  *message
	end     context.CancelFunc // of its stream
}

// mark adds the session to a request; s may be nil.
func (s *session) mark(header http.Header) {
	if s == nil {
		return
	}
	if s.id != "" {
		header.Set(sessionHeader, s.id)
	}
	header.Set(mcpgo.HeaderProtocolVersion, s.version)
}

const (
	// Pauses between attempts to open a stream.
	minPause = 200 * time.Millisecond
	maxPause = 10 * time.Second
	// maxResumes limits the attempts to get the answer of a request whose connection was lost.
	maxResumes = 5
)

// initialize opens a session for the client.
func (b *bridge) initialize(ctx context.Context, m *message) {
	b.opening.Lock()
	defer b.opening.Unlock()
	answer, err := b.open(ctx, m)
	if err != nil {
		b.refuseFor(ctx, m, err)
		return
	}
	b.write(answer)
}

// open opens a session in place of the present one, and returns the answer to m. The caller holds
// opening.
func (b *bridge) open(ctx context.Context, m *message) (answer []byte, err error) {
	res, err := b.post(ctx, m, nil)
	if err != nil {
		return nil, err
	}
	opened := &session{id: res.Header.Get(sessionHeader), opened: m, end: func() {}}
	_, err = messages(res, func(raw []byte) bool {
		if answers(raw, m.id) {
			answer = raw
		}
		return answer == nil
	})
	if answer == nil {
		return nil, cmp.Or(err, errors.New("the service sent no answer"))
	}
	var fields struct {
		Result struct {
			ProtocolVersion string `json:"protocolVersion"`
		} `json:"result"`
	}
	if err := json.Unmarshal(answer, &fields); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	opened.version = fields.Result.ProtocolVersion
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.session != nil {
		b.session.end()
	}
	b.session = opened
	return answer, nil
}

// current returns the session, which it opens for a client that opened none.
func (b *bridge) current(ctx context.Context) (*session, error) {
	b.opening.Lock()
	defer b.opening.Unlock()
	b.mu.Lock()
	found := b.session
	b.mu.Unlock()
	if found != nil {
		return found, nil
	}
	m, err := parse([]byte(`{"jsonrpc":"2.0","id":"ragd mcp","method":"initialize","params":{"protocolVersion":"` +
		mcpgo.LATEST_LEGACY_PROTOCOL_VERSION + `","capabilities":{},"clientInfo":{"name":"ragd mcp","version":"` + b.cfg.Version + `"}}}`))
	if err != nil {
		return nil, err
	}
	if _, err := b.open(ctx, m); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.session, nil
}

// renew opens a session in place of one that the service has forgotten, with the subscriptions and
// the log level of the client, and returns it.
func (b *bridge) renew(ctx context.Context, lost *session) (*session, error) {
	b.opening.Lock()
	defer b.opening.Unlock()
	b.mu.Lock()
	found := b.session
	b.mu.Unlock()
	if found != lost { // by another request
		return found, nil
	}
	if _, err := b.open(ctx, lost.opened); err != nil {
		return nil, err
	}
	b.mu.Lock()
	found = b.session
	repeated := []*message{{raw: []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)}}
	if b.level != nil {
		repeated = append(repeated, b.level)
	}
	for _, m := range b.subscribed {
		repeated = append(repeated, m)
	}
	b.mu.Unlock()
	for _, m := range repeated {
		res, err := b.post(ctx, m, found)
		if err != nil {
			return nil, err
		}
		_ = res.Body.Close()
	}
	b.follow(found)
	b.changed()
	return found, nil
}

// isLost reports whether an error says that the service has forgotten a session.
func isLost(err error, s *session) bool {
	var refused *RefusalError
	return s != nil && s.id != "" && errors.As(err, &refused) && refused.Status == http.StatusNotFound
}

// send sends a message of the client in the session that it needs, which is opened again if it
// is lost.
func (b *bridge) send(ctx context.Context, m *message) (*http.Response, *session, error) {
	if m.version != "" {
		res, err := b.post(ctx, m, nil)
		return res, nil, err
	}
	s, err := b.current(ctx)
	if err != nil {
		return nil, nil, err
	}
	res, err := b.post(ctx, m, s)
	if isLost(err, s) {
		if s, err = b.renew(ctx, s); err == nil {
			res, err = b.post(ctx, m, s)
		}
	}
	return res, s, err
}

// notify passes on a notification, or an answer of the client.
func (b *bridge) notify(ctx context.Context, m *message) {
	if m.method == mcpgo.MethodNotificationCancelled {
		defer b.cancelled(m)
	}
	res, s, err := b.send(ctx, m)
	if err != nil {
		if m.id != nil || m.method == "" {
			b.log.WarnContext(ctx, "an answer of the client was not taken", "err", err)
		} else if ctx.Err() == nil {
			b.log.WarnContext(ctx, "a notification of the client was not taken", "method", m.method, "err", err)
		}
		return
	}
	_ = res.Body.Close()
	if m.method == "notifications/initialized" && s != nil {
		b.follow(s)
	}
}

// request passes on a request and the messages that answer it.
func (b *bridge) request(ctx context.Context, m *message) {
	b.remember(m)
	res, s, err := b.send(ctx, m)
	if err != nil {
		b.refuseFor(ctx, m, err)
		return
	}
	answered := false
	pass := func(raw []byte) bool {
		b.write(raw)
		answered = answers(raw, m.id)
		return !answered
	}
	last, err := messages(res, pass)
	for attempt := 0; !answered && attempt < maxResumes && last != "" && ctx.Err() == nil; attempt++ {
		if !pause(ctx, minPause<<attempt) {
			break
		}
		if res, err = b.get(ctx, s, last); err == nil {
			var further string
			further, err = messages(res, pass)
			last = cmp.Or(further, last)
		}
	}
	if !answered {
		b.refuseFor(ctx, m, cmp.Or(err, errors.New("the connection to the service was lost")))
	}
}

// remember keeps what a new session needs.
func (b *bridge) remember(m *message) {
	var params struct {
		URI string `json:"uri"`
	}
	if m.version != "" || json.Unmarshal(m.params, &params) != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch m.method {
	case mcpgo.MethodResourcesSubscribe:
		b.subscribed[params.URI] = m
	case mcpgo.MethodResourcesUnsubscribe:
		delete(b.subscribed, params.URI)
	case mcpgo.MethodSetLogLevel:
		b.level = m
	}
}

// refuseFor answers a request with an error, unless the client has cancelled it.
func (b *bridge) refuseFor(ctx context.Context, m *message, err error) {
	if ctx.Err() != nil {
		return
	}
	var refused *RefusalError
	if errors.As(err, &refused) {
		b.refuse(m.id, refused.Code, refused.Message)
		return
	}
	b.log.WarnContext(ctx, "mcp request", "method", m.method, "err", err)
	b.refuse(m.id, mcpgo.INTERNAL_ERROR, "the service does not answer: "+err.Error())
}

// get opens the stream of a session, after the event with an id if that is not empty.
func (b *bridge) get(ctx context.Context, s *session, after string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.cfg.URL, nil)
	if err != nil {
		return nil, err
	}
	if after != "" {
		r.Header.Set(lastEventHeader, after)
	}
	s.mark(r.Header)
	return b.do(r)
}

// follow passes the notifications of a session on, in the background, until it ends.
func (b *bridge) follow(s *session) {
	ctx, cancel := context.WithCancel(b.life)
	b.mu.Lock()
	s.end = cancel
	b.mu.Unlock()
	go func() {
		defer cancel()
		b.stream(ctx, s)
	}()
}

// stream passes the notifications of a session on. It returns when ctx ends, when the session is
// lost and another was opened, and when the service offers no stream.
func (b *bridge) stream(ctx context.Context, s *session) {
	last, wait := "", minPause
	for {
		res, err := b.get(ctx, s, last)
		var refused *RefusalError
		switch {
		case err == nil:
			wait = minPause
			var further string
			further, err = messages(res, func(raw []byte) bool { b.write(raw); return true })
			last = cmp.Or(further, last)
		case isLost(err, s):
			if _, err = b.renew(context.WithoutCancel(ctx), s); err == nil {
				return
			}
		}
		if errors.As(err, &refused) && refused.Status < http.StatusInternalServerError && refused.Status != http.StatusTooManyRequests {
			if refused.Status != http.StatusMethodNotAllowed { // else it has no sessions
				b.log.WarnContext(ctx, "the client gets no notifications", "err", err)
			}
			return
		}
		if !pause(ctx, wait) {
			return
		}
		wait = min(2*wait, maxPause)
	}
}

// listen passes on a request whose answer is a stream, and opens that again when its connection is
// lost.
func (b *bridge) listen(ctx context.Context, m *message) {
	wait, repeated := minPause, false
	for {
		res, err := b.post(ctx, m, nil)
		var refused *RefusalError
		switch {
		case err == nil:
			wait = minPause
			answered := false
			_, _ = messages(res, func(raw []byte) bool { // the connection's end is no answer
				if !repeated || !acknowledges(raw) {
					b.write(raw)
				}
				answered = answers(raw, m.id)
				return !answered
			})
			if answered {
				return
			}
			repeated = true
		case errors.As(err, &refused) && refused.Status < http.StatusInternalServerError && refused.Status != http.StatusTooManyRequests:
			b.refuseFor(ctx, m, err)
			return
		}
		if !pause(ctx, wait) {
			return
		}
		wait = min(2*wait, maxPause)
	}
}

// acknowledges reports whether a message says that a stream has begun.
func acknowledges(raw []byte) bool {
	var fields struct{ Method string }
	return json.Unmarshal(raw, &fields) == nil && fields.Method == "notifications/subscriptions/acknowledged"
}

// pause waits. It returns false if ctx has ended.
func pause(ctx context.Context, wait time.Duration) bool {
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}

// closeTimeout limits the time in which the session is ended.
const closeTimeout = 2 * time.Second

// close ends the session.
func (b *bridge) close(ctx context.Context) {
	b.mu.Lock()
	s := b.session
	b.mu.Unlock()
	if s == nil || s.id == "" {
		return
	}
	s.end()
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodDelete, b.cfg.URL, nil)
	if err != nil {
		return
	}
	s.mark(r.Header)
	if res, err := b.do(r); err == nil {
		_ = res.Body.Close()
	}
}
