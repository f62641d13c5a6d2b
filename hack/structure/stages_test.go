package structure

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Every stage of a search or a walk is a span, which the reference names.
func TestStagesAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	lap := regexp.MustCompile(`\.Lap\("([a-z ]+)"`)
	for _, pkg := range []string{"query", "graph"} {
		for _, name := range trackedFiles(t, "internal/"+pkg+"/*.go", ":!**/*_test.go") {
			text, err := os.ReadFile("../../" + name)
			if err != nil {
				continue
			}
			for _, m := range lap.FindAllStringSubmatch(string(text), -1) {
				if !strings.Contains(string(page), "`"+pkg+"."+m[1]+"`") {
					t.Errorf("docs/reference/telemetry.md does not name the span %s.%s of %s", pkg, m[1], name)
				}
			}
		}
	}
}
