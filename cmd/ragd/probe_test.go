package main

import (
	"strings"
	"testing"
)

func TestProbe(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	address := strings.TrimPrefix(s.url, "http://")
	s.want(t, step{args: args("probe --listen " + address)})
	s.want(t, step{args: args("probe --listen 127.0.0.1:9 --metrics-listen " + address)})
	s.want(t, step{args: args("probe --listen 127.0.0.1:9"), code: 1, stderr: "...connection refused"})
	s.want(t, step{args: args("probe --tls-cert x --listen " + address), code: 1, stderr: "...HTTP response to HTTPS client"})
	s.want(t, step{args: args("probe --listen here"), code: 2, stderr: "..."})
}
