package mcphttp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// What a client has said in a session is stored. An instance that does not know the session, or
// was told of a change, loads it and says the same to its library. A request in a session that the
// instance knows reads nothing.

type (
	callKey    struct{}
	sessionKey struct{}
)

// Notifies returns a function that reports whether the client of the session in ctx is to be
// notified by this instance. Of all instances, one does: that of the session's GET stream, or the one
// that opened the session while there is none.
func Notifies(ctx context.Context) func() bool {
	if s, ok := ctx.Value(sessionKey{}).(*session); ok {
		return s.notifies.Load
	}
	return func() bool { return true }
}

// SetLevel stores the level of log messages of the session in ctx. Errors: Unavailable.
func SetLevel(ctx context.Context, level string) error {
	return remember(ctx, func(c *call) (int64, error) {
		version, err := c.servers.store.setLevel(ctx, c.tenant, c.session.hash, level)
		if err == nil {
			c.session.level = level
		}
		return version, err
	})
}

// Subscribe stores a subscription of the session in ctx. Errors: Unavailable.
func Subscribe(ctx context.Context, uri string) error {
	return remember(ctx, func(c *call) (int64, error) {
		version, err := c.servers.store.subscribe(ctx, c.tenant, c.session.hash, uri)
		if err == nil {
			c.session.uris[uri] = true
		}
		return version, err
	})
}

// Unsubscribe deletes a subscription of the session in ctx. Errors: Unavailable.
func Unsubscribe(ctx context.Context, uri string) error {
	return remember(ctx, func(c *call) (int64, error) {
		version, err := c.servers.store.unsubscribe(ctx, c.tenant, c.session.hash, uri)
		if err == nil {
			delete(c.session.uris, uri)
		}
		return version, err
	})
}

// remember stores a change that the call in ctx makes to its session. It does nothing while a
// session is restored, and without a stored session.
func remember(ctx context.Context, change func(*call) (version int64, err error)) error {
	c, _ := ctx.Value(callKey{}).(*call)
	if c == nil {
		return nil
	}
	c.session.restoring.Lock()
	defer c.session.restoring.Unlock()
	version, err := change(c)
	c.session.changed(version)
	return err
}

// changed notes a change that this instance has made. If it is not the one after the state that is
// known, another instance has made one before it.
func (s *session) changed(version int64) {
	if version == 0 {
		return
	}
	if before := s.version.Swap(version); before != version-1 && before != version {
		s.doubt()
	}
}

// seen notes a version that was announced. It reports whether the known state is older.
func (s *session) seen(version int64) bool {
	newer := s.advance(version)
	if newer {
		s.doubt()
	}
	return newer
}

// advance notes a version, and reports whether it is newer than the last.
func (s *session) advance(version int64) bool {
	for {
		known := s.version.Load()
		if version <= known {
			return false
		}
		if s.version.CompareAndSwap(known, version) {
			return true
		}
	}
}

// restore makes the session of the call what is stored of it, if the instance does not know; the
// session that the call opens is stored. Errors: Unavailable; Invalid for a client that says too
// much of itself; NotFound for a session that has ended or is another caller's.
func (c *call) restore() error {
	if !c.stored() || c.session.fresh() {
		return nil
	}
	if c.message.opensSession() {
		return c.create()
	}
	c.session.restoring.Lock()
	defer c.session.restoring.Unlock()
	switch {
	case c.session.ctx.Err() != nil: // another request has found that it is none
		return errSessionEnded
	case c.session.fresh():
		return nil
	}
	doubts := c.session.doubts.Load() // a change from now on is loaded again
	state, err := c.servers.store.load(c.ctx, c.tenant, c.session.hash, c.session.owner)
	if err != nil {
		if fault.KindOf(err) == fault.NotFound {
			c.forgetSession()
		}
		return err
	}
	if err := c.replay(state); err != nil {
		return err
	}
	c.session.known.Store(doubts)
	return nil
}

// create stores the session that the call opens.
func (c *call) create() error {
	var opening struct {
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(c.message.body, &opening); err != nil {
		return malformed("the request body is not a single JSON-RPC message")
	}
	if err := c.servers.store.create(c.ctx, c.tenant, c.session.hash, c.session.owner, opening.Params); err != nil {
		c.forgetSession()
		return err
	}
	c.session.version.Store(1)
	c.session.inLibrary.Store(true)
	c.session.known.Store(c.session.doubts.Load())
	return nil
}

// forgetSession drops what this instance knows of the session.
func (c *call) forgetSession() {
	c.servers.mu.Lock()
	defer c.servers.mu.Unlock()
	c.server.sessions.forget(c.session)
}

// replay tells the library what it does not know of a session. The caller holds restoring.
func (c *call) replay(state storedSession) error {
	s := c.session
	s.notifies.Store(state.Notifier == c.servers.instance)
	if !s.inLibrary.Load() {
		if err := c.say(mcpgo.MethodInitialize, state.Client); err != nil {
			return err
		}
		s.inLibrary.Store(true)
	}
	if state.LogLevel != s.level {
		if err := c.say(mcpgo.MethodSetLogLevel, map[string]any{"level": state.LogLevel}); err != nil {
			return err
		}
		s.level = state.LogLevel
	}
	wanted := map[string]bool{}
	for _, uri := range state.Subscriptions {
		wanted[uri] = true
		if s.uris[uri] {
			continue
		}
		if err := c.say(mcpgo.MethodResourcesSubscribe, map[string]any{"uri": uri}); err != nil {
			return err
		}
		s.uris[uri] = true
	}
	for uri := range s.uris {
		if wanted[uri] {
			continue
		}
		if err := c.say(mcpgo.MethodResourcesUnsubscribe, map[string]any{"uri": uri}); err != nil {
			return err
		}
		delete(s.uris, uri)
	}
	s.advance(state.Version)
	return nil
}

// say sends a request to the library in the name of the client, whose answer nobody needs: what the
// client may no longer subscribe to is not notified.
func (c *call) say(method mcpgo.MCPMethod, params any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": mcpgo.JSONRPC_VERSION, "id": "restore", "method": method, "params": params})
	if err != nil {
		return err
	}
	ctx := context.WithValue(context.WithValue(c.ctx, failingKey{}, &failing{}), callKey{}, nil)
	c.server.http.Handle(discard{http.Header{}}, &server.HTTPRequest{
		Method: http.MethodPost, Header: http.Header{sessionHeader: {c.sessionID}, "Content-Type": {"application/json"}}, Body: body, Context: ctx,
	})
	if c.ctx.Err() != nil {
		return errors.Join(errSessionEnded, context.Cause(c.ctx))
	}
	return nil
}

// notify makes this instance the one that notifies the client of the call, whose stream it serves.
// Errors: Unavailable.
func (c *call) notify() error {
	if !c.stored() || c.session.notifies.Load() {
		return nil
	}
	c.session.restoring.Lock()
	defer c.session.restoring.Unlock()
	version, err := c.servers.store.notify(c.ctx, c.tenant, c.session.hash)
	if err != nil {
		return err
	}
	c.session.changed(version)
	c.session.notifies.Store(true)
	return nil
}
