package console

import (
	"net/http"
	"net/url"
	"strings"
)

// sameOrigin reports whether a request comes from the service's own page. Browsers say so in
// Sec-Fetch-Site (W3C Fetch Metadata), but not to addresses such as http://10.0.0.5; there they
// send Origin with requests that change something.
func (h *Handler) sameOrigin(r *http.Request) bool {
	return !h.foreign(r) && (r.Header.Get("Sec-Fetch-Site") != "" || r.Header.Get("Origin") != "")
}

// foreign reports whether a browser says that a request comes from elsewhere than the service's
// own page.
func (h *Handler) foreign(r *http.Request) bool {
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" {
			return true
		}
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(u.Host, r.Host) || (u.Scheme == "https") != h.secure(r) {
			return true
		}
	}
	return false
}

// secure reports whether the browser has sent a request by TLS, to the service or to a proxy
// before it.
func (h *Handler) secure(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") || h.publicHost != "" && strings.EqualFold(r.Host, h.publicHost)
}
