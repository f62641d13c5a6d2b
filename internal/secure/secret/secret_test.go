package secret

import (
	"net/url"
	"slices"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

func TestASecretGoesToItsHostsOnly(t *testing.T) {
	t.Parallel()
	hosts, err := checkHosts([]string{"API.example.com", "api.example.com", "b.example.com:8443", "[2606:4700::1111]:8443"})
	if err != nil || !slices.Equal(hosts, []string{"[2606:4700::1111]:8443", "api.example.com", "b.example.com:8443"}) {
		t.Fatalf("%q, %v", hosts, err)
	}
	for address, want := range map[string]bool{
		"https://api.example.com/x": true, "http://api.example.com": true, "https://api.example.com:443": true, "https://API.EXAMPLE.COM": true,
		"https://b.example.com:8443": true, "https://[2606:4700::1111]:8443/": true,
		"https://api.example.com:8443": false, "https://b.example.com": false, "https://api.example.com.evil.com": false, "https://example.com": false,
		"https://evil.com/api.example.com": false, "https://api.example.com.": false,
	} {
		to, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if (Secret{Hosts: hosts}).Allows(to) != want {
			t.Errorf("%s: not %v", address, want)
		}
		if !(Secret{}).Allows(to) {
			t.Errorf("%s: a secret without hosts is refused", address)
		}
	}
}

func TestHostsAreChecked(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "https://a.com", "a.com/x", "a.com?x", "a b", "u@a.com", "a.com:x", ":80", "a.com\r\n", "a.com#"} {
		if _, err := checkHosts([]string{bad}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := checkHosts(make([]string, maxHosts+1)); fault.KindOf(err) != fault.Invalid {
		t.Errorf("too many: %v", err)
	}
}
