package parse

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	tables "github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// html reads the main content of a page, without menus, headers and the like.
func (p *parser) html() error {
	content := p.src.Content
	if !utf8.Valid(content) {
		encoding, _, _ := charset.DetermineEncoding(content, p.src.ContentType)
		decoded, err := encoding.NewDecoder().Bytes(content)
		if err != nil {
			return broken(p.format, err)
		}
		content = decoded
	}
	page, err := html.Parse(bytes.NewReader(content))
	if err != nil {
		return broken(p.format, err)
	}
	p.describePage(page)
	text, err := pageText(page)
	if err != nil {
		return broken(p.format, err)
	}
	p.text.write(text)
	return nil
}

// describePage stores the title and the metadata in the head of the page.
func (p *parser) describePage(page *html.Node) {
	for n := range page.Descendants() {
		switch n.DataAtom {
		case atom.Html:
			p.property("language", attribute(n, "lang"))
		case atom.Title:
			if p.doc.Title == "" && n.FirstChild != nil && n.Parent.DataAtom == atom.Head {
				p.doc.Title = n.FirstChild.Data
			}
		case atom.Meta:
			switch name := strings.ToLower(attribute(n, "name")); name {
			case "author", "description", "keywords":
				p.property(name, attribute(n, "content"))
			}
		}
	}
}

// pageText returns the main content of a page as Markdown. It changes page.
func pageText(page *html.Node) (string, error) {
	prune(page, isNoise)
	whole := textLength(page)
	root := mainContent(page, whole)
	if root == page {
		prune(page, isSurrounding)
		if textLength(page) == 0 && whole > 0 {
			// The page has only links, or marks everything as a menu.
			return "", nil
		}
	}
	flatten(root)
	out, err := newConverter().ConvertNode(root)
	return string(bytes.TrimSpace(out)), err
}

func newConverter() *converter.Converter {
	c := converter.NewConverter(
		converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(commonmark.WithHeadingStyle("atx")), tables.NewTablePlugin()),
		// The text is not rendered, and an escape such as \_ would split a search term.
		converter.WithEscapeMode(converter.EscapeModeDisabled),
	)
	c.Register.TextTransformer(func(_ converter.Context, text string) string { return angles.Replace(text) }, converter.PriorityLate)
	return c
}

// angles undoes an escape of the converter that its EscapeMode does not turn off.
var angles = strings.NewReplacer("&lt;", "<", "&gt;", ">")

// prune removes the nodes for which drop returns true.
func prune(root *html.Node, drop func(*html.Node) bool) {
	for n := root.FirstChild; n != nil; {
		next := n.NextSibling
		if drop(n) {
			root.RemoveChild(n)
		} else {
			prune(n, drop)
		}
		n = next
	}
}

// isNoise reports whether a node is never content: scripts, forms, hidden elements.
func isNoise(n *html.Node) bool {
	if n.Type == html.CommentNode {
		return true
	}
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Iframe, atom.Object, atom.Embed, atom.Canvas,
		atom.Button, atom.Select, atom.Input, atom.Textarea, atom.Head, atom.Dialog, atom.Audio, atom.Video:
		return true
	}
	if n.Type != html.ElementNode || isAnchor(n) {
		return n.Type == html.ElementNode
	}
	style := strings.ReplaceAll(attribute(n, "style"), " ", "")
	return hasAttribute(n, "hidden") || attribute(n, "aria-hidden") == "true" || strings.Contains(style, "display:none")
}

// isAnchor reports whether a node is a link to the heading that it stands in.
func isAnchor(n *html.Node) bool {
	if n.DataAtom != atom.A || n.FirstChild == nil || n.FirstChild != n.LastChild || n.FirstChild.Type != html.TextNode {
		return false
	}
	switch strings.TrimSpace(n.FirstChild.Data) {
	case "¶", "#", "§", "🔗", "\uf0c1":
		return strings.HasPrefix(attribute(n, "href"), "#")
	}
	return false
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
var asides = []string{"sidebar", "related", "aside", "pagination", "pager", "global-nav", "topnav", "subnav", "sidenav", "nav-links"}

// isSurrounding reports whether an element surrounds the content of the page, such as a
// menu or a footer.
func isSurrounding(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return false
	}
	switch n.DataAtom {
	case atom.Nav, atom.Footer, atom.Form:
		return true
	case atom.Aside:
		return !within(n, atom.Article, atom.Main) || linkShare(n) >= minLinkShare
	case atom.Header:
		return !within(n, atom.Article, atom.Main, atom.Section)
	case atom.Body, atom.Html, atom.Main, atom.Article:
		return false
	}
	for _, key := range []string{"role", "id", "class"} {
		for word := range strings.FieldsSeq(strings.ToLower(attribute(n, key))) {
			if slices.Contains(surroundings, word) || slices.Contains(asides, word) && linkShare(n) >= minLinkShare {
				return true
			}
		}
	}
	return isLinkList(n)
}

// minLinkShare is the share of links in the text of an aside that is not content.
const minLinkShare = 0.25

// linkShare returns the share of links in the text of an element, 1 for one without text.
func linkShare(n *html.Node) float64 {
	c := linkCount{left: maxLinkSample}
	c.add(n, false)
	if c.text == 0 {
		return 1
	}
	return float64(c.linked) / float64(c.text)
}

// maxLinkSample bounds the nodes that are visited to recognise a list of links. Without
// it, nested lists would take quadratic time.
const maxLinkSample = 300

// isLinkList reports whether n is a list that consists mostly of links.
func isLinkList(n *html.Node) bool {
	if n.DataAtom != atom.Ul && n.DataAtom != atom.Ol && n.DataAtom != atom.Div {
		return false
	}
	if isContents(n) {
		return false
	}
	c := linkCount{left: maxLinkSample}
	c.add(n, false)
	return c.links >= 5 && c.linked*10 >= c.text*9 && c.text/c.links < 40
}

// isContents reports whether an element is the table of contents of a chapter, as the writers of DocBook mark
// it, whose sections are on pages of their own. That of the page itself says its headings again.
func isContents(n *html.Node) bool {
	if !slices.Contains(strings.Fields(attribute(n, "class")), "toc") {
		return false
	}
	left := maxLinkSample
	for child := range n.Descendants() {
		if left--; left == 0 {
			break
		}
		if child.DataAtom == atom.A {
			return !strings.HasPrefix(attribute(child, "href"), "#")
		}
	}
	return false
}

// linkCount counts the links of an element and their text.
type linkCount struct {
	links        int
	linked, text int // bytes
	left         int // nodes that may still be visited
}

func (c *linkCount) add(n *html.Node, inLink bool) {
	for child := n.FirstChild; child != nil && c.left > 0; child = child.NextSibling {
		c.left--
		if child.Type == html.TextNode {
			length := len(strings.TrimSpace(child.Data))
			c.text += length
			if inLink {
				c.linked += length
			}
			continue
		}
		if child.DataAtom == atom.A {
			c.links++
		}
		c.add(child, inLink || child.DataAtom == atom.A)
	}
}

// mainContent returns the element that the page marks as its content, or else the page.
func mainContent(page *html.Node, whole int) *html.Node {
	var articles []*html.Node
	for n := range page.Descendants() {
		if n.DataAtom == atom.Main || attribute(n, "role") == "main" {
			if textLength(n)*4 >= whole {
				prune(n, func(n *html.Node) bool {
					return n.DataAtom == atom.Nav || n.DataAtom == atom.Aside && linkShare(n) >= minLinkShare
				})
				return n
			}
		}
		if n.DataAtom == atom.Article && !within(n, atom.Article) {
			articles = append(articles, n)
		}
	}
	if len(articles) == 1 && textLength(articles[0])*2 >= whole {
		return articles[0]
	}
	return page
}

// flatten replaces emphasis, images, and links within the site by their text: their
// addresses say nothing elsewhere, and stars would separate terms from each other. Links to
// other sites stay.
func flatten(root *html.Node) {
	var nodes []*html.Node
	for n := range root.Descendants() {
		switch n.DataAtom {
		case atom.A:
			if !isOutward(n) {
				nodes = append(nodes, n)
			}
		case atom.B, atom.Strong, atom.I, atom.Em, atom.Img:
			nodes = append(nodes, n)
		}
	}
	for _, n := range nodes {
		if n.DataAtom == atom.Img {
			*n = html.Node{
				Type: html.TextNode, Data: attribute(n, "alt"),
				Parent: n.Parent, PrevSibling: n.PrevSibling, NextSibling: n.NextSibling,
			}
			continue
		}
		n.DataAtom, n.Data, n.Attr = atom.Span, "span", nil
	}
}

// maxLinkAddress bounds the address of a link that stays, in bytes.
const maxLinkAddress = 500

// isOutward reports whether a link leads to another site and has a text that says more than
// its address. It changes its attributes to the address alone.
func isOutward(link *html.Node) bool {
	address := strings.TrimSpace(attribute(link, "href"))
	if !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") || len(address) > maxLinkAddress || strings.ContainsAny(address, " \n<>") {
		return false
	}
	c := linkCount{left: maxLinkSample}
	c.add(link, false)
	if c.text == 0 || link.FirstChild.Type == html.TextNode && strings.Contains(address, strings.TrimSpace(link.FirstChild.Data)) {
		return false
	}
	link.Attr = []html.Attribute{{Key: "href", Val: address}}
	return true
}

func textLength(root *html.Node) int {
	length := 0
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			length += len(strings.TrimSpace(n.Data))
		}
	}
	return length
}

func within(n *html.Node, tags ...atom.Atom) bool {
	for a := n.Parent; a != nil; a = a.Parent {
		if slices.Contains(tags, a.DataAtom) {
			return true
		}
	}
	return false
}

func hasAttribute(n *html.Node, key string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}
