package connector

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/utils/ioutil"
)

// A library that goes on reading an answer after its walk was cancelled counts safely.
func TestAnAnswerIsCountedWhileItsWalkEnds(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "the beginning")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(t.Context())
	m := &meter{fetch: &fetcher{client: &http.Client{Transport: http.DefaultTransport}}, most: maxRunBytes}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := m.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	body := ioutil.NewContextReader(ctx, res.Body) // as go-git reads packs
	if _, err := io.ReadFull(body, make([]byte, len("the beginning"))); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := body.Read(make([]byte, 1)); err == nil {
		t.Error("read after the end")
	}
	if got := m.fetch.bytes.Load(); got != int64(len("the beginning")) || m.fetch.requests.Load() != 1 {
		t.Errorf("%d bytes in %d requests", got, m.fetch.requests.Load())
	}
	_ = m.err() // whether or not the reader in the background has failed by now
	_ = res.Body.Close()
}
