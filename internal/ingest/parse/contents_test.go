package parse

import (
	"strings"
	"testing"
)

func TestContentsOfAPage(t *testing.T) {
	t.Parallel()
	const contents = "1 Tides 1\n1.1 Springs . . . . . . . . 1\n1.2 Neaps. . . . . . . . . . 2\n\n### 2 Fees ........ iv\n2.1 Berths . . 3, 14\nA Charts … … … A-1"
	const short = "1 Tides 1\n1.1 Springs … 1\n1.2 Neaps … 2\n\n2 Fees … iv\n2.1 Berths … 3, 14\nA Charts … A-1"
	for _, tc := range []struct {
		name, page string
		after      bool
		text, want string // the text, and the contents in it
	}{
		{"below a heading", "Handbook\n\n# Contents\n\n" + contents + "\n\nii", false, "Handbook\n\n# Contents\n\n" + short + "\n\nii", short},
		{"the end of them on the next page", "Handbook ii\n\nB Index . . . . . 99\n\n# Tides\n\nText", true, "Handbook ii\n\nB Index … 99\n\n# Tides\n\nText", "Handbook ii\n\nB Index … 99"},
		{"few lines", "B Index . . . . . 99\nText", false, "B Index . . . . . 99\nText", ""},
		{"text with dots", strings.Repeat("He waited....... 5\nand then some text\nand more\n", 9), false, "", ""},
		{"the page after them", "# Tides\n\nText\n\nSee . . . . 4", true, "", ""},
	} {
		text, start, end, ok := contentsOf(tc.page, tc.after)
		if tc.text == "" {
			tc.text = tc.page
		}
		if text != tc.text || ok != (tc.want != "") || text[start:end] != tc.want {
			t.Errorf("%s: %q, contents %q, %t", tc.name, text, text[start:end], ok)
		}
	}
}
