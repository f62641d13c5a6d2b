package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
)

func TestMadeUpTokensDoNotDelayOtherCallers(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	i.active["known"], i.active["new"] = i.claims(map[string]any{"active": true}), i.claims(map[string]any{"active": true})
	v := i.verifier(t, func(c *Config) {
		c.IntrospectionURL, c.ClientID, c.ClientSecret = i.URL+"/introspect", "ragd", "s3cret+"
	})
	flooding, other := credential.WithClient(t.Context(), "192.0.2.1:1000"), credential.WithClient(t.Context(), "192.0.2.2:1000")
	if _, err := v.Verify(flooding, "known", credential.Resource{}); err != nil {
		t.Fatal(err)
	}
	i.advance(introspectionTTL)

	i.block(t)
	before := i.requestCount()
	answers := make(chan error, maxRequests+2*maxWaiting)
	for n := range cap(answers) {
		go func() {
			_, err := v.Verify(flooding, fmt.Sprint("made up ", n), credential.Resource{})
			answers <- err
		}()
	}
	for n := range cap(answers) - maxUnverified - maxWaiting {
		if err := <-answers; fault.KindOf(err) != fault.Unavailable {
			t.Fatalf("answer %d: %v, want an error because too many wait", n, err)
		}
	}
	wait.For(t, "all requests that may run", func() bool { return i.requestCount() >= before+maxUnverified })
	if _, err := v.Verify(flooding, "known", credential.Resource{}); err != nil {
		t.Errorf("a known token from the same address: %v", err)
	}
	if got := i.requestCount() - before; got != maxUnverified+1 {
		t.Errorf("the issuer was asked %d times, want %d", got, maxUnverified+1)
	}
	i.unblock(1)
	if _, err := v.Verify(other, "new", credential.Resource{}); err != nil {
		t.Errorf("a new token from another address: %v", err)
	}
}

func TestSlotsGoToVerifiedTokensThenToTheNetworkWithTheFewest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots()
		a, b := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("192.0.2.1")
		neighbour := netip.MustParseAddr("2001:db8::2")
		var releases []func()
		for range maxUnverified {
			release, err := s.acquire(t.Context(), a, false)
			if err != nil {
				t.Fatal(err)
			}
			releases = append(releases, release)
		}
		order := make(chan string, 3)
		enter := func(name string, from netip.Addr, verified bool) {
			go func() {
				if _, err := s.acquire(t.Context(), from, verified); err == nil {
					order <- name
				}
			}()
			synctest.Wait()
		}
		enter("neighbour", neighbour, false)
		enter("other", b, false)
		enter("verified", a, true)
		if got := <-order; got != "verified" {
			t.Errorf("%s is first, want verified", got)
		}
		releases[0]()
		if got := <-order; got != "other" {
			t.Errorf("%s is next, want other: its network uses the fewest slots", got)
		}
		expiring, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.acquire(expiring, b, false); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without a free slot: %v", err)
		}
		releases[1]()
		if got := <-order; got != "neighbour" {
			t.Errorf("%s is last, want neighbour", got)
		}
		if len(s.waiting) != 0 || s.unverified != maxUnverified || s.used != maxUnverified+1 {
			t.Errorf("%d wait, %d of %d used slots are for unverified tokens", len(s.waiting), s.unverified, s.used)
		}
	})
}
