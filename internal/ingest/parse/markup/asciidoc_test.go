package markup

import (
	"strings"
	"testing"
)

func TestAsciiDoc(t *testing.T) {
	t.Parallel()
	fence := "```"
	for _, tc := range []struct{ name, source, title, want string }{
		{"titles and attributes", "= Harbour _rules_\nRosa Keel <rosa@example.org>\nv1.0\n:port: Westhaven\n:toc:\n\nIn {port}, {unknown}.\n\n== Fees\n\nDues\n~~~~\n\nText.\n// a comment\n\n////\nhidden\n////\ninclude::x.adoc[]\n", "Harbour rules", `
# Harbour rules

In Westhaven, {unknown}.

## Fees

### Dues

Text.`},
		{"inline", "See linkgit:git-log[1], link:rules.html[the rules], https://example.org/a[the site], <<fees,below>> and xref:x[there].\nA *strong*, _soft_ `mono _x_` and +old+ word; snake_case, 2*3*4. [[anchor]]footnote:[A note.] kbd:[Ctrl]\n", "", "See git-log(1), the rules, [the site](https://example.org/a), below and there. A strong, soft `mono _x_` and `old` word; snake_case, 2*3*4. (A note.) Ctrl"},
		{"long marks", "See link:https://example.org/a[" + strings.Repeat("the rules ", 50) + "].footnote:[" + strings.Repeat("A note ", 80) + "] A ((( that is open, [[ too, [[a]]and ((b))((((c)))) <<d>>, a << b and <<f,there>>.\n", "", "See [" + strings.TrimSpace(strings.Repeat("the rules ", 50)) + "](https://example.org/a). (" + strings.Repeat("A note ", 80) + ") A ((( that is open, [[ too, and ((b))() d, a << b and there."},
		{"blocks", ".The title\n[source,python]\n----\nx = 1\n----\n\n....\nraw *text*\n....\n\nNOTE: Mind\nthe gap.\n\n[WARNING]\n====\nWet.\n\nVery.\n====\n\n indented\n  code\n\n++++\n<b>\n++++\n\n[quote, Rosa]\n____\nTides turn.\n____\n", "", "The title\n\n" + fence + "python\nx = 1\n" + fence + "\n\n" + fence + "\nraw *text*\n" + fence + "\n\n**Note:** Mind the gap.\n\n**Warning:** Wet.\n\nVery.\n\n" + fence + "\nindented\n code\n" + fence + "\n\nTides turn."},
		{"lists", "* one\n  more\n** inner\n* two\n+\n----\ncode\n----\n\n//\n\n. first\n. second\n\n//\n\n-v::\n--verbose::\n\tSays more.\n+\nTwice.\n\nterm:: Said.\n", "", "- one more\n  - inner\n- two\n\n  " + fence + "\n  code\n  " + fence + "\n\n1. first\n1. second\n- **-v, --verbose:** Says more.\n\n  Twice.\n\n- **term:** Said."},
		{"tables", "[cols=\"1,1\",options=\"header\"]\n|===\n|Berth |Fee\n\n|North\n|30\n\n|South | a \\| b\n|===\n", "", "| Berth | Fee |\n| --- | --- |\n| North | 30 |\n| South | a \\| b |"},
		{"pictures", "image::x.png[A ship,300]\n\nimage:y.png[An anchor] here.\n", "", "A ship\n\nAn anchor here."},
	} {
		same(t, tc.name, AsciiDoc(tc.source), tc.title, tc.want)
	}
}

func TestAsciiDocIsLinear(t *testing.T) {
	t.Parallel()
	linear(t, "AsciiDoc", AsciiDoc, "* a\n** b\n*** c\n", "link:a[", "<<a", "`a ", "*a _b #c ", "{a}", "a::\n", "----\na\n", "====\n", "|===\n|a\n", "((( [[a]] ", "** __b__ ", "+\n", "[x]\n", "footnote:[", ". a\n+\n--\n")
}

func FuzzAsciiDoc(f *testing.F) {
	f.Add("= T\n:a: b\n\n* {a} `c` <<d,e>>\n+\n----\nf\n----\n\n|===\n|a |b\n|===\ng:: h\n")
	f.Fuzz(func(t *testing.T, source string) { valid(t, source, AsciiDoc(source)) })
}
