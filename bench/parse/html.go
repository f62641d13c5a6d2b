package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"

	"github.com/ragdhq/ragd/internal/ingest/parse"
)

// htmlOptions say which pages measureHTML reads.
type htmlOptions struct {
	most  int // pages of a folder, evenly from all; 0 for all
	worst int // pages to list of each folder
}

// measureHTML prints what ragd finds of the HTML pages below each folder, a row for each.
func measureHTML(args []string) error {
	var o htmlOptions
	flags := flag.NewFlagSet("html", flag.ContinueOnError)
	flags.IntVar(&o.most, "most", 0, "read at most this many pages of a folder, evenly from all")
	flags.IntVar(&o.worst, "worst", 0, "also list this many pages of each folder of which the fewest words are found")
	if err := flags.Parse(args); err != nil {
		return err
	}
	fmt.Println("| folder | pages | words found | least | pages under 0.8 | mostly links | refused | menu words kept |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	var all folder
	for _, dir := range flags.Args() {
		f, err := o.folder(dir)
		if err != nil {
			return err
		}
		f.print(filepath.Base(dir), o.worst)
		all.pages = append(all.pages, f.pages...)
	}
	if flags.NArg() > 1 {
		all.print("all", 0)
	}
	return nil
}

// folder is what was found of the pages of a folder.
type folder struct{ pages []page }

// page is an HTML page and what ragd read of it. Words are counted as often as they occur.
type page struct {
	path          string
	content, menu map[string]int // words of the text, and of menus, headers and footers
	total, linked int            // words of the text, and those of them that are in links
	refused       bool
	found         float64 // share of the words of the text
	kept          int     // words of menus that are in what was read
}

// Pages count for the least share of words found from so many words on, unless they are mostly links.
const longPage = 300

func (p page) mostlyLinks() bool { return p.linked*2 > p.total }

func (f folder) print(name string, worst int) {
	var recall mean
	least, low, links, refused, menu, kept := 1.0, 0, 0, 0, 0, 0
	for _, p := range f.pages {
		recall.add(p.found, 1)
		menu += sum(p.menu)
		kept += p.kept
		if p.refused {
			refused++
		}
		switch {
		case p.total <= longPage:
		case p.mostlyLinks():
			links++
		default:
			least = min(least, p.found)
			if p.found < 0.8 {
				low++
			}
		}
	}
	share := 0.0
	if menu > 0 {
		share = float64(kept) / float64(menu)
	}
	fmt.Printf("| %s | %d | %s | %.3f | %d | %d | %d | %d of %d (%.3f) |\n", name, len(f.pages), &recall, least, low, links, refused, kept, menu, share)
	slices.SortFunc(f.pages, func(a, b page) int { return cmp.Compare(a.found, b.found) })
	for _, p := range f.pages[:min(worst, len(f.pages))] {
		fmt.Printf("  %.3f of %d words, %d in links, %d of %d words of menus: %s\n", p.found, p.total, p.linked, p.kept, sum(p.menu), p.path)
	}
}

// folder reads the pages below a folder.
func (o htmlOptions) folder(dir string) (folder, error) {
	var paths []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if ending := filepath.Ext(path); err == nil && entry.Type().IsRegular() && (ending == ".html" || ending == ".htm") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		return folder{}, err
	}
	roots := make([]*html.Node, len(paths))
	contents := make([][]byte, len(paths))
	for i, path := range paths {
		if contents[i], roots[i], err = readPage(path); err != nil {
			return folder{}, err
		}
	}
	repeated := repeatedBlocks(roots)
	var f folder
	for i := range paths {
		if o.most > 0 && i*o.most/len(paths) == (i-1)*o.most/len(paths) && i > 0 {
			continue
		}
		p := newPage(paths[i], roots[i], repeated)
		if p.total == 0 {
			continue
		}
		doc, err := parse.Parse(context.Background(), parse.Source{Content: contents[i], ContentType: "text/html", FileName: paths[i]})
		p.refused = err != nil
		p.compare(count(words(doc.Text)))
		f.pages = append(f.pages, p)
	}
	return f, nil
}

func readPage(path string) ([]byte, *html.Node, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	decoded, err := charset.NewReader(bytes.NewReader(content), "text/html")
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	root, err := html.Parse(decoded)
	return content, root, err
}

// compare sets what was found of the page.
func (p *page) compare(got map[string]int) {
	p.found = found(got, p.content)
	for w, n := range p.menu {
		p.kept += min(n, max(0, got[w]-p.content[w]))
	}
}

// menus are the elements that writers of documentation mark as menus, headers and footers, by tag, or
// by a word of role, id or class.
var menus = map[string][]string{
	"tag":  {"nav", "footer"},
	"role": {"navigation", "banner", "contentinfo", "search"},
	"id":   {"footer", "banner", "title", "toc_sub", "toc_mk", "sidebar", "navbar", "tocframe", "page-header"},
	"class": {
		"navheader", "navfooter", "docnav", // DocBook
		"related", "sphinxsidebar", "footer", "headerlink", "toctree-nav", "nav", "wy-nav-side", "wy-breadcrumbs", // Sphinx
		"header", "nav-panel", "nav_table", "node", "copiable-anchor", "anchor", "node-path", "nav-path", // Texinfo
		"nosearch", "navigation", "breadcrumbs", "toplang", "bottomlang", "sub-nav", "navbar", "sidebar",
	},
}

// unread are elements that a browser does not show as text.
var unread = []atom.Atom{
	atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Head, atom.Iframe, atom.Object,
	atom.Select, atom.Textarea, atom.Button, atom.Audio, atom.Video, atom.Canvas, atom.Del,
}

// newPage tells the text of a page from its menus: what is marked as such, or stands on half of the
// pages. An element with most of the words of a page is none, unless its id or class says so.
func newPage(path string, root *html.Node, repeated map[string]bool) page {
	p := page{path: path, menu: map[string]int{}}
	whole := len(words(shown(root)))
	var text, linked strings.Builder
	var walk func(n *html.Node, inLink bool)
	walk = func(n *html.Node, inLink bool) {
		if n.Type == html.ElementNode && slices.Contains(unread, n.DataAtom) || n.Type == html.CommentNode {
			return
		}
		if n.Type == html.ElementNode && (marked(n) || n.DataAtom == atom.Form || repeated[blockKey(n)]) {
			list := words(shown(n))
			if len(list)*2 <= whole || markedBy("id", n) || markedBy("class", n) {
				for _, w := range list {
					p.menu[w]++
				}
				return
			}
		}
		write(&text, n)
		if inLink {
			write(&linked, n)
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, inLink || n.DataAtom == atom.A && attribute(n, "href") != "")
		}
		if n.Type == html.ElementNode {
			write(&text, n)
			write(&linked, n)
		}
	}
	walk(root, false)
	list := words(text.String())
	p.content, p.total, p.linked = count(list), len(list), len(words(linked.String()))
	return p
}

func marked(n *html.Node) bool {
	return slices.Contains(menus["tag"], n.Data) || markedBy("role", n) || markedBy("id", n) || markedBy("class", n)
}

func markedBy(key string, n *html.Node) bool {
	for word := range strings.FieldsSeq(strings.ToLower(attribute(n, key))) {
		if slices.Contains(menus[key], word) && n.DataAtom != atom.Body && n.DataAtom != atom.Html {
			return true
		}
	}
	return false
}

// fewestPages is how many pages a folder has at least if what they repeat is known as a menu.
const fewestPages = 5

// repeatedBlocks returns the keys of the blocks with a link that stand on at least half of the pages.
func repeatedBlocks(roots []*html.Node) map[string]bool {
	counts := map[string]int{}
	for _, root := range roots {
		on := map[string]bool{}
		for n := range root.Descendants() {
			if key := blockKey(n); key != "" {
				on[key] = true
			}
		}
		for key := range on {
			counts[key]++
		}
	}
	repeated := map[string]bool{}
	for key, n := range counts {
		repeated[key] = n >= fewestPages && n*2 >= len(roots)
	}
	return repeated
}

// longestMenu bounds the bytes of a block that may be a menu.
const longestMenu = 4000

// blockKey returns the text of a block that has a link, or "".
func blockKey(n *html.Node) string {
	switch n.DataAtom {
	case atom.Div, atom.P, atom.Ul, atom.Ol, atom.Table, atom.Header, atom.Section, atom.Center:
	default:
		return ""
	}
	links, size := false, 0
	for d := range n.Descendants() {
		links = links || d.DataAtom == atom.A && attribute(d, "href") != ""
		if size += len(d.Data); size > longestMenu {
			return ""
		}
	}
	if !links {
		return ""
	}
	return strings.Join(words(shown(n)), " ")
}

// shown returns the text of an element as a browser would show it, but for spaces.
func shown(root *html.Node) string {
	var text strings.Builder
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if slices.Contains(unread, n.DataAtom) {
			return
		}
		write(&text, n)
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
		if n.Type == html.ElementNode {
			write(&text, n)
		}
	}
	walk(root)
	return text.String()
}

// write writes what a node adds to a text before and after its children: nothing for an element
// within a line.
func write(text *strings.Builder, n *html.Node) {
	switch n.Type {
	case html.TextNode:
		text.WriteString(spaces.Replace(n.Data))
	case html.ElementNode:
		switch n.DataAtom {
		case atom.A, atom.B, atom.I, atom.Em, atom.Strong, atom.Code, atom.Tt, atom.Span, atom.Font, atom.Var, atom.Kbd, atom.Samp,
			atom.Abbr, atom.Acronym, atom.Cite, atom.Dfn, atom.Sub, atom.Sup, atom.Small, atom.Big, atom.U, atom.Ins, atom.Mark, atom.Q, atom.S, atom.Bdi, atom.Wbr:
		default:
			text.WriteByte(' ')
		}
	}
}

var spaces = strings.NewReplacer("\n", " ", "\r", " ", "\t", " ")

func sum(counts map[string]int) int {
	all := 0
	for _, n := range counts {
		all += n
	}
	return all
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}
