package provision_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/migrations"
)

// In a distributed database some functions of the shared schema are replaced. When a migration changes one of them, its
// replacement in migrations/citus has to be looked at: then run this test with -update.
func TestReplacedFunctionsAreThoseThatWereLookedAt(t *testing.T) {
	t.Parallel()
	const file = "testdata/replaced-functions.txt"
	schema, err := os.ReadFile("testdata/schema/postgres-15/shared.sql")
	must(t, err)
	defined := map[string]string{}
	for _, statement := range regexp.MustCompile(`(?m)^CREATE `).Split(string(schema), -1) {
		if name, _, ok := strings.Cut(strings.TrimPrefix(statement, "FUNCTION ragd_shared."), "("); ok && strings.HasPrefix(statement, "FUNCTION ") {
			defined[name] = statement
		}
	}
	var got strings.Builder
	for _, match := range regexp.MustCompile(`CREATE OR REPLACE FUNCTION ragd_shared\.(\w+)`).FindAllStringSubmatch(migrations.Citus(), -1) {
		if statement, ok := defined[match[1]]; ok {
			fmt.Fprintf(&got, "%s %x\n", match[1], sha256.Sum256([]byte(statement)))
		}
	}
	if strings.Count(got.String(), "\n") < 10 {
		t.Fatalf("few functions are replaced:\n%s", &got)
	}
	if *update {
		must(t, os.WriteFile(file, []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("a function has changed that migrations/citus replaces (-then +now):\n%s", diff)
	}
}
