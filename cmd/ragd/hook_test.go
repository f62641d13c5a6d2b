package main

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ragdhq/ragd/internal/service/testing/long"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// deliveries is a receiver of deliveries that remembers the uris of their documents.
type deliveries struct {
	URL string

	mu   sync.Mutex
	uris map[string]bool
}

func newDeliveries(t *testing.T) *deliveries {
	t.Helper()
	c := &deliveries{uris: map[string]bool{}}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		var event struct{ Data struct{ URI string } }
		if err := json.Unmarshal(body, &event); err != nil {
			t.Errorf("a delivery is no JSON: %v: %s", err, body)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.uris[event.Data.URI] = true
	}))
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

func (c *deliveries) documents() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.uris)
}

// The service is killed at random moments between commits and deliveries. In the end the
// receiver has the event of every document.
func TestHooksReceiveEveryEventAlthoughRagdIsKilled(t *testing.T) {
	long.Only(t)
	t.Parallel()
	needsDatabase(t)
	kills, documents := crashLoad()
	h := newHome(t, "RAGD_ALLOWED_PRIVATE_NETWORKS=127.0.0.1")
	service := h.serve()
	to := newDeliveries(t)
	h.ragd("index", "create", "docs")
	made := h.ragd("hook", "create", "all", to.URL, "--event", "document.ready")
	if !strings.Contains(made, "whsec_") {
		t.Fatalf("ragd hook create shows no secret: %s", made)
	}
	corpus := filepath.Join(h.dir, "corpus.jsonl")
	writeArticles(t, corpus, documents)
	var output bytes.Buffer
	ingest := h.command(t.Context(), "ingest", "--index", "docs", "--jsonl", corpus)
	ingest.Stdout, ingest.Stderr = &output, &output
	if err := ingest.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- ingest.Wait() }()
	for range kills {
		enough := to.documents() + 1 + rand.IntN(documents/kills)
		wait.For(t, "more events", func() bool { return to.documents() >= enough || len(done) > 0 })
		stop(t, service, syscall.SIGKILL)
		service = h.serve()
	}
	if err := <-done; err != nil {
		t.Fatalf("ragd ingest: %v\n%s", err, output.String())
	}
	wait.For(t, "the events of all documents", func() bool { return to.documents() >= documents })
	if list := h.ragd("hook", "deliveries", "all", "--status", "failed"); strings.Contains(list, "document.ready") {
		t.Errorf("failed deliveries: %s", list)
	}
}
