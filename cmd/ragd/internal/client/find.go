package client

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/cmd/ragd/internal/config"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
)

// localServices returns the services of client.conf that have run on this machine; the one
// that was started last is the last one.
func localServices(getenv func(string) string) ([]config.Client, error) {
	path, err := config.ClientPath(getenv)
	if err != nil {
		return nil, err
	}
	return config.ReadClients(path)
}

// findServer returns the address of the service to call, and its section of client.conf if
// it has one. The address is the one that is named by the settings, else that of the only service
// of client.conf, or the only one of several that runs, or the one that was started last.
// Errors: misuse.Error if several are running.
func findServer(named string, getenv func(string) string) (server string, local config.Client, err error) {
	services, err := localServices(getenv)
	if err != nil {
		return "", local, err
	}
	if named != "" {
		if server, err = serverURL(named); err != nil {
			return "", local, err
		}
		return server, sectionOf(services, server), nil
	}
	if local, err = runningOf(services); err != nil {
		return "", local, err
	}
	server, err = serverURL(cmp.Or(local.Server, defaultServer))
	return server, local, err
}

// sectionOf returns the section of the service that was the last one at an address: the
// keys of a service are never sent to another one.
func sectionOf(services []config.Client, server string) config.Client {
	for _, local := range slices.Backward(services) {
		if known, err := serverURL(local.Server); err == nil && loopback(known) == loopback(server) {
			return local
		}
	}
	return config.Client{}
}

// loopback returns an address with 127.0.0.1 in place of localhost.
func loopback(address string) string {
	return strings.Replace(address, "://localhost:", "://127.0.0.1:", 1)
}

// NoKey says where a key comes from when there is none for the service that is called.
func (c *Client) NoKey() string {
	hint := "there is no key: set RAGD_API_KEY, or run on the machine of the service as the user who runs it"
	services, err := localServices(c.getenv)
	if err != nil || len(services) == 0 {
		return hint
	}
	return hint + "; client.conf has keys of " + listServices(services) + " only"
}

// whoseKey says why the service may not know the key of a call.
func (c *Client) whoseKey() string {
	services, err := localServices(c.getenv)
	if err != nil {
		services = nil
	}
	for _, local := range services {
		if (c.Access.Key == local.APIKey || c.Access.Key == local.OperatorKey) && loopback(local.Server) != loopback(c.Server) {
			return "it is a key of " + listServices([]config.Client{local}) + ", not of " + c.Server
		}
	}
	return "it is wrong, was revoked, has expired, or belongs to another service"
}

// listServices names services for a message.
func listServices(services []config.Client) string {
	var list []string
	for _, local := range services {
		list = append(list, fmt.Sprintf("%s (data directory %s)", local.Server, local.DataDir))
	}
	return strings.Join(list, ", ")
}

// runningOf returns the only one of the services that runs, or the last one if none does.
func runningOf(services []config.Client) (config.Client, error) {
	var latest []config.Client // the last service of each address
	for i, local := range services {
		later := slices.ContainsFunc(services[i+1:], func(other config.Client) bool { return other.Server == local.Server })
		if !later {
			latest = append(latest, local)
		}
	}
	if len(latest) == 0 {
		return config.Client{}, nil
	}
	last := latest[len(latest)-1]
	if len(latest) == 1 {
		return last, nil
	}
	running := slices.DeleteFunc(latest, func(local config.Client) bool { return !listens(local.Server) })
	switch len(running) {
	case 0:
		return last, nil
	case 1:
		return running[0], nil
	}
	return config.Client{}, misuse.Errorf("several services run on this machine: %s: choose one with --server or RAGD_SERVER", listServices(running))
}

// listenTimeout bounds the wait for an answer of a service on this machine.
const listenTimeout = 300 * time.Millisecond

// listens reports whether something accepts connections at the address of a service.
func listens(server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	dialer := net.Dialer{Timeout: listenTimeout}
	conn, err := dialer.DialContext(context.Background(), "tcp", u.Host)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
