package replica

import (
	"crypto/aes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// tokenBytes is the size of a write token before its encoding: one block of AES.
const tokenBytes = aes.BlockSize

// encodeToken returns the write token for a position of a timeline. It is one block of AES, under a
// key that only the service's role can read: the position, and a check that tells tokens of this
// tenant and timeline from any others. So a token tells nobody how much others write, and one
// that was not made here is not accepted, but for one of 2^64.
func encodeToken(of timeline, tenant string, position int64) string {
	var block [tokenBytes]byte
	binary.BigEndian.PutUint64(block[:8], uint64(position))
	copy(block[8:], tokenCheck(tenant))
	of.encrypt(&block)
	return base64.RawURLEncoding.EncodeToString(block[:])
}

// AnyPrimary is the write token of a write whose position is not known: no timeline has made it, so
// a read that brings it goes to the primary.
var AnyPrimary = base64.RawURLEncoding.EncodeToString(make([]byte, tokenBytes))

// MaxTokens is the most write tokens that a read may bring.
const MaxTokens = 32

// CheckTokens returns an error unless the text has write tokens, separated by commas. Errors:
// Invalid, naming the field.
func CheckTokens(field, text string) error {
	tokens := strings.Split(text, ",")
	if len(tokens) > MaxTokens {
		return fault.Field(field, "has %d write tokens, but at most %d are allowed", len(tokens), MaxTokens)
	}
	for _, token := range tokens {
		if _, err := parseToken(token); err != nil {
			return fault.Field(field, "is not a write token: send one as an answer of the service gave it, several with commas between, or none")
		}
	}
	return nil
}

// decodeTokens returns the last of the positions in write tokens, which are separated by commas; false
// if this timeline did not make all of them for the tenant.
func decodeTokens(of timeline, tenant, text string) (last int64, ok bool) {
	for token := range strings.SplitSeq(text, ",") {
		position, ok := decodeToken(of, tenant, token)
		if !ok {
			return 0, false
		}
		last = max(last, position)
	}
	return last, true
}

func parseToken(token string) (block [tokenBytes]byte, err error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err == nil && len(raw) != tokenBytes {
		err = base64.CorruptInputError(len(raw))
	}
	copy(block[:], raw)
	return block, err
}

// decodeToken returns the position in a write token; false if this timeline did not make it for
// the tenant.
func decodeToken(of timeline, tenant, token string) (position int64, ok bool) {
	block, err := parseToken(token)
	if err != nil {
		return 0, false
	}
	of.decrypt(&block)
	return int64(binary.BigEndian.Uint64(block[:8])), string(block[8:]) == string(tokenCheck(tenant))
}

// tokenCheck returns what a token of the tenant has besides its position.
func tokenCheck(tenant string) []byte {
	sum := sha256.Sum256([]byte("ragd write token\x00" + tenant))
	return sum[:tokenBytes-8]
}

// encrypt encrypts a block with the key of the timeline.
func (t timeline) encrypt(block *[tokenBytes]byte) {
	c, err := aes.NewCipher(t.key())
	if err != nil {
		panic(err) // the key has a size of AES
	}
	c.Encrypt(block[:], block[:])
}

func (t timeline) decrypt(block *[tokenBytes]byte) {
	c, err := aes.NewCipher(t.key())
	if err != nil {
		panic(err) // the key has a size of AES
	}
	c.Decrypt(block[:], block[:])
}

// key returns the key of the timeline's write tokens.
func (t timeline) key() []byte {
	sum := sha256.Sum256([]byte("ragd write token key\x00" + t.mark))
	return sum[:]
}
