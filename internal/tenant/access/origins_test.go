package access

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

func TestOriginsOfKeys(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"https://docs.example.com": "https://docs.example.com", "https://Docs.Example.COM:443/": "https://docs.example.com", "http://intranet": "http://intranet",
		"HTTPS://a.example:8443": "https://a.example:8443", "http://a.example:80": "http://a.example", "http://a.example:443": "http://a.example:443",
		"http://[::1]:8080": "http://[::1]:8080", "https://xn--bcher-kva.example": "https://xn--bcher-kva.example", "https://a.example:": "https://a.example",
	} {
		if got, err := ParseOrigins([]string{given}); err != nil || got[0] != want {
			t.Errorf("%q is %q, %v, want %q", given, got, err, want)
		}
	}
	for _, given := range []string{
		"", "null", "*", "https://*", "https://*.example.com", "docs.example.com", "https://", "https://:443", "ftp://a.example", "file:///a", "https://a.example/docs",
		"https://a.example?x", "https://a.example?", "https://a.example#", "https://a.example/#x", "https://u@a.example", "https://u:p@a.example", "https://a.example.", "https://bücher.example",
		"https://a.example, https://b.example", "https://a.example\nx", "https://%61.example", "javascript:alert(1)", "https://" + strings.Repeat("a", 300), "https://a example",
	} {
		if got, err := ParseOrigins([]string{given}); fault.KindOf(err) != fault.Invalid || err == nil {
			t.Errorf("%q is taken as %q, %v", given, got, err)
		}
	}
	got, err := ParseOrigins([]string{"https://b.example", "https://a.example", "https://B.example"})
	if diff := cmp.Diff(Origins{"https://a.example", "https://b.example"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := ParseOrigins(make([]string, MaxOrigins+1)); err == nil || !strings.Contains(err.Error(), "at most 20") {
		t.Errorf("too many: %v", err)
	}
}

func TestOriginsOfRequests(t *testing.T) {
	t.Parallel()
	origins := Origins{"https://docs.example.com", "https://other.example:8443"}
	for _, origin := range origins {
		if err := origins.Check(http.Header{"Origin": {origin}}); err != nil {
			t.Errorf("%s: %v", origin, err)
		}
	}
	for _, from := range [][]string{
		nil, {""}, {"null"}, {"*"}, {"http://docs.example.com"}, {"https://docs.example.com:444"}, {"https://docs.example.com:443"}, {"https://a.docs.example.com"}, {"https://example.com"},
		{"https://DOCS.example.com"}, {"HTTPS://docs.example.com"}, {"https://docs.example.com/"}, {"https://docs.example.com."}, {" https://docs.example.com"}, {"https://docs.example.com.evil.example"},
		{"https://evil.example/https://docs.example.com"}, {"https://docs.example.com, https://evil.example"}, {"https://docs.example.com", "https://evil.example"},
		{"https://docs.example.com", "https://docs.example.com"}, {"https://other.example"}, {"https://docs.example.com%00"},
	} {
		if err := origins.Check(http.Header{"Origin": from}); fault.KindOf(err) != fault.Denied || err == nil {
			t.Errorf("%q is accepted: %v", from, err)
		}
	}
}

func TestCallsOfKeysWithOrigins(t *testing.T) {
	t.Parallel()
	origins := Origins{"https://docs.example.com"}
	for _, path := range openPaths {
		if err := origins.CheckCall(http.MethodPost, path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for method, other := range map[string]string{
			http.MethodGet: path, http.MethodDelete: path, http.MethodPost: path + "/",
			http.MethodPut: strings.ToUpper(path), http.MethodPatch: "/" + path,
		} {
			if err := origins.CheckCall(method, other); fault.KindOf(err) != fault.Denied || err == nil {
				t.Errorf("%s %s is accepted: %v", method, other, err)
			}
		}
	}
}
