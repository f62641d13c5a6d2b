package toolset

import (
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

func TestCallsWithinCallsEndAtALimit(t *testing.T) {
	t.Parallel()
	for from, want := range map[int]int{0: maxDepth, 3: maxDepth - 3, maxDepth: 0, 32767: 0} {
		ctx, calls := access.NewContext(t.Context(), &access.Request{Depth: from}), 0
		for ; ; calls++ {
			deep, err := deeper(ctx)
			if err != nil {
				if fault.KindOf(err) != fault.Precondition {
					t.Error(err)
				}
				break
			}
			ctx = deep
			if r, _ := access.FromContext(ctx); r.Depth != from+calls {
				t.Errorf("call %d of a request at depth %d has depth %d", calls, from, r.Depth)
			}
		}
		if calls != want {
			t.Errorf("from depth %d: %d calls, want %d", from, calls, want)
		}
	}
}
