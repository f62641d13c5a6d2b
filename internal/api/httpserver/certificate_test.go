package httpserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/certtest"
)

// secure is a server with a certificate, until the test ends.
type secure struct {
	*Certificate
	files     CertificateFiles
	authority *certtest.Authority
	url       string
	log       *bytes.Buffer
}

func newSecure(t *testing.T, clients bool) *secure {
	t.Helper()
	s := &secure{authority: certtest.New(t), log: &bytes.Buffer{}}
	dir := t.TempDir()
	ca, cert, key := s.authority.Write(t, dir, s.authority.Issue(t, "first", time.Now().Add(time.Hour)))
	s.files = CertificateFiles{Cert: cert, Key: key}
	if clients {
		s.files.ClientCA = ca
	}
	var err error
	if s.Certificate, err = NewCertificate(s.files, slog.New(slog.NewTextHandler(s.log, nil))); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Serve(ctx, listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.Proto)
		}), Config{Certificate: s.Certificate})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	s.url = "https://" + listener.Addr().String()
	return s
}

// client returns a client that trusts the authority and has certificates.
func (s *secure) client(certificates ...tls.Certificate) *http.Client {
	return &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: s.authority.Pool(), Certificates: certificates, MinVersion: tls.VersionTLS12}}}
}

// get returns the answer to a request, and the name in the certificate of the server.
func (s *secure) get(t *testing.T, c *http.Client) (text, name string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw), res.TLS.PeerCertificates[0].Subject.CommonName
}

// New connections get a new certificate, open ones stay, and files that cannot be used change
// nothing.
func TestACertificateIsReadAgain(t *testing.T) {
	t.Parallel()
	s := newSecure(t, false)
	open := s.client()
	if text, name := s.get(t, open); text != "HTTP/2.0" || name != "first" {
		t.Errorf("answered over %s with the certificate of %s", text, name)
	}
	good, err := os.ReadFile(s.files.Cert)
	if err != nil {
		t.Fatal(err)
	}
	broken := map[string]func(){
		"no file":     func() { must(t, os.Remove(s.files.Cert)) },
		"half a file": func() { must(t, os.WriteFile(s.files.Cert, good[:len(good)/2], 0o600)) },
	}
	for what, damage := range broken {
		damage()
		s.Reload(t.Context())
		s.Reload(t.Context())
		if _, name := s.get(t, s.client()); name != "first" || !s.Failing() {
			t.Errorf("%s: the certificate of %s, failing %v", what, name, s.Failing())
		}
		must(t, os.WriteFile(s.files.Cert, good, 0o600))
		s.Reload(t.Context())
		if s.Failing() {
			t.Errorf("%s: still failing after the files are good", what)
		}
	}
	if n := strings.Count(s.log.String(), "the new certificate cannot be used"); n != len(broken) {
		t.Errorf("%d lines about %d failures: %s", n, len(broken), s.log)
	}
	expires := time.Now().Add(2 * time.Hour)
	s.authority.Write(t, strings.TrimSuffix(s.files.Cert, "/cert.pem"), s.authority.Issue(t, "second", expires))
	newCert, err := os.ReadFile(s.files.Cert)
	if err != nil {
		t.Fatal(err)
	}
	must(t, os.WriteFile(s.files.Cert, good, 0o600)) // the key is new, the certificate is not
	s.Reload(t.Context())
	if _, name := s.get(t, s.client()); name != "first" || !s.Failing() {
		t.Errorf("half replaced: the certificate of %s, failing %v", name, s.Failing())
	}
	must(t, os.WriteFile(s.files.Cert, newCert, 0o600))
	s.Reload(t.Context())
	if _, name := s.get(t, s.client()); name != "second" || s.Failing() || s.Expiry().Sub(expires).Abs() > time.Second {
		t.Errorf("after the change: the certificate of %s, failing %v, expires %v", name, s.Failing(), s.Expiry())
	}
	if _, name := s.get(t, open); name != "first" {
		t.Errorf("the open connection was closed: it has the certificate of %s", name)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// With authorities of clients, only clients with one of their certificates get an answer.
func TestClientsNeedACertificate(t *testing.T) {
	t.Parallel()
	s := newSecure(t, true)
	s.get(t, s.client(s.authority.Issue(t, "a client", time.Now().Add(time.Hour))))
	for name, client := range map[string]*http.Client{
		"none":               s.client(),
		"of another":         s.client(certtest.New(t).Issue(t, "a stranger", time.Now().Add(time.Hour))),
		"expired":            s.client(s.authority.Issue(t, "too late", time.Now().Add(-time.Minute))),
		"without TLS at all": http.DefaultClient,
	} {
		url := s.url
		if client == http.DefaultClient {
			url = strings.Replace(url, "https:", "http:", 1)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		must(t, err)
		res, err := client.Do(req)
		if err == nil {
			defer res.Body.Close()
			if res.StatusCode != http.StatusBadRequest {
				t.Errorf("%s: %s", name, res.Status)
			}
		}
	}
}

func TestOldVersionsOfTLSAreRefused(t *testing.T) {
	t.Parallel()
	s := newSecure(t, false)
	conn, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), &tls.Config{RootCAs: s.authority.Pool(), MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	if err == nil {
		_ = conn.Close()
		t.Error("TLS 1.1 is accepted")
	}
}

func TestFilesOfACertificateAreChecked(t *testing.T) {
	t.Parallel()
	s := newSecure(t, true)
	other := t.TempDir()
	_, _, otherKey := s.authority.Write(t, other, s.authority.Issue(t, "other", time.Now().Add(time.Hour)))
	for want, files := range map[string]CertificateFiles{
		"tls-cert: must name":                   {Key: s.files.Key},
		"tls-key: must name":                    {Cert: s.files.Cert},
		"tls-cert: open /nowhere":               {Cert: "/nowhere", Key: s.files.Key},
		"tls-cert: cannot be used with tls-key": {Cert: s.files.Cert, Key: otherKey},
		"tls-client-ca: has no certificate":     {Cert: s.files.Cert, Key: s.files.Key, ClientCA: s.files.Key},
	} {
		_, err := NewCertificate(files, slog.New(slog.DiscardHandler))
		if err == nil || fault.KindOf(err) != fault.Invalid || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", files, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("the error shows the file: %v", err)
		}
	}
}
