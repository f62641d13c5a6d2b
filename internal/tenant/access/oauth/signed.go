package oauth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// algorithms are the accepted signature algorithms: those that need the issuer's private
// key. "none" and HMAC are not accepted, as anyone who knows the public key could forge
// such a signature.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// signed verifies JWTs with the issuer's keys.
type signed struct {
	keys *keys
}

func newSigned(cfg Config) *signed { return &signed{newKeys(cfg)} }

// claims returns the claims of a JWT after it has verified the signature. Errors:
// Unauthenticated for an invalid token, Unavailable if the keys cannot be fetched.
func (s *signed) claims(ctx context.Context, token string) (claims, error) {
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return claims{}, invalidToken(err)
	}
	header := parsed.Headers[0] // a compact JWT has exactly one
	if kind, ok := header.ExtraHeaders[jose.HeaderType]; ok && !isAccessToken(kind) {
		return claims{}, invalidToken(fmt.Errorf("a token of type %v", kind))
	}
	candidates, err := s.keys.find(ctx, header.KeyID)
	if err != nil {
		return claims{}, err
	}
	for _, key := range candidates {
		if !fits(key, header.Algorithm) {
			continue
		}
		var c claims
		if err = parsed.Claims(key.Key, &c.Claims, &c.all); err == nil {
			return c, nil
		}
	}
	return claims{}, invalidToken(errors.Join(errors.New("no key of the issuer verifies the signature"), err))
}

// isAccessToken reports whether a JWT of this type (the header typ) may be an access token.
// Issuers sign other JWTs, such as logout tokens, with the same keys.
func isAccessToken(kind any) bool {
	name, _ := kind.(string)
	switch strings.TrimPrefix(strings.ToLower(name), "application/") {
	case "jwt", "at+jwt":
		return true
	}
	return false
}

// fits reports whether a key can verify signatures of the algorithm. A key that names its
// algorithm is used for that one only.
func fits(key jose.JSONWebKey, algorithm string) bool {
	if key.Algorithm != "" && key.Algorithm != algorithm {
		return false
	}
	switch public := key.Key.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(algorithm, "RS") || strings.HasPrefix(algorithm, "PS")
	case *ecdsa.PublicKey:
		return map[int]string{256: "ES256", 384: "ES384", 521: "ES512"}[public.Params().BitSize] == algorithm
	case ed25519.PublicKey:
		return algorithm == string(jose.EdDSA)
	}
	return false
}
