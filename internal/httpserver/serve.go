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

// DrainTimeout is how long running requests may finish on shutdown, unless
// configured.
const DrainTimeout = 10 * time.Second

// Limits of every connection. There is no limit on reading or writing as a whole:
// uploads take long and streams stay open.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// Config changes how Serve ends.
type Config struct {
	// DrainTimeout is how long running requests may finish once ctx has ended. After
	// half of it their contexts end too. Default: DrainTimeout.
	DrainTimeout time.Duration
	// EndStreams is called when ctx has ended, to end the responses that never end by
	// themselves; nil for none.
	EndStreams func(context.Context) error
}

// Serve answers requests on the listener until ctx ends, over HTTP/1.1 and unencrypted
// HTTP/2. Then it accepts no more, lets running requests finish and returns; requests
// that take longer than Config.DrainTimeout are cut off. It closes the listener.
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
		return server.Close() // who has not sent a request by now, or not read the answer, is cut off
	}
	return err
}
