package markdown

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// outlineOf returns the headings of a text, each as number signs and its title.
func outlineOf(text string) string {
	var lines []string
	for _, h := range Read(text, nil).Headings {
		lines = append(lines, strings.Repeat("#", h.Level)+" "+h.Title)
	}
	return strings.Join(lines, "\n")
}

func TestHeadingsAreThoseOfCommonMark(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"a longer fence holds a shorter one":          {"# Title\n\n````md\n```\n# no\n```\n## no\n````\n\n# Next\nx\n", "# Title\n# Next"},
		"a closing fence has no text after it":        {"# Title\n\n```\na\n``` not closed\n# no\n```\n\n# Next\nx\n", "# Title\n# Next"},
		"a fence of tildes holds backticks":           {"~~~\n```\n# no\n~~~\n# Next", "# Next"},
		"a closing fence may be longer":               {"```\n# no\n`````\n# Next", "# Next"},
		"a closing fence is indented by three spaces": {"```\n# no\n    ```\n# no\n   ```\n# Next", "# Next"},
		"a fence may have an info text":               {"``` {.sh #id}\n# no\n```\n# Next", "# Next"},
		"backticks in an info text open nothing":      {"``` a`b\n# Next\n```\n# no", "# Next"},
		"two backticks are no fence":                  {"``\n# Next\n``", "# Next"},
		"a fence in a list ends with the item":        {"- a\n\n  ```\n  # no\n\n# Next", "# Next"},
		"a fence in a quotation ends with it":         {"> ```\n> # no\n\n# Next", "# Next"},
		"a fence never closed":                        {"# T\n```\n# no\n", "# T"},
		"indented code":                               {"# Title\n\ntext\n\n    # no\n    code\n\n# Next\nx\n", "# Title\n# Next"},
		"code indented with a tab":                    {"# Title\n\n\t# no\n", "# Title"},
		"a line that goes on with a paragraph":        {"text\n    # no\n", ""},
		"underlines":                                  {"Title\n=====\n\ntext\n\nSub\n---\n\nmore\n", "# Title\n## Sub"},
		"underlined lines":                            {"  One\n  two \n ===  \nx", "# One two"},
		"an underline below nothing":                  {"===\n\n---\n\ntext\n\n---\n", ""},
		"an underline below a list":                   {"- a\n---\nb", ""},
		"an underline below a quotation":              {"> a\n---\nb", ""},
		"an underline below code":                     {"    a\n---\nb", ""},
		"an underline of two kinds":                   {"a\n=-=\n", ""},
		"an underline that is indented too much":      {"a\n    ---\nb\n", ""},
		"an underline below a definition":             {"[a]: /b\n===\n", ""},
		"an underline with spaces is a rule":          {"a\n- - -\n", ""},
		"an underline of one character":               {"a\n-\n", "## a"},
		"a number sign before an underlined heading":  {"#tag\n===\n", "# #tag"},
		"an HTML comment":                             {"# T\n\n<!--\n# no\n\n## no\n-->\n\ntext\n", "# T"},
		"an HTML block up to a blank line":            {"<div>\n# no\n\n# Next\n</div>", "# Next"},
		"a script":                                    {"<script>\n\n# no\n</script>\n# Next", "# Next"},
		"front matter":                                {"---\ntitle: x\n# comment\n---\n\n# T\ntext\n", "# T"},
		"front matter in TOML":                        {"+++\ntitle = 'x'\n# comment\n+++\n# T\ntext\n", "# T"},
		"rules that are no front matter":              {"---\n\n# T\n\n---\n", "# T"},
		"closing number signs":                        {"## Closed ##\nx\n\n# C#\ny\n\n## F## \nz\n", "## Closed\n# C#\n## F##"},
		"closing number signs and spaces":             {"# a #####   \n# b \\#\n# c #d\n### ###\n", "# a\n# b \\#\n# c #d\n### "},
		"seven number signs, no space, a backslash":   {"####### no\n#no\n\\# no\n#\tTab\n#\n", "# Tab\n# "},
		"headings in lists and quotations":            {"> # no\n\n- # no\n\n1. # no\n", ""},
		"carriage returns":                            {"# A #\r\n\r\nB\r\n---\r\n```\r\n# no\r\n```\r\n# C\r\n", "# A\n## B\n# C"},
		"a byte order mark is text":                   {"\ufeff# T\n", ""},
		"languages":                                   {"# 产品手册\n\n使い方\n===\n## ภาษาไทย ##\n", "# 产品手册\n# 使い方\n## ภาษาไทย"},
		"no structure":                                {"One paragraph.\n\nAnother one.\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := outlineOf(tc.text); got != tc.want {
				t.Errorf("the headings of %q are\n%s\nwant\n%s", tc.text, got, tc.want)
			}
		})
	}
}

func TestFencesReachFromTheLineFeedBeforeToTheOneAfter(t *testing.T) {
	t.Parallel()
	const text = "a\n```\nb\n```\nc\n\n- x\n\n  ~~~\n  y\n  ~~~\n> ```\n> z\n```\nq"
	var got []string
	for _, span := range Read(text, nil).Fences {
		got = append(got, text[span.Start:span.End])
	}
	want := []string{"\n```\nb\n```", "\n  ~~~\n  y\n  ~~~", "\n> ```\n> z", "\n```\nq"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// structureFragments are lines that open and close blocks.
var structureFragments = []string{
	"# a\n", "## b ##\n", "text\n", "more text\n", "\n", "\n\n", "===\n", "---\n", "- - -\n", "```\n", "````\n", "~~~ x\n", "``` not\n", "    code\n", "\tcode\n",
	"- item\n", "  # in\n", "1. one\n", "> quote\n", "> ```\n", "<!--\n", "-->\n", "<div>\n", "</div>\n", "<script>\n", "</script>\n", "[a]: /b\n", "  ```\n", "   ---\n", "***\n", "\r\n", "é\n", "#", "no line feed",
}

// The result does not depend on where a text is divided for the parser.
func TestAWindowDoesNotChangeTheStructure(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		var sb strings.Builder
		for range r.IntN(20) {
			sb.WriteString(structureFragments[r.IntN(len(structureFragments))])
		}
		checkStructure(t, sb.String(), 1+r.IntN(40))
		if t.Failed() {
			return
		}
	}
}

// checkStructure reads a text in windows of a size and as a whole, and checks the bounds.
func checkStructure(t *testing.T, text string, window int) {
	t.Helper()
	whole, parts := read(text, nil, len(text)+1), read(text, nil, window)
	if diff := cmp.Diff(whole, parts); diff != "" {
		t.Errorf("%q in windows of %d (-whole +windows):\n%s", text, window, diff)
	}
	last := -1
	for _, h := range whole.Headings {
		if h.Start <= last || h.End < h.Start || h.End > len(text) || h.Start > 0 && text[h.Start-1] != '\n' || h.Level < 1 || h.Level > 6 || strings.Contains(h.Title, "\n") {
			t.Errorf("%q: %+v after %d", text, h, last)
		}
		last = h.End
	}
	for _, spans := range [][]textspan.Span{whole.Fences, whole.Opaque} {
		last := 0
		for _, s := range spans {
			if s.Start < last || s.End < s.Start || s.End > len(text) {
				t.Errorf("%q: %+v after %d", text, s, last)
			}
			last = s.End
		}
	}
}

func FuzzStructure(f *testing.F) {
	f.Add("# a\n\n```\n# b\n```\nc\n===\n", uint8(3))
	f.Add("> - ```\n> # b\n<!--\n\n-->\n# a", uint8(9))
	f.Add("---\na: 1\n---\n# b #\r\n\r\nc\r\n-", uint8(1))
	f.Fuzz(func(t *testing.T, text string, window uint8) {
		if len(text) < 4000 && !strings.Contains(text, "\x00") {
			checkStructure(t, text, 1+int(window))
		}
	})
}

// A line of list markers, of which each may begin a rule, is read in linear time: a quadratic reader would need minutes.
func TestALineOfListMarkersIsReadOnce(t *testing.T) {
	t.Parallel()
	for _, markers := range []string{"- - - ", "-", "* - ", "1. - "} {
		if found := Read(strings.Repeat(markers, 1<<20/len(markers))+"words", nil); len(found.Headings) != 0 {
			t.Errorf("headings of %q: %v", markers, found.Headings)
		}
	}
}
