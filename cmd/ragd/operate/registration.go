package operate

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"

	"github.com/ragdhq/ragd/cmd/ragd/internal/config"
)

// localURL returns the address under which a service on this machine is reached: a service
// that listens on all interfaces has no address of its own.
func localURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsUnspecified() {
		u.Host = net.JoinHostPort("127.0.0.1", u.Port())
	}
	return u.String()
}

// registration is what `ragd serve` with a database of its own writes to client.conf.
type registration struct {
	path   string
	client config.Client // the present section
}

// register returns the section of client.conf of the configured data directory. It is
// called before anything is created, and returns an error if the section has no keys and
// could not be written.
func (p *program) register() (*registration, error) {
	path, err := config.ClientPath(p.Getenv)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(p.settings.Service.DataDir)
	if err != nil {
		return nil, err
	}
	clients, err := config.ReadClients(path)
	if err != nil {
		return nil, err
	}
	r := &registration{path, config.Of(clients, dir)}
	if r.client.OperatorKey != "" {
		return r, nil
	}
	if err := config.CheckWritable(path); err != nil {
		return nil, fmt.Errorf("%w: ragd serve keeps the keys that it makes in this folder; make it writable, name another in XDG_CONFIG_HOME, or set RAGD_OPERATOR_KEY to a key of your own", err)
	}
	return r, nil
}
