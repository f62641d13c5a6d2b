package mcphttp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"io"
	"time"

	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// MinSessionKeyBytes is the shortest Config.SessionKey.
const MinSessionKeyBytes = 32

const (
	sessionHeader = "Mcp-Session-Id"
	// sessionLifetime is how long an id is valid, and so how long an ended one is
	// remembered.
	sessionLifetime = 7 * 24 * time.Hour
)

// owner identifies the caller that a session belongs to. Two users of a tenant are two
// owners, and so are two tokens of one user with different mandatory filters or bounds:
// notifications of a session are checked against those that it began with.
type owner struct {
	tenant  tenant.ID
	issuer  string // of an access token
	subject string
	filter  string // mandatory filter as JSON
	bounds  string
	server  string // name of the tenant's server that the session is on
}

// ownerOf returns the owner of a request that has not entered the server.
func ownerOf(r *access.Request, server string) owner {
	o := owner{tenant: r.Tenant, issuer: r.Principal.Issuer, subject: r.Principal.Subject, bounds: r.Bounds.String(), server: server}
	if f := r.Principal.MandatoryFilter; !f.IsZero() {
		o.filter = string(f.JSON())
	}
	return o
}

// hash returns the SHA-256 of the owner, by which the database knows it.
func (o owner) hash() (h hash) {
	sum := sha256.New()
	o.writeTo(sum)
	sum.Sum(h[:0])
	return h
}

func (o owner) writeTo(w io.Writer) {
	for _, part := range []string{string(o.tenant), o.issuer, o.subject, o.filter, o.bounds, o.server} {
		// The length comes first, so that fields cannot run into each other.
		_, _ = w.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part)))) // a hash takes all
		_, _ = io.WriteString(w, part)
	}
}

// signer creates and checks session ids. An id is, in base64url,
//
//	issue time, seconds since 1970   8 bytes
//	random                          16 bytes
//	HMAC-SHA256                     32 bytes, over the above and the owner
//
// Any instance with the key can check the owner of an id.
type signer struct {
	key []byte
}

const (
	sessionTimeBytes  = 8
	sessionPlainBytes = sessionTimeBytes + 16
)

func (s signer) mint(o owner, now time.Time) string {
	plain := make([]byte, sessionPlainBytes, sessionPlainBytes+sha256.Size)
	binary.BigEndian.PutUint64(plain, uint64(now.Unix()))
	rand.Read(plain[sessionTimeBytes:]) // never fails
	return base64.RawURLEncoding.EncodeToString(append(plain, s.mac(plain, o)...))
}

// check reports whether id was made for the owner and has not expired.
func (s signer) check(id string, o owner, now time.Time) bool {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(id)
	if err != nil || len(raw) != sessionPlainBytes+sha256.Size {
		return false
	}
	plain, mac := raw[:sessionPlainBytes], raw[sessionPlainBytes:]
	if !hmac.Equal(mac, s.mac(plain, o)) {
		return false
	}
	issued := time.Unix(int64(binary.BigEndian.Uint64(plain)), 0)
	return now.Before(issued.Add(sessionLifetime))
}

func (s signer) mac(plain []byte, o owner) []byte {
	h := hmac.New(sha256.New, s.key)
	h.Write([]byte("ragd mcp session"))
	h.Write(plain)
	o.writeTo(h)
	return h.Sum(nil)
}
