// Command faults is a proxy before a server, whose faults a test begins and ends:
//
//	faults ADDRESS
//
// It announces its own address, which it keeps, and the URL of what controls it:
//
//	POST /toxics   add a fault, as Toxiproxy's API describes it
//	POST /stop     cut all connections and refuse new ones
//	POST /reset    end all faults
package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/ragdhq/ragd/hack/testservers/internal/announce"
)

func main() {
	if len(os.Args) != 2 {
		announce.Failed(errors.New("usage: faults ADDRESS"))
	}
	zerolog.SetGlobalLevel(zerolog.Disabled) // the faults have a logger of their own
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	proxy := toxiproxy.NewProxy(api, "server", "127.0.0.1:0", os.Args[1])
	if err := proxy.Start(); err != nil {
		announce.Failed(err)
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		announce.Failed(err)
	}
	server := &http.Server{Handler: control(proxy)} //nolint:gosec // G112: the client is a test
	go func() { announce.Failed(server.Serve(listener)) }()
	announce.Ready(proxy.Listen, "http://"+listener.Addr().String())
}

// control answers the requests of the test.
func control(proxy *toxiproxy.Proxy) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /toxics", func(w http.ResponseWriter, r *http.Request) {
		_, err := proxy.Toxics.AddToxicJson(r.Body)
		answer(w, err)
	})
	mux.HandleFunc("POST /stop", func(http.ResponseWriter, *http.Request) { proxy.Stop() })
	mux.HandleFunc("POST /reset", func(w http.ResponseWriter, r *http.Request) {
		proxy.Toxics.ResetToxics(context.WithoutCancel(r.Context()))
		var err error
		if !proxy.Enabled {
			err = proxy.Start()
		}
		answer(w, err)
	})
	return mux
}

func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
