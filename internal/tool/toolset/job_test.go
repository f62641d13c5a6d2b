package toolset

import "testing"

func TestTheNumberOfWaitingCallsIsLimited(t *testing.T) {
	t.Parallel()
	w := newWaits()
	for range maxWaiting {
		if !w.TryAcquire("acme", 1) {
			t.Fatal("refused too early")
		}
	}
	if w.TryAcquire("acme", 1) {
		t.Error("one more may wait")
	}
	if !w.TryAcquire("globex", 1) {
		t.Error("another tenant may not wait")
	}
	w.Release("acme", 1)
	if !w.TryAcquire("acme", 1) {
		t.Error("a place that is free again is not given")
	}
}
