package httpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const pause = 30 * time.Second

// pipes listens for connections that stay within the process, so that the clock of a synctest bubble
// rules them.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.accepted <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// address is that of the servers for their clients.
const address = "http://server"

// servers starts a server for HTTP/1.1 and one for HTTP/2, and returns their clients by protocol. It
// must be called in a synctest bubble.
func servers(t *testing.T, handler http.Handler) map[string]*http.Client {
	t.Helper()
	all := map[string]*http.Client{}
	for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		var protocols http.Protocols
		protocols.SetHTTP1(version == "HTTP/1.1")
		protocols.SetUnencryptedHTTP2(version == "HTTP/2.0")
		in := &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
		server := &http.Server{Handler: handler, Protocols: &protocols}
		over := &http.Transport{DialContext: in.dial, Protocols: &protocols}
		go func() { _ = server.Serve(in) }()
		t.Cleanup(func() {
			over.CloseIdleConnections()
			_ = server.Close()
		})
		all[version] = &http.Client{Transport: over}
	}
	return all
}

// echo answers with the bytes that it has read and sends the error of the last read. It
// waits for the delay after each read.
func echo(read chan<- error, delay time.Duration) http.Handler {
	return Limit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var all []byte
		for {
			part := make([]byte, 4)
			n, err := r.Body.Read(part)
			if all = append(all, part[:n]...); err != nil {
				read <- err
				break
			}
			<-time.After(delay)
		}
		_, _ = w.Write(all)
	}), pause)
}

func TestABodyThatStopsIsCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		read := make(chan error, 1)
		for version, c := range servers(t, echo(read, 0)) {
			never, sender := io.Pipe()
			go func() { _, _ = sender.Write([]byte("tide")) }() // and nothing more
			res, err := c.Post(address, "text/plain", never)
			if err != nil {
				t.Fatalf("%s: %v", version, err)
			}
			answer, err := io.ReadAll(res.Body)
			if res.Proto != version || string(answer) != "tide" || err != nil {
				t.Errorf("%s: answered over %s with %q, %v", version, res.Proto, answer, err)
			}
			_ = res.Body.Close()
			if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), "nothing of the request has arrived for 30s") {
				t.Errorf("%s: read ended with %v", version, err)
			}
			_ = sender.Close()
		}
	})
}

// The server does not wait for a body that its handler left unread.
func TestAnUnreadBodyDoesNotDelayTheAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handler := Limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }), pause)
		for version, c := range servers(t, handler) {
			never, sender := io.Pipe()
			defer sender.Close()
			go func() { _, _ = sender.Write([]byte("tide")) }() // and nothing more
			res, err := c.Post(address, "text/plain", never)
			if err != nil {
				t.Fatalf("%s: %v", version, err)
			}
			if res.StatusCode != http.StatusTeapot {
				t.Errorf("%s: status %d", version, res.StatusCode)
			}
			_ = res.Body.Close()
		}
	})
}

// A slow sender and a slow reader may take longer than the pause in total.
func TestABodyThatTakesItsTimeArrives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		read := make(chan error, 1)
		for version, c := range servers(t, echo(read, 0)) {
			slow, sender := io.Pipe()
			go func() {
				defer sender.Close()
				for range 5 {
					<-time.After(pause / 3)
					_, _ = sender.Write([]byte("tide"))
				}
			}()
			expect(t, c, version, slow, read)
		}
		for version, c := range servers(t, echo(read, pause/3)) {
			expect(t, c, version, strings.NewReader(strings.Repeat("tide", 5)), read)
		}
	})
}

func expect(t *testing.T, c *http.Client, version string, body io.Reader, read <-chan error) {
	t.Helper()
	res, err := c.Post(address, "text/plain", body)
	if err != nil {
		t.Fatalf("%s: %v", version, err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if string(answer) != strings.Repeat("tide", 5) || err != nil {
		t.Errorf("%s: answered with %q, %v", version, answer, err)
	}
	if err := <-read; !errors.Is(err, io.EOF) {
		t.Errorf("%s: read ended with %v", version, err)
	}
}

// The rest of a body that its handler closed early is never read as further requests,
// which would be answered in the name of whoever else uses the connection.
func TestTheRestOfAClosedBodyIsNoRequest(t *testing.T) {
	t.Parallel()
	var served atomic.Int64
	server := httptest.NewServer(Limit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		_ = r.Body.Close()
		w.WriteHeader(http.StatusTeapot)
	}), pause))
	t.Cleanup(server.Close)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const hidden = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	body := strings.Repeat(hidden, (1<<20)/len(hidden))
	go func() {
		_, _ = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	answers, _ := io.ReadAll(conn) // the server closes the connection, which may be an error here
	if n := strings.Count(string(answers), "HTTP/1.1 418"); n != 1 || served.Load() != 1 {
		t.Errorf("%d answers to one request, of which %d were served", n, served.Load())
	}
}

// A handler that closes a body does not wait for a sender that never ends.
func TestClosingABodyDoesNotWaitForItsSender(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handler := Limit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = r.Body.Read(make([]byte, 1))
			_ = r.Body.Close()
			w.WriteHeader(http.StatusTeapot)
		}), pause)
		var sending sync.WaitGroup
		defer sending.Wait()
		for version, c := range servers(t, handler) {
			slow, sender := io.Pipe()
			sending.Go(func() { // a byte at a time, for longer than the test has time
				for err := error(nil); err == nil; <-time.After(pause / 10) {
					_, err = sender.Write([]byte("a"))
				}
			})
			defer sender.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 20*pause)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, slow)
			if err != nil {
				t.Fatal(err)
			}
			res, err := c.Do(req)
			if err != nil {
				t.Errorf("%s: %v", version, err)
				continue
			}
			if _ = res.Body.Close(); res.StatusCode != http.StatusTeapot {
				t.Errorf("%s: status %d", version, res.StatusCode)
			}
		}
	})
}
