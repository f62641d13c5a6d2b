package parse

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

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
	page, err := parsePage(content)
	if err != nil {
		return broken(p.format, err)
	}
	p.describePage(page)
	text, contents, err := pageText(page, p.src.Hidden, func(content *html.Node) { p.markPictures(content, nil) })
	if err != nil {
		return broken(p.format, err)
	}
	p.text.write(text)
	p.doc.Title = withoutSite(p.doc.Title, unmarkedText(text))
	p.doc.Spans = append(p.doc.Spans, contents...)
	return nil
}

// siteMarks stand between the title of a page and the name of its site.
var siteMarks = regexp.MustCompile(`^\s*(?:[|–—·•»«‹›]|::|- )\s*\S`)

// withoutSite returns the title of a page without the name of the site after it: what begins with the first heading of the text and a
// mark is that heading.
func withoutSite(title, text string) string {
	title = strings.Join(strings.Fields(title), " ")
	for h := range headings(text[:min(len(text), maxTitleSearch)]) {
		if rest, ok := strings.CutPrefix(title, h.text); ok && h.text != "" && siteMarks.MatchString(rest) {
			return h.text
		}
		break
	}
	return title
}

// metaProperties are the properties in the head of a page, by the names of its elements meta.
var metaProperties = map[string]string{
	"author": "author", "dc.creator": "author", "dcterms.creator": "author", "description": "description", "og:description": "description",
	"keywords": "keywords", "article:published_time": "created", "dcterms.created": "created", "date": "created", "dc.date": "created",
	"article:modified_time": "modified", "dcterms.modified": "modified", "last-modified": "modified",
}

var startsWithDate = regexp.MustCompile(`^\d{4}-\d\d-\d\d`)

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
			name := strings.ToLower(cmp.Or(attribute(n, "name"), attribute(n, "property")))
			key, content := metaProperties[name], attribute(n, "content")
			if isTime := key == "created" || key == "modified"; key != "" && p.doc.Properties[key] == "" && (!isTime || startsWithDate.MatchString(content)) {
				p.property(key, content)
			}
		}
	}
}

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

// isCode reports whether a node is none that a browser shows as text: scripts, fields of forms.
func isCode(n *html.Node) bool {
	if n.Type == html.CommentNode {
		return true
	}
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Iframe, atom.Object, atom.Embed, atom.Canvas,
		atom.Button, atom.Select, atom.Input, atom.Textarea, atom.Head, atom.Audio, atom.Video:
		return true
	}
	return n.Type == html.ElementNode && isAnchor(n)
}

// isHidden reports whether an element is not shown, or was deleted from the text.
func isHidden(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return false
	}
	style := strings.ReplaceAll(attribute(n, "style"), " ", "")
	return n.DataAtom == atom.Del || n.DataAtom == atom.Dialog || hasAttribute(n, "hidden") ||
		attribute(n, "aria-hidden") == "true" || strings.Contains(style, "display:none")
}

// visibleText returns the text below a node that is not hidden.
func visibleText(n *html.Node) string {
	var text strings.Builder
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			text.WriteString(n.Data)
		}
		for child := n.FirstChild; child != nil; child = child.NextSibling {
			if !isHidden(child) {
				walk(child)
			}
		}
	}
	walk(n)
	return text.String()
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
