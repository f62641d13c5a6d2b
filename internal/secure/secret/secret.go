// Package secret stores the secrets of tenants, such as keys of other services, which the
// tools of the tenant send and nobody can read.
package secret

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
)

// Secret describes a secret without its value.
type Secret struct {
	Name string
	// Hosts are the hosts to which the value may be sent, such as api.example.com or
	// api.example.com:8443. Without a port they mean the default port of the scheme. Empty:
	// any host.
	Hosts     []string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Limits.
const (
	maxSecrets    = 200 // of a tenant
	maxValueBytes = 8 << 10
	maxHosts      = 16
	maxHostBytes  = 260
)

// CheckName returns an Invalid error for a text that is no name of a secret.
func CheckName(field, name string) error { return catalog.CheckName(field, name, 64) }

// checkValue checks a value. Its errors do not show it.
func checkValue(value string) error {
	if value == "" {
		return fault.Field("value", "is missing: give the value, or generate for a random one")
	}
	return textlimit.Check("value", value, maxValueBytes)
}

// checkHosts returns the hosts in lower case and in order, each once.
func checkHosts(hosts []string) ([]string, error) {
	if len(hosts) > maxHosts {
		return nil, fault.Field("hosts", "must be at most %d, got %d", maxHosts, len(hosts))
	}
	checked := make([]string, 0, len(hosts))
	for _, host := range hosts {
		host = strings.ToLower(host)
		parsed, err := url.Parse("https://" + host)
		if err != nil || len(host) > maxHostBytes || parsed.Host != host || parsed.Hostname() == "" || !httpguts.ValidHostHeader(host) {
			return nil, fault.Field("hosts", "%q is no host such as api.example.com or api.example.com:8443", textlimit.Shorten(host, 100))
		}
		checked = append(checked, host)
	}
	slices.Sort(checked)
	return slices.Compact(checked), nil
}

// Allows reports whether the value may be sent to an address. A secret without hosts may be
// sent to any.
func (s Secret) Allows(to *url.URL) bool {
	if len(s.Hosts) == 0 {
		return true
	}
	host, port := strings.ToLower(to.Hostname()), to.Port()
	usual := map[string]string{"https": "443", "http": "80", "postgres": "5432", "postgresql": "5432"}[to.Scheme]
	return slices.ContainsFunc(s.Hosts, func(allowed string) bool {
		u := url.URL{Host: allowed}
		return u.Hostname() == host && (u.Port() == port || u.Port() == "" && port == usual || u.Port() == usual && port == "")
	})
}
