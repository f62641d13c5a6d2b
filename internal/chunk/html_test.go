package chunk

import (
	"bytes"
	"fmt"
	"html"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	xhtml "golang.org/x/net/html"
)

// describe writes chunks as lines of text, metadata and the source they are from.
func describe(text string, chunks []Chunk) []string {
	var out []string
	for _, c := range chunks {
		out = append(out, fmt.Sprintf("%q %v %q", c.Text, c.Metadata, text[c.StartByte:c.EndByte]))
	}
	return out
}

func mustSplit(t *testing.T, text string, raw map[string]any) []Chunk {
	t.Helper()
	o, err := parseOptions(raw)
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := Split(text, o)
	if err != nil {
		t.Fatal(err)
	}
	return chunks
}

func TestHTML(t *testing.T) {
	t.Parallel()
	headers := func(tags ...string) []any {
		var pairs []any
		for _, tag := range tags {
			pairs = append(pairs, []any{tag, strings.Trim(tag, ".#")})
		}
		return pairs
	}
	tests := []struct {
		name string
		text string
		opts map[string]any
		want []string
	}{
		{
			"headers enclose each other",
			`a<h1>T</h1>b<h2>S</h2>c<h2>R</h2>d<h1>U</h1>e`,
			map[string]any{"headers": headers("h1", "h2")},
			[]string{
				`"a" map[] "a"`,
				`"b" map[h1:T xpath:/h1[1]] "b"`,
				`"c" map[h1:T h2:S xpath:/h2[1]] "c"`,
				`"d" map[h1:T h2:R xpath:/h2[2]] "d"`,
				`"e" map[h1:U xpath:/h1[2]] "e"`,
			},
		},
		{
			"the rank of headings does not come from the list",
			`<h1>T</h1><h2>S</h2>a`,
			map[string]any{"headers": headers("h2", "h1")},
			[]string{`"a" map[h1:T h2:S xpath:/h2[1]] "a"`},
		},
		{
			"a header in a wrapper reaches out of it",
			`<div><h1>T</h1></div><p>a</p>`,
			map[string]any{"headers": headers("h1")},
			[]string{`"a" map[h1:T xpath:/div[1]/h1[1]] "a"`},
		},
		{
			"upper case and attributes",
			`<H1 ID=x Class='big red'>T</H1 >a<P>b`,
			map[string]any{"headers": headers(".red")},
			[]string{`"a b" map[red:T xpath:/h1[1]] "a<P>b"`},
		},
		{
			"selectors by id and tag",
			`<p>a<p class="t x">T<p>b<div id=i>I</div><p class=tx>c`,
			map[string]any{"headers": []any{[]any{"p.t.x", "k"}, []any{"#i", "l"}}},
			[]string{`"a" map[] "a"`, `"b" map[k:T xpath:/p[2]] "b"`, `"c" map[k:T l:I xpath:/div[1]] "c"`},
		},
		{
			"every text once, inline tags glue and others part",
			`<h1>T</h1><p>one <b>t<i>w</i>o</b>.</p><ul><li>x<li>y</ul><table><tr><td>1<td>2</table>a<br>b<wbr>c`,
			map[string]any{"headers": headers("h1")},
			[]string{`"one two. x y 1 2 a bc" map[h1:T xpath:/h1[1]] "one <b>t<i>w</i>o</b>.</p><ul><li>x<li>y</ul><table><tr><td>1<td>2</table>a<br>b<wbr>c"`},
		},
		{
			"line breaks between tags leave one",
			"<h1>T</h1>\n<div>\n  <p>a  b</p>\n\n  <p>c\nd </p>\n</div>\n",
			map[string]any{"headers": headers("h1")},
			[]string{`"a  b\nc\nd" map[h1:T xpath:/h1[1]] "a  b</p>\n\n  <p>c\nd"`},
		},
		{
			"white space counts in pre",
			"<h1>T</h1><pre>if x:\n  <b>y</b>\n\n  <i>z</i></pre>",
			map[string]any{"headers": headers("h1")},
			[]string{`"if x:\n  y\n\n  z" map[h1:T xpath:/h1[1]] "if x:\n  <b>y</b>\n\n  <i>z"`},
		},
		{
			"scripts, styles, comments and their kind are no text",
			`<title>Page</title><style>h1{}</style><script>if (a<b) "<h1>"</script><noscript><p>on</p></noscript><h1>T</h1>a<!-- <h1>no</h1> -->b<?php x ?><![CDATA[y]]>`,
			map[string]any{"headers": headers("h1")},
			[]string{`"Page" map[] "Page"`, `"ab" map[h1:T xpath:/h1[1]] "a<!-- <h1>no</h1> -->b"`},
		},
		{
			"entities",
			`<h1>A &amp; B</h1>&lt;p&gt; caf&eacute; &#8364;&#x41; &nosuch; &notit; &amp`,
			map[string]any{"headers": headers("h1")},
			[]string{`"<p> café €A &nosuch; ¬it; &" map[h1:A & B xpath:/h1[1]] "&lt;p&gt; caf&eacute; &#8364;&#x41; &nosuch; &notit; &amp"`},
		},
		{
			"space in entities at the edges is trimmed",
			`<h1>T</h1>&nbsp; a&nbsp;`,
			map[string]any{"headers": headers("h1")},
			[]string{`"a" map[h1:T xpath:/h1[1]] "a&nbsp;"`},
		},
		{
			"neighbours with the same titles are one chunk",
			`<h1>T</h1>a<h1>T</h1>b<h1>U</h1>c`,
			map[string]any{"headers": headers("h1")},
			[]string{`"a  \nb" map[h1:T xpath:/h1[1]] "a<h1>T</h1>b"`, `"c" map[h1:U xpath:/h1[3]] "c"`},
		},
		{
			"unless asked not to",
			`<h1>T</h1>a<h1>T</h1>b`,
			map[string]any{"headers": headers("h1"), "returnEachLine": true},
			[]string{`"a" map[h1:T xpath:/h1[1]] "a"`, `"b" map[h1:T xpath:/h1[2]] "b"`},
		},
		{
			"a title that nothing follows is a chunk",
			`<h1>T</h1><h2>S</h2><h2></h2><h2>R</h2>a<h1>U</h1>`,
			map[string]any{"headers": headers("h1", "h2")},
			[]string{
				`"S" map[h1:T h2:S xpath:/h2[1]] "S"`,
				`"a" map[h1:T h2:R xpath:/h2[3]] "a"`,
				`"U" map[h1:U xpath:/h1[2]] "U"`,
			},
		},
		{
			"a heading left open ends where a block begins",
			`<h1>T <b>x</b><p>a<h2>S<h2>R</h1>b`,
			map[string]any{"headers": headers("h1", "h2")},
			[]string{
				`"a" map[h1:T x xpath:/h1[1]] "a"`,
				`"S" map[h1:T x h2:S xpath:/h2[1]] "S"`,
				`"b" map[h1:T x h2:R xpath:/h2[2]] "b"`,
			},
		},
		{
			"what is longer than maxSize is cut",
			`<h1>T</h1>one two <b>three</b> f&ouml;ur`,
			map[string]any{"headers": headers("h1"), "maxSize": 9, "overlap": 0, "addStartIndex": true},
			[]string{
				`"one two" map[h1:T startIndex:10 xpath:/h1[1]] "one two"`,
				`"three" map[h1:T startIndex:21 xpath:/h1[1]] "three"`,
				`"föur" map[h1:T startIndex:31 xpath:/h1[1]] "f&ouml;ur"`,
			},
		},
		{
			"sections number their siblings and are not joined",
			`<h2>S</h2>a<h2>S</h2>b`,
			map[string]any{"sections": headers("h2")},
			[]string{`"a" map[h2:S xpath:/h2[1]] "a"`, `"b" map[h2:S xpath:/h2[2]] "b"`},
		},
		{
			"containers hold their text and end",
			`<p>a</p><section><h3>One <i>x</i></h3><p>b</p><section><p>c</p><h3>Two</h3></section>d</section>e`,
			map[string]any{"sections": headers("section")},
			[]string{
				`"a" map[] "a"`,
				`"One x b" map[section:One x xpath:/section[1]] "One <i>x</i></h3><p>b"`,
				`"c Two" map[section:Two xpath:/section[1]/section[1]] "c</p><h3>Two"`,
				`"d" map[section:One x xpath:/section[1]] "d"`,
				`"e" map[] "e"`,
			},
		},
		{
			"headings inside containers",
			`<article><h2>S</h2>a</article><article>b<h2>R</h2>c</article>d`,
			map[string]any{"sections": headers("article", "h2")},
			[]string{
				`"a" map[article:S h2:S xpath:/article[1]/h2[1]] "a"`,
				`"b" map[article:R xpath:/article[2]] "b"`,
				`"c" map[article:R h2:R xpath:/article[2]/h2[1]] "c"`,
				`"d" map[] "d"`,
			},
		},
		{
			"a quote that is never closed opens nothing",
			`<h1>T</h1>a<p title="x>b</p><h1>U</h1>c`,
			map[string]any{"headers": headers("h1")},
			[]string{`"a b" map[h1:T xpath:/h1[1]] "a<p title=\"x>b"`, `"c" map[h1:U xpath:/h1[2]] "c"`},
		},
		{
			"less-than signs in text",
			`<h1>T</h1>a < b <3 c <d`,
			map[string]any{"headers": headers("h1")},
			[]string{`"a < b <3 c <d" map[h1:T xpath:/h1[1]] "a < b <3 c <d"`},
		},
		{
			"no tags at all",
			`just text`,
			map[string]any{"headers": headers("h1")},
			[]string{`"just text" map[] "just text"`},
		},
		{
			"no text at all",
			`<p></p><script>x</script>&nbsp;`,
			map[string]any{"headers": headers("h1")},
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.opts["strategy"] = "html"
			got := describe(tt.text, mustSplit(t, tt.text, tt.opts))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHTMLLongTitleIsContent(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("è word ", 300)
	chunks := mustSplit(t, "<h1>"+long+"</h1>a", map[string]any{"strategy": "html", "headers": []any{[]any{"h1", "h"}}})
	title, _ := chunks[0].Metadata["h"].(string)
	if len(chunks) != 1 || chunks[0].Text != long+"a" || len(title) > maxHeaderTitle || !strings.HasPrefix(long, title) || !utf8.ValidString(title) {
		t.Errorf("%v", chunks)
	}
}

func TestHTMLRefusesSelectors(t *testing.T) {
	t.Parallel()
	for _, selector := range []string{"h1 h2", "div > p", "a[href]", "p:first-child", ".", "#a#b", "h1,h2", "*", ""} {
		_, err := parseOptions(map[string]any{"strategy": "html", "sections": []any{[]any{selector, "k"}}})
		if err == nil || !strings.Contains(err.Error(), "sections[0]") {
			t.Errorf("%q: error %v", selector, err)
		}
	}
	if _, err := Split("a", Options{Strategy: HTML, Headers: []HeaderKey{{"a b", "k"}}}); err == nil {
		t.Error("Split takes a selector that ParseOptions refuses")
	}
}

// markup is what random HTML is made of.
var markup = []string{
	"<h1>", "</h1>", "<h2>", "</h2>", "<H3 class=x>", "</h3>", "<p>", "</p>", "<div>", "</div>", "<section>", "</section>", "<b>", "</b>", "<li>", "<td>", "<tr>",
	"<br>", "<hr/>", "<img src='a>b'>", `<a href="x">`, "</a>", "<pre>", "</pre>", "<title>", "</title>", "<textarea>", "</textarea>",
	"<script>", "</script>", "<style>", "</style >", "<!--", "-->", "--!>", "<!-->", "<!doctype html>", "<![CDATA[", "]]>", "<?x?>", "</>", "</ x>", "<", ">", "\"", "'", "=", "/",
	"text", "more words", " ", "\n", "\t  \n", "&amp;", "&lt", "&eacute;", "&nbsp;", "&#x2014;", "&", "&#0;", "日本語", "e\u0301", "👩🏽‍🔧", "\u00a0", "\x00",
	"<plaintext>", "<svg><path/></svg>", "<x-y>", "<noscript>", "</noscript>", "<p a=b c = 'd' e=\"f\" / g>", "<a/b>", "<DIV ID=i>",
}

func randomMarkup(r *rand.Rand, n int) string {
	var sb strings.Builder
	for range n {
		sb.WriteString(markup[r.IntN(len(markup))])
	}
	return sb.String()
}

// endAll ends every construct that could be open, so that what we do better than
// a browser in broken documents does not show.
const endAll = ` <p a="" b=''>--></script></script></style></title></textarea></xmp></iframe></noembed></noframes></noscript><p>`

var selfClosedRaw = regexp.MustCompile(`(?i)<(script|style|title|textarea|xmp|iframe|noembed|noframes|noscript|plaintext)[^>]*/[^>]*>`)

// scriptComment finds what x/net/html reads in another way than the standard: in
// a comment in a script, it takes a "<" before anything but a tag for its end.
var scriptComment = regexp.MustCompile(`(?is)<script.*<!--.*<[^/a-z]`)

// checkScanner compares our tokens with those of x/net/html.
func checkScanner(t *testing.T, text string) {
	t.Helper()
	text += endAll
	if selfClosedRaw.MatchString(text) || scriptComment.MatchString(text) {
		return
	}
	var want, got []string
	z := xhtml.NewTokenizer(strings.NewReader(text))
	hidden, attributes := false, !strings.ContainsAny(text, "&\r") // which it decodes
	for z.Next() != xhtml.ErrorToken {
		raw := bytes.Clone(z.Raw()) // before Token, which changes it
		switch token := z.Token(); token.Type {
		case xhtml.TextToken:
			if !hidden {
				want = append(want, string(raw))
			}
			hidden = false
		case xhtml.StartTagToken, xhtml.SelfClosingTagToken:
			tag := "<" + token.Data + ">"
			if attributes {
				tag += attribute(token, "id") + attribute(token, "class")
			}
			want = append(want, tag)
			hidden = htmlTags[token.Data].is(hiddenTag)
		case xhtml.EndTagToken:
			want = append(want, "</"+token.Data+">")
			hidden = false
		}
	}
	s := htmlScanner{text: text, names: newHTMLNames()}
	for s.next(); s.kind != htmlEnd; s.next() {
		switch s.kind {
		case htmlStartTag:
			tag := "<" + s.name.text + ">"
			if attributes {
				tag += s.id + s.class
			}
			got = append(got, strings.ReplaceAll(tag, "\x00", "\ufffd"))
		case htmlEndTag:
			got = append(got, "</"+strings.ReplaceAll(s.name.text, "\x00", "\ufffd")+">")
		default:
			got = append(got, text[s.start:s.end])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tokens of %q (-x/net +ours):\n%s", text, diff)
	}
}

func attribute(token xhtml.Token, key string) string {
	for _, a := range token.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func TestHTMLScannerAgreesWithXNet(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for i := 0; i < 20000 && !t.Failed(); i++ {
		checkScanner(t, randomMarkup(r, r.IntN(12)))
	}
}

// htmlSets are the options that the properties are checked with.
var htmlSets = []map[string]any{
	{"headers": DefaultHTMLHeaders},
	{"headers": DefaultHTMLHeaders, "returnEachLine": true},
	{"headers": []any{[]any{"h1", "h1"}, []any{".x", "h3"}, []any{"li", "h4"}}},
	{"sections": []any{[]any{"h1", "h1"}, []any{"h2", "h2"}}},
	{"sections": []any{[]any{"section", "s"}, []any{"div", "d"}, []any{"h2", "h2"}}},
}

// checkHTML splits and checks that every character of visible text is in one
// chunk or title, in order, that bounds hold what they say, and that maxSize 0
// and a small one have the same text.
func checkHTML(t *testing.T, text string, set map[string]any, maxSize int) {
	t.Helper()
	raw := map[string]any{"strategy": "html"}
	for k, v := range set {
		raw[k] = v
	}
	o, err := parseOptions(raw)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := Split(text, o)
	if !utf8.ValidString(text) {
		if err == nil {
			t.Error("took invalid UTF-8")
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	checkHTMLOrder(t, text, whole, o)
	checkHTMLBounds(t, text, whole)

	o.MaxSize = maxSize
	cut, err := Split(text, o)
	if err != nil {
		t.Fatal(err)
	}
	checkHTMLBounds(t, text, cut)
	var all, parts strings.Builder
	for _, c := range whole {
		all.WriteString(c.Text)
	}
	for _, c := range cut {
		parts.WriteString(c.Text)
		if units(c.Text) > maxSize && utf8.RuneCountInString(c.Text) > 1 {
			t.Errorf("chunk of %d units, more than %d: %q", units(c.Text), maxSize, c.Text)
		}
	}
	if a, b := withoutSpace(all.String()), withoutSpace(parts.String()); a != b {
		t.Errorf("cut text differs (-whole +cut):\n%s", cmp.Diff(a, b))
	}
}

// visible returns the text of a part of an HTML document that begins and ends
// outside of markup, without white space.
func visible(text string) string {
	var sb strings.Builder
	s := htmlScanner{text: text, names: newHTMLNames()}
	for s.next(); s.kind != htmlEnd; s.next() {
		switch s.kind {
		case htmlText:
			sb.WriteString(html.UnescapeString(text[s.start:s.end]))
		case htmlRaw:
			sb.WriteString(text[s.start:s.end])
		}
	}
	return withoutSpace(sb.String())
}

// joins reports whether neighbours with the same titles become one chunk.
func (o *Options) joins() bool { return len(o.Headers) > 0 && !o.ReturnEachLine }

// checkHTMLOrder checks that the chunks and the titles that come up between them
// make up the visible text.
func checkHTMLOrder(t *testing.T, text string, chunks []Chunk, o Options) {
	t.Helper()
	rests := map[string]bool{visible(text): true} // what may be left: titles and texts can look alike
	for i, c := range chunks {
		var titles []string
		for _, key := range []string{"h1", "h2", "h3", "h4", "h5", "h6"} {
			if title, ok := c.Metadata[key].(string); ok {
				titles = append(titles, withoutSpace(title))
			}
		}
		piece := withoutSpace(c.Text)
		ways := []string{piece} // from titles that are new here to the text
		for n := range titles {
			ways = append(ways, strings.Join(titles[n:], "")+piece)
			if titles[len(titles)-1] == piece { // the chunk may be a title
				ways = append(ways, strings.Join(titles[n:], ""))
			}
		}
		if n := len(titles); n > 0 && o.joins() {
			// Sections with the same titles were joined, maybe with empty ones.
			for _, way := range slices.Clone(ways) {
				way = strings.TrimSuffix(way, piece) + withoutSpace(strings.ReplaceAll(c.Text, paragraphJoin, titles[n-1]))
				for range 4 {
					ways = append(ways, way)
					way += titles[n-1]
				}
			}
		}
		next := map[string]bool{}
		for rest := range rests {
			for _, way := range ways {
				if after, ok := strings.CutPrefix(rest, way); ok {
					next[after] = true
				}
			}
		}
		if len(next) == 0 {
			t.Errorf("chunk %d, %q %v, does not follow in %q, where one of %v comes", i, c.Text, c.Metadata, text, rests)
			return
		}
		rests = next
	}
	if !rests[""] {
		t.Errorf("%v has no chunk in %q", rests, text)
	}
}

func checkHTMLBounds(t *testing.T, text string, chunks []Chunk) {
	t.Helper()
	last := 0
	for i, c := range chunks {
		if c.StartByte < last || c.EndByte <= c.StartByte || c.EndByte > len(text) {
			t.Fatalf("chunk %d has bounds %d to %d after %d", i, c.StartByte, c.EndByte, last)
		}
		last = c.StartByte
		if !utf8.ValidString(c.Text) || !utf8.ValidString(text[c.StartByte:c.EndByte]) || isBlank(c.Text) {
			t.Errorf("chunk %d: %q from %q", i, c.Text, text[c.StartByte:c.EndByte])
		}
	}
}

func TestHTMLKeepsItsPromises(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for i := 0; i < 20000 && !t.Failed(); i++ {
		text := randomMarkup(r, r.IntN(30))
		checkHTML(t, text, htmlSets[i%len(htmlSets)], 1+r.IntN(40))
		if t.Failed() {
			t.Logf("options %v, text %q", htmlSets[i%len(htmlSets)], text)
		}
	}
}

func FuzzHTML(f *testing.F) {
	f.Add("<h1>T</h1>a<h2>b", uint16(3), byte(0))
	f.Add("a<b<c <p title=\"x>b</p>&amp;&ltx&#65", uint16(9), byte(1))
	f.Add("<section><h3>x</h3><table><tr><td>1<td>2</section><script><!--<script></script>--></script>b", uint16(2), byte(4))
	f.Fuzz(func(t *testing.T, text string, maxSize uint16, set byte) {
		if len(text) > 4000 {
			return
		}
		checkHTML(t, text, htmlSets[int(set)%len(htmlSets)], 1+int(maxSize)%500)
	})
}

// FuzzHTMLScanner compares our scanner with the tokenizer of x/net/html.
func FuzzHTMLScanner(f *testing.F) {
	for _, m := range markup {
		f.Add(m + "x")
	}
	f.Add("<script><!--<script></script>x--></script><title>&lt;</title><a b='c>d' e=\"f\">")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) <= 4000 && utf8.ValidString(text) {
			checkScanner(t, text)
		}
	})
}
