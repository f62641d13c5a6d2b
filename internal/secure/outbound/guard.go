// Package outbound connects to addresses that tenants choose, and keeps them out of the
// operator's own network. Everything that a tenant can point somewhere dials through a
// Guard.
package outbound

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Setting is the name of the setting with what a Guard allows besides public addresses.
const Setting = "allowed-private-networks"

// Guard refuses connections to addresses that are not public. It checks the address that is
// dialled, after the name has been resolved, so that neither a name that resolves to a
// private address, nor one that changes between two look-ups, nor a redirect passes. Safe
// for concurrent use.
type Guard struct {
	networks []netip.Prefix
	hosts    map[string]bool
	resolver *net.Resolver // nil for the default
}

// New returns a Guard that also allows these networks (10.1.0.0/16), addresses (10.1.2.3)
// and host names (models.internal). Errors: Invalid, naming the setting.
func New(allowed []string) (*Guard, error) {
	g := &Guard{hosts: map[string]bool{}}
	for _, text := range allowed {
		text = strings.ToLower(strings.TrimSpace(text))
		if prefix, err := netip.ParsePrefix(text); err == nil {
			g.networks = append(g.networks, netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()).Masked())
		} else if address, err := netip.ParseAddr(text); err == nil {
			address = address.Unmap()
			g.networks = append(g.networks, netip.PrefixFrom(address, address.BitLen()))
		} else if isHost(text) {
			g.hosts[text] = true
		} else {
			return nil, fault.Field(Setting, "%q is no network such as 10.1.0.0/16, no address and no host name", text)
		}
	}
	return g, nil
}

// isHost reports whether a text can be a host name. Digits and dots alone are a mistyped
// address.
func isHost(text string) bool {
	return text != "" && strings.Trim(text, "0123456789.") != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789.-_") == ""
}

// Dialer limits.
const (
	dialTimeout = 10 * time.Second
	keepAlive   = 30 * time.Second
	idleTimeout = 30 * time.Second
	// maxHeaderBytes bounds the header of an answer.
	maxHeaderBytes = 64 << 10
)

// Transport returns a transport whose connections the guard checks. It uses no proxy, which
// would dial for it.
func (g *Guard) Transport(connections int) *http.Transport {
	return &http.Transport{
		DialContext:            g.DialContext,
		ForceAttemptHTTP2:      true,
		IdleConnTimeout:        idleTimeout,
		MaxConnsPerHost:        connections,
		MaxIdleConns:           connections,
		MaxIdleConnsPerHost:    connections,
		MaxResponseHeaderBytes: maxHeaderBytes,
		TLSHandshakeTimeout:    dialTimeout,
	}
}

// Client returns a client of a Transport that follows no redirects and waits no longer than timeout for a
// whole answer.
func (g *Guard) Client(connections int, timeout time.Duration) *http.Client {
	return &http.Client{Transport: g.Transport(connections), CheckRedirect: NoRedirect, Timeout: timeout}
}

// NoRedirect makes a client return an answer that redirects it as it is. See http.Client.CheckRedirect.
func NoRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// DialContext connects to an address. Errors: Precondition for one that is not allowed.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive, Resolver: g.resolver, Control: g.control}
	if host, _, err := net.SplitHostPort(address); err == nil && g.hosts[strings.ToLower(strings.TrimSuffix(host, "."))] {
		dialer.Control = nil
	}
	return dialer.DialContext(ctx, network, address)
}

// control is called with the resolved address of each connection, before it is made.
func (g *Guard) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !g.Allows(to.Addr()) {
		return Refused()
	}
	return nil
}

// Refused returns the error for an address that is not allowed. It does not show the
// address, which the name of a host in the operator's network resolved to.
func Refused() *fault.Error {
	return fault.New(fault.Precondition, "the address is inside the network of this server, or reserved, so that tenants cannot use it; the operator of this server may allow it with the setting %s", Setting)
}

// Allows reports whether tenants may connect to an address.
func (g *Guard) Allows(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	for _, network := range g.networks {
		if network.Contains(address) {
			return true
		}
	}
	if embedded, ok := translated(address); ok { // the translator would connect to this
		return g.Allows(embedded)
	}
	if !address.IsValid() || !address.IsGlobalUnicast() || address.IsPrivate() {
		return false
	}
	if address.Is6() && !public6.Contains(address) {
		return false
	}
	for _, network := range special {
		if network.Contains(address) {
			return false
		}
	}
	return true
}

var (
	nat64   = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052
	public6 = netip.MustParsePrefix("2000::/3")
)

// translated returns the IPv4 address that an address of NAT64 stands for.
func translated(address netip.Addr) (netip.Addr, bool) {
	if !nat64.Contains(address) {
		return netip.Addr{}, false
	}
	bytes := address.As16()
	return netip.AddrFrom4([4]byte(bytes[12:])), true
}

// special are networks of the IANA registries of special purpose addresses that netip takes
// for global unicast, and metadata services at public addresses.
var special = prefixes(
	"0.0.0.0/8",        // this network
	"100.64.0.0/10",    // carrier grade NAT
	"168.63.129.16/32", // a metadata service
	"192.0.0.0/24",     // protocol assignments
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // relays of 6to4
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"240.0.0.0/4",      // reserved
	"2001::/23",        // protocol assignments, Teredo among them
	"2001:db8::/32",    // documentation
	"2002::/16",        // 6to4, which embeds IPv4 addresses
	"3fff::/20",        // documentation
)

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

// MaxURLBytes is the longest address that a tenant can give.
const MaxURLBytes = 2048

// CheckURL checks an address that a tenant gives, without a look-up. Errors: Invalid, naming
// the field, for what is no http or https address, and for user names, passwords and
// fragments in it; as Refused for an address that is not allowed. The errors do not show
// the address, which may hold a password.
func (g *Guard) CheckURL(field, address string) error {
	if len(address) > MaxURLBytes {
		return fault.Field(field, "must be at most %d bytes", MaxURLBytes)
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Hostname() == "" || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Opaque != "" {
		return fault.Field(field, "must be an address such as https://api.example.com/v1")
	}
	if parsed.User != nil {
		return fault.Field(field, "must not contain a user name or password: give a key in its own field")
	}
	if parsed.Fragment != "" || parsed.RawQuery != "" || parsed.ForceQuery {
		return fault.Field(field, "must end with the path, without ? and #")
	}
	host := parsed.Hostname()
	if literal, err := netip.ParseAddr(host); err == nil && !g.Allows(literal) {
		refused := Refused()
		refused.Message = field + ": " + refused.Message
		return refused
	}
	return nil
}
