package mcp

import (
	"testing"

	tenanttool "github.com/ragdhq/ragd/internal/tool"
)

func TestBuiltinNamesAreReserved(t *testing.T) {
	t.Parallel()
	tools, err := newToolset(Config{API: &fakeAPI{}}.withDefaults(), overrideContext)
	if err != nil {
		t.Fatal(err)
	}
	for _, builtin := range tools.tools {
		if !tenanttool.Reserved(builtin.definition.Name) {
			t.Errorf("a tenant could take the name %s", builtin.definition.Name)
		}
	}
	if !tenanttool.Reserved(tenantToolName) {
		t.Errorf("a tenant could take the name %s", tenantToolName)
	}
}
