package tenant_test

import (
	"fmt"
	"testing"
)

func BenchmarkCreateTenant(b *testing.B) {
	f := setup(b)
	name := unique("bench")
	for i := 0; b.Loop(); i++ {
		_, err := f.tenants.Create(f.operator, fmt.Sprintf("%s-%d", name, i), "", nil)
		must(b, err)
	}
}
