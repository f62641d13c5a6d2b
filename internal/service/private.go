package service

import (
	"context"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// private is an address besides the public one, for the operator.
type private struct {
	path     string // of its first page
	listener net.Listener
	handler  http.Handler
}

const (
	metricsPath = "/metrics"
	profilePath = "/debug/pprof/"
)

// listenPrivately opens the addresses of metrics and profiles. Errors: Invalid, Precondition.
func (s *Service) listenPrivately(ctx context.Context) error {
	for _, p := range []struct {
		path, setting, address string
		handler                http.Handler
		check                  func(address string) error
	}{
		{metricsPath, "metrics-listen", s.config.Metrics.Listen, s.metricsHandler(), func(string) error { return nil }},
		{profilePath, "profile-listen", s.config.Metrics.ProfileListen, profiles(), checkLoopback},
	} {
		if p.address == "" {
			continue
		}
		if err := p.check(p.address); err != nil {
			return err
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", p.address)
		if err != nil {
			return listenFault(p.address, p.setting, err)
		}
		s.private = append(s.private, private{p.path, listener, p.handler})
	}
	return nil
}

// metricsHandler answers GET /metrics, and the probes of an orchestrator, which has no certificate
// of a client.
func (s *Service) metricsHandler() http.Handler {
	mux := http.NewServeMux()
	s.handleProbes(mux)
	mux.Handle("GET "+metricsPath, s.metrics.Handler())
	return mux
}

// checkLoopback returns Invalid unless an address is one of this machine alone.
func checkLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err == nil && isLoopback(host) {
		return nil
	}
	return fault.Field("profile-listen", "must be an address of this machine alone, such as 127.0.0.1:6060, because profiles show what is in memory; got %q", address)
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// profiles answers with profiles of the process, as `go tool pprof` asks for them. A request must
// name this machine, so that a web page whose name was pointed here cannot read them.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+profilePath, pprof.Index)
	mux.HandleFunc("GET "+profilePath+"profile", pprof.Profile)
	mux.HandleFunc("GET "+profilePath+"symbol", pprof.Symbol)
	mux.HandleFunc("GET "+profilePath+"trace", pprof.Trace)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if !isLoopback(host) {
			http.Error(w, "call this address as 127.0.0.1 or localhost", http.StatusMisdirectedRequest)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// MetricsURL returns the address of the metrics, "" if they are not shown.
func (s *Service) MetricsURL() string { return s.privateURL(metricsPath) }

// ProfileURL returns the address of the profiles, "" if they are not shown.
func (s *Service) ProfileURL() string { return s.privateURL(profilePath) }

func (s *Service) privateURL(path string) string {
	for _, p := range s.private {
		if p.path == path {
			return "http://" + p.listener.Addr().String() + path
		}
	}
	return ""
}
