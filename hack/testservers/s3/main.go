// Command s3 is an S3 server without access control on a free port, with its objects in memory. It
// announces its URL.
package main

import (
	"context"
	"net"
	"net/http"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/ragdhq/ragd/hack/testservers/internal/announce"
)

func main() {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		announce.Failed(err)
	}
	server := &http.Server{Handler: gofakes3.New(s3mem.New()).Server()} //nolint:gosec // G112: the clients are tests
	go func() { announce.Failed(server.Serve(listener)) }()
	announce.Ready("http://" + listener.Addr().String())
}
