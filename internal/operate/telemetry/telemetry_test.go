package telemetry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// The tenants with the most requests of the last whole minute are named, and no others.
func TestTheBusiestTenantsAreNamed(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	r := New(Config{Tenants: 2, Now: func() time.Time { return now }})
	request := func(tenant string, n int) {
		for range n {
			r.Request(Request{Interface: "rpc", Method: "m", Code: "ok", Tenant: tenant, Took: time.Millisecond})
		}
	}
	want := func(lines ...string) {
		t.Helper()
		text := ""
		if len(lines) > 0 {
			text = "# HELP ragd_tenant_requests_per_second Requests of the tenants with the most, over the last whole minute, if metrics-tenants is set.\n" +
				"# TYPE ragd_tenant_requests_per_second gauge\n" + strings.Join(lines, "\n") + "\n"
		}
		if err := testutil.GatherAndCompare(r.registry, strings.NewReader(text), "ragd_tenant_requests_per_second"); err != nil {
			t.Error(err)
		}
	}
	request("quiet", 1)
	request("busy", 120)
	request("middle", 60)
	want()
	now = now.Add(window)
	want(`ragd_tenant_requests_per_second{tenant="busy"} 2`, `ragd_tenant_requests_per_second{tenant="middle"} 1`)
	request("quiet", 6)
	now = now.Add(window)
	want(`ragd_tenant_requests_per_second{tenant="quiet"} 0.1`)
	now = now.Add(3 * window)
	want()
}

// A flood of names of tenants takes bounded memory.
func TestTheTenantsOfAMinuteAreBounded(t *testing.T) {
	t.Parallel()
	b := newBusiest(1, time.Now)
	for n := range maxCounted + 100 {
		b.add(fmt.Sprint(n))
	}
	if len(b.counting) != maxCounted {
		t.Errorf("%d tenants are counted", len(b.counting))
	}
}

// What runs without a recorder is not counted and does not fail.
func TestWithoutARecorder(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	Stage(ctx, "s", time.Second)
	Tool(ctx, "k", nil, time.Now())
	Job(ctx, "k", "done", time.Now())
	EndpointCall(ctx, "e", nil, time.Now())
	Documents(ctx, "stored", 1)
	Tokens(ctx, "chat", 1, 1)
	inner, end := Span(ctx, "s")
	end(errors.New("x"))
	if inner != ctx {
		t.Error("a span was started")
	}
	(*Recorder)(nil).Request(Request{})
}

func TestCode(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"ok": nil, "internal": errors.New("x"), "canceled": context.Canceled, "invalid": fault.Field("f", "x"),
	} {
		if got := Code(err); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}

// BenchmarkRequest counts a request; the floor is a look at the clock.
func BenchmarkRequest(b *testing.B) {
	r := New(Config{})
	b.Run("count", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.Request(Request{Interface: "rpc", Method: "ragd.v1.QueryService/VectorQuery", Code: "ok", Took: time.Millisecond})
		}
	})
	b.Run("clock", func(b *testing.B) {
		for b.Loop() {
			_ = time.Now()
		}
	})
}
