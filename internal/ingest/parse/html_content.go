package parse

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// extent is how much text an element has, in bytes without spaces around.
type extent struct {
	text, linked int // linked is the part of text that is in links
	links        int
	inner        int        // links to a place in the same page
	leading      int        // links in a direction, see directions
	blocks       int        // headings, lists and preformatted texts
	heading      *html.Node // the first, nil for none
}

// own returns the text that is in no link.
func (e extent) own() int { return e.text - e.linked }

func (e *extent) add(other extent) {
	e.text += other.text
	e.linked += other.linked
	e.links += other.links
	e.inner += other.inner
	e.leading += other.leading
	e.blocks += other.blocks
	e.heading = cmp.Or(e.heading, other.heading)
}

// extentsOf returns the extent of each element of a tree: all of it is read, once.
func extentsOf(root *html.Node) map[*html.Node]extent {
	all := map[*html.Node]extent{}
	var measure func(n *html.Node, inLink bool) extent
	measure = func(n *html.Node, inLink bool) (e extent) {
		if n.Type == html.TextNode {
			e.text = len(strings.TrimSpace(n.Data))
			if inLink {
				e.linked = e.text
			}
			return e
		}
		if address := attribute(n, "href"); n.DataAtom == atom.A && address != "" {
			inLink = true
			e.links++
			if strings.HasPrefix(address, "#") {
				e.inner++
			}
			if slices.Contains(directions, strings.ToLower(attribute(n, "rel"))) {
				e.leading++
			}
		}
		switch {
		case isHeading(n):
			e.heading = n
			e.blocks++
		case n.DataAtom == atom.Ul || n.DataAtom == atom.Ol || n.DataAtom == atom.Pre:
			e.blocks++
		}
		for child := n.FirstChild; child != nil; child = child.NextSibling {
			e.add(measure(child, inLink))
		}
		all[n] = e
		return e
	}
	measure(root, false)
	return all
}

// selection is what of a page is content.
type selection struct {
	root     *html.Node
	left     map[*html.Node]bool // elements below root that are left out
	contents []*html.Node        // tables of contents below root
}

// maxSmallPrint is how much text outside of links an element has at most that counts as menu or
// small print wherever the page marks it so.
const maxSmallPrint = 600

// selectContent chooses the content of a page: the element that it marks as such, without what
// surrounds it. Of a choice that would leave out more than half of the text that is in no links
// nothing comes: the page is then kept whole.
func selectContent(page *html.Node) selection {
	c := chooser{page: page, size: extentsOf(page)}
	total := c.size[page].own() - c.smallPrint(page)
	var choices []selection
	if main := c.main(); main != page {
		choices = append(choices, c.within(main, c.isBesideMain))
	}
	choices = append(choices, c.within(page, c.isMarked))
	for _, s := range choices {
		if c.kept(s)*2 >= total && (total > 0 || c.size[s.root].text > 0) {
			return s
		}
	}
	return c.within(page, func(*html.Node) bool { return false })
}

// chooser decides what of a page is content.
type chooser struct {
	page *html.Node
	size map[*html.Node]extent
}

// smallPrint returns how much text in no links is in elements that the page marks as surrounding
// and that are short.
func (c chooser) smallPrint(n *html.Node) int {
	if c.isMarked(n) && c.size[n].own() <= maxSmallPrint {
		return c.size[n].own()
	}
	sum := 0
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		if child.Type == html.ElementNode {
			sum += c.smallPrint(child)
		}
	}
	return sum
}

// kept returns how much text in no links is in a selection.
func (c chooser) kept(s selection) int {
	own := c.size[s.root].own()
	for n := range s.left {
		own -= c.size[n].own()
	}
	return own
}

// within selects what is below root, without the elements for which leave returns true. Lists of
// links that it finds are tables of contents if they lead to places in the page, if one is most of
// its text, or if those under a heading are a good part of it; else they are menus.
func (c chooser) within(root *html.Node, leave func(*html.Node) bool) selection {
	s := selection{root: root, left: map[*html.Node]bool{}}
	text := c.size[root].text
	eachElement(root, func(n *html.Node) (within bool) {
		if leave(n) {
			s.left[n] = true
			text -= c.size[n].text
		}
		return !s.left[n]
	})
	var lists []*html.Node
	listed, headed := 0, false // a heading was seen
	eachElement(root, func(n *html.Node) (within bool) {
		isMost := c.size[n].text >= fewestListed && c.size[n].text*2 > text
		switch {
		case s.left[n]:
			return false
		case c.isContents(n):
			s.contents = append(s.contents, n)
			return false
		case root != c.page || !c.isLinkList(n) || isMost && n.DataAtom == atom.Div:
			headed = headed || isHeading(n)
			return true
		case isMost:
			s.contents = append(s.contents, n)
		case !headed:
			s.left[n] = true
		default:
			lists = append(lists, n)
			listed += c.size[n].text
		}
		return false
	})
	for _, n := range lists {
		if listed*6 > text {
			s.contents = append(s.contents, n)
		} else {
			s.left[n] = true
		}
	}
	return s
}

// eachElement calls do for the elements below root, in order, and not for those in an element for
// which it returns false.
func eachElement(root *html.Node, do func(*html.Node) bool) {
	for child := root.FirstChild; child != nil; child = child.NextSibling {
		if child.Type == html.ElementNode && do(child) {
			eachElement(child, do)
		}
	}
}

// fewestListed is the least text of a list of links that can be most of a page.
const fewestListed = 300

// main returns the element that the page marks as its content, or else the page.
func (c chooser) main() *html.Node {
	whole := c.size[c.page].text
	var articles []*html.Node
	for n := range c.page.Descendants() {
		if (n.DataAtom == atom.Main || attribute(n, "role") == "main") && c.size[n].text*4 >= whole {
			return n
		}
		if n.DataAtom == atom.Article && !within(n, atom.Article) {
			articles = append(articles, n)
		}
	}
	if len(articles) == 1 && c.size[articles[0]].text*2 >= whole {
		return articles[0]
	}
	return c.page
}

// isBesideMain reports whether an element in the content of the page is none of it.
func (c chooser) isBesideMain(n *html.Node) bool {
	return n.DataAtom == atom.Nav || n.DataAtom == atom.Aside && c.linkShare(n) >= minLinkShare
}

// surroundings are words in a class, id or role that mark an element as not content.
var surroundings = []string{
	"navigation", "banner", "contentinfo", "complementary", "search", "nav", "navbar", "menu", "footer",
	"breadcrumb", "breadcrumbs", "cookie", "cookies", "cookie-banner", "cookie-consent", "advert", "advertisement", "ads", "social", "share", "toc-sidebar",
	"site-header", "site-footer", "page-header", "page-footer", "skip-link", "newsletter", "popup", "modal",
	"navheader", "navfooter", "docnav", "sphinxsidebar", "headerlink",
}

// asides are words in a class or id that mark an element as not content if a good part of
// its text is links: some writers name boxes within the text so.
var asides = []string{"sidebar", "related", "aside", "pagination", "pager", "global-nav", "topnav", "subnav", "sidenav", "nav-links", "tocframe"}

// isMarked reports whether the page marks an element as one that surrounds its content, such as a
// menu or a footer.
func (c chooser) isMarked(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Footer, atom.Form:
		return true
	case atom.Aside:
		return !within(n, atom.Article, atom.Main) || c.linkShare(n) >= minLinkShare
	case atom.Header:
		return !within(n, atom.Article, atom.Main, atom.Section)
	case atom.Body, atom.Html, atom.Main, atom.Article:
		return false
	}
	if c.leadsOn(n) {
		return true
	}
	for _, key := range []string{"role", "id", "class"} {
		for word := range strings.FieldsSeq(strings.ToLower(attribute(n, key))) {
			if !slices.Contains(surroundings, word) && (!slices.Contains(asides, word) || c.linkShare(n) < minLinkShare) {
				continue
			}
			if n.DataAtom == atom.Table && word == "menu" { // the contents of a chapter, by Texinfo
				continue
			}
			if key != "id" || !c.isNamedAfterHeading(n, word) {
				return true
			}
		}
	}
	return false
}

// leadsOn reports whether an element consists of links to the next page, the one before, and the
// like, as they say by rel: the writer of Texinfo marks its menus by nothing else.
func (c chooser) leadsOn(n *html.Node) bool {
	e := c.size[n]
	return e.leading >= 2 && e.leading*2 >= e.links && e.own() <= maxDirections && e.blocks == 0
}

// maxDirections is how much text outside of links an element has at most that leads on.
const maxDirections = 100

// directions are values of the attribute rel of links to other pages of a book.
var directions = []string{"next", "prev", "previous", "up", "start", "contents", "index", "first", "last"}

// isNamedAfterHeading reports whether a word is the id of an element because its heading has the
// word: a section "Search" of a manual is not the search field of the page.
func (c chooser) isNamedAfterHeading(n *html.Node, word string) bool {
	heading := c.size[n].heading
	return n.DataAtom == atom.Dt || heading != nil && (heading == n || c.size[heading].text < maxSmallPrint && strings.Contains(strings.ToLower(textOf(heading)), word))
}

func isHeading(n *html.Node) bool {
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return true
	}
	return false
}

// minLinkShare is the share of links in the text of an aside that is not content.
const minLinkShare = 0.25

// linkShare returns the share of links in the text of an element, 1 for one without text.
func (c chooser) linkShare(n *html.Node) float64 {
	e := c.size[n]
	if e.text == 0 {
		return 1
	}
	return float64(e.linked) / float64(e.text)
}

// fewestLinks is how many links a list has at least that is taken for a menu or for contents.
const fewestLinks = 5

// isLinkList reports whether n is a list that consists mostly of links.
func (c chooser) isLinkList(n *html.Node) bool {
	if n.DataAtom != atom.Ul && n.DataAtom != atom.Ol && n.DataAtom != atom.Div {
		return false
	}
	e := c.size[n]
	return e.links >= fewestLinks && e.linked*10 >= e.text*9 && e.text/e.links < 40
}

// isContents reports whether an element is a table of contents: a list of links to places in the
// page, or that of a chapter whose sections are on pages of their own, as the writers of DocBook
// mark it.
func (c chooser) isContents(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Ul, atom.Ol, atom.Dl, atom.Div, atom.Table, atom.Section, atom.P, atom.Nav:
	default:
		return false
	}
	e := c.size[n]
	if e.links < fewestLinks || e.linked*10 < e.text*8 {
		return false
	}
	return e.inner*2 >= e.links || slices.Contains(strings.Fields(attribute(n, "class")), "toc")
}

func within(n *html.Node, tags ...atom.Atom) bool {
	for a := n.Parent; a != nil; a = a.Parent {
		if slices.Contains(tags, a.DataAtom) {
			return true
		}
	}
	return false
}
