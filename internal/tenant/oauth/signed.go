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

// algorithms are the signatures that are accepted: those that need the issuer's
// private key. With none and the HMACs, anyone could sign who knows what is
// public.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// signed reads JWTs.
type signed struct {
	keys *keys
}

func newSigned(cfg Config) *signed { return &signed{newKeys(cfg)} }

// claims returns what a token says, once its signature is proven.
func (s *signed) claims(ctx context.Context, token string) (claims, error) {
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return claims{}, unknown(err)
	}
	header := parsed.Headers[0] // a compact JWT has one
	if kind, ok := header.ExtraHeaders[jose.HeaderType]; ok && !isAccessToken(kind) {
		return claims{}, unknown(fmt.Errorf("a token of type %v", kind))
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
	return claims{}, unknown(errors.Join(errors.New("no key of the issuer made the signature"), err))
}

// isAccessToken reports whether a JWT's type may be that of an access token. An
// issuer signs other things with the same keys.
func isAccessToken(kind any) bool {
	name, _ := kind.(string)
	switch strings.TrimPrefix(strings.ToLower(name), "application/") {
	case "jwt", "at+jwt":
		return true
	}
	return false
}

// fits reports whether signatures of the algorithm are made with such a key. A key
// that says what it is for is used for nothing else.
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
