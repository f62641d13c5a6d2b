package connector

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/temoto/robotstxt"
	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pattern"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/secure/outbound"
)

// Limits of websites.
const (
	maxPatterns      = 50
	maxPatternBytes  = 500
	maxDepth         = 20
	defaultDepth     = 5
	maxDelay         = time.Minute
	defaultDelay     = time.Second
	maxPageURLBytes  = 1000
	maxLinks         = 1000
	maxRobotsBytes   = 500 << 10
	maxSitemapBytes  = 10 << 20 // decompressed
	maxSitemaps      = 100
	maxSitemapLevels = 3
	pagesAtOnce      = 4 // that are read, unless robots.txt has a Crawl-delay
)

// Web is the pages of a website.
type Web struct {
	URL      string   `json:"url"`
	Sitemap  bool     `json:"sitemap,omitempty"`
	Include  []string `json:"include,omitempty"`
	Exclude  []string `json:"exclude,omitempty"`
	MaxDepth *int     `json:"maxDepth,omitempty"`
	DelayMS  *int     `json:"delayMs,omitempty"`
}

// complete implements kind.
func (w *Web) complete(guard *outbound.Guard) error {
	start, _, _ := strings.Cut(w.URL, "?")
	if err := guard.CheckURL("web.url", start); err != nil {
		return err
	}
	if _, err := pageURL(nil, w.URL); err != nil {
		return fault.Field("web.url", "must be an address of at most %d bytes", maxPageURLBytes)
	}
	for field, patterns := range map[string][]string{"web.include": w.Include, "web.exclude": w.Exclude} {
		if len(patterns) > maxPatterns {
			return fault.Field(field, "must be at most %d patterns, got %d", maxPatterns, len(patterns))
		}
		for _, text := range patterns {
			if err := textlimit.Check(field, text, maxPatternBytes); err != nil {
				return err
			}
			if !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "*") {
				return fault.Field(field, "%q must begin with / or *: it matches the path of a page", textlimit.Shorten(text, 100))
			}
		}
		if _, err := compilePatterns(patterns); err != nil {
			return fault.Field(field, "%s", err)
		}
	}
	w.MaxDepth, w.DelayMS = cmp.Or(w.MaxDepth, new(defaultDepth)), cmp.Or(w.DelayMS, new(int(defaultDelay.Milliseconds())))
	if *w.MaxDepth < 0 || *w.MaxDepth > maxDepth {
		return fault.Field("web.maxDepth", "must be between 0 and %d, got %d", maxDepth, *w.MaxDepth)
	}
	if most := int(maxDelay.Milliseconds()); *w.DelayMS < 0 || *w.DelayMS > most {
		return fault.Field("web.delayMs", "must be between 0 and %d, got %d", most, *w.DelayMS)
	}
	return nil
}

// compilePatterns returns an expression that matches what one of the patterns does, nil for none.
func compilePatterns(patterns []string) (*regexp.Regexp, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	alternatives := make([]string, len(patterns))
	for i, text := range patterns {
		alternatives[i] = strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, `.*`)
	}
	compiled, err := pattern.Compile(`^(?s:`+strings.Join(alternatives, "|")+`)$`, pattern.MaxStates)
	return compiled.Regexp, err
}

// pageURL returns the address of a page in its canonical form. base resolves relative ones; it may
// be nil.
func pageURL(base *url.URL, text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return nil, err
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return nil, errors.New("no page")
	}
	u.Host, u.Fragment, u.RawFragment = strings.ToLower(u.Host), "", ""
	if port := u.Port(); u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	if len(u.String()) > maxPageURLBytes {
		return nil, errors.New("too long")
	}
	return u, nil
}

// page is a page to read, so many links away from the start page.
type page struct {
	url   *url.URL
	depth int
}

// crawl is one walk of a website.
type crawl struct {
	walking

	web              *Web
	host             string
	robots           *robotstxt.Group
	include, exclude *regexp.Regexp
	seen             map[string]bool
	queue            []page
	atOnce           int  // requests
	more             bool // pages were left out
	partial          bool // a page with unknown links could not be read
}

// walk implements kind.
func (w *Web) walk(ctx context.Context, walking walking, visit func(Item) error) (listing, error) {
	start, err := pageURL(nil, w.URL)
	if err != nil {
		return listing{}, fmt.Errorf("read a stored address: %w", err)
	}
	c := &crawl{walking: walking, web: w, host: start.Host, seen: map[string]bool{}}
	c.fetch.delay = time.Duration(*w.DelayMS) * time.Millisecond
	if c.include, err = compilePatterns(w.Include); err != nil {
		return listing{}, err
	}
	if c.exclude, err = compilePatterns(w.Exclude); err != nil {
		return listing{}, err
	}
	if err := c.readRobots(ctx, start); err != nil {
		return listing{}, err
	}
	if w.Sitemap {
		if err := c.readSitemap(ctx, start, 1, &sitemaps{}); err != nil {
			return listing{}, err
		}
	} else {
		c.seen[start.String()] = true
		c.queue = []page{{start, 0}}
	}
	if err := c.readAll(ctx, visit); err != nil {
		return listing{}, err
	}
	if c.more {
		return listing{}, fault.New(fault.Exhausted, "the website has more than %d pages: name those that matter with include and exclude, or raise maxItems", c.maxItems)
	}
	return listing{keepOthers: c.partial}, nil
}

// fetchedPage is a page with its answer.
type fetchedPage struct {
	page

	known       State
	conditional bool
	answer      answer
	err         error
}

// readAll reads the pages in the queue, several at once, and visits them in their order.
func (c *crawl) readAll(ctx context.Context, visit func(Item) error) error {
	expected := 0 // pages whose states are known
	for i := 0; i < len(c.queue); {
		if i == expected {
			expected = min(i+statesAtOnce, len(c.queue))
			if err := c.expectPages(ctx, c.queue[i:expected]); err != nil {
				return err
			}
		}
		some := make([]fetchedPage, min(c.atOnce, expected-i))
		reads, reading := errgroup.WithContext(ctx)
		for j := range some {
			some[j].page, c.queue[i+j] = c.queue[i+j], page{}
			reads.Go(func() error { return c.fetchPage(reading, &some[j], i+j == 0 && !c.web.Sitemap) })
		}
		if err := reads.Wait(); err != nil {
			return err
		}
		for j := range some {
			if err := c.read(some[j], i+j == 0 && !c.web.Sitemap, visit); err != nil {
				return err
			}
		}
		i += len(some)
	}
	return nil
}

func (c *crawl) expectPages(ctx context.Context, pages []page) error {
	ids := make([]string, len(pages))
	for i, p := range pages {
		ids[i] = p.url.String()
	}
	return c.expect(ctx, ids)
}

// readRobots reads robots.txt as RFC 9309 says: without one everything is allowed; while it cannot
// be read, nothing is.
func (c *crawl) readRobots(ctx context.Context, start *url.URL) error {
	a, err := c.fetch.follow(ctx, &url.URL{Scheme: start.Scheme, Host: start.Host, Path: "/robots.txt"}, nil, maxRobotsBytes)
	if err != nil {
		return about("robots.txt", err)
	}
	if a.status >= 500 {
		return fault.New(fault.Unavailable, "robots.txt answered %d: until it can be read, nothing else is", a.status)
	}
	robots, err := robotstxt.FromStatusAndBytes(a.status, a.body)
	if err != nil {
		return fault.New(fault.Precondition, "robots.txt cannot be understood: %s", textlimit.OneLine(err.Error(), maxReasonBytes))
	}
	c.robots = robots.FindGroup(UserAgent)
	c.fetch.delay = max(c.fetch.delay, min(c.robots.CrawlDelay, maxDelay))
	if c.atOnce = 1; c.robots.CrawlDelay == 0 {
		c.atOnce, c.fetch.overlap = pagesAtOnce, true
	}
	return nil
}

// about returns an error with which a run ends, for one of an address without which it cannot go on.
func about(what string, err error) error {
	if endsRun(err) {
		return err
	}
	return fault.New(fault.Unavailable, "%s: %s", what, err)
}

// sitemaps counts what was read.
type sitemaps struct{ read int }

// readSitemap puts the pages of a sitemap, and of those that it names, into the queue.
func (c *crawl) readSitemap(ctx context.Context, at *url.URL, level int, all *sitemaps) error {
	if all.read++; all.read > maxSitemaps || level > maxSitemapLevels {
		return fault.New(fault.Exhausted, "the sitemap names more than %d others, or in more than %d levels", maxSitemaps, maxSitemapLevels)
	}
	a, err := c.fetch.follow(ctx, at, nil, maxSitemapBytes)
	if err == nil && a.status != http.StatusOK {
		err = &fetchError{fmt.Sprintf("answered %d", a.status)}
	}
	if err != nil {
		return about("the sitemap "+at.String(), err)
	}
	body, err := gunzip(a.body, maxSitemapBytes)
	var read struct {
		Pages []struct {
			Loc string `xml:"loc"`
		} `xml:"url"`
		Sitemaps []struct {
			Loc string `xml:"loc"`
		} `xml:"sitemap"`
	}
	if err == nil {
		err = xml.Unmarshal(body, &read)
	}
	if err != nil {
		return fault.New(fault.Precondition, "the sitemap %s is no valid XML: %s", at, textlimit.OneLine(err.Error(), maxReasonBytes))
	}
	for _, p := range read.Pages {
		if u, err := pageURL(at, p.Loc); err == nil {
			c.add(u, 0)
		}
	}
	for _, one := range read.Sitemaps {
		u, err := pageURL(at, one.Loc)
		if err != nil || u.Host != c.host {
			continue
		}
		if err := c.readSitemap(ctx, u, level+1, all); err != nil {
			return err
		}
	}
	return nil
}

// gunzip decompresses a gzip file, at most so many bytes. Other content it returns as it is.
func gunzip(content []byte, most int64) ([]byte, error) {
	if !bytes.HasPrefix(content, []byte{0x1f, 0x8b}) {
		return content, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(reader, most+1))
	if err == nil && int64(len(out)) > most {
		err = fmt.Errorf("more than %d bytes", most)
	}
	return out, err
}

// add puts a page into the queue, unless it is there already or not wanted.
func (c *crawl) add(u *url.URL, depth int) {
	id := u.String()
	if c.seen[id] || u.Host != c.host || !c.wants(u) {
		return
	}
	if len(c.seen) >= c.maxItems {
		c.more = true
		return
	}
	c.seen[id] = true
	c.queue = append(c.queue, page{u, depth})
}

// wants reports whether the settings and robots.txt allow a page.
func (c *crawl) wants(u *url.URL) bool {
	return c.selects(u) && c.robots.Test(u.RequestURI())
}

func (c *crawl) selects(u *url.URL) bool {
	path := u.RequestURI()
	return (c.include == nil || c.include.MatchString(path)) && (c.exclude == nil || !c.exclude.MatchString(path))
}

// fetchPage reads a page. An error is about the run.
func (c *crawl) fetchPage(ctx context.Context, p *fetchedPage, start bool) (err error) {
	if start && !c.robots.Test(p.url.RequestURI()) {
		return fault.New(fault.Precondition, "robots.txt does not allow the start page")
	}
	if p.known, err = c.known(ctx, p.url.String()); err != nil {
		return err
	}
	header := http.Header{"Accept": {"text/html,application/xhtml+xml,*/*;q=0.8"}}
	p.conditional = p.known.addTo(header)
	p.answer, p.err = c.fetch.get(ctx, p.url, header, maxItemBytes)
	if endsRun(p.err) {
		return p.err
	}
	return nil
}

// read visits a page that was read and puts its links into the queue. The start page must be there, and
// may be one that is read for its links alone.
func (c *crawl) read(fetched fetchedPage, start bool, visit func(Item) error) error {
	p, known, a, err := fetched.page, fetched.known, fetched.answer, fetched.err
	id := p.url.String()
	if err == nil && (a.status >= 400 || a.status == http.StatusNotModified && !fetched.conditional) {
		err = &fetchError{fmt.Sprintf("answered %d", a.status)}
	}
	gone := a.status == http.StatusNotFound || a.status == http.StatusGone
	switch {
	case err != nil && start && len(known.Links) == 0:
		return about("the start page", err)
	case err != nil && gone:
		return nil
	case err != nil:
		c.partial = c.partial || !known.Known
		c.follow(p, known.Links)
		known.Known = true
		return visit(Item{ID: id, Failed: err.Error(), State: known})
	case a.status == http.StatusNotModified:
		c.follow(p, known.Links)
		return visit(Item{ID: id, Unchanged: known.Skipped == "", Skipped: known.Skipped, State: known})
	case a.status >= 300:
		return c.redirected(p, start, a)
	}
	item := c.item(p, a)
	c.follow(p, item.State.Links)
	if !c.selects(p.url) {
		item.Skipped = "the start page is read for its links alone"
	}
	item.State.Skipped = item.Skipped
	return visit(item)
}

// redirected puts the page that another one redirects to into the queue, instead of it.
func (c *crawl) redirected(p page, start bool, a answer) error {
	to, err := redirect(p.url, a)
	if err == nil {
		to, err = pageURL(nil, to.String())
	}
	switch {
	case err != nil && start:
		return fault.New(fault.Unavailable, "the start page redirects to no page")
	case err != nil:
		return nil
	case start && to.Host != c.host:
		return fault.New(fault.Precondition, "the start page redirects to %s: give this address", to)
	case start && !c.robots.Test(to.RequestURI()):
		return fault.New(fault.Precondition, "robots.txt does not allow %s, to which the start page redirects", to)
	case start && !c.seen[to.String()]: // it is read even if it is not selected
		c.seen[to.String()] = true
		c.queue = append(c.queue, page{to, p.depth})
	default:
		c.add(to, p.depth)
	}
	return nil
}

// follow puts links of a page into the queue.
func (c *crawl) follow(p page, links []string) {
	most := *c.web.MaxDepth
	if c.web.Sitemap {
		most = 1 // the only link is that to the canonical page
	}
	if p.depth >= most {
		return
	}
	for _, link := range links {
		if u, err := pageURL(p.url, link); err == nil {
			c.add(u, p.depth+1)
		}
	}
}

// item returns what a page is.
func (c *crawl) item(p page, a answer) Item {
	contentType := a.header.Get("Content-Type")
	item := Item{
		ID: p.url.String(), ContentType: contentType, Content: a.body,
		State: stateOf(a.header),
	}
	if at, err := http.ParseTime(a.header.Get("Last-Modified")); err == nil {
		item.Modified = at
	}
	directives := strings.ToLower(strings.Join(a.header.Values("X-Robots-Tag"), ","))
	media, _, _ := mime.ParseMediaType(contentType)
	if media == "text/html" || media == "application/xhtml+xml" {
		found := readHTML(p.url, a.body)
		directives += "," + found.robots
		item.Title = found.title
		if !c.web.Sitemap {
			item.State.Links = found.links
		}
		if to := found.canonical; to != nil && to.Host == c.host && to.String() != item.ID {
			item.Skipped = "its canonical page is " + to.String()
			item.State.Links = append([]string{to.String()}, item.State.Links...)
		}
	}
	if hasDirective(directives, "nofollow") {
		item.State.Links = nil
	}
	if hasDirective(directives, "noindex") {
		item.Skipped = "it asks not to be indexed"
	}
	return item
}

// hasDirective reports whether the directives of a page, in lower case, have one.
func hasDirective(directives, name string) bool {
	return slices.ContainsFunc(strings.Split(directives, ","), func(one string) bool {
		one = strings.TrimSpace(one)
		return one == name || one == "none"
	})
}
