package parse

import (
	"strings"
	"testing"
)

func TestMainContentOfPages(t *testing.T) {
	t.Parallel()
	links := func(to string) string {
		return strings.Repeat(`<dt><a href="`+to+`">The fees of berths</a></dt>`, 5)
	}
	for _, tc := range []struct{ name, page, want string }{
		{"entities", `<p>a &lt;b&gt; &amp;amp;</p><pre>x &lt;y&gt;</pre>`, "a <b> &amp;\n\n```\nx <y>\n```"},
		{"a box that is named like a menu", `<div class="sidebar"><p>Note</p><p>The sill lies two metres above datum.</p></div><p>Text</p>`, "Note\n\nThe sill lies two metres above datum.\n\nText"},
		{"a menu of that name", `<div class="sidebar"><a href="/">Home</a> <a href="/b">Fees of the harbour</a></div><p>Text</p>`, "Text"},
		{"a box in the content", `<main><p>Text</p><aside>Only with a pilot.</aside><aside><a href="/x">More of it</a></aside></main>`, "Text\n\nOnly with a pilot."},
		{"links of a book", `<div class="navheader"><a href="a">Prev</a> <a href="b">Next</a></div><p>Text</p>`, "Text"},
		{"anchors of headings", `<h2>Fees<a class="x" href="#fees">¶</a></h2><p>Pay in <a href="#">#</a></p><p><a href="http://a.example/">#</a></p>`, "## Fees\n\nPay in\n\n[#](http://a.example/)"},
		{"links", `<p><a href="https://example.org/a" title="t">rules</a>, <a href="/b">fees</a>, <a href="https://example.org/c">https://example.org/c</a>, <a href="javascript:x">x</a></p>`, "[rules](https://example.org/a), fees, https://example.org/c, x"},
		{"the contents of a chapter", `<p>Text</p><div class="toc"><dl class="toc">` + links("fees.html#a") + `</dl></div><div>` + links("/menu") + `</div>`, "Text\n\nThe fees of berths\n\nThe fees of berths\n\nThe fees of berths\n\nThe fees of berths\n\nThe fees of berths"},
		{"the contents of the page", `<p>Text</p><div class="toc">` + links("#fees") + `</div>`, "Text"},
	} {
		d, err := Parse(t.Context(), Source{Content: []byte("<!DOCTYPE html>" + tc.page)})
		if err != nil || d.Text != tc.want {
			t.Errorf("%s: %q, %v", tc.name, d.Text, err)
		}
	}
}
