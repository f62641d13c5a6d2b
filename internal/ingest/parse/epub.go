package parse

import (
	"context"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// epub reads a book: its chapters in reading order, under their titles in the table of contents
// if they have no headings, with notes after the paragraphs that refer to them. The navigation
// itself is left out. A chapter that the spine names again is not read again.
func (p *parser) epub(ctx context.Context) error {
	from, err := p.openPack()
	if err != nil {
		return err
	}
	if _, ok := from.files["META-INF/encryption.xml"]; ok {
		if err := protectedBook(from); err != nil {
			return err
		}
	}
	name, err := packageName(from)
	if err != nil {
		return err
	}
	data, err := from.part(name)
	if err != nil {
		return err
	}
	book, err := tree(data)
	if err != nil {
		return broken(p.format, err)
	}
	p.describeBook(book)
	all, err := chapters(from, book, name)
	if err != nil {
		return err
	}
	notes := &bookNotes{from: from, pages: map[string]*notePage{}}
	for _, chapter := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		if from.repeated(chapter.name) {
			continue
		}
		if err := p.chapter(notes, chapter); err != nil {
			return err
		}
	}
	return nil
}

// bookNotes has the pages with notes to which chapters refer.
type bookNotes struct {
	from  *pack
	pages map[string]*notePage // by the names of their parts; nil for what is not read for notes
	size  int                  // of the markup of the pages
}

// notePage is a page of notes, or a chapter that was read because another refers to it.
type notePage struct {
	root  *html.Node
	byID  map[string]*html.Node
	taken bool // a note was moved to where it is referred to
}

// maxNotePages bounds the markup in bytes of the pages that are kept for their notes.
const maxNotePages = 16 << 20

// page returns the page of a part, nil if it cannot have notes that are to be moved: it was
// written before, is no page, or is too large.
func (b *bookNotes) page(name string) (*notePage, error) {
	if known, ok := b.pages[name]; ok {
		return known, nil
	}
	b.pages[name] = nil
	f, ok := b.from.files[name]
	if !ok || b.from.named[name] || f.UncompressedSize64 > uint64(maxNotePages-b.size) || !strings.HasSuffix(name, "html") {
		return nil, nil
	}
	data, err := b.from.part(name)
	if err != nil {
		return nil, err
	}
	root, err := parsePage(data)
	if err != nil {
		return nil, nil //nolint:nilerr // the chapter says it when it is read
	}
	b.size += len(data)
	b.pages[name] = &notePage{root: root, byID: identified(root)}
	return b.pages[name], nil
}

// identified returns the elements of a page by their ids.
func identified(page *html.Node) map[string]*html.Node {
	byID := map[string]*html.Node{}
	for n := range page.Descendants() {
		if id := attribute(n, "id"); id != "" && n.Type == html.ElementNode {
			byID[id] = n
		}
	}
	return byID
}

// protectedBook returns an error for a book whose text is encrypted. Many books encrypt
// only fonts.
func protectedBook(from *pack) error {
	data, err := from.part("META-INF/encryption.xml")
	if err != nil {
		return err
	}
	list, err := tree(data)
	if err != nil {
		return broken(from.format, err)
	}
	err = nil
	list.all("CipherReference", func(n *node) {
		if strings.HasSuffix(n.attr("URI"), "html") {
			err = encrypted(from.format)
		}
	})
	return err
}

// packageName returns the name of the package document.
func packageName(from *pack) (string, error) {
	data, err := from.part("META-INF/container.xml")
	if err != nil {
		return "", err
	}
	container, err := tree(data)
	if err != nil {
		return "", broken(from.format, err)
	}
	name := ""
	container.all("rootfile", func(n *node) {
		if name == "" {
			name = n.attr("full-path")
		}
	})
	return name, nil
}

func (p *parser) describeBook(book *node) {
	book.all("metadata", func(metadata *node) {
		for _, n := range metadata.children {
			switch n.name {
			case "title":
				if p.doc.Title == "" {
					p.doc.Title = string(n.content)
				}
			case "creator":
				p.property("author", string(n.content))
			case "date":
				p.property("created", string(n.content))
			case "meta":
				if n.attr("property") == "dcterms:modified" {
					p.property("modified", string(n.content))
				}
			case "language", "subject", "description":
				p.property(n.name, string(n.content))
			}
		}
	})
}

// bookChapter is a chapter of a book.
type bookChapter struct {
	name  string // of its part
	title string // in the table of contents, "" if it is not there
}

// bookItem is an entry of the list of parts of a book.
type bookItem struct{ name, properties, mediaType string }

// chapters returns the chapters in the order of the spine, with their titles in the navigation
// of EPUB 3, else in that of EPUB 2.
func chapters(from *pack, book *node, packageName string) ([]bookChapter, error) {
	items := map[string]bookItem{}
	var nav, ncx string
	book.all("manifest", func(manifest *node) {
		for _, n := range manifest.children {
			href, err := url.PathUnescape(n.attr("href"))
			if err != nil {
				continue
			}
			item := bookItem{path.Join(path.Dir(packageName), href), n.attr("properties"), n.attr("media-type")}
			items[n.attr("id")] = item
			switch {
			case slices.Contains(strings.Fields(item.properties), "nav"):
				nav = item.name
			case item.mediaType == "application/x-dtbncx+xml":
				ncx = item.name
			}
		}
	})
	titles, err := from.bookTitles(nav, ncx)
	if err != nil {
		return nil, err
	}
	var all []bookChapter
	book.all("itemref", func(n *node) {
		if item, ok := items[n.attr("idref")]; ok && item.name != nav {
			all = append(all, bookChapter{item.name, titles[item.name]})
		}
	})
	return all, nil
}

// bookTitles returns the titles of chapters by the names of their parts. Either name may be "".
func (p *pack) bookTitles(nav, ncx string) (map[string]string, error) {
	titles := map[string]string{}
	add := func(in, href, title string) {
		href, _, _ = strings.Cut(href, "#")
		if name, err := url.PathUnescape(href); err == nil && href != "" {
			name = path.Join(path.Dir(in), name)
			if title = strings.Join(strings.Fields(title), " "); titles[name] == "" {
				titles[name] = title
			}
		}
	}
	if nav != "" {
		data, err := p.optional(nav)
		if err != nil {
			return nil, err
		}
		page, err := parsePage(data)
		if err != nil {
			return nil, broken(p.format, err)
		}
		for n := range page.Descendants() {
			if n.DataAtom == atom.A && within(n, atom.Nav) {
				add(nav, attribute(n, "href"), textOf(n))
			}
		}
	}
	if len(titles) > 0 || ncx == "" {
		return titles, nil
	}
	data, err := p.optional(ncx)
	if err != nil {
		return nil, err
	}
	if list, err := tree(data); err == nil {
		list.all("navPoint", func(n *node) {
			add(ncx, n.child("content").attr("src"), string(n.child("navLabel").child("text").content))
		})
	}
	return titles, nil
}

// chapter writes a chapter, under its title in the table of contents if it has no heading. A page
// of notes of which nothing is left but its heading is left out.
func (p *parser) chapter(notes *bookNotes, chapter bookChapter) error {
	var page *html.Node
	known := notes.pages[chapter.name]
	if known != nil {
		page = known.root
	} else {
		data, err := notes.from.part(chapter.name)
		if err != nil {
			return err
		}
		if page, err = parsePage(data); err != nil {
			return broken(p.format, err)
		}
	}
	if known != nil && known.taken && !hasTextBelowHeadings(page) {
		return nil
	}
	text, err := p.chapterText(page, notes, chapter.name)
	if err != nil {
		return err
	}
	if text != "" && chapter.title != "" && !hasHeading(page) {
		p.text.block(headingLine(1, chapter.title))
	}
	p.text.block(text)
	return nil
}

// hasTextBelowHeadings reports whether a page has text besides headings and its title.
func hasTextBelowHeadings(page *html.Node) bool {
	for n := range page.Descendants() {
		if n.Type != html.TextNode || strings.TrimSpace(n.Data) == "" {
			continue
		}
		inHeading := false
		for a := n.Parent; a != nil; a = a.Parent {
			switch a.DataAtom {
			case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Head, atom.Nav:
				inHeading = true
			}
		}
		if !inHeading {
			return true
		}
	}
	return false
}

// chapterText returns the text of a chapter as Markdown. It changes page. Unlike that of a page
// of the web, everything that is shown belongs to it.
func (p *parser) chapterText(page *html.Node, notes *bookNotes, name string) (string, error) {
	prune(page, func(n *html.Node) bool {
		return (isCode(n) || isHidden(n) && !p.src.Hidden) && n.DataAtom != atom.Head || n.DataAtom == atom.Nav || hasType(n, "pagebreak")
	})
	if err := p.placeNotes(page, notes, name); err != nil {
		return "", err
	}
	for n := range page.Descendants() {
		if n.Type == html.ElementNode && n.Data == "math" {
			n.FirstChild, n.LastChild = replaced(n)
		}
	}
	prepareTables(page)
	p.markPictures(page, func(source string) drawn { return notes.from.picture(bookPart(name, source), [2]float64{}) })
	flatten(page)
	text, err := markdownOf(page)
	if err != nil {
		return "", broken(p.format, err)
	}
	return text, nil
}

// bookPart returns the name of the part to which an address in a part leads.
func bookPart(in, address string) string {
	address, err := url.PathUnescape(before(address, "#"))
	if err != nil {
		return ""
	}
	return path.Join(path.Dir(in), address)
}

// replaced returns the only child that a formula gets: its text.
func replaced(math *html.Node) (first, last *html.Node) {
	text := &html.Node{Type: html.TextNode, Data: mathText(xmlNode(math)), Parent: math}
	math.Type, math.DataAtom, math.Data, math.Namespace, math.Attr = html.ElementNode, atom.Span, "span", "", nil
	return text, text
}

// xmlNode returns an element of a page as one of XML.
func xmlNode(of *html.Node) *node {
	n := &node{name: of.Data}
	for child := of.FirstChild; child != nil; child = child.NextSibling {
		switch child.Type {
		case html.TextNode:
			n.content = append(n.content, child.Data...)
		case html.ElementNode:
			n.children = append(n.children, xmlNode(child))
		}
	}
	return n
}

// maxBookNote is the length in bytes from which on a note stays where it is.
const maxBookNote = 64 << 10

// placeNotes puts the notes of a chapter, which may stand in another part of the book that is read
// later or not at all, after the paragraphs that refer to them.
func (p *parser) placeNotes(page *html.Node, notes *bookNotes, name string) error {
	own := &notePage{root: page, byID: identified(page)}
	var references []*html.Node
	for n := range page.Descendants() {
		if n.DataAtom == atom.A && hasType(n, "noteref") {
			references = append(references, n)
		}
	}
	for _, reference := range references {
		in := own
		part, id, ok := strings.Cut(attribute(reference, "href"), "#")
		if part, err := url.PathUnescape(part); ok && part != "" && err == nil && !strings.Contains(part, ":") {
			if part = path.Join(path.Dir(name), part); part != name {
				if in, err = notes.page(part); err != nil {
					return err
				}
			}
		}
		if !ok || in == nil {
			continue
		}
		note := in.byID[id]
		if note != nil && note.DataAtom == atom.A && note.Parent != nil && (note.Parent.DataAtom == atom.P || note.Parent.DataAtom == atom.Li) {
			note = note.Parent // the id is that of its mark, a link back
		}
		if note == nil || note.Parent == nil || reference.Parent == nil || contains(note, reference) {
			continue
		}
		if len(textOf(note)) > maxBookNote {
			continue
		}
		delete(in.byID, id) // another reference to it stays as it is
		in.taken = true
		prune(note, func(n *html.Node) bool {
			return hasType(n, "backlink") || n.Type == html.ElementNode && attribute(n, "class") == "footnote-back" ||
				in != own && n.DataAtom == atom.A && path.Base(before(attribute(n, "href"), "#")) == path.Base(name)
		})
		if reference.Parent == nil { // it was in a link back
			continue
		}
		text := strings.Join(strings.Fields(textOf(note)), " ")
		note.Parent.RemoveChild(note)
		p.notes++
		mark := "[^" + strconv.Itoa(p.notes) + "]"
		after := reference
		for a := reference; a != nil && a.Parent != nil; a = a.Parent {
			if a.DataAtom == atom.P || a.DataAtom == atom.Table || a.DataAtom == atom.Ul || a.DataAtom == atom.Ol || a.DataAtom == atom.Dl {
				after = a
			}
		}
		paragraph := &html.Node{Type: html.ElementNode, DataAtom: atom.P, Data: "p"}
		paragraph.AppendChild(textNode(mark + ": " + text))
		after.Parent.InsertBefore(paragraph, after.NextSibling)
		reference.Parent.InsertBefore(textNode(mark), reference)
		reference.Parent.RemoveChild(reference)
	}
	return nil
}

// before returns the part of a text before a separator, or all of it.
func before(text, separator string) string {
	text, _, _ = strings.Cut(text, separator)
	return text
}

// hasType reports whether an element has a semantic type of EPUB, or the role of that name.
func hasType(n *html.Node, kind string) bool {
	return n.Type == html.ElementNode && (slices.Contains(strings.Fields(attribute(n, "epub:type")), kind) || attribute(n, "role") == "doc-"+kind)
}

// contains reports whether n is within of.
func contains(of, n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if n == of {
			return true
		}
	}
	return false
}

func hasHeading(page *html.Node) bool {
	for n := range page.Descendants() {
		switch n.DataAtom {
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			return true
		}
	}
	return false
}

// textOf returns the text of a node, and at least maxBookNote bytes of a long one.
func textOf(n *html.Node) string {
	var text strings.Builder
	for child := range n.Descendants() {
		if child.Type == html.TextNode {
			text.WriteString(child.Data)
		}
		if text.Len() > maxBookNote {
			break
		}
	}
	return text.String()
}
