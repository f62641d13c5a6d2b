package catalog

import (
	"regexp"
	"strings"
	"testing"
)

func TestNamesHaveLettersDigitsUnderscoresAndDashes(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile(`^[A-Za-z0-9_-]{1,8}$`)
	for _, name := range []string{"", "a", "Z", "0", "9", "_", "-", "tool_1-B", "tool_12-B", "a b", "a.b", "a/b", "é", "a\n", "\n", "a\x00", "\xff", strings.Repeat("x", 1000)} {
		if got, want := IsName(name, 8), pattern.MatchString(name); got != want {
			t.Errorf("IsName(%q) is %v", name, got)
		}
		err := CheckName("toolName", name, 8)
		if want := "toolName: must be 1 to 8 letters, digits, _ and -"; (err != nil) == IsName(name, 8) || err != nil && err.Error() != want {
			t.Errorf("CheckName(%q): %v", name, err)
		}
	}
	for c := range 256 {
		if name := string([]byte{byte(c)}); IsName(name, 1) != pattern.MatchString(name) {
			t.Errorf("IsName(%q) is %v", name, IsName(name, 1))
		}
	}
}
