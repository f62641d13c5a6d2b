package storage

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// fixture is a Guard on a disk of 100 GiB that the test fills.
type fixture struct {
	*Guard
	now  time.Time
	free int64
	log  bytes.Buffer
}

func setup(config Config) *fixture {
	f := &fixture{now: time.Unix(1e9, 0), free: 50 << 30}
	config.Free = func() (int64, int64, error) { return f.free, 100 << 30, nil }
	config.Now = func() time.Time { return f.now }
	config.Logger = slog.New(slog.NewTextHandler(&f.log, nil))
	f.Guard = New(config)
	return f
}

func TestWritesAreRefusedBelowTheMinimum(t *testing.T) {
	t.Parallel()
	f := setup(Config{})
	check := func(free int64, wantRefusal bool) {
		t.Helper()
		f.free, f.now = free, f.now.Add(2*time.Second)
		err := f.Admit(t.Context(), "acme", 1, nil)
		if (err != nil) != wantRefusal {
			t.Errorf("with %s free: %v", size(free), err)
		}
		var e *fault.Error
		if wantRefusal && (fault.KindOf(err) != fault.Exhausted || !errors.As(err, &e) || e.RetryAfter == 0 || !strings.Contains(err.Error(), "min-free-bytes")) {
			t.Errorf("with %s free: %v, want one of kind exhausted with the setting and a delay", size(free), err)
		}
	}
	check(2<<30, false) // 2% of the disk are 2 GiB
	check(2<<30-1, true)
	check(2<<30, true) // a little more is needed to begin again
	check(3<<30, false)
	for _, line := range []string{"writes are refused", "writes are accepted again"} {
		if n := strings.Count(f.log.String(), line); n != 1 {
			t.Errorf("%q is logged %d times: %s", line, n, f.log.String())
		}
	}
}

func TestMinFreeOverridesTheFraction(t *testing.T) {
	t.Parallel()
	f := setup(Config{MinFree: 10})
	if f.free = 11; f.Disk() != nil {
		t.Error("refused with 11 bytes free")
	}
	f.now = f.now.Add(time.Minute)
	if f.free = 9; f.Disk() == nil {
		t.Error("accepted with 9 bytes free")
	}
}

func TestTheReportOfAFullDiskHoldsForAWhile(t *testing.T) {
	t.Parallel()
	f := setup(Config{})
	f.ReportFull()
	if err := f.Disk(); fault.KindOf(err) != fault.Exhausted {
		t.Errorf("after the report: %v", err)
	}
	if f.now = f.now.Add(fullPause); f.Disk() != nil {
		t.Errorf("after the pause: %v", f.Disk())
	}
}

func TestTheQuotaCountsWhatWasAdmitted(t *testing.T) {
	t.Parallel()
	f := setup(Config{Quota: 100})
	stored, counts := int64(40), 0
	admit := func(n int64) error {
		return f.Admit(t.Context(), "acme", n, func(context.Context) (int64, error) {
			counts++
			return stored, nil
		})
	}
	if err := errors.Join(admit(30), admit(30)); err != nil {
		t.Error(err)
	}
	if err := admit(1); fault.KindOf(err) != fault.Exhausted || !strings.Contains(err.Error(), "max-tenant-bytes") {
		t.Errorf("over the quota: %v", err)
	}
	if err := f.Admit(t.Context(), "other", 99, func(context.Context) (int64, error) { return 0, nil }); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	if counts != 1 {
		t.Errorf("counted %d times", counts)
	}
	stored, f.now = 10, f.now.Add(countTTL) // documents were deleted
	if err := admit(50); err != nil || counts != 2 {
		t.Errorf("after a deletion: %v, counted %d times", err, counts)
	}
}

func TestANilGuardAllowsEverything(t *testing.T) {
	t.Parallel()
	var g *Guard
	g.ReportFull()
	if err := errors.Join(g.Disk(), g.Admit(t.Context(), "acme", 1, nil)); err != nil {
		t.Error(err)
	}
}
