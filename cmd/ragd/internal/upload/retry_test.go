package upload

import (
	"context"
	"errors"
	"testing"
)

// What our own side finds wrong is wrong the next time too.
func TestErrorsOfOurOwnAreNotRetried(t *testing.T) {
	t.Parallel()
	calls, wrong := 0, errors.New("--index is missing")
	err := Retry(t.Context(), nil, func(context.Context) error {
		calls++
		return wrong
	})
	if !errors.Is(err, wrong) || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}
