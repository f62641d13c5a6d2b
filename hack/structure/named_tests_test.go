package structure

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Every test that the pages about security and faults name exists.
func TestTestsOnPagesExist(t *testing.T) {
	t.Parallel()
	exists := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	for _, name := range trackedFiles(t, "*_test.go") {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			exists[m[1]] = true
		}
	}
	for name, least := range map[string]int{"security": 100, "faults": 6} {
		page, err := os.ReadFile("../../docs/explanation/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		named := regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w+)`").FindAllStringSubmatch(string(page), -1)
		if len(named) < least {
			t.Errorf("%s.md names %d tests", name, len(named))
		}
		for _, m := range named {
			if !exists[m[1]] {
				t.Errorf("%s.md names %s, which does not exist", name, m[1])
			}
		}
		if name == "security" && !strings.Contains(string(page), "## Threat model") {
			t.Error("the page has no threat model")
		}
	}
}
