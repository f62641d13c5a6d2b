package export

import (
	"archive/zip"
	"bytes"
	"path"
	"regexp"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/ragdhq/ragd/internal/ingest/parse"
)

// confluenceHTML is the export of a space of Confluence as pages of HTML.
type confluenceHTML struct{ archive *zip.Reader }

// isConfluenceHTML reports whether a zip file is such an export: its pages have the marks of Confluence.
func isConfluenceHTML(archive *zip.Reader) bool {
	looked := 0
	for _, f := range archive.File {
		if path.Ext(f.Name) != ".html" || path.Base(f.Name) == "index.html" || passedOver(f) {
			continue
		}
		content, err := member(f)
		if err == nil && bytes.Contains(content, []byte(`id="main-content"`)) && bytes.Contains(content, []byte("wiki-content")) {
			return true
		}
		if looked++; looked == 5 {
			break
		}
	}
	return false
}

// items yields the pages, and the attachments below the name of their page.
func (c confluenceHTML) items(yield yielder) {
	pages := map[string]string{} // names of pages by their id
	for _, f := range c.archive.File {
		if id := confluencePageID(f.Name); id != "" {
			pages[id] = f.Name
		}
	}
	for _, f := range c.archive.File {
		folder := path.Dir(f.Name)
		switch {
		case passedOver(f) || path.Base(f.Name) == "index.html" || path.Base(folder) == "styles" || strings.Contains(f.Name, "images/icons/"):
			continue
		}
		content, err := member(f)
		item := Item{Name: f.Name, Content: content}
		if err == nil && path.Ext(f.Name) == ".html" {
			item, err = confluencePage(item)
		}
		if path.Base(path.Dir(folder)) == "attachments" { // attachments/ID/NUMBER.pdf
			item.Origin.Parent = pages[path.Base(folder)]
		}
		if !yield(item, err) {
			return
		}
	}
}

var confluenceID = regexp.MustCompile(`(?:^|[/_])(\d+)\.html$`)

func confluencePageID(name string) string {
	if found := confluenceID.FindStringSubmatch(name); found != nil {
		return found[1]
	}
	return ""
}

// confluencePage returns a page: its content without the frame, and what the frame says about it.
func confluencePage(item Item) (Item, error) {
	page, err := parse.ParseHTML(string(item.Content))
	if err != nil {
		return item, broken("page", err)
	}
	byID := map[string]*html.Node{}
	var metadata *html.Node
	for n := range page.Descendants() {
		if id := attribute(n, "id"); id != "" && byID[id] == nil {
			byID[id] = n
		}
		if attribute(n, "class") == "page-metadata" {
			metadata = n
		}
	}
	item.Origin = Origin{ID: confluencePageID(item.Name)}
	item.Title = textOf(byID["title-text"])
	if crumbs := byID["breadcrumbs"]; crumbs != nil {
		for n := range crumbs.ChildNodes() {
			if text := textOf(n); text != "" {
				item.Origin.Path = append(item.Origin.Path, text)
				if href := linkOf(n); href != "" && href != "index.html" {
					item.Origin.Parent = path.Join(path.Dir(item.Name), href)
				}
			}
		}
	}
	if len(item.Origin.Path) > 0 {
		item.Title = strings.TrimPrefix(item.Title, item.Origin.Path[0]+" : ")
	}
	confluenceByline(metadata, &item.Origin)
	if labels := byID["labels-section"]; labels != nil {
		for n := range labels.Descendants() {
			if n.Data == "a" {
				item.Origin.Labels = append(item.Origin.Labels, textOf(n))
			}
		}
	}
	main := byID["main-content"]
	if main == nil {
		return item, nil
	}
	var out bytes.Buffer
	out.WriteString("<h1>" + html.EscapeString(item.Title) + "</h1>\n")
	for n := range main.Descendants() {
		if href := attribute(n, "href"); n.Data == "a" && path.Ext(href) == ".html" && !strings.Contains(href, "://") {
			item.Origin.Links = append(item.Origin.Links, path.Join(path.Dir(item.Name), href))
		}
	}
	if err := html.Render(&out, main); err != nil {
		return item, broken("page", err)
	}
	item.Content, item.ContentType = out.Bytes(), parse.HTML.MediaType()
	return item, nil
}

// confluenceDate matches the day in the line about who wrote a page.
var confluenceDate = regexp.MustCompile(`[A-Z][a-z]{2} \d{1,2}, \d{4}`)

// confluenceByline reads "Created by A, last modified by B on Jan 02, 2024".
func confluenceByline(n *html.Node, origin *Origin) {
	if n == nil {
		return
	}
	for part := range n.Descendants() {
		class := strings.TrimSpace(attribute(part, "class"))
		if name := textOf(part); (class == "author" || class == "editor") && name != "" {
			if origin.Author == "" {
				origin.Author = name
			}
			origin.Authors = append(origin.Authors, name)
		}
	}
	dates := confluenceDate.FindAllString(textOf(n), 2)
	for i, text := range dates {
		at, err := time.Parse("Jan 2, 2006", text)
		switch {
		case err != nil:
		case i == len(dates)-1:
			origin.Updated = at
		default:
			origin.Created = at
		}
	}
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// linkOf returns the target of the first link within n.
func linkOf(n *html.Node) string {
	for below := range n.Descendants() {
		if href := attribute(below, "href"); below.Data == "a" && href != "" {
			return href
		}
	}
	return ""
}

// textOf returns the text within n in one line; nil has none.
func textOf(n *html.Node) string {
	if n == nil {
		return ""
	}
	var text strings.Builder
	for below := range n.Descendants() {
		if below.Type == html.TextNode {
			text.WriteString(below.Data)
		}
	}
	if n.Type == html.TextNode {
		text.WriteString(n.Data)
	}
	return strings.Join(strings.Fields(text.String()), " ")
}
