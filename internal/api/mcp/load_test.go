package mcp

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Memory and goroutines for abandoned sessions and open streams are bounded, do not grow
// while idle, and are released.
func TestManySessionsAndStreams(t *testing.T) {
	const (
		sessions = 500
		streams  = 200 // half GET in a session, half subscriptions/listen
		idle     = 2 * time.Second
	)
	var forgotten atomic.Int64
	address := serve(t, &fakeAPI{listIndexes: noIndexes}, func(c *Config) {
		c.HTTP = mcphttp.Config{
			Authenticate: authenticate, SessionIdle: idle, KeepAlive: 100 * time.Millisecond,
			Forget:  func(tenant.ID, string) { forgotten.Add(1) },
			Recheck: func(context.Context, http.Header) error { return nil }, RecheckEvery: idle / 10,
		}
	})
	closeAll := open(t, address, 1) // allocates everything that is allocated only once
	closeAll()
	wait.For(t, "the first room to be given back", func() bool { return forgotten.Load() == 1 })
	before := measure()

	ids := make([]string, sessions)
	for i := range ids {
		ids[i] = openSession(t, address)
	}
	withSessions := measure()
	t.Logf("%d idle sessions: %s", sessions, withSessions.since(before, sessions))

	closeAll = open(t, address, streams, ids...)
	withStreams := settled(t)
	t.Logf("%d open streams: %s", streams, withStreams.since(withSessions, streams))
	begun := time.Now()
	wait.For(t, "20 comments on each stream", func() bool { return time.Since(begun) > idle })
	later := settled(t)
	t.Logf("%s later: %s", idle, later.since(withStreams, 1))
	if grown := later.goroutines - withStreams.goroutines; grown > 20 {
		t.Errorf("%d goroutines more while nothing happened", grown)
	}
	if grown := later.bytes - withStreams.bytes; grown > 2<<20 {
		t.Errorf("%d bytes more while nothing happened", grown)
	}

	closeAll()
	wait.For(t, "the sessions to expire", func() bool { return forgotten.Load() == 2 })
	var after measured
	wait.For(t, "the goroutines to end and their memory to be given back", func() bool {
		after = measure()
		return after.goroutines <= before.goroutines+5 && after.bytes-before.bytes <= 4<<20 // the sessions alone took 5.4 MiB; what pools keep varies
	})
	t.Logf("after all: %s", after.since(before, 1))
}

// measured holds resources used by the process.
type measured struct {
	goroutines int
	bytes      int64 // of heap in use and stacks
}

func measure() measured {
	runtime.GC()
	runtime.GC() // a second run, because the first keeps the contents of pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return measured{runtime.NumGoroutine(), int64(m.HeapAlloc + m.StackInuse)}
}

// settled measures once the number of goroutines is stable: on a busy machine parts of a
// stream may start after its headers have arrived.
func settled(t *testing.T) measured {
	t.Helper()
	same := func(a, b measured) bool { return a.goroutines == b.goroutines }
	return wait.Rest(t, "the number of goroutines", 500*time.Millisecond, same, measure)
}

func (m measured) since(before measured, n int) string {
	return fmt.Sprintf("%d goroutines and %d KiB more, %.1f and %.1f KiB each", m.goroutines-before.goroutines, (m.bytes-before.bytes)>>10,
		float64(m.goroutines-before.goroutines)/float64(n), float64(m.bytes-before.bytes)/1024/float64(n))
}

const loadHeaders = "Host: localhost\r\nAuthorization: Bearer acme alice\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"

// request sends a request on its own connection, which needs little memory on this side,
// and returns the head of the response.
func request(t *testing.T, address, verb, headers, body string) (net.Conn, http.Header) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%s %s HTTP/1.1\r\n%s%sContent-Length: %d\r\n\r\n%s", verb, u.Path, loadHeaders, headers, len(body), body)
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReaderSize(conn, 512), nil) //nolint:bodyclose // the caller closes the connection
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", verb, res.Status)
	}
	return conn, res.Header
}

func openSession(t *testing.T, address string) string {
	t.Helper()
	conn, header := request(t, address, http.MethodPost, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{
		"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}`)
	defer conn.Close()
	return header.Get("Mcp-Session-Id")
}

// open opens n streams, half of them in new or the given sessions, and returns a function
// that closes them.
func open(t *testing.T, address string, n int, sessions ...string) (closeAll func()) {
	t.Helper()
	conns := make([]net.Conn, n)
	for i := range conns {
		if i%2 == 1 {
			conns[i], _ = request(t, address, http.MethodPost, "Mcp-Method: subscriptions/listen\r\nMcp-Protocol-Version: 2026-07-28\r\n",
				`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{
				"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
			continue
		}
		var id string
		if i < len(sessions) {
			id = sessions[i]
		} else {
			id = openSession(t, address)
		}
		conns[i], _ = request(t, address, http.MethodGet, "Mcp-Session-Id: "+id+"\r\n", "")
	}
	return func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	}
}
