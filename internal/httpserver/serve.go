package httpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
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

// Config configures the shutdown of Serve.
type Config struct {
	// DrainTimeout is the time that running requests have to finish once ctx has ended.
	// After half of it their contexts end too. Default: DrainTimeout.
	DrainTimeout time.Duration
	// EndStreams, if set, is called when ctx has ended, to end streams that would
	// otherwise stay open.
	EndStreams func(context.Context) error
}

// Serve answers requests on the listener until ctx ends, over HTTP/1.1 and unencrypted
// HTTP/2. Then it accepts no more connections, lets running requests finish and returns;
// requests that take longer than Config.DrainTimeout are aborted. It closes the listener.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, config Config) error {
	drain := cmp.Or(config.DrainTimeout, DrainTimeout)
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Handler:           handler,
		Protocols:         protocols,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
	}
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		time.AfterFunc(drain/2, cancel)
		limit, done := context.WithTimeout(context.Background(), drain)
		defer done()
		var err error
		if config.EndStreams != nil {
			err = config.EndStreams(limit)
		}
		stopped <- errors.Join(err, server.Shutdown(limit))
	})
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve HTTP: %w", err)
	}
	err := <-stopped
	if errors.Is(err, context.DeadlineExceeded) {
		return server.Close() // abort connections that are still busy
	}
	return err
}
