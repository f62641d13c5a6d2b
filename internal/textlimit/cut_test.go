package textlimit

import "testing"

func TestCut(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		s    string
		most int
		want string
	}{
		{"tide", 4, "tide"},
		{"tide", 3, "tid"},
		{"tidé", 4, "tid"},
		{"tidé", 5, "tidé"},
		{"潮", 2, ""},
		{"tide", 0, ""},
	} {
		if got := Cut(tc.s, tc.most); got != tc.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tc.s, tc.most, got, tc.want)
		}
	}
}
