// Package webhook signs and verifies messages as Standard Webhooks does
// (https://www.standardwebhooks.com, specification 1.0.0, symmetric signatures), so that
// receivers can check with any library of that name who sent a message.
package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"hash"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Names of the headers.
const (
	HeaderID        = "webhook-id"        // the same in every attempt to deliver a message
	HeaderTimestamp = "webhook-timestamp" // of the attempt, in seconds since 1970
	HeaderSignature = "webhook-signature" // one or more signatures, separated by spaces
)

// Prefix begins the text of a secret.
const Prefix = "whsec_"

// Lengths of a secret in bytes.
const (
	MinSecretBytes = 24
	MaxSecretBytes = 64
	newSecretBytes = 32
)

// Tolerance is how far the timestamp of a message may be from the receiver's clock, in both
// directions.
const Tolerance = 5 * time.Minute

// version begins a signature by HMAC-SHA256.
const version = "v1,"

// Errors of Verify.
var (
	ErrHeaders   = errors.New("a webhook header is missing or malformed")
	ErrTimestamp = errors.New("the webhook is too old or its timestamp is in the future")
	ErrSignature = errors.New("no signature of the webhook matches")
)

// Secret is the key that sender and receiver share. It does not show itself when printed;
// Text returns it.
type Secret struct{ key []byte }

// NewSecret returns a random secret.
func NewSecret() Secret {
	key := make([]byte, newSecretBytes)
	_, _ = rand.Read(key) // never fails
	return Secret{key}
}

// ParseSecret returns the secret with a text: base64 of 24 to 64 bytes, with or without
// Prefix. Errors: Invalid, naming the field, without the text.
func ParseSecret(field, text string) (Secret, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, Prefix))
	if err != nil || len(key) < MinSecretBytes || len(key) > MaxSecretBytes {
		return Secret{}, fault.Field(field, "must be %s and base64 of %d to %d random bytes", Prefix, MinSecretBytes, MaxSecretBytes)
	}
	return Secret{key}, nil
}

// Text returns the secret in the form that ParseSecret reads.
func (s Secret) Text() string { return Prefix + base64.StdEncoding.EncodeToString(s.key) }

// String returns a mask.
func (s Secret) String() string { return Prefix + "***" }

// GoString is String.
func (s Secret) GoString() string { return s.String() }

// mac returns the hash that signs a message, to which its body is written.
func (s Secret) mac(id, timestamp string) hash.Hash {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(id + "." + timestamp + "."))
	return mac
}

// Sign sets the headers of a message. With several secrets the message has a signature for
// each, so that receivers with any of them accept it while a secret is being replaced. The
// id must contain no dot and no white space.
func Sign(header http.Header, id string, at time.Time, body []byte, secrets ...Secret) {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	signatures := make([]string, len(secrets))
	for i, s := range secrets {
		mac := s.mac(id, timestamp)
		mac.Write(body)
		signatures[i] = version + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	header.Set(HeaderID, id)
	header.Set(HeaderTimestamp, timestamp)
	header.Set(HeaderSignature, strings.Join(signatures, " "))
}

// Verify returns nil if the message was signed with one of the secrets and its timestamp is
// at most Tolerance from now. Signatures of other versions are ignored. Errors: ErrHeaders,
// ErrTimestamp, ErrSignature.
func Verify(header http.Header, now time.Time, body []byte, secrets ...Secret) error {
	for _, s := range secrets {
		r, err := receiveStandard(header, now, s)
		if err != nil {
			return err
		}
		if _, err := r.Write(body); err != nil {
			return err
		}
		if r.Valid() {
			return nil
		}
	}
	return ErrSignature
}
