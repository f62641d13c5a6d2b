package tenant

import "testing"

func TestATenantLeavesOthersSomeOfAQuota(t *testing.T) {
	t.Parallel()
	q := NewQuota(8, 4)
	for range 2 {
		if !q.Take("acme", 2) {
			t.Fatal("refused below both bounds")
		}
	}
	if q.Take("acme", 1) {
		t.Error("more than its part for one tenant")
	}
	if !q.Take("bolt", 4) {
		t.Error("the others' part was refused")
	}
	if q.Take("corp", 1) {
		t.Error("more than all")
	}
	q.Release("acme", 4)
	if got := q.Held("acme"); got != 0 {
		t.Errorf("%d are held after all were given back", got)
	}
	if !q.Take("corp", 1) {
		t.Error("refused after there was room again")
	}
}
