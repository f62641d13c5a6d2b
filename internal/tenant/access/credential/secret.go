package credential

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// A secret has the form ragd_<api key id>_<random>. The id identifies the row. The database
// stores only a hash of the whole secret: SHA-256, as a slow hash adds nothing to 256
// random bits.
const (
	secretPrefix    = "ragd_"
	apiKeyIDChars   = 12
	secretRandBytes = 32
)

// newAPIKeyID returns a random id of apiKeyIDChars letters and digits.
func newAPIKeyID() string {
	return strings.ToLower(rand.Text()[:apiKeyIDChars])
}

func newSecret(apiKeyID string) string {
	random := make([]byte, secretRandBytes)
	_, _ = rand.Read(random) // never fails, see crypto/rand
	return secretPrefix + apiKeyID + "_" + base64.RawURLEncoding.EncodeToString(random)
}

func hashSecret(secret string) [sha256.Size]byte {
	return sha256.Sum256([]byte(secret))
}

// APIKeyIDOf returns the key id in a secret; false if the secret is not an API key's.
func APIKeyIDOf(secret string) (string, bool) {
	rest, ok := strings.CutPrefix(secret, secretPrefix)
	if !ok {
		return "", false
	}
	id, random, ok := strings.Cut(rest, "_")
	return id, ok && len(id) == apiKeyIDChars && random != ""
}
