package logrepeat

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

var errDown = errors.New("the database is down")

func setup() (*slog.Logger, *Handler, *bytes.Buffer) {
	var out bytes.Buffer
	drop := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	h := New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: drop}), func(err error) string {
		if errors.Is(err, errDown) {
			return "down"
		}
		return ""
	})
	return slog.New(h), h, &out
}

func TestARepeatedFailureIsWrittenOnceThenCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, _, out := setup()
		for i := range 100 { // for 25 s
			log.Warn("claiming failed", "err", fmt.Errorf("attempt %d: %w", i, errDown), "tenant", i%3, "retry_after", time.Duration(i))
			wait.Advance(250 * time.Millisecond)
		}
		wait.Advance(time.Minute)
		const want = `level=WARN msg="claiming failed" err="attempt 0: the database is down" tenant=0 retry_after=0s
level=WARN msg="claiming failed" err="attempt 40: the database is down" tenant=1 retry_after=40ns repeated=40
level=WARN msg="claiming failed" err="attempt 80: the database is down" tenant=2 retry_after=80ns repeated=40
level=INFO msg="over: claiming failed" times=100 lasted=24.75s
`
		if out.String() != want {
			t.Errorf("got\n%s\nwant\n%s", out, want)
		}
		out.Reset()
		log.Warn("claiming failed", "err", errDown)
		if !strings.Contains(out.String(), "claiming failed") {
			t.Error("a failure that comes back is not written")
		}
		wait.Advance(time.Hour)
		if strings.Contains(out.String(), "over") {
			t.Errorf("the end of a failure that occurred once is written: %s", out)
		}
	})
}

func TestDifferentFailuresAreAllWritten(t *testing.T) {
	t.Parallel()
	log, h, out := setup()
	defer h.Close()
	other := errors.New("document 17 is damaged")
	log.Warn("a", "err", errDown)
	log.Warn("b", "err", errDown)
	log.Error("a", "err", errDown)
	log.Warn("a", "err", other, "tenant", "acme")
	log.Warn("a", "err", other, "tenant", "umbrella")
	log.With("tenant", "third").Warn("a", "err", other)
	for range 3 {
		log.Info("a", "err", errDown)
	}
	if n := strings.Count(out.String(), "\n"); n != 9 {
		t.Errorf("%d lines, want 9:\n%s", n, out)
	}
	log.Warn("a", "err", errors.New("document 18 is damaged"), "tenant", "acme", "attempt", 2)
	log.With("tenant", "fourth").Warn("a", "err", fmt.Errorf("again: %w", errDown))
	if n := strings.Count(out.String(), "\n"); n != 9 {
		t.Errorf("repetitions were written:\n%s", out)
	}
}

func TestTheNumberOfTrackedFailuresIsLimited(t *testing.T) {
	t.Parallel()
	log, h, _ := setup()
	defer h.Close()
	for i := range 2 * maxFailures {
		log.Warn(fmt.Sprint("failure ", i))
	}
	if n := len(h.known); n != maxFailures {
		t.Errorf("%d failures are tracked", n)
	}
}
