package postgres

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// SQLSTATEs with which a server rejects a connection.
const (
	codeInvalidPassword      = "28P01"
	codeInvalidAuthorization = "28000"
	codeUnknownDatabase      = "3D000"
	codeTooManyConnections   = "53300"
	codeNotReady             = "57P03"
)

// connectFault returns the error for a first connection that failed: address, cause and
// remedy, each once. setting is the name of the setting with the address.
func connectFault(ctx context.Context, cc *pgx.ConnConfig, setting string, err error) error {
	if ctx.Err() != nil {
		return Fault(err)
	}
	at := addresses(cc)
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return rejected(cc, at, setting, pe)
	}
	if reason := tlsReason(err); reason != "" {
		return fault.New(fault.Unavailable, "no encrypted connection to the database server at %s: %s (%s)", at, reason, setting)
	}
	return fault.New(fault.Unavailable, "the database server at %s cannot be reached: %s: check that PostgreSQL runs there, and the address in %s", at, networkReason(err), setting)
}

// rejected returns the error for a connection that the server rejected.
func rejected(cc *pgx.ConnConfig, at, setting string, pe *pgconn.PgError) error {
	switch pe.Code {
	case codeInvalidPassword:
		return fault.New(fault.Unavailable, "the database server at %s rejects the password of the role %q: correct it in %s", at, cc.User, setting)
	case codeInvalidAuthorization:
		if strings.HasSuffix(pe.Message, "no encryption") {
			return fault.New(fault.Unavailable, "the database server at %s takes no unencrypted connection of the role %q to the database %q: add sslmode=require or sslmode=verify-full to %s, or allow it in the server's pg_hba.conf", at, cc.User, cc.Database, setting)
		}
		return fault.New(fault.Unavailable, "the database server at %s rejects the role %q: %s: correct %s, or the server's roles and pg_hba.conf", at, cc.User, pe.Message, setting)
	case codeUnknownDatabase:
		return fault.New(fault.Unavailable, "the database server at %s has no database %q: create it (CREATE DATABASE), or correct %s", at, cc.Database, setting)
	case codeTooManyConnections:
		return fault.New(fault.Unavailable, "the database server at %s has no connection left for the role %q (%s): raise max_connections there, or end other clients", at, cc.User, pe.Message)
	case codeNotReady:
		return fault.New(fault.Unavailable, "the database server at %s is not ready (%s): try again when it is", at, pe.Message)
	}
	return fault.New(fault.Unavailable, "the database server at %s rejects the connection: %s (SQLSTATE %s)", at, pe.Message, pe.Code)
}

// addresses returns the addresses of a configuration, each once.
func addresses(cc *pgx.ConnConfig) string {
	var all []string
	add := func(host string, port uint16) {
		address := net.JoinHostPort(host, strconv.Itoa(int(port)))
		if strings.HasPrefix(host, "/") {
			address = host
		}
		if !slices.Contains(all, address) {
			all = append(all, address)
		}
	}
	add(cc.Host, cc.Port)
	for _, fallback := range cc.Fallbacks {
		add(fallback.Host, fallback.Port)
	}
	return strings.Join(all, ", ")
}

// tlsReason returns why a connection could not be encrypted; empty if that is not what
// failed.
func tlsReason(err error) string {
	var authority x509.UnknownAuthorityError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case strings.Contains(err.Error(), "refused TLS"):
		return "the server offers no encryption: enable ssl there, or set sslmode=disable if the network is private"
	case errors.As(err, &authority):
		return "its certificate is signed by an unknown authority: name that authority's certificate in sslrootcert"
	case errors.As(err, &certificate):
		return certificate.Err.Error()
	case errors.As(err, &record):
		return "what answers there does not speak TLS"
	}
	return ""
}

// networkReason returns the innermost cause of a failed connection.
func networkReason(err error) string {
	var dns *net.DNSError
	var errno syscall.Errno
	var timeout net.Error
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Sprintf("the host name %s is not known", dns.Name)
	case errors.As(err, &errno):
		return errno.Error()
	case errors.As(err, &timeout) && timeout.Timeout():
		return "no answer"
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}
