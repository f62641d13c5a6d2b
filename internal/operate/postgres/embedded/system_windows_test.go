package embedded

import (
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

func TestWindowsHasNoServerOfItsOwn(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Config{DataDir: t.TempDir()})
	if fault.KindOf(err) != fault.Precondition || !strings.Contains(err.Error(), "RAGD_DATABASE_URL") {
		t.Errorf("%v", err)
	}
}
