package parse

import (
	"regexp"
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
		{"the contents of the page", `<p>Text</p><div class="toc">` + links("#fees") + `</div>`, "Text\n\nThe fees of berths\n\nThe fees of berths\n\nThe fees of berths\n\nThe fees of berths\n\nThe fees of berths"},
		{"a section named like a menu", `<h2 id="search">Search</h2><p>Type a word.</p><div id="share"><h2>4.2 Share</h2><p>Files that others wrote.</p></div><div id="search">Find</div>`, "## Search\n\nType a word.\n\n## 4.2 Share\n\nFiles that others wrote."},
		{"links to the next page", `<div class="header"><p>Next: <a href="b" rel="next">Fees</a>, Up: <a href="t" rel="up">Top</a> [<a href="c" rel="contents">Contents</a>]</p></div><h2>Tides</h2><p>Text</p>`, "## Tides\n\nText"},
		{"what was deleted and inserted", `<p><del>old</del><ins>new</ins> price, <s>nine</s> <strike>eight</strike> pounds</p>`, "new price, ~~nine~~ ~~eight~~ pounds"},
		{"details", `<details><summary>More</summary>Hidden body</details><fieldset><legend>Berth</legend>North</fieldset><center>Above</center>below`, "More\n\nHidden body\n\nBerth\n\nNorth\n\nAbove\n\nbelow"},
		{"pipes in cells", `<table><tr><th>Sign</th><th>a|b</th></tr><tr><td>x | y</td><td><code>p|q</code></td></tr></table><p>a|b</p>`, "| Sign  | a\\|b   |\n|-------|-------|\n| x \\| y | `p\\|q` |\n\na|b"},
		{"pipes in cells of what is no table", `<table><tr><td><p>a|b</p><ul><li>c|d</li></ul></td></tr></table>`, "a|b\n\n- c|d"},
		{"a page that a script shows", `<body style="display:none"><p>Text</p></body>`, "Text"},
	} {
		d, err := Parse(t.Context(), Source{Content: []byte("<!DOCTYPE html>" + tc.page)})
		if err != nil || d.Text != tc.want {
			t.Errorf("%s: %q, %v", tc.name, d.Text, err)
		}
	}
}

// items returns n items of a list with links.
func items(n int, to string) string {
	return strings.Repeat(`<li><a href="`+to+`">The fees of berths</a></li>`, n)
}

// The name of a site after the title of a page says nothing about the page.
func TestTitlesOfPagesHaveNoSite(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"Berths | Port of Kiel": "Berths", "Berths — Port 2.1 documentation": "Berths", "Berths - Port": "Berths", "Berths :: Port": "Berths", "Berths-of-call": "Berths-of-call",
		"Berths and fees | Port": "Berths and fees | Port", "Berths |": "Berths |", "Port | Berths": "Port | Berths", "Berths\n · Port": "Berths",
	} {
		d, err := Parse(t.Context(), Source{Content: []byte("<title>" + title + "</title><main><h1>Berths</h1><p>North and south.</p></main>"), FileName: "a.html"})
		if err != nil || d.Title != want {
			t.Errorf("%q: %q, want %q, %v", title, d.Title, want, err)
		}
	}
}

func TestPagesKeepTheirText(t *testing.T) {
	t.Parallel()
	prose := strings.Repeat("<p>The harbour office collects the fees of all berths on the first Monday of a month.</p>", 20)
	for _, tc := range []struct{ name, page string }{
		{"contents before the text, in one box", `<div><ul>` + items(160, "#fees") + `</ul>` + prose + `</div>`},
		{"a menu before the text, in one box", `<div><ul>` + items(160, "/fees") + `</ul>` + prose + `</div>`},
		{"a list of text after many links", `<ol>` + items(160, "/fees") + `<li>` + prose + `</li></ol>`},
		{"a box named like a menu", `<div class="menu">` + prose + `</div>`},
		{"a menu that is not closed", `<nav><a href="/">Home</a>` + prose},
		{"an article that is not all", `<main><p>Only a part of it is marked as such here, and more than a quarter.</p>` + prose + `</main>` + prose + prose},
		{"all of it in a form", `<form>` + prose + `</form>`},
		{"most of it hidden", `<div hidden>` + prose + `</div>`},
	} {
		d, err := Parse(t.Context(), Source{Content: []byte("<!DOCTYPE html>" + tc.page)})
		if want := strings.Count(tc.page, "the first Monday"); err != nil || strings.Count(d.Text, "the first Monday") != want {
			t.Errorf("%s: %d of %d paragraphs, %v", tc.name, strings.Count(d.Text, "the first Monday"), want, err)
		}
	}
}

func TestMenusAreLeftOut(t *testing.T) {
	t.Parallel()
	prose := strings.Repeat("<p>The harbour office collects the fees of all berths on the first Monday of a month.</p>", 20)
	for _, tc := range []struct{ name, page string }{
		{"above the heading", `<ul>` + items(20, "/fees") + `</ul><h1>Dues</h1>` + prose},
		{"in a box above the heading", `<div><div>` + items(20, "/fees") + `</div></div><div><h1>Dues</h1>` + prose + `</div>`},
		{"a short one below the text", `<h1>Dues</h1>` + prose + `<ul>` + items(8, "/fees") + `</ul>`},
		{"marked, with its own headings", `<nav><h2>Pages</h2><ul>` + items(300, "#fees") + `</ul></nav><h1>Dues</h1>` + prose},
	} {
		d, err := Parse(t.Context(), Source{Content: []byte("<!DOCTYPE html>" + tc.page)})
		if err != nil || strings.Contains(d.Text, "The fees of berths") || strings.Count(d.Text, "Monday") != 20 {
			t.Errorf("%s: %q, %v", tc.name, d.Text, err)
		}
	}
}

func TestTablesOfContentsAreMarked(t *testing.T) {
	t.Parallel()
	const prose = "<p>The harbour office collects the fees.</p>"
	for _, tc := range []struct{ name, page string }{
		{"of the page", `<h1>Dues</h1><div><ul>` + items(9, "#fees") + `</ul></div>` + prose},
		{"of a chapter, by DocBook", `<h1>Dues</h1><div class="toc"><p><b>Contents</b></p><ul>` + items(9, "fees.html") + `</ul></div>` + prose},
		{"which is most of the page", `<h1>Dues</h1>` + prose + `<ul>` + items(40, "fees.html") + `</ul>`},
		{"in an item", `<h1>Dues</h1><ul><li>Part<ul>` + items(9, "#fees") + `</ul></li></ul>` + prose},
	} {
		d, err := Parse(t.Context(), Source{Content: []byte("<!DOCTYPE html>" + tc.page)})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		var contents []string
		for _, s := range d.Spans {
			if s.Kind == Contents {
				contents = append(contents, d.Text[s.Start:s.End])
			}
		}
		if len(contents) != 1 || strings.Count(contents[0], "The fees of berths") != strings.Count(d.Text, "The fees of berths") ||
			strings.Contains(contents[0], "office") || !strings.Contains(d.Text, "office collects the fees.") {
			t.Errorf("%s: %q of %q", tc.name, contents, d.Text)
		}
	}
}

// A # at the end of a heading is a part of its name, or a link to it, and takes no letter with it.
func TestHeadingsThatEndWithAPound(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"<h2>C#</h2>":                          "## C#",
		"<h2><b>F#</b> and C##</h2>":           "## F# and C##",
		"<h2>#</h2>":                           `## \#`,
		"<h3>Issue ##</h3>":                    `### Issue \##`,
		"<h2>The # of berths</h2>":             "## The # of berths",
		"<h2>Depths <a href='#d'>#</a></h2>":   "## Depths",
		"<h2><code>a#</code></h2>":             "## `a#`",
		"<table><td><h4>C#</h4></table>":       "#### C#",
		"<blockquote><h2>G#</h2></blockquote>": "> ## G#",
	} {
		d, err := Parse(t.Context(), Source{Content: []byte("<html><body><h1>Notes</h1><p>Before it.</p>" + content + "<p>After it.</p></body></html>"), ContentType: "text/html"})
		if err != nil || !strings.Contains(d.Text, "\n"+want+"\n") {
			t.Errorf("%s: there is no %q in %q, %v", content, want, d.Text, err)
		}
	}
}

// A cell of several lines, items or paragraphs leaves its table one. In tables that lay out a page, blanks separate the cells.
func TestCellsOfTablesAreLines(t *testing.T) {
	t.Parallel()
	table := func(cell string) string {
		return "<table><tr><th>Berth</th><th>Depth</th><th>Crane</th></tr><tr><td>North</td><td>" + cell + "</td><td>yes</td></tr></table>"
	}
	const head = "| Berth | Depth | Crane |\n| - | - | - |\n| North | "
	for content, want := range map[string]string{
		table("11 m<br>at low tide"):                                        head + "11 m at low tide | yes |",
		table("<ul><li>11 m</li><li>12 m in spring</li></ul>"):              head + "11 m; 12 m in spring | yes |",
		table("<p>Deep.</p>\n<p>12 m in spring</p>"):                        head + "Deep. 12 m in spring | yes |",
		table("<pre>a\nb</pre>"):                                            head + "a b | yes |",
		table("<h4>Low tide</h4>11 m"):                                      head + "Low tide 11 m | yes |",
		table("<hr>11 m"):                                                   head + "11 m | yes |",
		table("<table><tr><td>low<td>7</tr><tr><td>high<td>9</tr></table>"): head + "low, 7; high, 9 | yes |",
		table("<dl><dt>low</dt><dd>7 m</dd></dl>"):                          head + "low 7 m | yes |",
		"<table><tr><td><h2>Left</h2>a</td><td>right</td></tr></table>":     "## Left\n\na right",
		"<table><tr><td><p>" + strings.Repeat("Long text. ", 300) + "</p><p>More.</p></td><td>side</td></tr><tr><td>below</td><td>end</td></tr></table>":                                                  "below end",
		"<table><tr><th rowspan=2>Berth</th><th colspan=2>Fee</th></tr><tr><th>Summer</th><th>Winter</th></tr><tr><td rowspan=2>North</td><td>3</td><td>2</td></tr><tr><td>4</td><td>1</td></tr></table>": "| Berth | Fee Summer | Fee Winter |\n| - | - | - |\n| North | 3 | 2 |\n| North | 4 | 1 |",
		"<table><tr><td>x</td><td>1</td><td rowspan=2 colspan=2>A</td></tr><tr><td>y</td><td>2</td></tr><tr><td>w</td><td>4</td><td>B</td><td>C</td></tr></table>":                                        "| x | 1 | A | |\n| y | 2 | A | |\n| w | 4 | B | C |",
		"<table><tr><td>Name</td><td>Depth</td></tr><tr><td>North</td><td>7</td></tr></table>":                                                                                                            "| Name | Depth |\n| - | - |\n| North | 7 |",
		"<table><tr><td>a</td><td>first letter</td></tr><tr><td>b</td><td>second letter</td></tr></table>":                                                                                                "| | |\n| - | - |\n| a | first letter |",
		"<ul><li>a</li></ul><ol><li>b</li></ol>": "- a\n\n1. b",
	} {
		d, err := Parse(t.Context(), Source{Content: []byte("<html><body><h1>Notes</h1><p>Before it.</p>" + content + "<p>After it.</p></body></html>"), ContentType: "text/html"})
		got := regexp.MustCompile(`-+`).ReplaceAllString(regexp.MustCompile(` +`).ReplaceAllString(strings.ReplaceAll(d.Text, "|-", "| -"), " "), "-")
		if got = strings.ReplaceAll(got, "-|", "- |"); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: there is no %q in %q, %v", content, want, got, err)
		}
	}
}
