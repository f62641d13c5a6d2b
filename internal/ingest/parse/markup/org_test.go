package markup

import "testing"

func TestOrg(t *testing.T) {
	t.Parallel()
	fence := "```"
	for _, tc := range []struct{ name, source, title, want string }{
		{"headings", "#+TITLE: Harbour\n#+OPTIONS: toc:2\n\n* TODO [#A] Fees :money:\n:PROPERTIES:\n:ID: 1\n:END:\nText.\n# a comment\n** Dues\nMore.\n* COMMENT Hidden\nx\n** Too\n* Last\n", "Harbour", `
# Harbour

## TODO Fees

Text.

### Dues

More.

## Last`},
		{"inline", "A *strong* /soft/ =code= ~more~ word; [[https://example.org/][the site]], [[file:a.org]], a/b/c[fn:1].\n\n[fn:1] The note.\n", "", "A strong soft `code` `more` word; [the site](https://example.org/), a.org, a/b/c[1].\n\n[1] The note."},
		{"blocks", "#+begin_src python :results output\nx = 1\n,* y\n#+end_src\n\n#+BEGIN_QUOTE\nTides /turn/.\n#+END_QUOTE\n\n#+begin_warning\nWet.\n#+end_warning\n\n: raw\n:  text\n", "", fence + "python\nx = 1\n* y\n" + fence + "\n\nTides turn.\n\n**Warning:** Wet.\n\n" + fence + "\nraw\n text\n" + fence},
		{"lists and tables", "- one\n  more\n  - inner\n- term :: said\n1. first\n\n| Berth | Fee |\n|-------+-----|\n| North | 30 |\n#+TBLFM: x\n", "", "- one more\n\n  - inner\n\n- **term:** said\n1. first\n\n| Berth | Fee |\n| --- | --- |\n| North | 30 |"},
	} {
		same(t, tc.name, Org(tc.source), tc.title, tc.want)
	}
}

func TestOrgIsLinear(t *testing.T) {
	t.Parallel()
	linear(t, "Org", Org, "[[a", "[[a](b) ", "[fn:a:", "=a ", "*a /b ", "- a\n  - b\n", "#+begin_src\n", "#+begin_src\n* a\n", ":A:\n", "|a\n", "* a\n", "<<a", "{{{")
}

func FuzzOrg(f *testing.F) {
	f.Add("#+TITLE: T\n* a :b:\n- c :: [[d][e]] =f=\n  + g\n#+begin_src h\ni\n#+end_src\n| j | k |\n")
	f.Fuzz(func(t *testing.T, source string) { valid(t, source, Org(source)) })
}
