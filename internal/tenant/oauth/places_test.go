package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Whoever makes tokens up keeps no one else from the issuer.
func TestMadeUpTokensKeepNoOneOut(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	i.active["known"], i.active["new"] = i.said(map[string]any{"active": true}), i.said(map[string]any{"active": true})
	v := i.verifier(t, func(c *Config) {
		c.IntrospectionURL, c.ClientID, c.ClientSecret = i.URL+"/introspect", "ragd", "s3cret+"
	})
	flood, elsewhere := tenant.WithClient(t.Context(), "192.0.2.1:1000"), tenant.WithClient(t.Context(), "192.0.2.2:1000")
	if _, err := v.Verify(flood, "known"); err != nil {
		t.Fatal(err)
	}
	i.pass(introspectionTTL)

	i.hold(t)
	asked := i.questions()
	answers := make(chan error, maxQuestions+2*maxWaiting)
	for n := range cap(answers) {
		go func() {
			_, err := v.Verify(flood, fmt.Sprint("made up ", n))
			answers <- err
		}()
	}
	for n := range cap(answers) - maxStrange - maxWaiting {
		if err := <-answers; fault.KindOf(err) != fault.Unavailable {
			t.Fatalf("answer %d: %v, want it to be turned away", n, err)
		}
	}
	for i.questions() < asked+maxStrange {
		time.Sleep(time.Millisecond)
	}
	if _, err := v.Verify(flood, "known"); err != nil {
		t.Errorf("a known token from the same address: %v", err)
	}
	if got := i.questions() - asked; got != maxStrange+1 {
		t.Errorf("the issuer was asked %d times, want %d", got, maxStrange+1)
	}
	i.release(1)
	if _, err := v.Verify(elsewhere, "new"); err != nil {
		t.Errorf("a new token from another address: %v", err)
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces()
		a, b := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("192.0.2.1")
		neighbour := netip.MustParseAddr("2001:db8::2")
		var leave []func()
		for range maxStrange {
			left, err := p.enter(t.Context(), a, false)
			if err != nil {
				t.Fatal(err)
			}
			leave = append(leave, left)
		}
		order := make(chan string, 3)
		wait := func(name string, from netip.Addr, known bool) {
			go func() {
				if _, err := p.enter(t.Context(), from, known); err == nil {
					order <- name
				}
			}()
			synctest.Wait()
		}
		wait("neighbour", neighbour, false)
		wait("other", b, false)
		wait("known", a, true)
		if got := <-order; got != "known" {
			t.Errorf("%s goes first, want known", got)
		}
		leave[0]()
		if got := <-order; got != "other" {
			t.Errorf("%s goes next, want other: it has the fewest places", got)
		}
		gone, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.enter(gone, b, false); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without a free place: %v", err)
		}
		leave[1]()
		if got := <-order; got != "neighbour" {
			t.Errorf("%s goes last, want neighbour", got)
		}
		if len(p.waiting) != 0 || p.strange != maxStrange || p.used != maxStrange+1 {
			t.Errorf("%d wait, %d of %d places are used by strangers", len(p.waiting), p.strange, p.used)
		}
	})
}
