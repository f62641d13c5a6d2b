package connector

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tool/mcpclient"
	"github.com/ragdhq/ragd/internal/tool/remote"
	"github.com/ragdhq/ragd/internal/tool/template"
)

// mcpSession is a session with the server of a connector, for one goroutine.
type mcpSession struct {
	service    *Service
	name       string
	source     *MCP
	renews     time.Time // when the headers are looked at again
	renewed    bool      // the server has refused a token once
	connection *mcpclient.Connection
	server     mcpclient.Server
	caller     *access.Request
	mask       remote.Mask
	session    *mcpclient.Session
	meter      mcpMeter
	fetch      *fetcher // whose counts are kept up to date
}

// mcpMeter counts and bounds the requests and bytes of a run, which come from several goroutines.
type mcpMeter struct{ requests, bytes atomic.Int64 }

// sent counts a request. Errors: Exhausted.
func (m *mcpMeter) sent() error {
	if m.requests.Add(1) > maxRunRequests {
		return fault.New(fault.Exhausted, "the source needs more than %d requests", maxRunRequests)
	}
	if m.bytes.Load() > maxRunBytes {
		return fault.New(fault.Exhausted, "the source has more than %d bytes", int64(maxRunBytes))
	}
	return nil
}

// errSignIn says that a user has to sign in before the server can be used.
var errSignIn = fault.New(fault.Precondition, "the server wants a credential: give one with mcp.headers and a secret, or have a user sign in at the address that AuthorizeConnector (ragd connector authorize) returns")

// dial opens a session with the server of a connector, as the tenant's request in ctx. Its counts go to
// fetch. Errors: errSignIn; those of the server; NotFound and Denied for a secret.
func (s *Service) dial(ctx context.Context, name string, m *MCP, fetch *fetcher) (*mcpSession, error) {
	caller, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, err
	}
	out := &mcpSession{service: s, name: name, source: m, caller: caller, fetch: fetch}
	if err := out.prepare(ctx, false); err != nil {
		return nil, err
	}
	return out, out.do(ctx, func(context.Context) error { return nil })
}

// prepare sets the server with the headers of requests. With renew it gets another token.
func (s *mcpSession) prepare(ctx context.Context, renew bool) error {
	server, connection, mask, err := s.service.mcpServer(ctx, s.caller, s.name, s.source, renew)
	if err != nil {
		return err
	}
	s.server, s.connection, s.mask = server, connection, mask
	s.renews = time.Now().Add(tokenCheck)
	s.server.MaxAnswerBytes = maxResourceAnswer
	s.server.Sent, s.server.Received = s.meter.sent, func(n int) { s.meter.bytes.Add(int64(n)) }
	return nil
}

// tokenCheck is how long a session uses a token before it looks whether there is another one.
const tokenCheck = 20 * time.Second

// mcpServer returns the server of a connector with the headers of requests, and what hides their secrets.
func (s *Service) mcpServer(ctx context.Context, caller *access.Request, name string, m *MCP, renew bool) (mcpclient.Server, *mcpclient.Connection, remote.Mask, error) {
	var none mcpclient.Server
	c, err := m.connection(s.Guard)
	if err != nil {
		return none, nil, remote.Mask{}, err
	}
	secrets, err := s.Remote.Secrets.Values(ctx, caller.Tenant, c.Secrets, c.URL)
	if err != nil {
		return none, nil, remote.Mask{}, err
	}
	headers, err := c.Render(template.Values{Request: func(string) (any, bool) { return nil, false }, Secrets: secrets}.Lookup)
	if err != nil {
		return none, nil, remote.Mask{}, err
	}
	hidden := maps.Clone(secrets)
	if !c.Has("Authorization") && s.Keys != nil {
		token, err := s.bearer(ctx, caller.Tenant, name, m, renew)
		if err != nil {
			return none, nil, remote.Mask{}, err
		}
		if token != "" {
			headers["Authorization"], hidden["token"] = "Bearer "+token, token
		}
	}
	return mcpclient.Server{URL: c.URL, Headers: headers}, c, remote.NewMask(hidden), nil
}

// checkSecrets checks whether the caller may have the secrets of a connector sent to its server. Errors:
// NotFound; Denied.
func (s *Service) checkSecrets(ctx context.Context, m *MCP) error {
	c, err := m.connection(s.Guard)
	if err != nil {
		return err
	}
	if o := m.OAuth; o != nil && o.ClientSecret != "" {
		issuer, err := url.Parse(o.Issuer)
		if err != nil {
			return err
		}
		if err := s.Remote.Secrets.CheckUse(ctx, []string{o.ClientSecret}, issuer); err != nil {
			return err
		}
	}
	return s.Remote.Secrets.CheckUse(ctx, c.Secrets, c.URL)
}

// pages reads a list of the server: page reads the page at a cursor and returns the next cursor.
func (s *mcpSession) pages(ctx context.Context, page func(ctx context.Context, cursor mcp.Cursor) (next mcp.Cursor, err error)) error {
	return mcpclient.Pages(func(cursor mcp.Cursor) (next mcp.Cursor, err error) {
		err = s.do(ctx, func(ctx context.Context) (err error) {
			next, err = page(ctx, cursor)
			return err
		})
		return next, err
	})
}

// do makes a request in the session within the time that one may take. A session that the server has
// ended, or whose connection broke, is opened anew.
func (s *mcpSession) do(ctx context.Context, request func(ctx context.Context) error) error {
	entered, leave, err := s.service.Remote.Enter(ctx, s.caller)
	if err != nil {
		return err
	}
	defer leave()
	limited, cancel := context.WithTimeout(entered, s.connection.Timeout)
	defer cancel()
	limited, refused := mcpclient.WithRefusal(limited)
	for again := false; ; again = true {
		if err := s.fresh(limited); err != nil {
			return err
		}
		err = s.once(limited, request)
		if !again && mcpclient.NeedsAuthorization(err) && !s.renewed && s.server.Headers["Authorization"] != "" && !s.connection.Has("Authorization") {
			s.renewed = true
			s.close()
			if err := s.prepare(limited, true); err != nil {
				return err
			}
			continue
		}
		if again || !errors.Is(err, transport.ErrSessionTerminated) {
			break
		}
		s.close()
	}
	s.fetch.requests.Store(s.meter.requests.Load())
	s.fetch.bytes.Store(s.meter.bytes.Load())
	if err == nil {
		return nil
	}
	if mcpclient.IsBroken(err) {
		s.close()
	}
	host := s.connection.URL.Host
	switch reason := refused.Load(); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case reason != nil:
		return *reason // the library does not tell it
	case mcpclient.NeedsAuthorization(err):
		return errSignIn
	case limited.Err() != nil:
		return fault.Wrap(fault.Unavailable, err, "%s did not answer within %v", host, s.connection.Timeout)
	}
	var known *fault.Error
	if errors.As(err, &known) && known.Kind == fault.Exhausted {
		return known
	}
	return mcpclient.Explain(host, err, s.mask)
}

// fresh opens the session anew if there is another token.
func (s *mcpSession) fresh(ctx context.Context) error {
	if time.Now().Before(s.renews) {
		return nil
	}
	before := s.server.Headers["Authorization"]
	if err := s.prepare(ctx, false); err != nil {
		return err
	}
	if s.server.Headers["Authorization"] != before {
		s.close()
	}
	return nil
}

func (s *mcpSession) once(ctx context.Context, request func(ctx context.Context) error) (err error) {
	if s.session == nil {
		if s.session, err = mcpclient.Connect(ctx, s.service.Remote, s.server); err != nil {
			s.session = nil
			return err
		}
	}
	if err := s.session.Grow(ctx); err != nil {
		return err
	}
	return request(ctx)
}

// close ends the session.
func (s *mcpSession) close() {
	if s.session != nil {
		s.session.Close()
		s.session = nil
	}
}
