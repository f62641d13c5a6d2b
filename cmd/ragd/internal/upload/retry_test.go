package upload

import (
	"context"
	"errors"
	"testing"
)

// Errors that do not come from the service are permanent.
func TestErrorsOfTheClientAreNotRetried(t *testing.T) {
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
