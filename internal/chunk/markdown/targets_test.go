package markdown_test

import (
	"testing"

	"github.com/ragdhq/ragd/internal/chunk/markdown"
)

func TestWithoutTargets(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"see [the rules](https://example.org/a_(b)) now":       "see [the rules] ) now",
		`[fees](<a b.html> "Fees of berths")`:                  `[fees]  "Fees of berths")`,
		"![map](../map.png)\n\n[1]: http://x.example/ 'Chart'": "![map] )\n\n[1]:  'Chart'",
		"https://example.org/a stays, <https://example.org>":   "https://example.org/a stays, <https://example.org>",
		"`a[0](b)` and [x](y)":                                 "`a[0](b)` and [x] )",
		"``a`[0](b)`` [x](y) ` [z](w)":                         "``a`[0](b)`` [x] ) ` [z] )",
		"```go\nf[i](x)\n```\n[x](y)\n~~~\n[x](y)":             "```go\nf[i](x)\n```\n[x] )\n~~~\n[x](y)",
		"[text](\nnot a link), [x] (y), a[i]: b":               "[text](\nnot a link), [x] (y), a[i]: b",
	} {
		if got := markdown.WithoutTargets(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
