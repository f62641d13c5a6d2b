package httpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// DrainTimeout is the default time that running requests have to finish on shutdown.
const DrainTimeout = 10 * time.Second

// Limits of every connection. The total time to read or write is not limited, because
// uploads take long and streams stay open.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// Config configures Serve.
type Config struct {
	// DrainDelay is the time for which connections are still accepted after ctx has ended,
	// in which load balancers learn from the readiness check that they should send no
	// more. Default: none.
	DrainDelay time.Duration
	// DrainTimeout is the time that running requests have to finish after that. After half
	// of it their contexts end too, with ErrDraining as cause. Default: DrainTimeout.
	DrainTimeout time.Duration
	// EndStreams, if set, is called when no more connections are accepted, to end streams
	// that would otherwise stay open.
	EndStreams func(context.Context) error
	// Certificate, if set, encrypts all connections.
	Certificate *Certificate
}

// ErrDraining is the cause with which the contexts of requests end on shutdown: the caller may try
// again at once, at another instance.
var ErrDraining = &fault.Error{
	Kind: fault.Unavailable, Message: "this instance of the service is shutting down: try again", RetryAfter: retryAfterDrain,
}

// retryAfterDrain is how long a caller should wait before it comes back.
const retryAfterDrain = time.Second

// Serve answers requests on the listener until ctx ends, over HTTP/1.1 and HTTP/2, unencrypted
// without Config.Certificate. Then, after Config.DrainDelay, it accepts no more connections, lets running requests
// finish and returns; requests that take longer than Config.DrainTimeout are aborted. It
// closes the listener.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, config Config) error {
	drain := cmp.Or(config.DrainTimeout, DrainTimeout)
	requests, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(config.Certificate == nil)
	protocols.SetHTTP2(config.Certificate != nil)
	server := &http.Server{
		Handler:           closing(ctx, handler),
		Protocols:         protocols,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
	}
	serve := func() error { return server.Serve(listener) }
	if config.Certificate != nil {
		server.TLSConfig = config.Certificate.Config()
		server.ErrorLog = log.New(connectionLog{config.Certificate.log}, "", 0)
		serve = func() error { return server.ServeTLS(listener, "", "") }
	}
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		time.Sleep(config.DrainDelay)
		time.AfterFunc(drain/2, func() { cancel(ErrDraining) })
		limit, done := context.WithTimeout(context.Background(), drain)
		defer done()
		ended := make(chan error, 1)
		go func() {
			var err error
			if config.EndStreams != nil {
				err = config.EndStreams(limit)
			}
			ended <- err
		}()
		stopped <- errors.Join(server.Shutdown(limit), <-ended)
	})
	if err := serve(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve HTTP: %w", err)
	}
	err := <-stopped
	if errors.Is(err, context.DeadlineExceeded) {
		return server.Close() // abort connections that are still busy
	}
	return err
}

// connectionLog writes what the HTTP server says about connections: at debug level, if the client's
// handshake failed, because anybody can have many of these.
type connectionLog struct{ log *slog.Logger }

// Write implements io.Writer.
func (l connectionLog) Write(line []byte) (int, error) {
	level, text := slog.LevelError, strings.TrimSpace(string(line))
	if strings.HasPrefix(text, "http: TLS handshake error") {
		level = slog.LevelDebug
	}
	l.log.Log(context.Background(), level, text)
	return len(line), nil
}

// closing asks clients to close the connections on which they get an answer once ctx has ended,
// so that their next request does not meet the end of a connection.
func closing(ctx context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ctx.Err() != nil {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
