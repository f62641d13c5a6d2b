package connector

import (
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// What a server says takes bounded memory and is lent only if it can be stored.
func TestNamesAndAddressesOfMCPServersAreBounded(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"weather": true, "get weather.v2": true, strings.Repeat("x", maxOfferedNameBytes): true,
		"": false, strings.Repeat("x", maxOfferedNameBytes+1): false, "a\x00": false, "a\n": false, "\xff": false,
	} {
		if got := lendable(name); got != want {
			t.Errorf("%.20q can be lent: %v", name, got)
		}
	}
	for _, uri := range []string{"x:" + strings.Repeat("a", 1<<20), "x:\x00"} {
		r := resourceOf(mcp.Resource{URI: uri, Name: "n"})
		if len(r.uri) > 100 || !r.unusable || r.item().ID != r.uri {
			t.Errorf("%.20q is %q", uri, r.uri)
		}
	}
	if r := resourceOf(mcp.Resource{URI: "x:a"}); r.uri != "x:a" || r.unusable {
		t.Errorf("x:a is %+v", r)
	}
	large := offers{Prompts: []offeredPrompt{{Name: "p", Description: strings.Repeat("x", maxOffersBytes)}}}
	if err := storeOffers(t.Context(), nil, row{}, large); fault.KindOf(err) != fault.Precondition {
		t.Errorf("offers that are too large: %v", err)
	}
}

// A server that floods those who follow it is followed no longer.
func TestAFloodEndsASubscription(t *testing.T) {
	t.Parallel()
	f := &follower{flooded: make(chan struct{})}
	for range 2 * maxFollowBytes >> 20 {
		f.received(1 << 20)
	}
	select {
	case <-f.flooded:
	default:
		t.Error("it goes on")
	}
	if err := f.sent(); err != nil {
		t.Error(err)
	}
}
