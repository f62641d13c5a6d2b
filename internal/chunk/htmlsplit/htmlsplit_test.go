package htmlsplit_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/chunk/assembly"
	"github.com/ragdhq/ragd/internal/chunk/htmlsplit"
	"github.com/ragdhq/ragd/internal/chunk/outline"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// describe returns a line for each chunk: its text, its metadata and its source.
func describe(text string, chunks []chunk.Chunk) []string {
	var out []string
	for _, c := range chunks {
		out = append(out, fmt.Sprintf("%q %v %q", c.Text, c.Metadata, text[c.StartByte:c.EndByte]))
	}
	return out
}

// headers returns headers whose keys are their markers without "." and "#".
func headers(tags ...string) []chunk.HeaderKey {
	var list []chunk.HeaderKey
	for _, tag := range tags {
		list = append(list, chunk.HeaderKey{Marker: tag, Key: strings.Trim(tag, ".#")})
	}
	return list
}

func sections(tags ...string) []chunk.SectionKey {
	var list []chunk.SectionKey
	for _, h := range headers(tags...) {
		list = append(list, chunk.SectionKey{Path: h.Marker, Key: h.Key})
	}
	return list
}

// optionsOf returns the options of a case.
func optionsOf(s chunk.Settings) (chunk.Options, error) {
	s.Strategy = chunk.HTML
	return s.Options()
}

func split(t *testing.T, text string, settings chunk.Settings) []chunk.Chunk {
	t.Helper()
	options, err := optionsOf(settings)
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := chunk.Split(t.Context(), text, options)
	if err != nil {
		t.Fatal(err)
	}
	return chunks
}

func TestHTML(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		text string
		opts chunk.Settings
		want []string
	}{
		{
			"headers enclose each other",
			`a<h1>T</h1>b<h2>S</h2>c<h2>R</h2>d<h1>U</h1>e`,
			chunk.Settings{Headers: headers("h1", "h2")},
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
			chunk.Settings{Headers: headers("h2", "h1")},
			[]string{`"a" map[h1:T h2:S xpath:/h2[1]] "a"`},
		},
		{
			"a header in a wrapper reaches out of it",
			`<div><h1>T</h1></div><p>a</p>`,
			chunk.Settings{Headers: headers("h1")},
			[]string{`"a" map[h1:T xpath:/div[1]/h1[1]] "a"`},
		},
		{
			"upper case and attributes",
			`<H1 ID=x Class='big red'>T</H1 >a<P>b`,
			chunk.Settings{Headers: headers(".red")},
			[]string{`"a b" map[red:T xpath:/h1[1]] "a<P>b"`},
		},
		{
			"selectors by id and tag",
			`<p>a<p class="t x">T<p>b<div id=i>I</div><p class=tx>c`,
			chunk.Settings{Headers: []chunk.HeaderKey{{Marker: "p.t.x", Key: "k"}, {Marker: "#i", Key: "l"}}},
			[]string{`"a" map[] "a"`, `"b" map[k:T xpath:/p[2]] "b"`, `"c" map[k:T l:I xpath:/div[1]] "c"`},
		},
		{
			"every text once, inline tags glue and others part",
			`<h1>T</h1><p>one <b>t<i>w</i>o</b>.</p><ul><li>x<li>y</ul><table><tr><td>1<td>2</table>a<br>b<wbr>c`,
			chunk.Settings{Headers: headers("h1")},
			[]string{`"one two. x y 1 2 a bc" map[h1:T xpath:/h1[1]] "one <b>t<i>w</i>o</b>.</p><ul><li>x<li>y</ul><table><tr><td>1<td>2</table>a<br>b<wbr>c"`},
		},
		{
			"a span within a word leaves no space",
			`<h1>T</h1>un<span class=x>break</span>able`,
			chunk.Settings{Headers: headers("h1")},
			[]string{`"unbreakable" map[h1:T xpath:/h1[1]] "un<span class=x>break</span>able"`},
		},
		{
			"line breaks between tags leave one",
			"<h1>T</h1>\n<div>\n  <p>a  b</p>\n\n  <p>c\nd </p>\n</div>\n",
			chunk.Settings{Headers: headers("h1")},
			[]string{`"a  b\nc\nd" map[h1:T xpath:/h1[1]] "a  b</p>\n\n  <p>c\nd"`},
		},
		{
			"white space counts in pre",
			"<h1>T</h1><pre>if x:\n  <b>y</b>\n\n  <i>z</i></pre>",
			chunk.Settings{Headers: headers("h1")},
			[]string{`"if x:\n  y\n\n  z" map[h1:T xpath:/h1[1]] "if x:\n  <b>y</b>\n\n  <i>z"`},
		},
		{
			"scripts, styles, comments and their kind are no text",
			`<title>Page</title><style>h1{}</style><script>if (a<b) "<h1>"</script><noscript><p>on</p></noscript><h1>T</h1>a<!-- <h1>no</h1> -->b<?php x ?><![CDATA[y]]>`,
			chunk.Settings{Headers: headers("h1")},
			[]string{`"Page" map[] "Page"`, `"ab" map[h1:T xpath:/h1[1]] "a<!-- <h1>no</h1> -->b"`},
		},
		{
			"entities",
			`<h1>A &amp; B</h1>&lt;p&gt; caf&eacute; &#8364;&#x41; &nosuch; &notit; &amp`,
			chunk.Settings{Headers: headers("h1")},
			[]string{`"<p> café €A &nosuch; ¬it; &" map[h1:A & B xpath:/h1[1]] "&lt;p&gt; caf&eacute; &#8364;&#x41; &nosuch; &notit; &amp"`},
		},
		{
			"space in entities at the edges is trimmed",
			`<h1>T</h1>&nbsp; a&nbsp;`,
			chunk.Settings{Headers: headers("h1")},
			[]string{`"a" map[h1:T xpath:/h1[1]] "a&nbsp;"`},
		},
		{
			"neighbours with the same titles are one chunk",
			`<h1>T</h1>a<h1>T</h1>b<h1>U</h1>c`,
			chunk.Settings{Headers: headers("h1")},
			[]string{`"a  \nb" map[h1:T xpath:/h1[1]] "a<h1>T</h1>b"`, `"c" map[h1:U xpath:/h1[3]] "c"`},
		},
		{
			"unless asked not to",
			`<h1>T</h1>a<h1>T</h1>b`,
			chunk.Settings{Headers: headers("h1"), ReturnEachLine: new(true)},
			[]string{`"a" map[h1:T xpath:/h1[1]] "a"`, `"b" map[h1:T xpath:/h1[2]] "b"`},
		},
		{
			"a title that nothing follows is a chunk",
			`<h1>T</h1><h2>S</h2><h2></h2><h2>R</h2>a<h1>U</h1>`,
			chunk.Settings{Headers: headers("h1", "h2")},
			[]string{
				`"S" map[h1:T h2:S xpath:/h2[1]] "S"`,
				`"a" map[h1:T h2:R xpath:/h2[3]] "a"`,
				`"U" map[h1:U xpath:/h1[2]] "U"`,
			},
		},
		{
			"a heading left open ends where a block begins",
			`<h1>T <b>x</b><p>a<h2>S<h2>R</h1>b`,
			chunk.Settings{Headers: headers("h1", "h2")},
			[]string{
				`"a" map[h1:T x xpath:/h1[1]] "a"`,
				`"S" map[h1:T x h2:S xpath:/h2[1]] "S"`,
				`"b" map[h1:T x h2:R xpath:/h2[2]] "b"`,
			},
		},
		{
			"what is longer than maxSize is cut",
			`<h1>T</h1>one two <b>three</b> f&ouml;ur`,
			chunk.Settings{Headers: headers("h1"), MaxSize: new(9), Overlap: new(0), AddStartIndex: new(true)},
			[]string{
				`"one two" map[h1:T startIndex:10 xpath:/h1[1]] "one two"`,
				`"three" map[h1:T startIndex:21 xpath:/h1[1]] "three"`,
				`"föur" map[h1:T startIndex:31 xpath:/h1[1]] "f&ouml;ur"`,
			},
		},
		{
			"sections number their siblings and are not joined",
			`<h2>S</h2>a<h2>S</h2>b`,
			chunk.Settings{Sections: sections("h2")},
			[]string{`"a" map[h2:S xpath:/h2[1]] "a"`, `"b" map[h2:S xpath:/h2[2]] "b"`},
		},
		{
			"containers hold their text and end",
			`<p>a</p><section><h3>One <i>x</i></h3><p>b</p><section><p>c</p><h3>Two</h3></section>d</section>e`,
			chunk.Settings{Sections: sections("section")},
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
			chunk.Settings{Sections: sections("article", "h2")},
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
			chunk.Settings{Headers: headers("h1")},
			[]string{`"a b" map[h1:T xpath:/h1[1]] "a<p title=\"x>b"`, `"c" map[h1:U xpath:/h1[2]] "c"`},
		},
		{
			"less-than signs in text",
			`<h1>T</h1>a < b <3 c <d`,
			chunk.Settings{Headers: headers("h1")},
			[]string{`"a < b <3 c <d" map[h1:T xpath:/h1[1]] "a < b <3 c <d"`},
		},
		{
			"no tags at all",
			`just text`,
			chunk.Settings{Headers: headers("h1")},
			[]string{`"just text" map[] "just text"`},
		},
		{
			"no text at all",
			`<p></p><script>x</script>&nbsp;`,
			chunk.Settings{Headers: headers("h1")},
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := describe(tt.text, split(t, tt.text, tt.opts))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHTMLLongTitleIsContent(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("è word ", 300)
	chunks := split(t, "<h1>"+long+"</h1>a", chunk.Settings{Headers: []chunk.HeaderKey{{Marker: "h1", Key: "h"}}})
	title, _ := chunks[0].Metadata["h"].(string)
	if len(chunks) != 1 || chunks[0].Text != long+"a" || len(title) > outline.MaxTitle || !strings.HasPrefix(long, title) || !utf8.ValidString(title) {
		t.Errorf("%v", chunks)
	}
}

func TestHTMLRefusesSelectors(t *testing.T) {
	t.Parallel()
	for _, selector := range []string{"h1 h2", "div > p", "a[href]", "p:first-child", ".", "#a#b", "h1,h2", "*", ""} {
		_, err := optionsOf(chunk.Settings{Sections: []chunk.SectionKey{{Path: selector, Key: "k"}}})
		if err == nil || !strings.Contains(err.Error(), "sections[0]") {
			t.Errorf("%q: error %v", selector, err)
		}
	}
	if _, err := chunk.Split(t.Context(), "a", chunk.Options{Strategy: chunk.HTML, Headers: []chunk.HeaderKey{{Marker: "a b", Key: "k"}}}); err == nil {
		t.Error("Split takes a selector that Settings.Options refuses")
	}
}

// htmlSets are the settings with which the properties are checked.
var htmlSets = []chunk.Settings{
	{Headers: chunk.DefaultHTMLHeaders},
	{Headers: chunk.DefaultHTMLHeaders, ReturnEachLine: new(true)},
	{Headers: []chunk.HeaderKey{{Marker: "h1", Key: "h1"}, {Marker: ".x", Key: "h3"}, {Marker: "li", Key: "h4"}}},
	{Sections: []chunk.SectionKey{{Path: "h1", Key: "h1"}, {Path: "h2", Key: "h2"}}},
	{Sections: []chunk.SectionKey{{Path: "section", Key: "s"}, {Path: "div", Key: "d"}, {Path: "h2", Key: "h2"}}},
}

// checkHTML splits a text and checks that every character of visible text is in one
// chunk or title, in order, that bounds are valid, and that chunks without a maxSize
// have the same text as those with one.
func checkHTML(t *testing.T, text string, set chunk.Settings, maxSize int) {
	t.Helper()
	o, err := optionsOf(set)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := chunk.Split(t.Context(), text, o)
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
	cut, err := chunk.Split(t.Context(), text, o)
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
		if textspan.Units(c.Text) > maxSize && utf8.RuneCountInString(c.Text) > 1 {
			t.Errorf("chunk of %d units, more than %d: %q", textspan.Units(c.Text), maxSize, c.Text)
		}
	}
	if a, b := htmlsplit.WithoutSpace(all.String()), htmlsplit.WithoutSpace(parts.String()); a != b {
		t.Errorf("cut text differs (-whole +cut):\n%s", cmp.Diff(a, b))
	}
}

// joins reports whether the split joins neighbours with the same titles.
func joins(o chunk.Options) bool { return len(o.Headers) > 0 && !o.ReturnEachLine }

// checkHTMLOrder checks that the chunks and the new titles between them concatenate
// to the visible text.
func checkHTMLOrder(t *testing.T, text string, chunks []chunk.Chunk, o chunk.Options) {
	t.Helper()
	rests := map[string]bool{htmlsplit.Visible(text): true} // possible remaining texts; several, because a title can equal a text
	for i, c := range chunks {
		var titles []string
		for _, key := range []string{"h1", "h2", "h3", "h4", "h5", "h6"} {
			if title, ok := c.Metadata[key].(string); ok {
				titles = append(titles, htmlsplit.WithoutSpace(title))
			}
		}
		piece := htmlsplit.WithoutSpace(c.Text)
		ways := []string{piece} // the text after each possible number of new titles
		for n := range titles {
			ways = append(ways, strings.Join(titles[n:], "")+piece)
			if titles[len(titles)-1] == piece { // the chunk may be a title
				ways = append(ways, strings.Join(titles[n:], ""))
			}
		}
		if n := len(titles); n > 0 && joins(o) {
			// Sections with the same titles were joined, possibly with empty ones.
			for _, way := range slices.Clone(ways) {
				way = strings.TrimSuffix(way, piece) + htmlsplit.WithoutSpace(strings.ReplaceAll(c.Text, assembly.ParagraphJoin, titles[n-1]))
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

func checkHTMLBounds(t *testing.T, text string, chunks []chunk.Chunk) {
	t.Helper()
	last := 0
	for i, c := range chunks {
		if c.StartByte < last || c.EndByte <= c.StartByte || c.EndByte > len(text) {
			t.Fatalf("chunk %d has bounds %d to %d after %d", i, c.StartByte, c.EndByte, last)
		}
		last = c.StartByte
		if !utf8.ValidString(c.Text) || !utf8.ValidString(text[c.StartByte:c.EndByte]) || textspan.IsBlank(c.Text) {
			t.Errorf("chunk %d: %q from %q", i, c.Text, text[c.StartByte:c.EndByte])
		}
	}
}

func TestHTMLKeepsItsPromises(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for i := 0; i < 20000 && !t.Failed(); i++ {
		text := htmlsplit.RandomMarkup(r, r.IntN(30))
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
