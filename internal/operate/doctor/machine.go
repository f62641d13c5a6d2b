package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/index/storage"
)

// Disk checks the free space of the file system of a folder. minFree is the setting
// min-free-bytes, 0 for its default; below it the service refuses writes.
func Disk(dir string, minFree int64) Finding {
	const check = "disk"
	free, total, err := storage.FreeIn(dir)()
	if err != nil {
		return Finding{check, Warn, err.Error(), "run doctor as the user of the service"}
	}
	need := cmp.Or(minFree, min(max(total/50, gib), 10*gib)) // as package storage has it
	detail := fmt.Sprintf("%s of %s are free where %s is", size(free), size(total), dir)
	action := "free space, delete documents that are no longer needed, or move the data directory to a larger disk"
	switch {
	case free < need:
		return Finding{check, Fail, detail + fmt.Sprintf(": below %s writes are refused", size(need)), action}
	case free < 2*need:
		return Finding{check, Warn, detail + fmt.Sprintf(": below %s writes are refused", size(need)), action}
	}
	return Finding{check, OK, detail, ""}
}

// SecretFile checks that other users cannot read a file with secrets, nor its group write
// it. It returns nothing for a file that does not exist.
func SecretFile(path string) []Finding {
	check := "file " + filepath.Base(path)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []Finding{{check, Warn, err.Error(), "run doctor as the user of the service"}}
	}
	switch mode := info.Mode().Perm(); {
	case mode&0o007 != 0:
		return []Finding{{check, Fail, fmt.Sprintf("%s has secrets, and its mode %04o gives all users access", path, mode), "chmod o-rwx " + path + ", and replace the secrets if others may have read them"}}
	case mode&0o020 != 0:
		return []Finding{{check, Warn, fmt.Sprintf("%s has secrets, and its mode %04o lets its group write it", path, mode), "chmod g-w " + path}}
	default:
		return []Finding{{check, OK, fmt.Sprintf("%s has the mode %04o", path, mode), ""}}
	}
}

// Dial connects to an address, as net.Dialer.DialContext does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// expirySoon is how long before the end of a certificate it is a warning.
const expirySoon = 21 * 24 * time.Hour

// Certificate checks the files with the certificate of the service, and when it ends.
func Certificate(files httpserver.CertificateFiles, now time.Time) Finding {
	const check = "certificate"
	text, end, err := files.Describe()
	switch {
	case err != nil:
		return Finding{check, Fail, err.Error(), "correct tls-cert, tls-key and tls-client-ca, and run doctor as the user of the service"}
	case end.Before(now):
		return Finding{check, Fail, text, "renew the certificate: clients refuse it"}
	case end.Sub(now) < expirySoon:
		return Finding{check, Warn, text, "renew the certificate"}
	}
	return Finding{check, OK, text, ""}
}

// Address checks that something answers at a URL, and when its certificate ends. config has
// the authorities to trust. Only the host and the port are shown: the rest may hold a key.
func Address(ctx context.Context, name, address string, dial Dial, now time.Time, config *tls.Config) Finding {
	check := "endpoint " + name
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return Finding{check, Fail, "its address is not a URL", "correct it"}
	}
	port := cmp.Or(u.Port(), map[string]string{"https": "443"}[u.Scheme], "80")
	at := net.JoinHostPort(u.Hostname(), port)
	conn, err := dial(ctx, "tcp", at)
	if err != nil {
		return Finding{check, Fail, at + " cannot be reached: " + innermost(err), "check that the server runs, the address, the name service and firewalls; of a private network, allowed-private-networks"}
	}
	defer conn.Close()
	if u.Scheme != "https" {
		return Finding{check, OK, at + " answers, without encryption", ""}
	}
	config = config.Clone()
	config.ServerName = u.Hostname()
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return Finding{check, Fail, at + ": " + innermost(err), "renew the certificate, or have this machine trust its authority (SSL_CERT_FILE)"}
	}
	end := secure.ConnectionState().PeerCertificates[0].NotAfter
	detail := fmt.Sprintf("%s answers; its certificate ends %s", at, end.UTC().Format(time.DateOnly))
	if end.Sub(now) < expirySoon {
		return Finding{check, Warn, detail, "renew the certificate"}
	}
	return Finding{check, OK, detail, ""}
}

// innermost returns the text of the innermost error.
func innermost(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err.Error()
}
