package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/service/testing/long"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// The service is killed at random moments of a run of a connector. In the end every page has exactly one
// document in its first version, and a second run reads no page and stores none. With RAGD_TEST_HUGE there are 5,000.
func TestConnectorsLoseNothingAlthoughRagdIsKilled(t *testing.T) {
	long.Only(t)
	t.Parallel()
	needsDatabase(t)
	kills, pages, patience := 3, 200, 5*time.Minute
	if os.Getenv("RAGD_TEST_HUGE") != "" {
		kills, pages, patience = 10, 5000, 30*time.Minute
	}
	var read atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		if r.URL.Path == "/sitemap.xml" { // a page has fewer links
			fmt.Fprint(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
			for i := range pages {
				fmt.Fprintf(w, `<url><loc>http://%s/page-%d</loc></url>`, r.Host, i)
			}
			fmt.Fprint(w, `</urlset>`)
			return
		}
		etag := `"` + r.URL.Path + `"`
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		read.Add(1)
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>Page %[1]s</title><p>This is the page %[1]s.</p>", r.URL.Path)
	}))
	t.Cleanup(site.Close)
	h := newHome(t, "RAGD_ALLOWED_PRIVATE_NETWORKS=127.0.0.1")
	service := h.serve()
	h.ragd("index", "create", "docs")
	h.ragd("connector", "create", "site", "--index", "docs", "--sitemap", site.URL+"/sitemap.xml", "--max-items", fmt.Sprint(pages), "--delay", "5ms")
	for range kills {
		enough := min(int(read.Load())+1+rand.IntN(pages/kills), pages)
		wait.For(t, "more pages to be read", func() bool { return int(read.Load()) >= enough })
		stop(t, service, syscall.SIGKILL)
		service = h.serve()
	}
	var got struct {
		Status, Error string
		Counts        struct{ Seen, Failed, Unchanged int }
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	succeeded := wait.Until(ctx, func() bool {
		if err := json.Unmarshal([]byte(h.ragd("connector", "get", "site", "--json")), &got); err != nil {
			t.Fatal(err)
		}
		if got.Status == "failed" {
			t.Fatalf("the run does not succeed: %+v", got)
		}
		return got.Status == "succeeded"
	})
	if !succeeded {
		t.Fatalf("the run does not end: %+v", got)
	}
	if got.Counts.Seen != pages || got.Counts.Failed != 0 {
		t.Errorf("run: %+v", got)
	}
	documents := strings.Split(strings.TrimSpace(h.ragd("document", "list", "--index", "docs", "--limit", "100000", "--json")), "\n")
	uris := map[string]bool{}
	for _, line := range documents {
		var d struct {
			URI     string
			Version int
		}
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if uris[d.URI] = true; d.Version != 1 {
			t.Errorf("%s has version %d", d.URI, d.Version)
		}
	}
	if len(documents) != pages || len(uris) != pages {
		t.Errorf("%d documents of %d pages", len(documents), pages)
	}

	// A second run asks for all, and no page is sent, and none is stored, and so embedded, again.
	jobs := func() string { return h.ragd("job", "list", "--limit", "100000", "--json") }
	ready := wait.Until(ctx, func() bool {
		return strings.Count(h.ragd("document", "list", "--index", "docs", "--limit", "100000", "--json"), `"ready"`) >= pages
	})
	if !ready {
		t.Fatal("documents do not get ready")
	}
	before, jobsBefore := read.Load(), strings.Count(jobs(), "\n")
	h.ragd("connector", "sync", "site", "--wait")
	if after := read.Load(); after != before {
		t.Errorf("an unchanged website sent %d pages again", after-before)
	}
	if after := strings.Count(jobs(), "\n"); after != jobsBefore || after < pages {
		t.Errorf("%d jobs after the second run, %d before", after, jobsBefore)
	}
	if err := json.Unmarshal([]byte(h.ragd("connector", "get", "site", "--json")), &got); err != nil || got.Counts.Unchanged != pages {
		t.Errorf("second run: %+v %v", got, err)
	}
}
