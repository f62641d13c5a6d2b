package outbound

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// resolver returns a resolver that asks a name server of the test, which answers the n-th
// question for an IPv4 address with the n-th address, and later ones with the last.
func resolver(t *testing.T, addresses ...string) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	var asked atomic.Int64
	go func() {
		buffer := make([]byte, 512)
		for {
			n, from, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			var message dnsmessage.Message
			if message.Unpack(buffer[:n]) != nil {
				continue
			}
			message.Response, message.Additionals = true, nil
			if question := message.Questions[0]; question.Type == dnsmessage.TypeA {
				at := min(int(asked.Add(1)), len(addresses)) - 1
				message.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: question.Name, Type: question.Type, Class: question.Class},
					Body:   &dnsmessage.AResource{A: netip.MustParseAddr(addresses[at]).As4()},
				}}
			}
			answer, err := message.Pack()
			if err == nil {
				_, _ = server.WriteTo(answer, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// A name may resolve to a public address when somebody looks, and to a private one when it
// is dialled. Only the latter counts.
func TestANameThatChangesItsAddressDoesNotPass(t *testing.T) {
	t.Parallel()
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request has arrived") }))
	t.Cleanup(inside.Close)
	_, port, err := net.SplitHostPort(inside.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	g.resolver = resolver(t, "8.8.8.8", "127.0.0.1")
	const host = "rebind.example.com"
	found, err := g.resolver.LookupNetIP(t.Context(), "ip4", host)
	if err != nil || !g.Allows(found[0]) {
		t.Fatalf("the first look-up: %v, %v", found, err)
	}
	if err := g.CheckURL("baseUrl", "http://"+host+":"+port); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: g.Transport(1)}
	for range 2 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+":"+port, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		if fault.KindOf(err) != fault.Precondition {
			t.Errorf("the error is %v", err)
		}
	}
}
