package tenant

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// A secret reads ragd_<api key id>_<random>: the id finds the row, the random
// part proves the right to it. The database has only the hash of the whole. The
// random part has 256 bits, so one round of SHA-256 is as good as a slow hash.
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

// apiKeyIDOf returns the key id that a secret names, or false if the secret
// does not have the form of ours.
func apiKeyIDOf(secret string) (string, bool) {
	rest, ok := strings.CutPrefix(secret, secretPrefix)
	if !ok {
		return "", false
	}
	id, random, ok := strings.Cut(rest, "_")
	return id, ok && len(id) == apiKeyIDChars && random != ""
}
