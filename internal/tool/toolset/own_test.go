package toolset

import (
	"testing"

	tenanttool "github.com/ragdhq/ragd/internal/tool"
)

func TestBuiltinNamesAreReserved(t *testing.T) {
	t.Parallel()
	tools, err := New(Config{API: noAPI{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, builtin := range tools.builtin {
		if !tenanttool.Reserved(builtin.definition.Name) {
			t.Errorf("a tenant could take the name %s", builtin.definition.Name)
		}
	}
}
