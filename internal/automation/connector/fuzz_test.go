package connector

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mmcdole/gofeed"
)

// storable reports whether PostgreSQL and protocol buffers take a text.
func storable(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

func FuzzPage(f *testing.F) {
	f.Add([]byte(`<base href="/a/"><title>Tides &amp; winds</title><a href="b?c#d">x</a><a rel="nofollow" href=e>y</a><link rel=canonical href=//example.com/z><meta name=robots content="noindex">`))
	f.Add([]byte("<title>\xff\x00</title><a href='http://other.example.com'><a href='%00'><area href='\xff'>"))
	at := &url.URL{Scheme: "https", Host: "example.com", Path: "/docs/"}
	f.Fuzz(func(t *testing.T, content []byte) {
		found := readHTML(at, content)
		if !storable(found.title) || len(found.title) > maxReasonBytes {
			t.Errorf("title %q", found.title)
		}
		size := 0
		seen := map[string]bool{}
		for _, link := range found.links {
			size += len(link)
			u, err := pageURL(nil, link)
			if err != nil || u.String() != link || u.Host != at.Host || seen[link] || !storable(link) {
				t.Errorf("link %q is read as %v, %v", link, u, err)
			}
			seen[link] = true
		}
		if len(found.links) > maxLinks || size > maxLinkBytes {
			t.Errorf("%d links with %d bytes", len(found.links), size)
		}
	})
}

func FuzzFeed(f *testing.F) {
	f.Add([]byte(`<rss version="2.0"><channel><title>News</title><item><title>One &amp;amp; all</title><link>/one</link><guid>1</guid><description>&lt;p&gt;Text&lt;/p&gt;</description><pubDate>Mon, 02 Nov 2026 10:00:00 GMT</pubDate></item></channel></rss>`))
	f.Add([]byte(`<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>urn:x</id><title>T</title><updated>2026-11-02T10:00:00Z</updated><author><name>A</name></author><content>c</content></entry></feed>`))
	f.Add([]byte(`{"version":"https://jsonfeed.org/version/1.1","title":"J","items":[{"id":"a\u0000b","content_text":"c\u0000d","tags":["x"]},{"id":"\ud800"}]}`))
	at := &url.URL{Scheme: "https", Host: "example.com", Path: "/feed"}
	f.Fuzz(func(t *testing.T, content []byte) {
		read, err := gofeed.NewParser().Parse(bytes.NewReader(content))
		if err != nil {
			return
		}
		seen := map[string]bool{}
		err = (&Feed{}).entries(at, read, 100, func(item Item) error {
			if item = named(item); item.ID == "" || !storable(item.ID) || !storable(item.Title) || !storable(item.Failed) || len(item.ID) > maxPageURLBytes {
				t.Errorf("item %+v", item)
			}
			if item.Failed == "" && seen[item.ID] {
				t.Errorf("%q is visited twice", item.ID)
			}
			seen[item.ID] = true
			return nil
		})
		if err != nil && len(seen) != 100 {
			t.Errorf("%d items, then %v", len(seen), err)
		}
	})
}

func FuzzAddress(f *testing.F) {
	for _, text := range []string{"HTTP://Example.com:80", "//a/b#c", "?q=%zz", "https://u:p@h/", "http://[::1]:443/%2e%2e/", "../..", "\u00e4\xff"} {
		f.Add(text)
	}
	base := &url.URL{Scheme: "https", Host: "example.com", Path: "/docs/"}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := pageURL(base, text)
		if err != nil {
			return
		}
		again, err := pageURL(nil, u.String())
		if err != nil || again.String() != u.String() || !storable(u.String()) || len(u.String()) > maxPageURLBytes || u.User != nil {
			t.Errorf("%q is %q, and that is %v, %v", text, u, again, err)
		}
	})
}
