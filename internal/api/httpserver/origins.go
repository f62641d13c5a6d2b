package httpserver

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// origins is the allow-list of web origins whose pages may call the service. Browsers
// send the page's origin with every request that can do harm, so it also protects against
// DNS rebinding.
type origins struct {
	any   bool
	known map[string]bool // scheme://host[:port], lower case
}

// parseOrigins parses a list of origins or URLs, of which only the origin is used. Empty
// strings are skipped.
func parseOrigins(list []string) (origins, error) {
	o := origins{known: map[string]bool{}}
	for _, s := range list {
		switch u, err := url.Parse(s); {
		case s == "":
		case s == "*":
			o.any = true
		case err != nil || u.Scheme == "" || u.Host == "":
			return o, fmt.Errorf("allowed-origins: %q is not an origin such as https://app.example.com", s)
		default:
			o.known[originOf(u)] = true
		}
	}
	return o, nil
}

func originOf(u *url.URL) string { return strings.ToLower(u.Scheme + "://" + u.Host) }

func (o origins) allow(origin string) bool {
	if o.any {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false // includes "null", the origin of sandboxed frames of any page
	}
	web := u.Scheme == "http" || u.Scheme == "https"
	return o.known[originOf(u)] || web && isLoopback(u.Hostname())
}

// isLoopback reports whether a host name always refers to the machine it is used on.
func isLoopback(name string) bool {
	if name == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.IsLoopback()
}

// Headers that a page may send and read, of MCP and of the RPC protocols.
var (
	requestHeaders = []string{
		"Authorization", "Connect-Accept-Encoding", "Connect-Content-Encoding", "Connect-Protocol-Version", "Connect-Timeout-Ms",
		"Content-Encoding", "Content-Type", "Grpc-Accept-Encoding", "Grpc-Encoding", "Grpc-Timeout", "Idempotency-Key", "Last-Event-ID",
		"Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id", "Ragd-Context", "Ragd-Results", "Ragd-Server", "Ragd-Tenant", "Traceparent", "Tracestate", "X-Grpc-Web",
		"X-Request-Id", "X-User-Agent",
	}
	responseHeaders = []string{
		"Connect-Content-Encoding", "Content-Encoding", "Grpc-Encoding", "Grpc-Message", "Grpc-Status", "Grpc-Status-Details-Bin", "Idempotent-Replayed", "Mcp-Session-Id", "Ragd-Quota-Warning", "Retry-After", "WWW-Authenticate", "X-Request-Id",
	}
)

// guardOrigins rejects pages of other origins and answers preflight requests. It runs before
// authentication, so that a page can read a 401. It does not let browsers send credentials of
// their own, such as cookies: callers have keys.
func (g *Guard) guardOrigins(next http.Handler, reject func(http.ResponseWriter, *http.Request, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Origin") // also without one: a cached answer lacks the headers for pages
		origin := r.Header.Get("Origin")
		if origin == "" {
			next.ServeHTTP(w, r)
			return
		}
		admit := func() {
			w.Header().Set("Access-Control-Allow-Origin", origin)
			w.Header().Set("Access-Control-Expose-Headers", strings.Join(responseHeaders, ", "))
		}
		asks := r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
		if g.origins.allow(origin) {
			admit()
			if asks {
				preflight(w, r)
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		ctx, ok, err := g.pageOf(r, origin, admit)
		switch {
		case err != nil:
			reject(w, r, err)
		case !ok:
			reject(w, r, fault.New(fault.Denied, "pages of this origin may not call the service; its operator allows origins with the setting allowed-origins"))
		case asks:
			admit()
			w.Header().Set("Access-Control-Allow-Headers", strings.Join(pageHeaders, ", "))
			w.Header().Set("Access-Control-Allow-Methods", http.MethodPost)
			w.Header().Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
		default:
			next.ServeHTTP(w, r.WithContext(ctx))
		}
	})
}

// pageOf is GuardConfig.Page for a request.
func (g *Guard) pageOf(r *http.Request, origin string, admit func()) (context.Context, bool, error) {
	if g.page == nil || len(r.Header.Values("Origin")) > 1 {
		return nil, false, nil
	}
	return g.page(r.Context(), r.URL.Path, origin, admit)
}

// pageHeaders are those that a page may send which is allowed by its credential alone.
var pageHeaders = []string{"Authorization", "Connect-Protocol-Version", "Connect-Timeout-Ms", "Content-Type", "Ragd-Footnotes"}

// maxAskedHeaders is how many headers beside the known ones a page may send.
const maxAskedHeaders = 32

// mayBeSent reports whether a page may send a header that is not among the known ones: not those
// in which proxies say where a request comes from.
func mayBeSent(header string) bool {
	lower := strings.ToLower(header)
	return httpguts.ValidHeaderFieldName(header) && len(header) <= 64 && lower != "forwarded" && lower != "via" &&
		!strings.HasPrefix(lower, "x-forwarded-") && lower != "x-real-ip"
}

func preflight(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Access-Control-Request-Headers")
	headers := slices.Clone(requestHeaders)
	// Tenants declare headers that fill their request context, and the MCP library maps headers
	// to parameters of tools. A preflight request has no credential that would tell which.
	for asked := range strings.SplitSeq(r.Header.Get("Access-Control-Request-Headers"), ",") {
		if asked = strings.TrimSpace(asked); mayBeSent(asked) && len(headers) < len(requestHeaders)+maxAskedHeaders {
			headers = append(headers, asked)
		}
	}
	w.Header().Set("Access-Control-Allow-Headers", strings.Join(headers, ", "))
	w.Header().Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	w.Header().Set("Access-Control-Max-Age", "7200")
	w.WriteHeader(http.StatusNoContent)
}
