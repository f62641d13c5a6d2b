// Package faultproxy puts a proxy between a service and its database, or another server that it calls,
// that delays, cuts, resets and slows down connections, or loses what is sent.
package faultproxy

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/service/testing/program"
)

// A Fault is something that the proxy does to all connections.
type Fault struct {
	Name  string
	toxic string // as the proxy's API takes it; "" cuts all connections and refuses new ones
}

// The faults.
var (
	Delay     = Fault{"every packet comes 200 to 300 ms late", `{"type": "latency", "attributes": {"latency": 250, "jitter": 50}}`}
	Slow      = Fault{"4 kB a second", `{"type": "bandwidth", "attributes": {"rate": 4}}`}
	Sliced    = Fault{"packets of 1 to 15 bytes", `{"type": "slicer", "attributes": {"average_size": 8, "size_variation": 7, "delay": 50}}`}
	Cut       = Fault{"connections end after 5 kB", `{"type": "limit_data", "attributes": {"bytes": 5000}}`}
	Reset     = Fault{"connections are reset after 100 ms", `{"type": "reset_peer", "attributes": {"timeout": 100}}`}
	Partition = Fault{"what is sent is lost, and connections stay open", `{"type": "timeout", "attributes": {"timeout": 0}}`}
	Down      = Fault{"connections are refused", ""}
)

// All are all faults.
var All = []Fault{Delay, Slow, Sliced, Cut, Reset, Partition, Down}

// Proxy is a proxy before a server. It has no fault at first.
type Proxy struct {
	address string
	control string // the URL of what begins and ends faults
}

// New starts a proxy before the database server of a pool, until the test ends.
func New(t testing.TB, server *pgxpool.Pool) *Proxy {
	t.Helper()
	config := server.Config().ConnConfig
	network, address := "tcp", net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
	if strings.HasPrefix(config.Host, "/") {
		network, address = "unix", config.Host+"/.s.PGSQL."+strconv.Itoa(int(config.Port))
	}
	return start(t, bridge(t, network, address))
}

// Before starts a proxy before the server at a URL until the test ends, and returns the URL of the proxy.
func Before(t testing.TB, server string) (*Proxy, string) {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, u.Host)
	u.Host = p.address
	return p, u.String()
}

// start starts a proxy before an address of TCP.
func start(t testing.TB, address string) *Proxy {
	t.Helper()
	values := program.Run(t, "faults", address)
	return &Proxy{address: values[0], control: values[1]}
}

// post sends a request to the program of the proxy.
func (p *Proxy) post(t testing.TB, path, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, p.control+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if said, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s", path, body, said)
	}
}

// bridge listens on TCP, which is all that the proxy calls, and passes connections on. It returns
// its address.
func bridge(t testing.TB, network, address string) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				go pass(from, network, address)
			}
		}
	}()
	return listener.Addr().String()
}

// pass passes a connection on to an address, until either side closes it.
func pass(from net.Conn, network, address string) {
	defer func() { _ = from.Close() }()
	to, err := new(net.Dialer).DialContext(context.Background(), network, address)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	var once sync.Once
	ended := make(chan struct{})
	for _, ends := range [][2]net.Conn{{from, to}, {to, from}} {
		go func() {
			_, _ = io.Copy(ends[0], ends[1])
			once.Do(func() { close(ended) })
		}()
	}
	<-ended
}

// URL returns the URL of the database of a pool, with its role, through the proxy.
func (p *Proxy) URL(t testing.TB, of *pgxpool.Pool) string {
	t.Helper()
	u, err := url.Parse(of.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	u.Host = p.address
	query := u.Query()
	query.Del("host")
	query.Del("port")
	query.Set("sslmode", "disable")
	u.RawQuery = query.Encode()
	return u.String()
}

// Pool returns a pool through the proxy, on the database and with the role of another pool. It is
// closed when the test ends.
func (p *Proxy) Pool(t testing.TB, of *pgxpool.Pool) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.Open(t.Context(), postgres.Config{URL: p.URL(t, of), MaxConns: 10, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// Begin begins a fault, in both directions where it has one.
func (p *Proxy) Begin(t testing.TB, f Fault) {
	t.Helper()
	if f.toxic == "" {
		p.post(t, "/stop", "")
		return
	}
	for _, direction := range []string{"upstream", "downstream"} {
		p.post(t, "/toxics", strings.Replace(f.toxic, `{`, `{"stream": "`+direction+`", `, 1))
	}
}

// End ends all faults. Connections that lost something stay broken.
func (p *Proxy) End(t testing.TB) {
	t.Helper()
	p.post(t, "/reset", "")
}
