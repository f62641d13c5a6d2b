package httpserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// certificateInterval is how often the files of a certificate are compared with what is in use.
const certificateInterval = 10 * time.Second

// CertificateFiles are files in PEM.
type CertificateFiles struct {
	// Cert has the certificate of the service, and those of its authorities but the root. Key has
	// its private key.
	Cert, Key string
	// ClientCA has the authorities of the certificates of clients. If it is set, a client without
	// such a certificate gets no connection.
	ClientCA string
}

// IsZero reports whether there are no files, and so no TLS.
func (f CertificateFiles) IsZero() bool { return f == CertificateFiles{} }

// Certificate is the certificate of a server, which is read again when its files change. Safe for
// concurrent use.
type Certificate struct {
	files CertificateFiles
	log   *slog.Logger

	loading sync.Mutex
	read    [3][]byte // the contents of the files that were last read
	refused error     // why they cannot be used
	failing atomic.Bool
	current atomic.Pointer[tls.Config]
}

// NewCertificate returns the certificate in files. Errors: Invalid, naming the setting.
func NewCertificate(files CertificateFiles, log *slog.Logger) (*Certificate, error) {
	switch {
	case files.Cert == "":
		return nil, fault.Field("tls-cert", "must name the file with the certificate, because tls-key or tls-client-ca is set")
	case files.Key == "":
		return nil, fault.Field("tls-key", "must name the file with the private key, because tls-cert is set")
	}
	c := &Certificate{files: files, log: log}
	_, err := c.load()
	return c, err
}

// Expiry returns when the certificate in use ends.
func (c *Certificate) Expiry() time.Time { return c.current.Load().Certificates[0].Leaf.NotAfter }

// Failing reports whether the files have changed and cannot be used.
func (c *Certificate) Failing() bool { return c.failing.Load() }

// Config returns the configuration of a server with the certificate. New connections get the one
// that was read last.
func (c *Certificate) Config() *tls.Config {
	config := c.current.Load().Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current.Load(), nil }
	return config
}

// Run reads the files when they change, until ctx ends. Files that cannot be used are logged, and
// the certificate before them stays in use.
func (c *Certificate) Run(ctx context.Context) error {
	ticker := time.NewTicker(certificateInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			c.Reload(ctx)
		}
	}
}

// Reload reads the files now, if they have changed. Open connections stay.
func (c *Certificate) Reload(ctx context.Context) {
	changed, err := c.load()
	switch before := c.failing.Swap(err != nil); {
	case err != nil && (changed || !before):
		c.log.ErrorContext(ctx, "the new certificate cannot be used, and the one before it stays", "err", err)
	case err == nil && changed:
		c.log.InfoContext(ctx, "new certificate", "expires", c.Expiry().UTC())
	}
}

// load reads the files. changed reports whether they have other contents than before.
func (c *Certificate) load() (changed bool, err error) {
	c.loading.Lock()
	defer c.loading.Unlock()
	var read [3][]byte
	for i, file := range []struct{ setting, path string }{{"tls-cert", c.files.Cert}, {"tls-key", c.files.Key}, {"tls-client-ca", c.files.ClientCA}} {
		if file.path == "" {
			continue
		}
		if read[i], err = os.ReadFile(file.path); err != nil {
			return false, fault.Field(file.setting, "%s", err)
		}
	}
	same := true
	for i := range read {
		same = same && bytes.Equal(read[i], c.read[i])
	}
	if same && read[0] != nil {
		return false, c.refused
	}
	config, err := configOf(read)
	c.read, c.refused = read, err
	if err == nil {
		c.current.Store(config)
	}
	return true, err
}

// configOf returns the configuration with the contents of the files.
func configOf(read [3][]byte) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(read[0], read[1])
	if err != nil {
		return nil, fault.Field("tls-cert", "cannot be used with tls-key: %s", err)
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, fault.Field("tls-cert", "%s", err)
		}
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}
	if len(read[2]) > 0 {
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(read[2]) {
			return nil, fault.Field("tls-client-ca", "has no certificate in PEM")
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}

// Describe returns what is in the files, for a person. Errors: those of NewCertificate.
func (f CertificateFiles) Describe() (text string, expires time.Time, err error) {
	c, err := NewCertificate(f, slog.New(slog.DiscardHandler))
	if err != nil {
		return "", time.Time{}, err
	}
	leaf := c.current.Load().Certificates[0].Leaf
	return fmt.Sprintf("the certificate of %v ends %s", leaf.DNSNames, leaf.NotAfter.UTC().Format(time.DateOnly)), leaf.NotAfter, nil
}
