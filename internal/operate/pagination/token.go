package pagination

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash"
	"sync"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Tokens makes and reads the page tokens of one list. A token is authenticated with
// HMAC-SHA256, so that nobody can make one up, or use that of another list. The zero Tokens
// has a random key, which ends with the process. Safe for concurrent use.
type Tokens struct{ key []byte }

// NewTokens returns Tokens with a secret key. All instances of a service need the same one.
func NewTokens(key []byte) Tokens { return Tokens{key: key} }

// processKey returns the key of the zero Tokens.
var processKey = sync.OnceValue(func() []byte {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails, see crypto/rand
	return key
})

// For returns Tokens that accept only their own tokens, not those for other values. Values
// are all that a list depends on: whose list it is, its name and its filter.
func (t Tokens) For(values ...string) Tokens {
	mac := t.mac()
	for _, value := range values {
		mac.Write(binary.AppendUvarint(nil, uint64(len(value)))) // so that no two lists of values are the same bytes
		mac.Write([]byte(value))
	}
	return Tokens{key: mac.Sum(nil)}
}

func (t Tokens) mac() hash.Hash {
	if t.key == nil {
		return hmac.New(sha256.New, processKey())
	}
	return hmac.New(sha256.New, t.key)
}

// macBytes is how many bytes of the authentication code a token begins with.
const macBytes = 16

// maxTokenBytes bounds the token that a caller sends.
const maxTokenBytes = 16 << 10

// Encode returns a token for a position in the list, which must be a plain value that JSON
// can hold.
func (t Tokens) Encode(position any) string {
	raw, err := json.Marshal(position)
	if err != nil {
		panic(err) // structs of strings, numbers and times
	}
	return base64.RawURLEncoding.EncodeToString(append(t.code(raw), raw...))
}

// Decode stores the position of a token in the value that position points to. Errors:
// Invalid for a token that Encode did not return for these Tokens.
func (t Tokens) Decode(token string, position any) error {
	if len(token) > maxTokenBytes {
		return errToken
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) < macBytes || !hmac.Equal(raw[:macBytes], t.code(raw[macBytes:])) {
		return errToken
	}
	if err := json.Unmarshal(raw[macBytes:], position); err != nil {
		return errToken
	}
	return nil
}

// code returns the authentication code of a position.
func (t Tokens) code(raw []byte) []byte {
	mac := t.mac()
	mac.Write(raw)
	return mac.Sum(nil)[:macBytes]
}

var errToken = fault.Field("pageToken", "is not a token that this list gave out to you for the same filter; leave it empty to start again")
