package connector_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// website serves pages from memory, with ETags, and remembers what it was asked for.
type website struct {
	URL string

	mu     sync.Mutex
	pages  map[string]string // paths to HTML, texts, or "301 /path" and "500"
	header map[string]http.Header
	asked  []string // paths with status and number of bytes
	before func(path string)
}

func newWebsite(t *testing.T, pages map[string]string) *website {
	t.Helper()
	w := &website{pages: pages, header: map[string]http.Header{}}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	w.URL = server.URL
	return w
}

// ServeHTTP implements http.Handler.
func (w *website) ServeHTTP(out http.ResponseWriter, req *http.Request) {
	path := req.URL.RequestURI()
	w.mu.Lock()
	before := w.before
	w.mu.Unlock()
	if before != nil {
		before(path)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	body, ok := w.pages[path]
	status := http.StatusOK
	etag := fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(body)))
	switch {
	case !ok:
		status, body = http.StatusNotFound, ""
	case strings.HasPrefix(body, "301 "):
		status = http.StatusMovedPermanently
		out.Header().Set("Location", body[len("301 "):])
	case body == "500":
		status = http.StatusInternalServerError
	case req.Header.Get("If-None-Match") == etag:
		status, body = http.StatusNotModified, ""
	}
	maps.Copy(out.Header(), w.header[path])
	if status == http.StatusOK || status == http.StatusNotModified {
		out.Header().Set("ETag", etag)
	}
	w.asked = append(w.asked, fmt.Sprintf("%s %d %d", path, status, len(body)))
	out.WriteHeader(status)
	_, _ = out.Write([]byte(body))
}

// set changes pages; those with an empty text are removed.
func (w *website) set(pages map[string]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for path, text := range pages {
		if w.pages[path] = text; text == "" {
			delete(w.pages, path)
		}
	}
}

// take returns the requests since the last call.
func (w *website) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := w.asked
	w.asked = nil
	return asked
}

func page(title string, links ...string) string {
	text := "<html><head><title>" + title + "</title></head><body><h1>" + title + "</h1><p>This page is about " + title + ".</p>"
	for _, link := range links {
		text += `<a href="` + link + `">more</a>`
	}
	return text + "</body></html>"
}

func newService(t *testing.T) *servicetest.Service {
	t.Helper()
	return servicetest.New(t, service.Config{AllowedPrivateNetworks: []string{"127.0.0.1"}})
}

func newTenant(t *testing.T, s *servicetest.Service, name string) servicetest.Client {
	t.Helper()
	c := s.Tenant(t, name)
	if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs"}); err != nil {
		t.Fatal(err)
	}
	return c
}

func web(w *ragdv1.WebSource) *ragdv1.CreateConnectorRequest {
	if w.DelayMs == nil {
		w.DelayMs = new(int32(0))
	}
	return &ragdv1.CreateConnectorRequest{ConnectorName: "site", Source: &ragdv1.CreateConnectorRequest_Web{Web: w}}
}

// create creates a connector and returns it when its first run has ended.
func create(t *testing.T, c servicetest.Client, req *ragdv1.CreateConnectorRequest) *ragdv1.Connector {
	t.Helper()
	if _, err := c.CreateConnector(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	return ended(t, c, nil)
}

// resync runs the connector and returns it when the run has ended.
func resync(t *testing.T, c servicetest.Client) *ragdv1.Connector {
	t.Helper()
	before, err := c.SyncConnector(t.Context(), &ragdv1.SyncConnectorRequest{ConnectorName: "site"})
	if err != nil {
		t.Fatal(err)
	}
	return ended(t, c, before)
}

// ended waits until a run has ended that began after the one before.
func ended(t *testing.T, c servicetest.Client, before *ragdv1.Connector) *ragdv1.Connector {
	t.Helper()
	var now *ragdv1.Connector
	wait.For(t, "the end of the run", func() bool {
		var err error
		if now, err = c.GetConnector(t.Context(), &ragdv1.GetConnectorRequest{ConnectorName: "site"}); err != nil {
			t.Fatal(err)
		}
		began := now.StartTime != nil && (before == nil || before.StartTime == nil || now.StartTime.AsTime().After(before.StartTime.AsTime()))
		return began && now.Status != "running" && now.EndTime != nil
	})
	return now
}

// documents returns the uris of the documents, without the address of the website, with their versions.
func documents(t *testing.T, c servicetest.Client, site *website) []string {
	t.Helper()
	return documentsUnder(t, c, site.URL)
}

// documentsUnder is documents for uris that begin with a prefix, which is left out.
func documentsUnder(t *testing.T, c servicetest.Client, prefix string) []string {
	t.Helper()
	list, err := c.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs"})
	if err != nil {
		t.Fatal(err)
	}
	uris := []string{}
	for _, d := range list.Documents {
		uris = append(uris, fmt.Sprintf("%s v%d", strings.TrimPrefix(d.Uri, prefix), d.Version))
	}
	slices.Sort(uris)
	return uris
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAWebsiteIsFollowed(t *testing.T) {
	t.Parallel()
	site := newWebsite(t, map[string]string{
		"/robots.txt": "User-agent: *\nDisallow: /private/\n",
		"/":           page("home", "/a", "b?x=1#part", "/private/c", "https://example.com/else", "/a#again", "/old", "mailto:a@example.com"),
		"/a":          page("a", "/deep"),
		"/b?x=1":      page("b"),
		"/old":        "301 /new",
		"/new":        page("new"),
		"/deep":       page("deep"),
		"/private/c":  page("secret"),
	})
	s := newService(t)
	acme, bolt := newTenant(t, s, "acme"), newTenant(t, s, "bolt")
	req := web(&ragdv1.WebSource{Url: site.URL})
	req.Metadata = map[string]string{"about": `item.title + "!"`, "none": "null"}
	got := create(t, acme, req)
	if got.Status != "succeeded" || got.Counts.Added != 5 || got.Counts.Seen != 5 {
		t.Errorf("first run: %v", got)
	}
	want := []string{"/ v1", "/a v1", "/b?x=1 v1", "/deep v1", "/new v1"}
	equal(t, "documents", documents(t, acme, site), want)
	list, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs"})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list.Documents {
		if m := d.Metadata.AsMap(); len(m) != 2 || m["connector"] != "site" || m["about"] != d.Title+"!" {
			t.Errorf("metadata of %s: %v", d.Title, m)
		}
	}

	// Nothing has changed: no body is sent, no document is stored.
	site.take()
	got = resync(t, acme)
	if got.Counts.Unchanged != 5 || got.Counts.Added+got.Counts.Updated+got.Counts.Deleted != 0 {
		t.Errorf("second run: %v", got)
	}
	for _, asked := range site.take() {
		if !strings.HasPrefix(asked, "/robots.txt") && !strings.HasPrefix(asked, "/old") && !strings.HasSuffix(asked, " 304 0") {
			t.Errorf("the second run asked for %s", asked)
		}
	}
	equal(t, "documents", documents(t, acme, site), want)

	// A page changes, one is gone, one begins to be left out, and one fails for a while.
	site.set(map[string]string{"/a": page("a2", "/deep"), "/b?x=1": "", "/new": strings.Replace(page("new"), "<head>", `<head><meta name="robots" content="noindex">`, 1), "/deep": "500"})
	got = resync(t, acme)
	if n := got.Counts; got.Status != "succeeded" || n.Updated != 1 || n.Deleted != 2 || n.Skipped != 1 || n.Failed != 1 || n.Unchanged != 1 {
		t.Errorf("third run: %v", got)
	}
	equal(t, "documents", documents(t, acme, site), []string{"/ v1", "/a v2", "/deep v1"})
	failed, err := acme.ListConnectorItems(t.Context(), &ragdv1.ListConnectorItemsRequest{ConnectorName: "site", Status: "failed"})
	if err != nil || len(failed.Items) != 1 || failed.Items[0].Id != site.URL+"/deep" || failed.Items[0].Reason != "answered 500" {
		t.Errorf("failed: %v %v", failed, err)
	}

	// The other tenant has none of it.
	if _, err := bolt.GetConnector(t.Context(), &ragdv1.GetConnectorRequest{ConnectorName: "site"}); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("another tenant: %v", err)
	}
	equal(t, "documents of another tenant", documents(t, bolt, site), []string{})
	deleted, err := acme.DeleteConnector(t.Context(), &ragdv1.DeleteConnectorRequest{ConnectorName: "site", DeleteDocuments: true})
	if err != nil || deleted.DeletedCount != 3 {
		t.Errorf("delete: %v %v", deleted, err)
	}
	equal(t, "documents", documents(t, acme, site), []string{})
}

// Two tenants have connectors of the same name for the same site. What one does with its own changes
// nothing of the other's.
func TestConnectorsOfTenantsAreApart(t *testing.T) {
	t.Parallel()
	site := newWebsite(t, map[string]string{"/": page("home", "/a"), "/a": page("a")})
	s := newService(t)
	acme, bolt := newTenant(t, s, "acme"), newTenant(t, s, "bolt")
	create(t, bolt, web(&ragdv1.WebSource{Url: site.URL}))
	rows := func() string {
		var sum string
		if err := s.Pool.QueryRow(t.Context(), `
			SELECT md5(coalesce(string_agg(r, '|' ORDER BY r), '')) FROM (
				SELECT c::text AS r FROM ragd_shared.connectors AS c WHERE tenant_id = 'bolt'
				UNION ALL SELECT i::text FROM ragd_shared.connector_items AS i WHERE tenant_id = 'bolt') AS all_rows`).Scan(&sum); err != nil {
			t.Fatal(err)
		}
		return sum
	}
	before := rows()
	create(t, acme, web(&ragdv1.WebSource{Url: site.URL}))
	site.set(map[string]string{"/": page("other"), "/a": ""})
	resync(t, acme)
	ctx := t.Context()
	for what, err := range map[string]error{
		"update": second(acme.UpdateConnector(ctx, &ragdv1.UpdateConnectorRequest{ConnectorName: "site", Description: new("changed")})),
		"pause":  second(acme.PauseConnector(ctx, &ragdv1.PauseConnectorRequest{ConnectorName: "site"})),
		"resume": second(acme.ResumeConnector(ctx, &ragdv1.ResumeConnectorRequest{ConnectorName: "site"})),
		"test":   second(acme.TestConnector(ctx, &ragdv1.TestConnectorRequest{ConnectorName: "site"})),
		"items":  second(acme.ListConnectorItems(ctx, &ragdv1.ListConnectorItemsRequest{ConnectorName: "site"})),
		"delete": second(acme.DeleteConnector(ctx, &ragdv1.DeleteConnectorRequest{ConnectorName: "site", DeleteDocuments: true})),
	} {
		if err != nil && what != "update" && connect.CodeOf(err) != connect.CodeNotFound { // in any order
			t.Errorf("%s: %v", what, err)
		}
	}
	if after := rows(); after != before {
		t.Error("calls of one tenant changed rows of the other")
	}
	equal(t, "documents of the other", documents(t, bolt, site), []string{"/ v1", "/a v1"})
	if list, err := acme.ListConnectors(ctx, &ragdv1.ListConnectorsRequest{}); err != nil || len(list.Connectors) > 1 {
		t.Errorf("list: %v %v", list, err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestASitemapIsRead(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	site := newWebsite(t, map[string]string{
		"/docs/a": page("a", "/other"), "/docs/b": strings.Replace(page("b"), "<head>", `<head><link rel="canonical" href="/docs/a">`, 1), "/blog": page("blog"), "/other": page("other"),
		"/docs/c.md": "# C\n\nThis is about c.",
	})
	if _, err := fmt.Fprintf(zip, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>%[1]s/docs/a</loc></url><url><loc>%[1]s/docs/b</loc></url><url><loc>%[1]s/docs/c.md</loc></url><url><loc>%[1]s/blog</loc></url></urlset>`, site.URL); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	site.set(map[string]string{
		"/pages.xml.gz": packed.String(),
		"/sitemap.xml":  `<sitemapindex><sitemap><loc>` + site.URL + `/pages.xml.gz</loc></sitemap></sitemapindex>`,
	})
	site.header["/docs/c.md"] = http.Header{"Content-Type": {"text/markdown"}}
	acme := newTenant(t, newService(t), "acme")
	req := web(&ragdv1.WebSource{Url: site.URL + "/sitemap.xml", Sitemap: true, Include: []string{"/docs/*"}})
	req.Paused = true
	if _, err := acme.CreateConnector(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	tested, err := acme.TestConnector(t.Context(), &ragdv1.TestConnectorRequest{ConnectorName: "site"})
	if err != nil || len(tested.Items) != 3 || !tested.Complete {
		t.Fatalf("test: %v %v", tested, err)
	}
	if skipped := tested.Items[1]; skipped.Status != "skipped" || !strings.Contains(skipped.Reason, "/docs/a") {
		t.Errorf("a page with another canonical one: %v", skipped)
	}
	equal(t, "documents after a test", documents(t, acme, site), []string{})
	if _, err := acme.ResumeConnector(t.Context(), &ragdv1.ResumeConnectorRequest{ConnectorName: "site"}); err != nil {
		t.Fatal(err)
	}
	if got := ended(t, acme, nil); got.Status != "succeeded" {
		t.Errorf("run: %v", got)
	}
	equal(t, "documents", documents(t, acme, site), []string{"/docs/a v1", "/docs/c.md v1"})
}

func TestMoreThanHalfIsNotDeletedUnasked(t *testing.T) {
	t.Parallel()
	site := newWebsite(t, map[string]string{"/": page("home", "/a", "/b"), "/a": page("a"), "/b": page("b")})
	acme := newTenant(t, newService(t), "acme")
	create(t, acme, web(&ragdv1.WebSource{Url: site.URL}))
	site.set(map[string]string{"/": page("home"), "/a": "", "/b": ""})
	got := resync(t, acme)
	if !got.Paused || !strings.HasPrefix(got.PausedReason, "2 of 3 documents") || got.Counts.Deleted != 0 {
		t.Errorf("run: %v", got)
	}
	if n := len(documents(t, acme, site)); n != 3 {
		t.Errorf("%d documents", n)
	}
	if _, err := acme.SyncConnector(t.Context(), &ragdv1.SyncConnectorRequest{ConnectorName: "site"}); connect.CodeOf(err) != connect.CodeFailedPrecondition {
		t.Errorf("sync while paused: %v", err)
	}
	if _, err := acme.ResumeConnector(t.Context(), &ragdv1.ResumeConnectorRequest{ConnectorName: "site", AcceptDeletions: true}); err != nil {
		t.Fatal(err)
	}
	if got = ended(t, acme, got); got.Paused || got.Counts.Deleted != 2 {
		t.Errorf("run after the consent: %v", got)
	}
	equal(t, "documents", documents(t, acme, site), []string{"/ v2"})
}

func TestTheLastRunsAreKept(t *testing.T) {
	t.Parallel()
	site := newWebsite(t, map[string]string{"/": page("home", "/a"), "/a": page("a")})
	s := newService(t)
	acme := newTenant(t, s, "acme")
	first := create(t, acme, web(&ragdv1.WebSource{Url: site.URL}))
	if _, err := s.Pool.Exec(t.Context(), `UPDATE ragd_shared.connectors SET runs = (SELECT jsonb_agg(r) FROM (SELECT runs->0 AS r FROM generate_series(1, 20)) AS same)`); err != nil {
		t.Fatal(err)
	}
	site.set(map[string]string{"/a": "500"})
	now := resync(t, acme)
	if len(now.Runs) != 20 {
		t.Fatalf("%d runs: %v", len(now.Runs), now.Runs)
	}
	for i, of := range map[int]*ragdv1.Connector{0: now, 1: first, 19: first} {
		run := now.Runs[i]
		if run.Status != of.Status || run.Error != of.Error || !proto.Equal(run.Counts, of.Counts) || !proto.Equal(run.StartTime, of.StartTime) || !proto.Equal(run.EndTime, of.EndTime) {
			t.Errorf("run %d: %v, want that of %v", i, run, of)
		}
	}
	if now.Counts.Failed != 1 || first.Counts.Added != 2 {
		t.Errorf("runs: %v", now.Runs)
	}
	list, err := acme.ListConnectors(t.Context(), &ragdv1.ListConnectorsRequest{})
	if err != nil || len(list.Connectors) != 1 || len(list.Connectors[0].Runs) != 0 {
		t.Errorf("list: %v, %v", list, err)
	}
}

// What a hostile source does fails its connector with a reason, and deletes nothing.
func TestAHostileWebsiteFailsItsConnectorAlone(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	zip := gzip.NewWriter(&bomb)
	if _, err := zip.Write(make([]byte, 40<<20)); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			http.NotFound(w, r)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write(bomb.Bytes())
		case "/lie": // it was not asked whether the page has changed
			w.WriteHeader(http.StatusNotModified)
		default:
			_, _ = fmt.Fprint(w, page("page "+r.URL.Path, "/loop", "/bomb", "/lie", r.URL.Path+"/x", r.URL.Path+"/y"))
		}
	}))
	t.Cleanup(endless.Close)
	acme := newTenant(t, newService(t), "acme")
	req := web(&ragdv1.WebSource{Url: endless.URL + "/p", MaxDepth: new(int32(20))})
	req.MaxItems = 12
	got := create(t, acme, req)
	if got.Status != "failed" || !strings.Contains(got.Error, "more than 12 pages") || got.Counts.Deleted != 0 {
		t.Errorf("run: %v", got)
	}
	failed, err := acme.ListConnectorItems(t.Context(), &ragdv1.ListConnectorItemsRequest{ConnectorName: "site", Status: "failed"})
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{}
	for _, i := range failed.Items {
		reasons[strings.TrimPrefix(i.Id, endless.URL)] = i.Reason
	}
	if want := map[string]string{"/bomb": "has more than 16777216 bytes", "/lie": "answered 304"}; !maps.Equal(reasons, want) {
		t.Errorf("failed: %v", reasons)
	}
}

// Pages are read several at once, unless robots.txt asks for a delay.
func TestPagesAreReadAtOnceWithinPoliteness(t *testing.T) {
	t.Parallel()
	for robots, polite := range map[string]bool{"User-agent: *\nDisallow:": false, "User-agent: *\nCrawl-delay: 0.001": true} {
		links, pages := []string{}, map[string]string{"/robots.txt": robots}
		for i := range 20 {
			path := fmt.Sprintf("/p%d", i)
			links, pages[path] = append(links, path), page("page "+path)
		}
		pages["/"] = page("home", links...)
		site := newWebsite(t, pages)
		var mu sync.Mutex
		now, most := 0, 0
		met := make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			switch r.URL.Path {
			case "/p2":
				close(met)
			case "/p1":
				if !polite {
					<-met // both are read at the same time
				}
			}
			site.ServeHTTP(w, r)
			mu.Lock()
			now--
			mu.Unlock()
		}))
		t.Cleanup(server.Close)
		acme := newTenant(t, newService(t), "acme")
		got := create(t, acme, web(&ragdv1.WebSource{Url: server.URL}))
		if got.Status != "succeeded" || got.Counts.Added != 21 {
			t.Errorf("%q: %v", robots, got)
		}
		if polite && most != 1 || most > 4 {
			t.Errorf("%q: %d requests at once", robots, most)
		}
	}
}

func TestRobotsTxtThatCannotBeReadForbidsAll(t *testing.T) {
	t.Parallel()
	site := newWebsite(t, map[string]string{"/robots.txt": "500", "/": page("home")})
	acme := newTenant(t, newService(t), "acme")
	if got := create(t, acme, web(&ragdv1.WebSource{Url: site.URL})); got.Status != "failed" || !strings.Contains(got.Error, "robots.txt answered 500") {
		t.Errorf("run: %v", got)
	}
	site.set(map[string]string{"/robots.txt": "User-agent: ragd\nDisallow: /\n"})
	if got := resync(t, acme); got.Status != "failed" || got.Error != "robots.txt does not allow the start page" {
		t.Errorf("run: %v", got)
	}
}

// Without a setting of the operator, a connector cannot reach the network of the service, by address, name
// or redirect.
func TestConnectorsStayOutOfTheOperatorsNetwork(t *testing.T) {
	t.Parallel()
	site := newWebsite(t, map[string]string{"/": page("home")})
	acme := newTenant(t, servicetest.New(t, service.Config{}), "acme")
	if _, err := acme.CreateConnector(t.Context(), web(&ragdv1.WebSource{Url: site.URL})); connect.CodeOf(err) != connect.CodeFailedPrecondition {
		t.Errorf("an address: %v", err)
	}
	got := create(t, acme, web(&ragdv1.WebSource{Url: strings.Replace(site.URL, "127.0.0.1", "localhost", 1)}))
	if got.Status != "failed" || !strings.Contains(got.Error, "allowed-private-networks") {
		t.Errorf("a name: %v", got)
	}
	if asked := site.take(); len(asked) != 0 {
		t.Errorf("it was asked for %v", asked)
	}
}

// A run that is paused ends, and one that goes on finds what was stored.
func TestARunCanBePaused(t *testing.T) {
	t.Parallel()
	links, pages := []string{}, map[string]string{}
	for i := range 30 {
		path := fmt.Sprintf("/p%d", i)
		links, pages[path] = append(links, path), page("page "+path)
	}
	pages["/"] = page("home", links...)
	site := newWebsite(t, pages)
	reached, goOn := make(chan struct{}), make(chan struct{})
	site.before = func(path string) {
		if path == "/p5" {
			close(reached)
			<-goOn
		}
	}
	acme := newTenant(t, newService(t), "acme")
	if _, err := acme.CreateConnector(t.Context(), web(&ragdv1.WebSource{Url: site.URL})); err != nil {
		t.Fatal(err)
	}
	<-reached
	_, err := acme.PauseConnector(t.Context(), &ragdv1.PauseConnectorRequest{ConnectorName: "site"})
	site.mu.Lock()
	site.before = nil
	site.mu.Unlock()
	close(goOn)
	if err != nil {
		t.Fatal(err)
	}
	got := ended(t, acme, nil)
	if got.Status != "failed" || !got.Paused || got.Counts.Deleted != 0 {
		t.Errorf("paused: %v", got)
	}
	if n := len(documents(t, acme, site)); n == 0 || n > 10 {
		t.Errorf("%d documents", n)
	}
	if _, err := acme.ResumeConnector(t.Context(), &ragdv1.ResumeConnectorRequest{ConnectorName: "site"}); err != nil {
		t.Fatal(err)
	}
	if got = ended(t, acme, got); got.Status != "succeeded" || got.Counts.Seen != 31 {
		t.Errorf("resumed: %v", got)
	}
	if n := len(documents(t, acme, site)); n != 31 {
		t.Errorf("%d documents", n)
	}
}

func TestARevokedKeyEndsItsConnector(t *testing.T) {
	t.Parallel()
	site := newWebsite(t, map[string]string{"/": page("home")})
	s := newService(t)
	acme := newTenant(t, s, "acme")
	made, err := acme.CreateApiKey(t.Context(), &ragdv1.CreateApiKeyRequest{DisplayName: "short", Scopes: []string{"admin"}})
	if err != nil {
		t.Fatal(err)
	}
	create(t, s.Client(made.Secret), web(&ragdv1.WebSource{Url: site.URL}))
	if _, err := acme.RevokeApiKey(t.Context(), &ragdv1.RevokeApiKeyRequest{ApiKeyId: made.ApiKey.ApiKeyId}); err != nil {
		t.Fatal(err)
	}
	if got := resync(t, acme); got.Status != "failed" || !strings.Contains(got.Error, "revoked") {
		t.Errorf("run: %v", got)
	}
}

func TestWhoMayNotUseConnectors(t *testing.T) {
	t.Parallel()
	s := newService(t)
	newTenant(t, s, "acme")
	for what, req := range map[string]*ragdv1.CreateApiKeyRequest{
		"scope write": {TenantId: "acme", Scopes: []string{"write"}},
		"filter":      {TenantId: "acme", Scopes: []string{"admin"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})},
	} {
		c := s.Client(s.Key(t, req))
		if _, err := c.CreateConnector(t.Context(), web(&ragdv1.WebSource{Url: "https://example.com"})); connect.CodeOf(err) != connect.CodePermissionDenied {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestInvalidConnectorsAreRejected(t *testing.T) {
	t.Parallel()
	acme := newTenant(t, newService(t), "acme")
	for field, change := range map[string]func(*ragdv1.CreateConnectorRequest){
		"connectorName": func(r *ragdv1.CreateConnectorRequest) { r.ConnectorName = "a b" },
		"source":        func(r *ragdv1.CreateConnectorRequest) { r.Source = nil },
		"web.url":       func(r *ragdv1.CreateConnectorRequest) { r.GetWeb().Url = "ftp://example.com" },
		"web.include":   func(r *ragdv1.CreateConnectorRequest) { r.GetWeb().Include = []string{"docs"} },
		"web.exclude":   func(r *ragdv1.CreateConnectorRequest) { r.GetWeb().Exclude = make([]string, 51) },
		"web.maxDepth":  func(r *ragdv1.CreateConnectorRequest) { r.GetWeb().MaxDepth = new(int32(21)) },
		"web.delayMs":   func(r *ragdv1.CreateConnectorRequest) { r.GetWeb().DelayMs = new(int32(-1)) },
		"maxItems":      func(r *ragdv1.CreateConnectorRequest) { r.MaxItems = 50_001 },
		"metadata.a":    func(r *ragdv1.CreateConnectorRequest) { r.Metadata = map[string]string{"a": "item."} },
		"metadata":      func(r *ragdv1.CreateConnectorRequest) { r.Metadata = map[string]string{"connector": "1"} },
		"schedule":      func(r *ragdv1.CreateConnectorRequest) { r.Schedule = "* * * * *" },
	} {
		req := web(&ragdv1.WebSource{Url: "https://example.com"})
		change(req)
		_, err := acme.CreateConnector(t.Context(), req)
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, schedule := range []string{"TZ=UTC 0 3 * * *", "0 0 30 2 *", "@every 10s", "soon", "0,1 3 * * *", strings.Repeat("1,", 100)} {
		req := web(&ragdv1.WebSource{Url: "https://example.com"})
		req.Schedule = schedule
		if _, err := acme.CreateConnector(t.Context(), req); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%q: %v", schedule, err)
		}
	}
	if _, err := acme.GetConnector(context.Background(), &ragdv1.GetConnectorRequest{ConnectorName: "site"}); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("none was stored: %v", err)
	}
}

// A run of a tenant that is deleted meanwhile ends, and is not tried again.
func TestTheRunOfADeletedTenantEnds(t *testing.T) {
	t.Parallel()
	site := newWebsite(t, map[string]string{"/": page("start", "/a", "/b"), "/a": page("a"), "/b": page("b")})
	entered, leave := make(chan struct{}), make(chan struct{})
	var once sync.Once
	site.before = func(path string) {
		if path == "/a" {
			once.Do(func() { close(entered); <-leave })
		}
	}
	s := newService(t)
	acme := newTenant(t, s, "acme")
	if _, err := acme.CreateConnector(t.Context(), web(&ragdv1.WebSource{Url: site.URL + "/"})); err != nil {
		t.Fatal(err)
	}
	<-entered
	if _, err := s.Client(servicetest.OperatorKey).DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: "acme"}); err != nil {
		t.Error(err)
	}
	close(leave)
	wait.For(t, "the task is given up", func() bool {
		var tasks int
		err := s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM ragd.river_job WHERE args->>'tenant' = 'acme' AND state NOT IN ('cancelled', 'completed')`).Scan(&tasks)
		return err == nil && tasks == 0
	})
}
