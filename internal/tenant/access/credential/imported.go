package credential

import (
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// CheckImportedScopes returns an error unless an API key of a tenant may have these scopes. Errors: Invalid.
func CheckImportedScopes(scopes []string) error {
	for _, scope := range scopes {
		if !slices.Contains([]access.Scope{access.Read, access.Write, access.Admin}, access.Scope(scope)) {
			return fault.New(fault.Invalid, "the archive has an API key with the scope %q, which no key of a tenant can have", scope)
		}
	}
	return nil
}

// CheckImportedIssuer returns an error for an issuer that CreateIssuer would refuse, of a tenant with count of them. Without
// public-url the service knows no issuers, and only addresses without TLS are refused. Errors: Invalid.
func (s *Service) CheckImportedIssuer(i OwnIssuer, count int64) error {
	err := i.complete()
	switch {
	case err != nil:
	case count > maxIssuers:
		err = fault.New(fault.Invalid, "a tenant may have %d issuers", maxIssuers)
	case s.Auth.tokens != nil:
		err = s.Auth.tokens.Check(i)
	default:
		for _, address := range []string{i.URL, i.JWKSURL} {
			if address != "" && !strings.HasPrefix(address, "https://") || i.URL == "" {
				err = fault.New(fault.Invalid, "addresses must begin with https://")
			}
		}
	}
	if err == nil {
		return nil
	}
	return fault.Wrap(fault.Invalid, err, "the archive has the issuer %q, which this service does not accept: %s: leave out keys and issuers to import the archive",
		textlimit.Shorten(i.Name, maxIssuerNameChars), fault.Public(err))
}
