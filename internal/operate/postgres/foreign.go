package postgres

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
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

// parseForeign returns the configuration of a pool to a server that is not the operator's.
func (c Config) parseForeign() (*pgxpool.Config, error) {
	malformed := fault.Field(c.Setting, "must be postgres://user:password@host:port/database with one host and no parameter but sslmode, with special characters percent-encoded")
	address, err := url.Parse(c.URL)
	if err != nil {
		return nil, malformed
	}
	cc, err := ForeignConfig(address, c.Dial)
	switch {
	case errors.Is(err, ErrForeignAddress), errors.Is(err, ErrForeignParameter):
		return nil, malformed
	case errors.Is(err, ErrForeignSSLMode):
		return nil, fault.Field(c.Setting, "has an sslmode that is not verify-full, require or disable")
	case err != nil:
		return nil, err
	}
	config, err := pgxpool.ParseConfig(foreignBase)
	if err != nil {
		return nil, err
	}
	config.ConnConfig = cc
	return config, nil
}

// Errors of ForeignConfig.
var (
	ErrForeignAddress   = errors.New("not postgres://user:password@host:port/database with one host")
	ErrForeignParameter = errors.New("a parameter that is not sslmode")
	ErrForeignSSLMode   = errors.New("an sslmode that is not verify-full, require or disable")
)

// foreignBase is parsed instead of a foreign address, and names all that the environment and files of the machine would
// fill.
const foreignBase = "host=localhost user=user password=password dbname=name sslmode=disable"

// ForeignConfig returns the settings of connections to a server that is not the operator's: of the address alone, so
// that the server gets nothing of the environment, files and sockets of the machine. dial looks names up. The server's
// certificate is verified unless sslmode in the address says require or disable. Errors: ErrForeignAddress, then
// ErrForeignParameter, then ErrForeignSSLMode.
func ForeignConfig(address *url.URL, dial pgconn.DialFunc) (*pgx.ConnConfig, error) {
	port, err := strconv.ParseUint(cmp.Or(address.Port(), strconv.Itoa(defaultPort)), 10, 16)
	host, database := address.Hostname(), strings.TrimPrefix(address.Path, "/")
	password, _ := address.User.Password()
	if err != nil || address.Scheme != "postgres" && address.Scheme != "postgresql" || host == "" || strings.ContainsAny(host, "/,@") || database == "" || address.User.Username() == "" {
		return nil, ErrForeignAddress
	}
	for name := range address.Query() {
		if name != "sslmode" {
			return nil, ErrForeignParameter
		}
	}
	config, err := pgx.ParseConfig(foreignBase)
	if err != nil {
		return nil, err
	}
	switch cmp.Or(address.Query().Get("sslmode"), "verify-full") {
	case "verify-full":
		config.TLSConfig = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	case "require":
		config.TLSConfig = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12, InsecureSkipVerify: true} //nolint:gosec // G402: the address asks for it
	case "disable":
	default:
		return nil, ErrForeignSSLMode
	}
	config.Host, config.Port, config.Database, config.User, config.Password = host, uint16(port), database, address.User.Username(), password
	config.Fallbacks, config.ValidateConnect, config.AfterConnect = nil, nil, nil
	config.RuntimeParams = map[string]string{}
	config.DialFunc = dial
	config.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	return config, nil
}
