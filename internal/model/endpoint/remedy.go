package endpoint

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"
)

// look returns the advice to look at a setting of the endpoint, for the operator.
func (c *Client) look(setting string) string {
	if c.config.Guard != nil && setting == "api-key" {
		return "; an administrator of the tenant should give the endpoint another key"
	}
	if c.config.Setting == "" {
		return ""
	}
	return fmt.Sprintf("; the operator of this server should check the setting %s-%s", c.config.Setting, setting)
}

// limits returns the advice for an endpoint that limits the rate of calls.
func (c *Client) limits() string {
	if c.config.Setting == "" {
		return ""
	}
	return "; try again later, or the operator of this server lowers the setting provider-calls"
}

// origin returns the address of the endpoint without path, user and password.
func (c *Client) origin() string {
	address, err := url.Parse(c.config.BaseURL)
	if err != nil {
		return "its address"
	}
	return address.Scheme + "://" + address.Host
}

// reason says why a connection failed, in words that show no more of the network than the
// endpoint's address does.
func reason(err error) string {
	var (
		dns         *net.DNSError
		certificate *tls.CertificateVerificationError
		name        x509.HostnameError
		record      tls.RecordHeaderError
	)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused, so that nothing listens there"
	case errors.As(err, &dns):
		return "the host name is not known"
	case errors.As(err, &record), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return "the server there does not speak TLS: the address must begin with http:// instead of https://"
	case errors.As(err, &certificate), errors.As(err, &name):
		return "its TLS certificate is not valid"
	}
	return "the connection failed"
}
