package admission

import (
	"context"
	"errors"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

func TestAnswersTakeMemoryOfTheirTenantUntilTheRequestEnds(t *testing.T) {
	t.Parallel()
	gate := New(Config{MaxMemory: 8 << 20}) // 3 MiB for decoded messages of a tenant
	ctx, release := gate.WithMemory(t.Context(), "acme")
	if same, nothing := gate.WithMemory(ctx, "acme"); same != ctx {
		t.Error("the memory of a request is replaced")
	} else {
		nothing()
	}
	for range 2 {
		if err := Grow(ctx, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	if used := gate.decoded.Used("acme"); used != 2<<20 {
		t.Errorf("%d bytes are taken", used)
	}
	if err := Grow(ctx, 2<<20); fault.KindOf(err) != fault.Exhausted {
		t.Errorf("more than the quota of a tenant: %v", err)
	}
	other, releaseOther := gate.WithMemory(t.Context(), "acme")
	if err := Grow(other, smallBytes); err != nil {
		t.Errorf("a small answer waits: %v", err)
	}
	waiting, cancel := context.WithCancel(other)
	cancel()
	if err := Grow(waiting, 2<<20); !errors.Is(err, context.Canceled) {
		t.Errorf("more than is left: %v", err)
	}
	bolt, releaseBolt := gate.WithMemory(t.Context(), "bolt")
	if err := Grow(bolt, 3<<20); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	for _, end := range []func(){release, release, releaseOther, releaseBolt} {
		end()
	}
	if taken := gate.decoded.Taken(); taken != 0 {
		t.Errorf("%d bytes are never returned", taken)
	}
	if err := Grow(ctx, 1); err == nil {
		t.Error("a request takes memory after its end")
	}
	if err := Grow(t.Context(), 1<<40); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}
