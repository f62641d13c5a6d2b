package credential

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

const (
	// LinkLifetime is how long a link can be followed.
	LinkLifetime = 10 * time.Minute
	// maxLinkBytes bounds a link, which browsers and proxies take as a part of an address.
	maxLinkBytes = 6 << 10
)

var (
	errLinkTooLarge = fault.New(fault.Precondition, "the rights and the context of the credential are too large for a link of %d bytes: ask without a link", maxLinkBytes)
	errNoLink       = fault.New(fault.Unauthenticated, "this is not a link that the service gave out, or it has expired: ask for a new one")
)

// linked is what a link holds.
type linked struct {
	Rights  access.Delegation `json:"rights"`
	Expires time.Time         `json:"expires"`
	Purpose string            `json:"purpose"`
	Value   json.RawMessage   `json:"value"`
}

// linkCipher returns the cipher of links, for a key of the service. All its instances have the same.
func linkCipher(key []byte) (cipher.AEAD, error) {
	derived, err := hkdf.Key(sha256.New, key, nil, "links", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive the key of links: %w", err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, fmt.Errorf("make the cipher of links: %w", err)
	}
	return cipher.NewGCM(block)
}

// Link returns a link for a purpose, with a value that JSON can hold: an opaque text with which somebody without a credential
// acts with the rights of the request in the context for LinkLifetime, as long as its credential is valid. What it holds is
// encrypted. Errors: those of Delegate; Precondition if the rights are too large for a link.
func (a *Authenticator) Link(ctx context.Context, purpose string, value any) (link string, expires time.Time, err error) {
	r, err := access.Caller(ctx)
	if err != nil {
		return "", expires, err
	}
	l := linked{Expires: a.now().Add(LinkLifetime).UTC(), Purpose: purpose}
	if l.Rights, err = a.Delegate(ctx, r); err != nil {
		return "", expires, err
	}
	if l.Value, err = json.Marshal(value); err != nil {
		return "", expires, fmt.Errorf("write a link: %w", err)
	}
	raw, err := json.Marshal(l)
	if err != nil {
		return "", expires, fmt.Errorf("write a link: %w", err)
	}
	var packed bytes.Buffer
	deflate, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		return "", expires, fmt.Errorf("write a link: %w", err)
	}
	_, _ = deflate.Write(raw) // a buffer takes everything
	_ = deflate.Close()
	nonce := make([]byte, a.links.NonceSize())
	_, _ = rand.Read(nonce) // never fails, see crypto/rand
	link = base64.RawURLEncoding.EncodeToString(a.links.Seal(nonce, nonce, packed.Bytes(), nil))
	if len(link) > maxLinkBytes {
		return "", expires, errLinkTooLarge
	}
	return link, l.Expires, nil
}

// Follow returns a context with a request that has the rights of a link for a purpose, stores the link's value in what value points to,
// and returns when the link expires. Errors: Unauthenticated for a text that Link did not return for the purpose, a link that has expired, and
// one whose credential is no longer valid; those of Act.
func (a *Authenticator) Follow(ctx context.Context, purpose, link string, value any) (_ context.Context, expires time.Time, err error) {
	l, ok := a.open(link)
	if !ok || l.Purpose != purpose || !a.now().Before(l.Expires) {
		return nil, expires, errNoLink
	}
	if err := json.Unmarshal(l.Value, value); err != nil {
		return nil, expires, fmt.Errorf("read a link: %w", err)
	}
	r, err := a.Act(ctx, l.Rights)
	if err != nil {
		return nil, expires, err
	}
	return access.NewContext(ctx, r), l.Expires, nil
}

// open returns what a link holds. It reports false for a text that Link did not return.
func (a *Authenticator) open(link string) (l linked, ok bool) {
	if len(link) > maxLinkBytes {
		return l, false
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(link)
	if err != nil || len(sealed) < a.links.NonceSize() {
		return l, false
	}
	n := a.links.NonceSize()
	packed, err := a.links.Open(nil, sealed[:n], sealed[n:], nil)
	if err != nil {
		return l, false
	}
	raw, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed))) // authentic, so no bomb
	return l, err == nil && json.Unmarshal(raw, &l) == nil
}
