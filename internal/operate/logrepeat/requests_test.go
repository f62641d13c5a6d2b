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

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// requests returns a Requests and what it and the lines that pass write.
func requests() (*Requests, *bytes.Buffer) {
	var out bytes.Buffer
	drop := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		if a.Value.Kind() == slog.KindTime {
			return slog.Int64(a.Key, int64(a.Value.Time().Sub(epoch)/time.Millisecond))
		}
		return a
	}
	return NewRequests(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: drop}))), &out
}

// epoch is when the clock of a synctest bubble begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// lines counts the lines of a text.
func lines(out *bytes.Buffer) int { return strings.Count(out.String(), "\n") }

func TestRefusalsOfOneCallerAreSummedUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, out := requests()
		passed := 0
		for i := range 600 { // in a minute less a tenth of a second
			r := Request{Tenant: "acme", Address: "192.0.2.1", Code: "invalid", Method: "POST", Path: fmt.Sprint("/", i), Err: fmt.Errorf("bad %d", i)}
			if q.Passes(r) {
				passed++
			}
			if i%100 == 0 && !q.Passes(Request{Tenant: "bolt", Code: "invalid"}) {
				t.Error("another tenant's line is left out")
			}
			wait.Advance(period / 600)
		}
		if passed != maxOfCaller {
			t.Errorf("%d lines pass, want %d", passed, maxOfCaller)
		}
		synctest.Wait()
		want := `level=INFO msg="requests refused" tenant=acme code=invalid left_out=580 first=2000 last=59900 method=POST path=/599 err="bad 599"` + "\n"
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if !q.Passes(Request{Tenant: "acme", Code: "invalid"}) {
			t.Error("a new minute has no lines")
		}
		wait.Advance(time.Hour)
		if n := lines(out); n != 1 {
			t.Errorf("%d sums, want none about a caller whose lines all passed:\n%s", n, out)
		}
	})
}

// However many callers there are, a minute has a bounded number of lines, which account for all
// requests.
func TestTheLinesOfAMinuteAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, out := requests()
		const each = 30
		passed, asked := 0, 0
		for i := range 2 * maxCallers {
			for range each {
				asked++
				if q.Passes(Request{Address: fmt.Sprint("192.0.2.", i), Code: "unauthenticated", Err: errors.New("no key")}) {
					passed++
				}
			}
		}
		if passed != maxOfKind {
			t.Errorf("%d lines of strangers pass, want %d", passed, maxOfKind)
		}
		wait.Advance(period)
		if n := lines(out); n != maxSums+1 {
			t.Errorf("%d sums, want %d", n, maxSums+1)
		}
		sum := 0
		for line := range strings.Lines(out.String()) {
			var n int
			if _, err := fmt.Sscanf(line[strings.Index(line, "left_out="):], "left_out=%d", &n); err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		if passed+sum != asked {
			t.Errorf("%d lines and %d left out, of %d requests", passed, sum, asked)
		}
		if !strings.Contains(out.String(), "callers=others") {
			t.Error("no line is about the others")
		}
	})
}

func TestStrangersTakeNoLinesFromTenants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, out := requests()
		for i := range maxOfKind * 2 {
			q.Passes(Request{Address: fmt.Sprint(i), Code: "unauthenticated"})
			q.Passes(Request{Tenant: fmt.Sprint(i), Code: "internal", Internal: true})
		}
		if !q.Passes(Request{Tenant: "acme", Code: "denied"}) {
			t.Error("the line of a tenant is left out")
		}
		q.Close()
		if n := strings.Count(out.String(), "level=ERROR"); n == 0 {
			t.Error("the failures that were left out are not summed up as errors")
		}
		if !q.Passes(Request{Address: "1", Code: "unauthenticated"}) {
			t.Error("after its end it leaves lines out")
		}
	})
	if !(*Requests)(nil).Passes(Request{}) {
		t.Error("without limits a line is left out")
	}
}
