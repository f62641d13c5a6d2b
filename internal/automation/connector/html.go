package connector

import (
	"bytes"
	"errors"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// maxLinkBytes bounds the bytes of all links of a page together.
const maxLinkBytes = 64 << 10

// htmlPage is what a crawler wants to know of a page.
type htmlPage struct {
	title     string
	robots    string // directives in lower case, separated by commas
	canonical *url.URL
	links     []string // other pages of the same host, each once, in order
}

// readHTML reads a page. It does not fail: it returns what it found up to what it cannot read.
func readHTML(at *url.URL, content []byte) htmlPage {
	var found htmlPage
	base, host := at, at.Host
	seen, size, inTitle := map[string]bool{}, 0, false
	for tokens := html.NewTokenizer(bytes.NewReader(content)); ; {
		switch tokens.Next() {
		case html.ErrorToken:
			return found
		case html.TextToken:
			if inTitle && found.title == "" {
				found.title = textlimit.OneLine(string(tokens.Text()), maxReasonBytes)
			}
		case html.EndTagToken:
			inTitle = false
		case html.StartTagToken, html.SelfClosingTagToken:
			token := tokens.Token()
			inTitle = token.DataAtom == atom.Title
			switch token.DataAtom {
			case atom.Base:
				if u, err := pageURL(at, attribute(token, "href")); err == nil {
					base = u
				}
			case atom.Meta:
				if name := strings.ToLower(attribute(token, "name")); name == "robots" || name == UserAgent {
					found.robots += "," + strings.ToLower(attribute(token, "content"))
				}
			case atom.Link:
				if hasWord(attribute(token, "rel"), "canonical") && found.canonical == nil {
					found.canonical, _ = link(base, token)
				}
			case atom.A, atom.Area:
				u, err := link(base, token)
				if err != nil || u.Host != host || hasWord(attribute(token, "rel"), "nofollow") || seen[u.String()] {
					continue
				}
				if size += len(u.String()); size > maxLinkBytes || len(found.links) == maxLinks {
					continue
				}
				seen[u.String()] = true
				found.links = append(found.links, u.String())
			}
		}
	}
}

func link(base *url.URL, token html.Token) (*url.URL, error) {
	href := attribute(token, "href")
	if href == "" {
		return nil, errors.New("no address")
	}
	return pageURL(base, href)
}

func attribute(token html.Token, name string) string {
	for _, a := range token.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// hasWord reports whether a list that is separated by spaces has a word, in any case.
func hasWord(list, word string) bool {
	for one := range strings.FieldsSeq(list) {
		if strings.EqualFold(one, word) {
			return true
		}
	}
	return false
}
