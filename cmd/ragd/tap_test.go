package main

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/ragdhq/ragd/internal/service/testing/forward"
)

// tap is a proxy between the commands and the service, if there is one. It records the
// requests.
type tap struct {
	url     string
	service http.Handler // nil: every request is answered by 503

	mu       sync.Mutex
	requests []request
	// before, if set, is called before a request goes on to the service.
	before func(procedure string)
}

type request struct {
	procedure string // such as VectorQuery
	header    http.Header
	body      []byte
}

// newTap starts a tap in front of the service at the address, empty for none.
func newTap(t *testing.T, service string) *tap {
	t.Helper()
	tap := &tap{}
	if service != "" {
		upstream, err := url.Parse(service)
		if err != nil {
			t.Fatal(err)
		}
		tap.service = forward.Handler(&httputil.ReverseProxy{
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
			FlushInterval: -1,                              // forward streamed answers at once
			ErrorLog:      log.New(t.Output(), "tap: ", 0), // interrupted commands cause errors
		})
	}
	server := httptest.NewServer(tap)
	t.Cleanup(server.Close)
	tap.url = server.URL
	return tap
}

// ServeHTTP implements http.Handler.
func (t *tap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked := request{procedure: r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:], header: r.Header.Clone()}
	if r.Header.Get("Content-Type") == "application/proto" { // of streams only the call is recorded
		var err error
		if asked.body, err = io.ReadAll(r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(asked.body))
	}
	t.mu.Lock()
	t.requests = append(t.requests, asked)
	before := t.before
	t.mu.Unlock()
	if before != nil {
		before(asked.procedure)
	}
	if t.service == nil {
		http.Error(w, "no service", http.StatusServiceUnavailable)
		return
	}
	t.service.ServeHTTP(w, r)
}

// asked returns the requests that a procedure has received. M is the type of the message.
func asked[M any, Message interface {
	*M
	proto.Message
}](t *testing.T, tap *tap, procedure string) []Message {
	t.Helper()
	tap.mu.Lock()
	defer tap.mu.Unlock()
	var messages []Message
	for _, r := range tap.requests {
		if r.procedure != procedure {
			continue
		}
		message := Message(new(M))
		if err := proto.Unmarshal(r.body, message); err != nil {
			t.Fatal(err)
		}
		messages = append(messages, message)
	}
	return messages
}
