package textlimit

import "testing"

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"as long as may be", "tidé", ""},
		{"too long", "tides!", "uri: is 6 bytes, over the limit of 5"},
		{"a broken character", "tid\xc3", "uri: is not valid UTF-8"},
		{"a null character", "a\x00", "uri: contains a null character"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if err := Check("uri", tc.in, 5); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if storable := IsStorable(tc.in); storable != (tc.want == "" || len(tc.in) > 5) {
				t.Errorf("storable: %v", storable)
			}
		})
	}
}

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

func TestShorten(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"tide": "tide", "tidé": "tid…", "tides": "tide…", "t\xff": "t\uFFFD"} {
		if got := Shorten(in, 4); got != want {
			t.Errorf("Shorten(%q, 4) = %q, want %q", in, got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	if got, want := OneLine(" ebb\x00\n\t and  flow\xff again", 12), "ebb and flow"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
