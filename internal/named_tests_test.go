package internal

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Every test that the security page names exists.
func TestTestsOnTheSecurityPageExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/explanation/security.md")
	if err != nil {
		t.Fatal(err)
	}
	exists := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	for _, name := range trackedFiles(t, "*_test.go") {
		text, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			exists[m[1]] = true
		}
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w+)`").FindAllStringSubmatch(string(page), -1)
	if len(named) < 100 {
		t.Errorf("the page names %d tests", len(named))
	}
	for _, m := range named {
		if !exists[m[1]] {
			t.Errorf("docs/explanation/security.md names %s, which does not exist", m[1])
		}
	}
	if !strings.Contains(string(page), "## Threat model") {
		t.Error("the page has no threat model")
	}
}
