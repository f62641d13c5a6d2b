package httpserver

import (
	"context"
	"net/http"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// GuardConfig configures a Guard. The zero value allows pages of this machine, and every
// host name on connections from other machines.
type GuardConfig struct {
	// AllowedHosts lists host names, such as rag.example.com, under which the service may
	// be called, besides that of PublicURL and loopback names. "*" allows all. Default:
	// on a connection from this machine none, else all.
	AllowedHosts []string
	// AllowedOrigins lists web origins, such as https://app.example.com, whose pages may
	// call the service, besides loopback origins and that of PublicURL. "*" allows all.
	// Requests without an Origin are always allowed.
	AllowedOrigins []string
	// PublicURL is the address of the service for clients.
	PublicURL string
	// Page reports whether a page of an origin that is none of these may make a call of a path all the same, as the
	// credential that it sends allows. The request goes on with the returned context, in which whoever accepts the
	// credential calls admit, so that the page can read the answer. Default: none may.
	Page func(ctx context.Context, path, origin string, admit func()) (context.Context, bool, error)
}

// Guard rejects requests under foreign host names and from pages of foreign origins, so
// that a web page cannot call the service through its visitor's browser. Safe for
// concurrent use.
type Guard struct {
	hosts   hosts
	origins origins
	page    func(ctx context.Context, path, origin string, admit func()) (context.Context, bool, error)
}

// NewGuard returns a Guard. It fails if an allowed origin is malformed.
func NewGuard(config GuardConfig) (*Guard, error) {
	allowed, err := parseOrigins(append([]string{config.PublicURL}, config.AllowedOrigins...))
	if err != nil {
		return nil, err
	}
	return &Guard{newHosts(config), allowed, config.Page}, nil
}

// Handler returns a handler that calls next for allowed requests and refuse, with a Denied
// error, for others. It answers the preflight requests of browsers, and lets pages of
// allowed origins read the answers. A nil Guard allows everything.
func (g *Guard) Handler(next http.Handler, refuse func(http.ResponseWriter, *http.Request, error)) http.Handler {
	if g == nil {
		return next
	}
	next = g.guardOrigins(next, refuse)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.hosts.allow(r) {
			refuse(w, r, fault.New(fault.Denied, "the service may not be called under this host name; its operator allows names with the settings public-url and allowed-hosts"))
			return
		}
		next.ServeHTTP(w, r)
	})
}
