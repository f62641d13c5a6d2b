package ingest

import (
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
)

func TestChunkTextHasABoundOfWork(t *testing.T) {
	t.Parallel()
	steps, taken := limit.NewSteps(waitedFor(t.Context())), 0
	for ; steps.Next(1 << 20); taken += 1 << 20 {
		if taken > 2*maxChunkTextSteps {
			t.Fatal("there is none")
		}
	}
	if taken < maxChunkTextSteps-1<<21 {
		t.Errorf("it ends after %d steps", taken)
	}
	if fault.KindOf(steps.Err()) != fault.Invalid {
		t.Errorf("error %v", steps.Err())
	}
}
