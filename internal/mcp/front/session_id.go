package front

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	sessionHeader      = "Mcp-Session-Id"
	minSessionKeyBytes = 32
	// sessionLifetime bounds how long an id is good for, and so how long an ended
	// one has to be remembered.
	sessionLifetime = 7 * 24 * time.Hour
)

// owner is whom a session belongs to. Two users of a tenant are two owners.
type owner struct {
	tenant  tenant.ID
	subject string
}

func ownerOf(r *tenant.Request) owner { return owner{r.Tenant, r.Principal.Subject} }

// signer makes and checks session ids. An id is, in base64url,
//
//	issue time, seconds since 1970   8 bytes
//	random                          16 bytes
//	HMAC-SHA256                     32 bytes, over the above, tenant and subject
//
// so that any instance with the key can tell whose it is without asking anyone.
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

// check reports whether id was made for the owner and is not too old.
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
	// A tenant id has no zero byte, so that tenant and subject cannot run into
	// each other.
	h.Write([]byte(string(o.tenant) + "\x00" + o.subject))
	return h.Sum(nil)
}
