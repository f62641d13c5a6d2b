package httpserver

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// hosts is the allow-list of Host headers. It protects against DNS rebinding: a page
// whose name resolves to this machine sends its own name, and is rejected.
type hosts struct {
	any   bool
	local bool            // only connections from this machine are checked
	known map[string]bool // without ports, lower case
}

func newHosts(cfg GuardConfig) hosts {
	h := hosts{local: len(cfg.AllowedHosts) == 0, known: map[string]bool{}}
	for _, name := range cfg.AllowedHosts {
		h.any = h.any || name == "*"
		h.known[hostName(name)] = true
	}
	if u, err := url.Parse(cfg.PublicURL); err == nil && u.Host != "" {
		h.known[hostName(u.Host)] = true
	}
	return h
}

// hostName returns a host in lower case, without port and IPv6 brackets.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

func (h hosts) allow(r *http.Request) bool {
	name := hostName(r.Host)
	return h.any || h.known[name] || isLoopback(name) || h.local && !overLoopback(r)
}

// overLoopback reports whether the connection is from this machine.
func overLoopback(r *http.Request) bool {
	address, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if address == nil {
		return false
	}
	at, err := netip.ParseAddrPort(address.String())
	return err == nil && at.Addr().Unmap().IsLoopback()
}
