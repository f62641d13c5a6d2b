package export

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/ingest/parse"
)

// isMediaWiki reports whether a text begins as an export of MediaWiki does.
func isMediaWiki(head []byte) bool {
	start := bytes.Index(head, []byte("<mediawiki"))
	return start >= 0 && start < 1<<10 && bytes.Contains(head[start:min(len(head), start+1<<10)], []byte("mediawiki.org/xml/export"))
}

// wikiPage is a page of an export, with its latest revision.
type wikiPage struct {
	Title    string `xml:"title"`
	ID       string `xml:"id"`
	Redirect *struct {
		Title string `xml:"title,attr"`
	} `xml:"redirect"`
	Revisions []struct {
		Timestamp   time.Time `xml:"timestamp"`
		Contributor struct {
			Username string `xml:"username"`
			IP       string `xml:"ip"`
		} `xml:"contributor"`
		Model string `xml:"model"`
		Text  string `xml:"text"`
	} `xml:"revision"`
}

var (
	wikiCategory = regexp.MustCompile(`(?i)\[\[\s*(?:category|kategorie|catégorie|categoría|categoria|категория)\s*:\s*([^\]|\n]+)`)
	wikiLink     = regexp.MustCompile(`\[\[([^\[\]|#:\n]+)(?:[|#][^\[\]]*)?\]\]`)
)

// mediaWiki yields the pages of an export. Redirects and pages of code are passed over.
func mediaWiki(r *bufio.Reader, yield yielder) {
	var base string
	limited := &recordLimit{r: r}
	decoder := xml.NewDecoder(limited)
	for {
		limited.reset()
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		start, begins := token.(xml.StartElement)
		switch {
		case err == nil && begins && start.Name.Local == "base":
			err = decoder.DecodeElement(&base, &start)
		case err == nil && begins && start.Name.Local == "page":
			var page wikiPage
			if err = decoder.DecodeElement(&page, &start); err == nil && !page.yield(base, yield) {
				return
			}
		}
		if err != nil {
			yield(Item{}, limited.failure("MediaWiki export", err))
			return
		}
	}
}

// yield yields a page. It reports whether more are wanted.
func (p wikiPage) yield(base string, yield yielder) bool {
	if p.Redirect != nil || len(p.Revisions) == 0 {
		return true
	}
	latest, first := p.Revisions[0], p.Revisions[0]
	for _, revision := range p.Revisions[1:] {
		if revision.Timestamp.After(latest.Timestamp) {
			latest = revision
		}
		if revision.Timestamp.Before(first.Timestamp) {
			first = revision
		}
	}
	if latest.Model != "" && latest.Model != "wikitext" || strings.TrimSpace(latest.Text) == "" {
		return true
	}
	origin := Origin{ID: p.ID, Author: cmp.Or(latest.Contributor.Username, latest.Contributor.IP), Updated: latest.Timestamp, URL: wikiAddress(base, p.Title)}
	if len(p.Revisions) > 1 {
		origin.Created = first.Timestamp
	}
	for _, found := range wikiCategory.FindAllStringSubmatch(latest.Text, maxEntries) {
		origin.Labels = append(origin.Labels, found[1])
	}
	for _, found := range wikiLink.FindAllStringSubmatch(latest.Text, maxEntries) {
		origin.Links = append(origin.Links, found[1])
	}
	if at := strings.LastIndexByte(p.Title, '/'); at > 0 { // a page below another one
		origin.Path, origin.Parent = strings.Split(p.Title[:at], "/"), p.Title[:at]
	}
	return yield(Item{Name: p.Title, Title: p.Title, ContentType: parse.MediaWiki.MediaType(), Content: []byte(latest.Text), Origin: origin}, nil)
}

// wikiAddress returns the address of a page beside that of the main page.
func wikiAddress(base, title string) string {
	main, err := url.Parse(base)
	if err != nil || main.Host == "" {
		return ""
	}
	main.Path = main.Path[:strings.LastIndexByte("/"+main.Path, '/')] + "/" + strings.ReplaceAll(title, " ", "_")
	main.Path, main.RawPath = strings.ReplaceAll(main.Path, "//", "/"), ""
	return main.String()
}
