package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// The service is killed at random moments of a run of a connector. In the end every page has exactly one
// document in its first version.
func TestConnectorsLoseNothingAlthoughRagdIsKilled(t *testing.T) {
	t.Parallel()
	needsDatabase(t)
	kills, pages := crashLoad()
	var read atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
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
		if r.URL.Path == "/" {
			for i := range pages {
				fmt.Fprintf(w, `<a href="/page-%d">more</a>`, i)
			}
		}
	}))
	t.Cleanup(site.Close)
	h := newHome(t, "RAGD_ALLOWED_PRIVATE_NETWORKS=127.0.0.1")
	service := h.serve()
	h.ragd("index", "create", "docs")
	h.ragd("connector", "create", "site", "--index", "docs", "--url", site.URL, "--delay", "10ms")
	for range kills {
		time.Sleep(time.Duration(100+rand.IntN(1000)) * time.Millisecond)
		stop(t, service, syscall.SIGKILL)
		service = h.serve()
	}
	var got struct {
		Status, Error string
		Counts        struct{ Seen, Failed int }
	}
	for deadline := time.Now().Add(3 * time.Minute); got.Status != "succeeded"; time.Sleep(200 * time.Millisecond) {
		if err := json.Unmarshal([]byte(h.ragd("connector", "get", "site", "--json")), &got); err != nil {
			t.Fatal(err)
		}
		if got.Status == "failed" || time.Now().After(deadline) {
			t.Fatalf("the run does not succeed: %+v", got)
		}
	}
	if got.Counts.Seen != pages+1 || got.Counts.Failed != 0 {
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
	if len(documents) != pages+1 || len(uris) != pages+1 {
		t.Errorf("%d documents of %d pages", len(documents), pages+1)
	}

	// A second run asks for all, and no page is sent.
	before := read.Load()
	h.ragd("connector", "sync", "site", "--wait")
	if after := read.Load(); after != before {
		t.Errorf("an unchanged website sent %d pages again", after-before)
	}
}
