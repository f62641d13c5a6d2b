package markup

import "testing"

func TestMediaWiki(t *testing.T) {
	t.Parallel()
	fence := "```"
	for _, tc := range []struct{ name, source, title, want string }{
		{"a page", `{{Infobox harbour
| name = Westhaven
| berths = {{convert|12|berths}}
| image = 
}}
'''Westhaven''' is a ''harbour''<ref name="a">A book</ref> in [[North Sea|the sea]] of [[ship]]s{{citation needed}}, see [https://example.org/ the site]. <!-- not shown -->
[[File:x.png|thumb|The [[gate]] at night]]
__NOTOC__
== Fees ==
* one
** inner
* two &amp; <code>x</code>
# first
; term : said
=== Dues ===
<syntaxhighlight lang="python">
x = [[1]]
</syntaxhighlight>
Use <nowiki>[[this]]</nowiki>.
[[Category:Harbours]]`, "Westhaven", "name: Westhaven\nberths: 12 berths\n\nWesthaven is a harbour in the sea of ships, see [the site](https://example.org/). The gate at night\n\n## Fees\n\n- one\n  - inner\n- two & `x`\n1. first\n- **term:** said\n\n### Dues\n\n" + fence + "python\nx = [[1]]\n" + fence + "\n\nUse [[this]]."},
		{"tables", "{| class=\"wikitable\"\n|+ All\n! Berth !! Fee\n|-\n| style=\"x\" | North || 30\n|-\n| South\n| 20\n|}\nEnd.", "", "All\n\n| Berth | Fee |\n| --- | --- |\n| North | 30 |\n| South | 20 |\n\nEnd."},
		{"lines with a space", " raw\n  text\nMore.", "", fence + "\nraw\n text\n" + fence + "\n\nMore."},
	} {
		same(t, tc.name, MediaWiki(tc.source), tc.title, tc.want)
	}
}

func TestMediaWikiIsLinear(t *testing.T) {
	t.Parallel()
	linear(t, "MediaWiki", MediaWiki, "{{", "{{a|", "{{a|b=c}}", "[[a|", "<ref>", "<pre>", "<pre><nowiki/>", "<ref><ref/>", "<!-- ", "{|\n|a\n", "''", "* a\n** b\n", "[http://a ", "<a ", " x\n", "{{{a|")
}

func FuzzMediaWiki(f *testing.F) {
	f.Add("{{a|b=c|d}} '''e''' [[f|g]]\n== h ==\n* i\n{|\n! j\n|-\n| k\n|}\n<pre>l</pre><nowiki>m</nowiki>")
	f.Fuzz(func(t *testing.T, source string) { valid(t, source, MediaWiki(source)) })
}
