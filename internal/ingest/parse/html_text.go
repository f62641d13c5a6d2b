package parse

import (
	"bytes"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	tables "github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// pageText returns the main content of a page as Markdown, and the spans of tables of contents in
// it; hidden adds comments and what is not shown. mark changes the content before it is converted, unless it is nil. It changes page.
func pageText(page *html.Node, hidden bool, mark func(content *html.Node)) (string, []Span, error) {
	if hidden {
		reveal(page)
	}
	prune(page, isCode)
	if !hidden && len(strings.TrimSpace(visibleText(page))) > 0 { // else a script shows the page
		prune(page, isHidden)
	}
	s := selectContent(page)
	prune(s.root, func(n *html.Node) bool { return s.left[n] })
	for _, n := range s.contents {
		enclose(n)
	}
	prepareTables(s.root)
	if mark != nil {
		mark(s.root)
	}
	flatten(s.root)
	raiseLists(s.root, 0)
	joinTexts(s.root)
	text, err := markdownOf(s.root)
	if err != nil {
		return "", nil, err
	}
	text, contents := enclosed(text)
	return text, contents, nil
}

// Characters that are none, which mark places in a text while it is converted.
const (
	contentsBegin = "\uFDD0"
	contentsEnd   = "\uFDD1"
	cellPipe      = "\uFDD2" // a | in a cell of a table
	headingPound  = "\uFDDE" // a # in a heading
)

// reveal makes paragraphs of the comments in the body of a page.
func reveal(page *html.Node) {
	var comments []*html.Node
	inBody := false
	for n := range page.Descendants() {
		inBody = inBody || n.DataAtom == atom.Body
		if n.Type == html.CommentNode && inBody && strings.TrimSpace(n.Data) != "" {
			comments = append(comments, n)
		}
	}
	for _, n := range comments {
		n.Type, n.DataAtom = html.ElementNode, atom.P
		n.AppendChild(textNode(strings.TrimSpace(n.Data)))
		n.Data = "p"
	}
}

// parsePage parses a page of HTML in UTF-8, without characters that are none.
func parsePage(content []byte) (*html.Node, error) {
	return ParseHTML(unmarked.Replace(string(content)))
}

var unmarked = strings.NewReplacer(contentsBegin, "", contentsEnd, "", cellPipe, "", headingPound, "",
	figureBegin, "", figureAlt, "", figureEnd, "", captionBegin, "", captionEnd, "")

// enclose marks the begin and the end of a table of contents, so that enclosed finds it.
func enclose(n *html.Node) {
	paragraph := func(mark string) *html.Node {
		p := &html.Node{Type: html.ElementNode, DataAtom: atom.P, Data: "p"}
		p.AppendChild(textNode(mark))
		return p
	}
	n.Parent.InsertBefore(paragraph(contentsBegin), n)
	n.Parent.InsertBefore(paragraph(contentsEnd), n.NextSibling)
}

// enclosed returns a text without the marks of enclose, and the spans between them.
func enclosed(text string) (string, []Span) {
	var out strings.Builder
	var spans []Span
	for {
		before, rest, ok := strings.Cut(text, contentsBegin)
		if !ok {
			out.WriteString(strings.ReplaceAll(text, contentsEnd, ""))
			return out.String(), spans
		}
		within, after, _ := strings.Cut(rest, contentsEnd)
		out.WriteString(strings.TrimRight(before, " "))
		start := out.Len()
		out.WriteString(strings.TrimRight(strings.TrimLeft(within, "\n"), "\n "))
		if out.Len() > start {
			spans = append(spans, Span{Kind: Contents, Start: start, End: out.Len()})
		}
		text = after
	}
}

// markdownOf returns an element as Markdown.
func markdownOf(n *html.Node) (string, error) {
	c := converter.NewConverter(
		converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(commonmark.WithHeadingStyle("atx")),
			tables.NewTablePlugin(), strikethrough.NewStrikethroughPlugin()),
		// The text is not rendered, and an escape such as \_ would split a search term.
		converter.WithEscapeMode(converter.EscapeModeDisabled),
	)
	c.Register.TextTransformer(func(_ converter.Context, text string) string { return angles.Replace(text) }, converter.PriorityLate)
	// The comment that the converter writes between two lists is no text.
	c.Register.RendererFor("#comment", converter.TagTypeRemove, func(converter.Context, converter.Writer, *html.Node) converter.RenderStatus {
		return converter.RenderSuccess
	}, converter.PriorityEarly)
	markPounds(n)
	out, err := c.ConvertNode(n)
	return withPounds(withPipes(string(bytes.TrimSpace(out)))), err
}

// markPounds replaces # by headingPound in the texts of headings. The converter replaces the letter before one at the end of a
// heading by a backslash, as in C#, if it does not escape texts.
func markPounds(page *html.Node) {
	for heading := range page.Descendants() {
		if !isHeading(heading) {
			continue
		}
		for n := range heading.Descendants() {
			if n.Type == html.TextNode {
				n.Data = strings.ReplaceAll(n.Data, "#", headingPound)
			}
		}
	}
}

// withPounds returns a text with # in place of headingPound, escaped where CommonMark would take it for the end of the
// heading.
func withPounds(text string) string {
	if !strings.Contains(text, headingPound) {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		rest := strings.TrimRight(line, "\n")
		if bare := strings.TrimRight(rest, headingPound); bare != rest && strings.HasSuffix(bare, " ") {
			line = bare + `\` + line[len(bare):]
		}
		out.WriteString(strings.ReplaceAll(line, headingPound, "#"))
	}
	return out.String()
}

// withPipes returns a text with | in place of cellPipe, escaped in the rows of tables.
func withPipes(text string) string {
	if !strings.Contains(text, cellPipe) {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		pipe := "|"
		if strings.HasPrefix(strings.TrimLeft(line, " >"), "|") {
			pipe = `\|`
		}
		out.WriteString(strings.ReplaceAll(line, cellPipe, pipe))
	}
	return out.String()
}

// angles undoes an escape of the converter that its EscapeMode does not turn off.
var angles = strings.NewReplacer("&lt;", "<", "&gt;", ">")

// flatten replaces emphasis, images, and links within the site by their text: their
// addresses say nothing elsewhere, and stars would separate terms from each other. Links to
// other sites stay. Summaries become blocks, and | in cells cellPipe.
func flatten(root *html.Node) {
	var nodes []*html.Node
	for n := range root.Descendants() {
		switch n.DataAtom {
		case atom.A:
			if !isOutward(n) {
				nodes = append(nodes, n)
			}
		case atom.B, atom.Strong, atom.I, atom.Em, atom.Img, atom.Summary, atom.Details, atom.Legend, atom.Figcaption, atom.Center:
			nodes = append(nodes, n)
		case atom.Td, atom.Th:
			escapePipes(n)
		}
	}
	for _, n := range nodes {
		switch n.DataAtom {
		case atom.Img:
			*n = html.Node{
				Type: html.TextNode, Data: attribute(n, "alt"),
				Parent: n.Parent, PrevSibling: n.PrevSibling, NextSibling: n.NextSibling,
			}
		case atom.Summary, atom.Details, atom.Legend, atom.Figcaption, atom.Center:
			n.DataAtom, n.Data, n.Attr = atom.Div, "div", nil
		default:
			n.DataAtom, n.Data, n.Attr = atom.Span, "span", nil
		}
	}
}

// maxLists bounds how deep lists and quotations of a page stand in each other: each level indents all lines in it.
const maxLists = 16

// raiseLists makes blocks of the lists, items and quotations below root that are nested deeper than maxLists. depth is the number
// of those around root.
func raiseLists(root *html.Node, depth int) {
	for n := root.FirstChild; n != nil; n = n.NextSibling {
		within := depth
		if n.DataAtom == atom.Ul || n.DataAtom == atom.Ol || n.DataAtom == atom.Blockquote {
			within++
		}
		if within > maxLists && (within > depth || n.DataAtom == atom.Li) {
			n.DataAtom, n.Data, n.Attr = atom.Div, "div", nil
		}
		raiseLists(n, within)
	}
}

// joinTexts joins texts that follow each other in an element: the converter joins them one by one, and copies all of them each time.
func joinTexts(root *html.Node) {
	for n := root.FirstChild; n != nil; n = n.NextSibling {
		if n.Type != html.TextNode {
			joinTexts(n)
			continue
		}
		if n.NextSibling == nil || n.NextSibling.Type != html.TextNode {
			continue
		}
		var text strings.Builder
		text.WriteString(n.Data)
		for next := n.NextSibling; next != nil && next.Type == html.TextNode; next = n.NextSibling {
			text.WriteString(next.Data)
			root.RemoveChild(next)
		}
		n.Data = text.String()
	}
}

// escapePipes replaces | by cellPipe in the texts of a cell.
func escapePipes(cell *html.Node) {
	for n := range cell.Descendants() {
		if n.Type == html.TextNode {
			n.Data = strings.ReplaceAll(n.Data, "|", cellPipe)
		}
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
	if strings.TrimSpace(textOf(link)) == "" || link.FirstChild.Type == html.TextNode && strings.Contains(address, strings.TrimSpace(link.FirstChild.Data)) {
		return false
	}
	link.Attr = []html.Attribute{{Key: "href", Val: address}}
	return true
}
