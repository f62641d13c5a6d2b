package connector

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mmcdole/gofeed"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/secure/outbound"
)

// maxFeedBytes bounds a feed, decompressed.
const maxFeedBytes = 10 << 20

// Feed is the entries of an RSS, Atom or JSON feed.
type Feed struct {
	URL string `json:"url"`
	// DeleteMissing deletes the documents of entries that the feed no longer has.
	DeleteMissing bool `json:"deleteMissing,omitempty"`
}

// complete implements kind.
func (f *Feed) complete(guard *outbound.Guard) error {
	address, _, _ := strings.Cut(f.URL, "?")
	if err := guard.CheckURL("feed.url", address); err != nil {
		return err
	}
	if _, err := pageURL(nil, f.URL); err != nil {
		return fault.Field("feed.url", "must be an address of at most %d bytes", maxPageURLBytes)
	}
	return nil
}

// walk implements kind.
func (f *Feed) walk(ctx context.Context, w walking, visit func(Item) error) (listing, error) {
	address, err := pageURL(nil, f.URL)
	if err != nil {
		return listing{}, fmt.Errorf("read a stored address: %w", err)
	}
	header := http.Header{"Accept": {"application/atom+xml,application/rss+xml,application/feed+json,application/xml;q=0.9,*/*;q=0.8"}}
	conditional := w.source.addTo(header)
	a, err := w.fetch.follow(ctx, address, header, maxFeedBytes)
	switch {
	case err != nil:
		return listing{}, about("the feed", err)
	case a.status == http.StatusNotModified && conditional: // its entries are what they were
		return listing{keepOthers: true, state: w.source}, nil
	case a.status != http.StatusOK:
		return listing{}, fault.New(fault.Unavailable, "the feed answered %d", a.status)
	}
	read, err := gofeed.NewParser().Parse(bytes.NewReader(a.body))
	if err != nil {
		return listing{}, fault.New(fault.Precondition, "the feed cannot be read: %s", textlimit.OneLine(err.Error(), maxReasonBytes))
	}
	found := listing{keepOthers: !f.DeleteMissing, state: stateOf(a.header)}
	return found, f.entries(address, read, w.maxItems, visit)
}

// entries visits the entries of a feed, each once.
func (f *Feed) entries(address *url.URL, read *gofeed.Feed, most int, visit func(Item) error) error {
	seen := map[string]bool{}
	for _, e := range read.Items {
		item := entry(address, read, e)
		if item.ID == "" || seen[item.ID] {
			continue
		}
		if len(seen) == most {
			return fault.New(fault.Exhausted, "the feed has more than %d entries: raise maxItems", most)
		}
		seen[item.ID] = true
		if err := visit(item); err != nil {
			return err
		}
	}
	return nil
}

// entry returns an entry of a feed as an item, without ID if it has no usable one.
func entry(address *url.URL, of *gofeed.Feed, e *gofeed.Item) Item {
	item := Item{Title: textlimit.OneLine(html.UnescapeString(e.Title), maxReasonBytes), ContentType: "text/html", State: State{Known: true}}
	if u, err := pageURL(address, e.Link); e.Link != "" && err == nil {
		item.ID = u.String()
	} else if e.GUID != "" && len(e.GUID) <= maxPageURLBytes {
		item.ID = e.GUID
	}
	authors := []any{}
	for _, one := range e.Authors {
		if one != nil {
			authors = append(authors, one.Name)
		}
	}
	categories := []any{}
	for _, one := range e.Categories {
		categories = append(categories, one)
	}
	item.Attributes = map[string]any{"feed": of.Title, "guid": e.GUID, "authors": authors, "categories": categories, "publishedTime": nil}
	if at := e.PublishedParsed; at != nil {
		item.Attributes["publishedTime"] = at.UTC().Format(time.RFC3339)
	}
	if at := cmp.Or(e.UpdatedParsed, e.PublishedParsed); at != nil {
		item.Modified = *at
	}
	text := cmp.Or(e.Content, e.Description)
	switch {
	case strings.TrimSpace(text) == "":
		item.Skipped = "it has no text"
	case len(text) > maxItemBytes:
		item.Failed = fmt.Sprintf("has more than %d bytes", maxItemBytes)
	default:
		item.Content = []byte("<!DOCTYPE html><title>" + html.EscapeString(item.Title) + "</title><h1>" + html.EscapeString(item.Title) + "</h1>\n" + text)
	}
	return item
}
