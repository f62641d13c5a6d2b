package replica

import (
	"strings"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

func TestTokensAreOfOneTenantAndTimeline(t *testing.T) {
	t.Parallel()
	here, there := timeline{1, "5ac3be3b-1d38-4e3c-8e9a-7e6f3f0f3a01"}, timeline{1, "0d0e7d9c-93a1-4d55-9c74-3c1f4c1b7b02"}
	token := encodeToken(here, "acme", 12345)
	if err := CheckTokens("writeToken", token); err != nil || len(token) != 22 {
		t.Errorf("%q: %v", token, err)
	}
	if position, ok := decodeTokens(here, "acme", token+","+encodeToken(here, "acme", 99)); !ok || position != 12345 {
		t.Errorf("position %d, %v", position, ok)
	}
	altered := "A" + token[1:]
	if token[0] == 'A' {
		altered = "B" + token[1:]
	}
	for name, c := range map[string]struct {
		of            timeline
		tenant, token string
	}{
		"another tenant": {here, "globex", token}, "another timeline": {there, "acme", token}, "altered": {here, "acme", altered},
		"one of two": {here, "acme", token + "," + AnyPrimary}, "unknown position": {here, "acme", AnyPrimary},
	} {
		if position, ok := decodeTokens(c.of, c.tenant, c.token); ok {
			t.Errorf("%s: position %d", name, position)
		}
	}
	if strings.Contains(token, encodeToken(here, "acme", 12346)[:8]) {
		t.Error("tokens of neighbouring positions look alike")
	}
}

func TestMalformedTokensAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "x", ",", AnyPrimary + ",", AnyPrimary + "A", AnyPrimary + "==", strings.Repeat(AnyPrimary+",", MaxTokens) + AnyPrimary} {
		if err := CheckTokens("writeToken", text); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "writeToken") && !strings.Contains(fault.Public(err), "write token") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestHistoryTellsHowStaleAPositionIs(t *testing.T) {
	t.Parallel()
	begin := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(seconds float64) time.Time { return begin.Add(time.Duration(seconds * float64(time.Second))) }
	var h history
	for _, o := range []observation{{at(0), 700}, {at(1), 712}, {at(2), 712}, {at(3), 745}} {
		h = h.add(timeline{1, "a"}, o)
	}
	for _, c := range []struct {
		staleness float64
		want      int64
		ok        bool
	}{{0.5, 0, false}, {1.5, 745, true}, {2, 712, true}, {3.5, 712, true}, {4, 700, true}, {100, 700, true}} {
		if got, ok := h.needed(at(4), time.Duration(c.staleness*float64(time.Second))); got != c.want || ok != c.ok {
			t.Errorf("%g s: needs %d, %v, want %d, %v", c.staleness, got, ok, c.want, c.ok)
		}
	}
	for position, want := range map[int64]float64{745: 0, 800: 0, 744: 1, 712: 1, 711: 3, 699: 4} {
		if got := h.lag(at(4), position); got != time.Duration(want*float64(time.Second)) {
			t.Errorf("position %d: lag %v, want %g s", position, got, want)
		}
	}
	if h = h.add(timeline{1, "a"}, observation{at(2).Add(MaxStaleness), 900}); len(h.seen) != 3 {
		t.Errorf("%d observations are kept, want those of the last %v", len(h.seen), MaxStaleness)
	}
	if h = h.add(timeline{1, "b"}, observation{at(400), 5}); len(h.seen) != 1 {
		t.Errorf("%d observations after a new timeline, want 1", len(h.seen))
	}
}
