package remote

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
)

// isTLS reports whether an error is about the certificate or the handshake.
func isTLS(err error) bool {
	var verification *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var unknown x509.UnknownAuthorityError
	return errors.As(err, &verification) || errors.As(err, &record) || errors.As(err, &alert) || errors.As(err, &unknown)
}
