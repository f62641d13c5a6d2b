package outbound_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/secure/outbound"
)

func guard(t *testing.T, allowed ...string) *outbound.Guard {
	t.Helper()
	g, err := outbound.New(allowed)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestOnlyPublicAddressesAreAllowed(t *testing.T) {
	t.Parallel()
	g := guard(t)
	for _, address := range []string{
		"127.0.0.1", "127.8.9.1", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
		"169.254.169.254", "169.254.1.1", "100.64.0.1", "100.100.100.200", "100.127.255.255", "168.63.129.16", "192.0.0.192",
		"192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe",
		"64:ff9b:1::1", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1", "2002:7f00:1::", "2001::1", "100::1", "3fff::1",
	} {
		if g.Allows(netip.MustParseAddr(address)) {
			t.Errorf("%s is allowed", address)
		}
	}
	for _, address := range []string{"8.8.8.8", "1.1.1.1", "172.32.0.1", "100.63.255.255", "100.128.0.1", "::ffff:8.8.8.8", "64:ff9b::808:808", "2606:4700::1111", "2a00:1450::1"} {
		if !g.Allows(netip.MustParseAddr(address)) {
			t.Errorf("%s is refused", address)
		}
	}
	if g.Allows(netip.Addr{}) {
		t.Error("no address is allowed")
	}
}

func TestTheOperatorAllowsNetworksAddressesAndHosts(t *testing.T) {
	t.Parallel()
	g := guard(t, "10.1.0.0/16", "192.168.7.7", "FD00::/64", "Models.Internal")
	for address, want := range map[string]bool{
		"10.1.255.1": true, "10.2.0.1": false, "192.168.7.7": true, "192.168.7.8": false, "fd00::5": true, "fd01::5": false,
		"::ffff:10.1.0.1": true, "64:ff9b::a01:1": true, "64:ff9b::a02:1": false,
	} {
		if g.Allows(netip.MustParseAddr(address)) != want {
			t.Errorf("%s: not %v", address, want)
		}
	}
	for _, bad := range []string{"10.1.0.0/33", "10.1", "a b", "", "http://x"} {
		if _, err := outbound.New([]string{bad}); fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), outbound.Setting) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestURLsOfTenantsAreChecked(t *testing.T) {
	t.Parallel()
	g := guard(t, "10.1.0.0/16")
	for address, want := range map[string]fault.Kind{
		"https://api.example.com/v1":     0,
		"http://10.1.2.3:8080":           0,
		"http://[2606:4700::1111]/":      0,
		"ftp://example.com":              fault.Invalid,
		"example.com":                    fault.Invalid,
		"https://":                       fault.Invalid,
		"http:127.0.0.1":                 fault.Invalid,
		"https://key@example.com":        fault.Invalid,
		"https://u:secret@example.com":   fault.Invalid,
		"https://example.com/?a=b":       fault.Invalid,
		"https://example.com/#x":         fault.Invalid,
		"http://127.0.0.1/":              fault.Precondition,
		"http://[::1]:80/":               fault.Precondition,
		"http://[fe80::1%25eth0]/":       fault.Precondition,
		"http://[::ffff:7f00:1]/":        fault.Precondition,
		"http://169.254.169.254/latest/": fault.Precondition,
		"https://" + strings.Repeat("a", outbound.MaxURLBytes): fault.Invalid,
	} {
		err := g.CheckURL("baseUrl", address)
		if (err == nil) != (want == 0) || err != nil && fault.KindOf(err) != want {
			t.Errorf("%s: %v", address, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows a password: %v", address, err)
		}
	}
}

// Whatever a host is written like, the address that is dialled is checked: decimal,
// octal and short forms, names that resolve to this machine, and zones.
func TestTheDialledAddressIsChecked(t *testing.T) {
	t.Parallel()
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: guard(t).Transport(4)}
	for _, host := range []string{
		"127.0.0.1", "localhost", "localhost.", "LOCALHOST", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0", "0.0.0.0",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::1%25lo]", "user@127.0.0.1", "example.com@127.0.0.1", "[64:ff9b::7f00:1]",
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+":"+port+"/", http.NoBody)
		if err != nil {
			continue // the parser refuses it
		}
		response, err := client.Do(request)
		if err == nil {
			_ = response.Body.Close()
			t.Errorf("%s was reached", host)
		}
	}
	if asked {
		t.Error("a request has arrived")
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Do(request); fault.KindOf(err) != fault.Precondition { //nolint:bodyclose // there is none
		t.Errorf("the error is %v", err)
	}
}

func TestARedirectToAPrivateAddressIsRefused(t *testing.T) {
	t.Parallel()
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request has arrived") }))
	t.Cleanup(inside.Close)
	outside := httptest.NewServer(http.RedirectHandler(inside.URL, http.StatusTemporaryRedirect))
	t.Cleanup(outside.Close)
	// The first server plays the public one: its host is allowed, not its address.
	public := "http://localhost:" + strings.TrimPrefix(outside.URL, "http://127.0.0.1:")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, public, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: guard(t, "localhost").Transport(1)} // follows redirects
	if response, err := client.Do(request); err == nil {
		_ = response.Body.Close()
		t.Error("the redirect was followed")
	} else if fault.KindOf(err) != fault.Precondition {
		t.Errorf("the error is %v", err)
	}
}

func TestNoProxyIsUsed(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") }))
	t.Cleanup(proxy.Close)
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("HTTPS_PROXY", proxy.URL)
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://models.invalid/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	defer cancel()
	response, err := guard(t).Transport(1).RoundTrip(request)
	if err == nil {
		_ = response.Body.Close()
	}
	var dns *net.DNSError
	if !errors.As(err, &dns) {
		t.Errorf("the error is %v", err)
	}
}
