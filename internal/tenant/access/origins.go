package access

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// Limits of the origins of a key.
const (
	MaxOrigins     = 20
	maxOriginBytes = 270 // the longest host name, a scheme and a port
)

// Origins are the web origins whose pages may use an API key, as browsers write them in the header Origin. A key
// without origins is for programs. One with origins stands in pages, where anybody can read it: it is accepted
// from those pages alone, and for the calls that ForPages names.
type Origins []string

// openPaths are the calls of keys with origins: those that search and answer, and keep nothing for the caller.
// A page sends them by POST.
var openPaths = []string{"/v1/chat/completions", "/ragd.v1.QueryService/VectorQuery"}

// ForPages reports whether keys with origins may make calls of this path.
func ForPages(path string) bool { return slices.Contains(openPaths, path) }

// ParseOrigins returns origins as browsers write them, sorted and without repetitions. Errors: Invalid.
func ParseOrigins(given []string) (Origins, error) {
	if len(given) > MaxOrigins {
		return nil, fault.Field("origins", "must be at most %d, got %d", MaxOrigins, len(given))
	}
	var origins Origins
	for _, text := range given {
		origin, err := parseOrigin(text)
		if err != nil {
			return nil, err
		}
		origins = append(origins, origin)
	}
	slices.Sort(origins)
	return slices.Compact(origins), nil
}

func parseOrigin(text string) (string, error) {
	if err := textlimit.Check("origins", text, maxOriginBytes); err != nil {
		return "", err
	}
	wrong := func(why string) (string, error) {
		return "", fault.Field("origins", "%q %s: an origin is a scheme, a host and a port other than the usual one, such as https://docs.example.com", textlimit.Shorten(text, 80), why)
	}
	u, err := url.Parse(text)
	switch {
	case strings.Contains(text, "*"):
		return wrong("has a *, but origins are whole: list each one")
	case err != nil || u.Host == "" || u.Hostname() == "":
		return wrong("is no origin")
	case u.Scheme != "https" && u.Scheme != "http":
		return wrong("has another scheme than https or http")
	case u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(text, "#"):
		return wrong("has more than an origin")
	case strings.HasSuffix(u.Hostname(), "."):
		return wrong("ends with a dot")
	}
	for _, c := range u.Hostname() {
		if c > '~' || c <= ' ' || strings.ContainsRune(`%\"<>^|{}`+"`", c) {
			return wrong("has a host with characters that the header Origin does not have; write other alphabets as xn--")
		}
	}
	host := strings.ToLower(u.Host)
	if usual := map[string]string{"https": ":443", "http": ":80"}[u.Scheme]; strings.HasSuffix(host, usual) {
		host = strings.TrimSuffix(host, usual)
	}
	return u.Scheme + "://" + strings.TrimSuffix(host, ":"), nil
}

// Check returns an error unless the page of a request with these headers may use a key with the origins. Errors: Denied.
func (o Origins) Check(header http.Header) error {
	switch from := header.Values("Origin"); {
	case len(from) == 0:
		return fault.New(fault.Denied, "this API key is for pages of %s alone, and the request comes from no page: programs use a key without origins", strings.Join(o, ", "))
	case len(from) > 1 || !slices.Contains(o, from[0]):
		return fault.New(fault.Denied, "this API key is not for pages of the origin %q: list it among the origins of the key", textlimit.Shorten(strings.Join(from, ", "), 80))
	}
	return nil
}

// errNotForPages does not depend on what exists.
var errNotForPages = fault.New(fault.Denied, "this API key is for pages of its origins: it may only search and ask, with POST %s", strings.Join(openPaths, " and "))

// CheckCall returns an error unless a key with origins may make a call. Errors: Denied.
func (o Origins) CheckCall(method, path string) error {
	if method == http.MethodPost && ForPages(path) {
		return nil
	}
	return errNotForPages
}
