package postgres

import (
	"cmp"
	"context"
	"crypto/tls"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/fault"
)

// parse returns the configuration of a pool.
func (c Config) parse() (*pgxpool.Config, error) {
	if c.Dial == nil {
		return parseURL(c.URL, c.Setting)
	}
	return c.parseForeign()
}

// defaultPort is the port of a server whose URL has none.
const defaultPort = 5432

// parseForeign returns the configuration of a pool to a server that is not the operator's: of the URL
// alone, so that the server gets nothing of the machine's.
func (c Config) parseForeign() (*pgxpool.Config, error) {
	malformed := fault.Field(c.Setting, "must be postgres://user:password@host:port/database with one host and no parameter but sslmode, with special characters percent-encoded")
	address, err := url.Parse(c.URL)
	if err != nil {
		return nil, malformed
	}
	port, err := strconv.ParseUint(cmp.Or(address.Port(), strconv.Itoa(defaultPort)), 10, 16)
	host, database := address.Hostname(), strings.TrimPrefix(address.Path, "/")
	password, _ := address.User.Password()
	if err != nil || address.Scheme != "postgres" && address.Scheme != "postgresql" || host == "" || strings.ContainsAny(host, "/,@") || database == "" || address.User.Username() == "" {
		return nil, malformed
	}
	for name := range address.Query() {
		if name != "sslmode" {
			return nil, malformed
		}
	}
	config, err := pgxpool.ParseConfig("host=localhost user=user password=password dbname=name sslmode=disable")
	if err != nil {
		return nil, err
	}
	cc := config.ConnConfig
	switch cmp.Or(address.Query().Get("sslmode"), "verify-full") {
	case "verify-full":
		cc.TLSConfig = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	case "require":
		cc.TLSConfig = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12, InsecureSkipVerify: true} //nolint:gosec // G402: the URL asks for it
	case "disable":
	default:
		return nil, fault.Field(c.Setting, "has an sslmode that is not verify-full, require or disable")
	}
	cc.Host, cc.Port, cc.Database, cc.User, cc.Password = host, uint16(port), database, address.User.Username(), password
	cc.Fallbacks, cc.ValidateConnect, cc.AfterConnect = nil, nil, nil
	cc.RuntimeParams = map[string]string{}
	cc.DialFunc = c.Dial // which looks names up
	cc.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	return config, nil
}
